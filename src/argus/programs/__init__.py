"""Programs of PyTorch: captured, cut into kernels, each printed in the language.

A package for each step, and imports go down: `running` calls a plan, `planning` makes
it, `capturing` reads what torch has, `attention`, `convolutions`, `products` and
`tiles` are forms of kernels, `operators` those of ATen, `lowering` is values over
loops, and `tensors` the tensor program. What is called from outside stands beside them.
"""
