"""Kernels whose blocks walk rows and columns in tiles: maps, reductions, scans."""
