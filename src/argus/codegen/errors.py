"""The one exception of the code generator."""


class CodegenError(Exception):
    """A placed program that cannot be printed: a bug of the compiler, not of a kernel.

    Placing promises what the printer relies on (layouts that agree, reductions inside
    a warp, plans on every access). This says which promise was broken, and where.
    """
