"""The record of an element-wise function; the functions are in `functions.py`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from argus.ir.dtypes import DType

__all__ = ["Double", "Error", "Law", "ScalarFunction"]

Law = Literal[
    "add", "sub", "mul", "div", "fma", "neg", "maximum", "minimum", "floordiv", "mod",
    "exp", "log", "power", "where", "none",
]  # fmt: skip
"""Laws of arithmetic. A function without one is opaque to the verifier: equal operands
give equal results, and nothing else is known."""


@dataclass(frozen=True)
class Error:
    """How far what the hardware computes in f32 may be from the result.

    For a last operand from ``low`` to ``high``; beyond, what is promised is less, or
    another thing (CUDA Programming Guide, "Mathematical Functions"; PTX ISA, "Floating
    Point Instructions"). What is subnormal may be flushed to zero.
    """

    relative: float
    absolute: float = 1e-37
    low: float = -1e30
    high: float = 1e30


@dataclass(frozen=True)
class Double:
    """How a function is computed in f64, where that is not as in f32.

    The hardware has no special functions of f64: all are sequences of instructions.
    """

    cuda: str
    issue: float = 40.0
    error: Error | None = None


@dataclass(frozen=True)
class ScalarFunction:
    """``result`` is "same" (promoted operand type), "bool", or "float" (needs float).

    ``cuda`` is a template over {0}, {1}, {2}. ``numpy`` computes in f32, i32, i64 or
    bool.
    """

    name: str
    arity: int
    cuda: str
    numpy: Callable[..., Any]
    result: str = "same"
    integer: bool = True
    """Defined on integers too."""
    law: Law = "none"
    """What the verifier may conclude from the function; "none": nothing."""
    issue: float = 1.0
    """Instructions per element, for the performance model."""
    special: bool = False
    """Needs the special function units once per element."""
    factor: float = 1.0
    """Of "exp", "log": exp(factor * x), factor * log(x); of "power": exponent."""
    real: bool = True
    """Defined on floats too."""
    error: Error | None = None
    """None: the result is the number that is nearest to the exact one."""
    bends: bool = False
    """What it makes of the parts of a sum, added up, is not what it makes of the sum.
    False: not known; an algorithm may undo it later."""
    wrapping: str | None = None
    """The spelling on integers where that is another: C++ leaves overflow undefined."""
    narrowest: int = 0
    """Bits of the narrowest type on which it is defined: what it is depends on them."""
    double: Double | None = None
    """None: the spelling is one of overloads, or an operator, and exact."""
    widest: int = 64
    """Bits of the widest type on which it is defined."""

    def among(self, dtype: DType) -> "ScalarFunction":
        """The function as it is computed in a type that is computed in."""
        if dtype.bits < 64 or not dtype.is_float or self.double is None:
            return self
        how = self.double
        return replace(
            self, cuda=how.cuda, issue=how.issue, error=how.error, special=False
        )

    def spelling(self, dtype: DType) -> str:
        """The template for operands of a type that is computed in."""
        if dtype.kind == "int" and self.wrapping is not None:
            return self.wrapping
        return self.among(dtype).cuda
