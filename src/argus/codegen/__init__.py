"""Prints a placed program as CUDA C++."""
