"""C++ types of named scalars, found before printing.

A scalar that a loop carries or a branch merges is declared before the values that it
will get are printed, so its type has to hold all of them: ``int``, or ``long long``
where a stride or an i64 value takes part anywhere on the way, or ``float``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from argus.codegen.expressions import ctype
from argus.ir import ops as o
from argus.ir.dtypes import DType
from argus.ir.expr import Expr, Sym
from argus.ir.walk import walk

_ORDER = ("bool", "int", "long long", "float")


def scalar_type(dtype: DType) -> str:
    """C++ type of a scalar that is read from a tensor of ``dtype``."""
    if dtype.is_float:
        return "float"
    return {"i64": "long long", "bool": "bool"}.get(dtype.name, "int")


def infer(body: o.Block, known: dict[str, str]) -> dict[str, str]:
    """Type of every scalar that the program binds, by symbol name; ``known`` first.

    Types only ever widen, so going over the program until nothing changes ends.
    """
    types = dict(known)
    flows = list(_flows(body))
    for op in walk(body):
        if isinstance(op, o.LoadScalar):
            types[op.sym.name] = scalar_type(op.tensor.dtype)
    changed = True
    while changed:
        changed = False
        for sym, values in flows:
            found = [ctype(value, types) for value in values]
            found += [types[sym.name]] if sym.name in types else []
            widest = max(found, key=_ORDER.index)
            if types.get(sym.name) != widest:
                types[sym.name] = widest
                changed = True
    return types


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
