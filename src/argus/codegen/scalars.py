"""C++ types of scalars.

A whole number is an ``int`` where its value has no more than 32 bits: because a launch
checks that (`overflow.py`), or because it cannot have more (`argus.ir.ranges`). All
others are ``long long``. The type of a name follows from its values, wherever it gets
them: what a loop carries is declared before the values that it will get are printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from argus.codegen.errors import CodegenError
from argus.ir import ops as o
from argus.ir.dtypes import DType, i32
from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.ir.program import Program
from argus.ir.ranges import I32, Bounded, Range, Ranges, fits, joined, selected, study
from argus.ir.walk import walk
from argus.ir.wrapping import unwrapped

__all__ = ["INT_MAX", "ExpressionTypes", "ScalarTypes", "infer", "scalar_type"]

INT_MAX = I32[1]
_ORDER = ("bool", "int", "long long", "float")


@dataclass
class ScalarTypes:
    """C++ types of symbols by name, and the values that they can have."""

    types: dict[str, str] = field(default_factory=dict[str, str])
    ranges: Ranges = field(default_factory=Ranges)

    def ctype(self, e: Expr) -> str:
        """C++ type in which ``e`` is computed: bool, int, long long or float."""
        return ExpressionTypes(self).of(e)

    def among(self, more: dict[str, Range]) -> ScalarTypes:
        """The same where some symbols have other ranges."""
        ranges = replace(self.ranges, known={**self.ranges.known, **more})
        return replace(self, ranges=ranges)

    def narrow(self, e: Expr) -> bool:
        """Whether the value has no more than 32 bits."""
        return fits(self.ranges.of(e), I32)


class ExpressionTypes:
    """C++ types of the parts of an expression.

    Each is found once, by the identity of the part: expressions may be large.
    """

    def __init__(self, scalars: ScalarTypes) -> None:
        self.scalars = scalars
        self._found: dict[int, tuple[Expr, str, Bounded]] = {}

    def of(self, e: Expr) -> str:
        """The type of a part."""
        return self._part(e)[0]

    def range(self, e: Expr) -> Range:
        """Where the value of a part lies."""
        return self._part(e)[1][0]

    def _part(self, e: Expr) -> tuple[str, Bounded]:
        found = self._found.get(id(e))
        if found is None:
            # The part is kept, so that nothing else gets its identity.
            found = self._found[id(e)] = (e, *self._typed(e))
        return found[1:]

    def _typed(self, e: Expr) -> tuple[str, Bounded]:
        match e:
            case Const() | Sym():
                where = self.scalars.ranges.leaf(e)
                return self._leaf(e, where[0]), where
            case Select(cond=c, then=a, other=b):
                (_, z), (left, x), (right, y) = (self._part(p) for p in (c, a, b))
                where = selected(z, x, y)
                return self._joined((left, right), where), where
            case Binary(op=op, left=a, right=b):
                (left, x), (right, y) = self._part(a), self._part(b)
                where = joined(op, x, y)
                if op in _CONDITIONS:
                    return "bool", where
                if op == "/":
                    return "float", where
                if (found := unwrapped(e)) is not None:
                    return ("int" if found[1] == 32 else "long long"), where
                kind = self._joined((left, right), where)
                return ("int" if kind == "bool" else kind), where
            case _:
                raise CodegenError(f"not a scalar expression: {e!r}")

    def _leaf(self, e: Const | Sym, where: Range) -> str:
        if e.type != "int":
            return e.type
        if isinstance(e, Const):
            # There is no literal of -2**31 that is an int.
            return "int" if max(map(abs, where)) <= INT_MAX else "long long"
        known = self.scalars.types.get(e.name)
        return known or ("long long" if e.kind == "stride" else "int")

    def _joined(self, kinds: tuple[str, str], where: Bounded) -> str:
        widest = max(kinds, key=_ORDER.index)
        narrow = widest != "int" or fits(where[0], I32)
        return widest if narrow else "long long"


_CONDITIONS = ("==", "!=", "<", "<=", ">", ">=", "and", "or")


def scalar_type(dtype: DType) -> str:
    """C++ type of a scalar that is read from a tensor of ``dtype``."""
    if dtype.is_float:
        return "float"
    if dtype.kind == "bool":
        return "bool"
    return "int" if i32.holds(dtype) else "long long"


def infer(
    program: Program, known: dict[str, str], values: Mapping[str, int] | None = None
) -> ScalarTypes:
    """Types of everything that the program binds, by symbol name; ``known`` first.

    ``values``: sizes and strides that are known.

    Types only ever widen, so going over the program until nothing changes ends.
    """
    ranges = study(program, values)
    types = dict(known)
    scalars = ScalarTypes(types, ranges)
    flows = list(_flows(program.body))
    for op in walk(program.body):
        if isinstance(op, o.LoadScalar | o.Extract):
            read = op.tensor if isinstance(op, o.LoadScalar) else op.src
            types[op.sym.name] = scalar_type(read.dtype)
    counters = {op.var for op in walk(program.body) if isinstance(op, o.For)}
    """They meet the ends of their loops, which may have one bit more."""
    changed = True
    while changed:
        changed = False
        for sym, taken in flows:
            found = [scalars.ctype(value) for value in taken]
            found += [types[sym.name]] if sym.name in types else []
            widest = max(found, key=_ORDER.index)
            if widest in ("int", "long long") and sym not in counters:
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
                o.Roles() | o.Binding() | o.RegisterOp() | o.Dot() | o.Access()
                | o.Copy() | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)
