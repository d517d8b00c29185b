"""Kernels of sums of products that tensor cores compute."""
