"""Runs a placed program on numpy arrays, without a GPU."""
