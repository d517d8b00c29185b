"""The library: one folder for each family of kernels; `library.py` finds them."""
