"""Operators of ATen as values of the tensor program, by subject."""
