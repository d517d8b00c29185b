"""The Triton counterpart of `tiny.py`. Importing it needs Triton."""

# pyright: reportMissingImports=false
import triton
import triton.language as tl


@triton.jit
def tiny(x, y, z, a, b, c):
    """The same 32 sums."""
    i = tl.arange(0, 32)
    tl.store(z + i, tl.load(x + i) * a + tl.load(y + i) * b + c)
