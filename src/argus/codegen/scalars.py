"""C++ types of scalars.

A whole number is an ``int`` where its value has no more than 32 bits: because a launch
checks that (`overflow.py`), or because it cannot have more (`argus.ir.ranges`). All
others are ``long long``. The type of a name follows from its values, wherever it gets
them: what a loop carries is declared before the values that it will get are printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import assert_never

from argus.codegen.errors import CodegenError
from argus.ir import ops as o
from argus.ir.dtypes import DType
from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.ir.program import Program
from argus.ir.ranges import I32, Range, Ranges, fits, study
from argus.ir.walk import walk
from argus.ir.wrapping import unwrapped

__all__ = ["INT_MAX", "Scalars", "infer", "scalar_type"]

INT_MAX = I32[1]
_ORDER = ("bool", "int", "long long", "float")


@dataclass
class Scalars:
    """C++ types of symbols by name, and the values that they can have."""

    types: dict[str, str] = field(default_factory=dict[str, str])
    ranges: Ranges = field(default_factory=Ranges)

    def ctype(self, e: Expr) -> str:
        """C++ type in which ``e`` is computed: bool, int, long long or float."""
        if e.type != "int":
            return e.type
        match e:
            case Const(value=v):
                return "int" if abs(v) <= INT_MAX else "long long"
            case Sym():
                known = self.types.get(e.name)
                return known or ("long long" if e.kind == "stride" else "int")
            case Binary() if (found := unwrapped(e)) is not None:
                return "int" if found[1] == 32 else "long long"
            case Binary(left=a, right=b) | Select(then=a, other=b):
                both = (self.ctype(a), self.ctype(b))
                narrow = "long long" not in both and self.narrow(e)
                return "int" if narrow else "long long"
            case _:
                raise CodegenError(f"not a scalar expression: {e!r}")

    def among(self, more: dict[str, Range]) -> Scalars:
        """The same where some symbols have other ranges."""
        ranges = replace(self.ranges, known={**self.ranges.known, **more})
        return replace(self, ranges=ranges)

    def narrow(self, e: Expr) -> bool:
        """Whether the value has no more than 32 bits."""
        return fits(self.ranges.of(e), I32)


def scalar_type(dtype: DType) -> str:
    """C++ type of a scalar that is read from a tensor of ``dtype``."""
    if dtype.is_float:
        return "float"
    return {"i64": "long long", "bool": "bool"}.get(dtype.name, "int")


def infer(program: Program, known: dict[str, str]) -> Scalars:
    """Types of everything that the program binds, by symbol name; ``known`` first.

    Types only ever widen, so going over the program until nothing changes ends.
    """
    ranges = study(program)
    types = dict(known)
    scalars = Scalars(types, ranges)
    flows = list(_flows(program.body))
    for op in walk(program.body):
        if isinstance(op, o.LoadScalar):
            types[op.sym.name] = scalar_type(op.tensor.dtype)
    turning = {op.var for op in walk(program.body) if isinstance(op, o.For)}
    """They meet the ends of their loops, which may have one bit more."""
    changed = True
    while changed:
        changed = False
        for sym, values in flows:
            found = [scalars.ctype(value) for value in values]
            found += [types[sym.name]] if sym.name in types else []
            widest = max(found, key=_ORDER.index)
            if widest in ("int", "long long") and sym not in turning:
                widest = "int" if scalars.narrow(sym) else "long long"
            if types.get(sym.name) != widest:
                types[sym.name] = widest
                changed = True
    return scalars


def _flows(body: o.Block) -> Iterator[tuple[Sym, tuple[Expr, ...]]]:
    """Each bound symbol with the expressions whose values it may take."""
    for op in walk(body):
        match op:
            case o.Let():
                yield op.sym, (op.value,)
            case o.For():
                yield op.var, (op.start, op.stop, op.step)
                for c in op.scalars:
                    yield c.arg, (c.init, c.yielded)
                    yield c.result, (c.arg,)
            case o.If():
                for m in op.scalars:
                    yield m.result, (m.then, m.other)
            case (
                o.Roles() | o.LoadScalar() | o.RegisterOp() | o.Dot() | o.Access()
                | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)
