"""Convolutions and their gradients as sums of products that kernels take."""
