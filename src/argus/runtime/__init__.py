"""Builds, caches, loads and launches kernels; the bridge to torch tensors."""
