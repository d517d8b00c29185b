"""Questions about global views that decide which instruction can serve them."""

from typing import assert_never

from argus.ir.expr import Binary, Const, Expr, Select, Sym, substitute, symbols
from argus.ir.memory import GlobalView


def contiguous_axis(view: GlobalView) -> int | None:
    """The tile axis along which neighbouring elements are neighbours in memory."""
    last = view.coords[-1]
    for i in range(len(view.shape)):
        elsewhere = any(uses_axis(c, i) for c in view.coords[:-1])
        if not elsewhere and axis_start(last, i) is not None:
            return i
    return None


def uses_axis(coord: Expr, i: int) -> bool:
    """True when ``coord`` depends on tile axis ``i``."""
    return any(s.name == f"%{i}" for s in symbols(coord))


def is_uniform(coord: Expr) -> bool:
    """True when ``coord`` depends on no tile axis and no gathered index."""
    return all(s.kind not in ("axis", "gather") for s in symbols(coord))


def axis_start(coord: Expr, i: int) -> Expr | None:
    """The uniform ``start`` when ``coord`` is ``start + axis(i)``, else None."""
    if _coefficient(coord, f"%{i}") != 1:
        return None
    start = substitute(coord, {f"%{i}": Const(0)})
    return start if is_uniform(start) else None


def _coefficient(e: Expr, name: str) -> int | None:
    """Coefficient of a symbol in a sum, or None when it occurs in another way."""
    match e:
        case Sym(name=n):
            return int(n == name)
        case Const():
            return 0
        case Binary(op="+" | "-", left=a, right=b):
            x, y = _coefficient(a, name), _coefficient(b, name)
            if x is None or y is None:
                return None
            return x + y if e.op == "+" else x - y
        case Binary() | Select():
            return None if any(s.name == name for s in symbols(e)) else 0
        case _:
            assert_never(e)
