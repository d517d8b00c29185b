"""A file's kernel against its reference, in the numbers that it computes with.

planning.py   which sizes and element types are tried
trial.py      one run: the kernel in the interpreter or on the GPU, and its verdict
rounding.py   how far a result may be off
tested.py     all of it, kernel by kernel
"""
