"""Functions of expressions give what `evaluate` gives, and evaluate no more."""

from __future__ import annotations

import pytest

from argus.ir.expr import Expr, Sym, binary, evaluate, select
from argus.verify.order.scalars import Scalars

N, M = Sym("n", "dim"), Sym("m", "dim")
DIVIDES = binary("==", binary("%", N, M), 0)


@pytest.mark.parametrize(
    "e",
    [
        binary("or", binary("==", M, 0), DIVIDES),
        binary("and", binary("!=", M, 0), DIVIDES),
        select(binary("!=", M, 0), binary("//", N, M), N),
        binary("min", N - M, N * 3 + 1),
        binary("and", binary("<", M, N), binary("or", binary(">", N, 3), DIVIDES)),
    ],
)
def test_what_does_not_decide_is_not_evaluated(e: Expr) -> None:
    scalars = Scalars()
    for n, m in ((6, 3), (7, 3), (4, 0), (0, 5)):
        env = {"n": n, "m": m}
        assert scalars.value(e, env) == evaluate(e, env)


def test_what_decides_is_evaluated() -> None:
    with pytest.raises(ZeroDivisionError):
        Scalars().value(binary("or", DIVIDES, binary("==", M, 0)), {"n": 1, "m": 0})
