"""Argus: a tile-level language and a verifying compiler for GPU kernels."""
