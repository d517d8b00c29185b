"""How accurately a program computes: a question of all its types together."""

from argus.ir.dtypes import f32
from argus.ir.memory import GlobalTensor
from argus.ir.numerics import arithmetic
from argus.ir.program import Program
from argus.ir.walk import defined, walk

__all__ = ["computing_roundoff"]


def computing_roundoff(program: Program) -> float:
    """The unit roundoff of sums and functions: of f32, unless all floats are f64."""
    types = {p.dtype for p in program.params if isinstance(p, GlobalTensor)}
    types |= {tile.dtype for op in walk(program.body) for tile in defined(op)}
    units = [arithmetic(d).roundoff for d in types if d.is_float]
    return max(units, default=f32.roundoff)
