"""How accurately a program computes: a question of all its types together."""

from collections.abc import Iterator

from argus.ir.dtypes import DType, f32
from argus.ir.memory import GlobalTensor
from argus.ir.numerics import arithmetic
from argus.ir.program import Program
from argus.ir.walk import defined, walk

__all__ = ["computing_roundoff", "is_narrow"]


def computing_roundoff(program: Program) -> float:
    """The unit roundoff of sums and functions: of f32, unless all floats are f64."""
    units = [arithmetic(d).roundoff for d in _floats(program)]
    return max(units, default=f32.roundoff)


def is_narrow(program: Program) -> bool:
    """Whether any of its floats has fewer digits than f32."""
    return any(d.roundoff > f32.roundoff for d in _floats(program))


def _floats(program: Program) -> Iterator[DType]:
    """Types of floats of tensors and tiles, each once."""
    types = {p.dtype for p in program.params if isinstance(p, GlobalTensor)}
    types |= {tile.dtype for op in walk(program.body) for tile in defined(op)}
    return (d for d in types if d.is_float)
