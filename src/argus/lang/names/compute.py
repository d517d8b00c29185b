"""Arithmetic on register tiles."""

from __future__ import annotations

from collections.abc import Callable

from argus.lang.names.outside import outside
from argus.lang.names.types import ElementType
from argus.lang.names.values import SharedTile, Tile

__all__ = [
    "abs",
    "all",
    "argmax",
    "argmin",
    "atan",
    "broadcast",
    "cast",
    "ceil",
    "cos",
    "cumsum",
    "dot",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "fdiv",
    "flip",
    "floor",
    "fma",
    "fmod",
    "full",
    "index",
    "interleave",
    "join",
    "ldmatrix",
    "log",
    "log1p",
    "log2",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mma",
    "mulhi",
    "nearest_tf32",
    "permute",
    "philox",
    "popcount",
    "prod",
    "random",
    "rcp",
    "reduce",
    "reinterpret",
    "rename",
    "reshape",
    "round",
    "rsqrt",
    "scan",
    "sin",
    "sort",
    "split",
    "sqrt",
    "sum",
    "tanh",
    "tanh_approx",
    "topk",
    "twice_e2m1",
    "wgmma",
    "where",
    "zeros",
]


def zeros(
    shape: int | tuple[int, ...], dtype: ElementType, dims: str | None = None
) -> Tile:
    """A tile of zeros."""
    raise outside("zeros")


def full(
    shape: int | tuple[int, ...],
    value: float,
    dtype: ElementType,
    dims: str | None = None,
) -> Tile:
    """A tile with one value everywhere."""
    raise outside("full")


def dot(
    a: Tile | SharedTile,
    b: Tile | SharedTile,
    acc: Tile | None = None,
    *,
    inst_n: int | None = None,
    precision: str | None = None,
) -> Tile:
    """`acc + a @ b`: contracts the last axis of `a` with the first of `b`.

    The result is f32, of f64 f64, of whole numbers i32. `inst_n` chooses the N of the
    wgmma instruction. f32 is multiplied as `precision="tf32"` only: 11 bits.
    """
    raise outside("dot")


mma = wgmma = dot


def ldmatrix(source: SharedTile, layout: object = None) -> Tile:
    """Read a shared tile into registers, laid out for a matrix instruction."""
    raise outside("ldmatrix")


def mulhi(x: Tile | int, y: Tile | int) -> Tile:
    """The upper half of the product of two whole numbers of 32 or 64 bits."""
    raise outside("mulhi")


def philox(seed: int | Tile, offset: Tile, word: int | Tile = 0) -> Tile:
    """Word 0 to 3 of Philox4x32-10: whole numbers (i64) from 0 to 2**32 - 1."""
    raise outside("philox")


def random(seed: int | Tile, offset: Tile) -> Tile:
    """Uniform f32 in [0, 1), one of 2**24 numbers for each offset."""
    raise outside("random")


def popcount(x: Tile) -> Tile:
    """How many bits of a whole number of 32 or 64 bits are 1."""
    raise outside("popcount")


def twice_e2m1(x: Tile) -> Tile:
    """Twice the number that is e2m1 (OCP MX) in the last four bits: -12 to 12."""
    raise outside("twice_e2m1")


def where(cond: Tile | bool, x: Tile | float, y: Tile | float) -> Tile:
    """`x` where `cond` holds, else `y`, element by element."""
    raise outside("where")


def maximum(x: Tile | float, y: Tile | float) -> Tile:
    """The larger of two, element by element."""
    raise outside("maximum")


def minimum(x: Tile | float, y: Tile | float) -> Tile:
    """The smaller of two, element by element."""
    raise outside("minimum")


def fma(x: Tile | float, y: Tile | float, z: Tile | float) -> Tile:
    """`x * y + z` with one rounding."""
    raise outside("fma")


def fmod(x: Tile | float, y: Tile | float) -> Tile:
    """What a division that rounds towards zero leaves, exactly: of the sign of `x`."""
    raise outside("fmod")


def fdiv(x: Tile | float, y: Tile | float) -> Tile:
    """Fast approximate division."""
    raise outside("fdiv")


def exp(x: Tile) -> Tile:
    """E to the power of x."""
    raise outside("exp")


def exp2(x: Tile) -> Tile:
    """2 to the power of x (ex2.approx)."""
    raise outside("exp2")


def log(x: Tile) -> Tile:
    """Natural logarithm."""
    raise outside("log")


def log2(x: Tile) -> Tile:
    """Logarithm to base 2 (lg2.approx)."""
    raise outside("log2")


def sqrt(x: Tile) -> Tile:
    """Square root."""
    raise outside("sqrt")


def rsqrt(x: Tile) -> Tile:
    """One over the square root (rsqrt.approx)."""
    raise outside("rsqrt")


def rcp(x: Tile) -> Tile:
    """One over x (rcp.approx)."""
    raise outside("rcp")


def tanh(x: Tile) -> Tile:
    """Hyperbolic tangent."""
    raise outside("tanh")


def tanh_approx(x: Tile) -> Tile:
    """Hyperbolic tangent (tanh.approx)."""
    raise outside("tanh_approx")


def erf(x: Tile) -> Tile:
    """Error function."""
    raise outside("erf")


def sin(x: Tile) -> Tile:
    """Sine of x in radians."""
    raise outside("sin")


def cos(x: Tile) -> Tile:
    """Cosine of x in radians."""
    raise outside("cos")


def abs(x: Tile) -> Tile:
    """Absolute value."""
    raise outside("abs")


def expm1(x: Tile) -> Tile:
    """E to the power of x, less 1: exact near 0, too."""
    raise outside("expm1")


def log1p(x: Tile) -> Tile:
    """Natural logarithm of 1 + x: exact near 0, too."""
    raise outside("log1p")


def nearest_tf32(x: Tile) -> Tile:
    """The nearest number with 11 bits, as which `precision="tf32"` multiplies it.

    Without it products leave out further bits, and err twice as much (cvt.rna.tf32).
    """
    raise outside("nearest_tf32")


def atan(x: Tile) -> Tile:
    """Arc tangent of x, in radians."""
    raise outside("atan")


def floor(x: Tile) -> Tile:
    """Round down."""
    raise outside("floor")


def ceil(x: Tile) -> Tile:
    """Round up."""
    raise outside("ceil")


def round(x: Tile) -> Tile:
    """Round to nearest, ties to even."""
    raise outside("round")


def sum(x: Tile, dim: str | int) -> Tile:
    """Sum along a dimension; of 16-bit floats in f32, of narrow integers in i32."""
    raise outside("sum")


def prod(x: Tile, dim: str | int) -> Tile:
    """Product along a dimension; of 16-bit floats in f32, of narrow integers in i32."""
    raise outside("prod")


def mean(x: Tile, dim: str | int, count: float | None = None) -> Tile:
    """Sum along a dimension over `count` (default: its size in the tile), as `sum`."""
    raise outside("mean")


def max(x: Tile | float, y: str | float) -> Tile:
    """Largest along a dimension of a tile; the larger of two scalars."""
    raise outside("max")


def min(x: Tile | float, y: str | float) -> Tile:
    """Smallest along a dimension of a tile; the smaller of two scalars."""
    raise outside("min")


def all(x: Tile) -> bool:
    """Whether a mask holds for every element: a scalar, the same for all threads.

    `if ag.all(x > 0):` is a branch that all threads of the role take together. So does
    `ag.any(x > 0)`, which asks whether it holds for some element.
    """
    raise outside("all")


def argmax(x: Tile, dim: str | int) -> Tile:
    """Index (i32) of the first largest element along a dimension."""
    raise outside("argmax")


def argmin(x: Tile, dim: str | int) -> Tile:
    """Index (i32) of the first smallest element along a dimension."""
    raise outside("argmin")


def cumsum(x: Tile, dim: str | int, *, reverse: bool = False) -> Tile:
    """Inclusive prefix sum; of 16-bit floats in f32, of narrow integers in i32.

    With `reverse` the sum of each element and those after it.
    """
    raise outside("cumsum")


def scan(
    x: Tile | tuple[Tile, ...],
    dim: str | int,
    fn: Callable[..., object],
    *,
    reverse: bool = False,
) -> Tile | tuple[Tile, ...]:
    """For each element along a dimension, `fn` of those up to it and itself.

    `fn(a0, a1, ..., b0, b1, ...)` makes one state (a tuple) of two, of which `a` comes
    first along the dimension; it must be associative. Arithmetic types as in `sum`.
    With `reverse` elements come from the last to the first.
    """
    raise outside("scan")


def reduce(
    x: Tile | tuple[Tile, ...], dim: str | int, fn: Callable[..., object]
) -> Tile | tuple[Tile, ...]:
    """`fn` of all elements along a dimension, in order; `fn` as in `scan`."""
    raise outside("reduce")


def sort(x: Tile, dim: str | int, *, descending: bool = False) -> tuple[Tile, Tile]:
    """Elements in order along a dimension, and where each was (i32).

    Equal elements keep their order; NaN is greater than all numbers. The dimension has
    a power of two elements.
    """
    raise outside("sort")


def topk(x: Tile, k: int, dim: str | int) -> tuple[Tile, Tile]:
    """The `k` largest along a dimension, largest first, and where each was (i32)."""
    raise outside("topk")


def index(x: Tile | SharedTile | int | tuple[int, ...], dim: str | int) -> Tile:
    """The coordinates 0, 1, ... along a dimension: a 1-D i32 tile of that name."""
    raise outside("index")


def broadcast(x: Tile | float, like: Tile) -> Tile:
    """`x` repeated over the dimensions of `like` that it lacks."""
    raise outside("broadcast")


def rename(x: Tile, dims: str) -> Tile:
    """The same elements under other dimension names: a claim the verifier checks."""
    raise outside("rename")


def reshape(x: Tile, shape: int | tuple[int, ...], dims: str | None = None) -> Tile:
    """The same elements in row-major order, in another shape; no register moves.

    One size may be -1. Axes that stay keep their names; `dims` names all of them.
    """
    raise outside("reshape")


def permute(x: Tile, dims: str | tuple[int, ...]) -> Tile:
    """The axes in another order: by name, `"N M K"`, or by number, `(1, 0, 2)`."""
    raise outside("permute")


def flip(x: Tile, dim: str | int) -> Tile:
    """The last element first along a dimension, which each thread holds as a whole."""
    raise outside("flip")


def split(x: Tile, dim: str | int, n: int) -> tuple[Tile, ...]:
    """`n` parts of one size along a dimension, as a tuple."""
    raise outside("split")


def join(a: Tile, b: Tile, dim: str | int) -> Tile:
    """Two tiles of one shape, the second after the first along a dimension."""
    raise outside("join")


def interleave(a: Tile, b: Tile, dim: str | int) -> Tile:
    """Two tiles of one shape: `a[0], b[0], a[1], b[1], ...` along a dimension."""
    raise outside("interleave")


def reinterpret(
    x: Tile,
    layout: object,
    shape: tuple[int, ...] | None = None,
    dims: str | None = None,
) -> Tile:
    """The same registers under another layout: new coordinates, no moves."""
    raise outside("reinterpret")


def cast(x: Tile, dtype: ElementType) -> Tile:
    """The same as `x.to(dtype)`."""
    raise outside("cast")
