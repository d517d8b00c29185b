"""How long the dimensions of a kernel's tensors are: what every launch admits.

A launch has no empty tensor: without elements in any output there is nothing to launch,
and with an empty tensor beside others it is refused (AG0814). A dimension of 2**31
elements or more is refused, too (AG0808). So each size of a kernel, which is always one
of a tensor that it gets, lies between these two, in ranges of scalars, proofs of order
and bounds, and wherever sizes are drawn. Of scalar arguments, and of numbers that are
computed of sizes, this says nothing. What a kernel means begins at 0 (`World.size`).
"""

__all__ = ["LEAST_EXTENT", "MOST_EXTENT"]

LEAST_EXTENT = 1
MOST_EXTENT = 2**31 - 1
