"""Programs of PyTorch: captured, cut into kernels, each printed in the language.

capture.py        a module of torch -> the tensor program
tensor_array.py   what functions of numpy record in it; `operators.py`: ATen's
tensor_program.py values, maps, reductions; views of operands (`views.py`)
grouping.py       which values one kernel computes
lowering.py       a group over loops (`loops.py`), as expressions (`expressions.py`)
forms.py          the form of kernel of a group; `products.py`: matrix products
window_products.py  convolutions as matrix products; `window_product_text.py`
kernel_text.py    the group as a kernel in the language; `reference_text.py`
plan.py           launches, buffers, what stays in torch
execution.py      a plan on a GPU, in torch, or in the interpreter
"""
