"""Kernels of products that feed each other: attention, and chains of products."""
