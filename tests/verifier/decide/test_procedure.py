"""Questions that kernels ask, and what the procedure answers at its edges."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary, cdiv, lift
from argus.layout.shared import swizzled
from argus.verify.decide import equal, prove
from argus.verify.decide.evaluation import on_ints
from argus.verify.decide.facts import conjuncts, skim
from argus.verify.decide.solver import solve
from argus.verify.verdict import Verdict

M, N, K = Sym("M", "dim"), Sym("N", "dim"), Sym("K", "dim")
K0 = Sym("k", "loop")
TILE = Sym("tile", "loop")
ROW, COL = Sym("row", "thread"), Sym("col", "thread")
FILL = Sym("fill", "let")
X = Sym("x", "param", nonneg=False)
PROVED, REFUTED, UNKNOWN = Verdict.PROVED, Verdict.REFUTED, Verdict.UNKNOWN


def c(left: object, op: str, right: object) -> Expr:
    return Binary(op, lift(left), lift(right))  # type: ignore[arg-type]


class Grouped:
    """The tile order of a persistent GEMM in groups of 8 rows."""

    def __init__(self, width: int) -> None:
        self.columns = cdiv(N, width)
        self.rows = cdiv(cdiv(M, 128), 2)
        self.group = TILE // (self.columns * 8)
        self.height = binary("min", self.rows - self.group * 8, 8)
        self.inside = TILE % (self.columns * 8)
        self.row = self.group * 8 + self.inside % self.height
        self.column = self.inside // self.height
        self.given = (c(TILE, "<", self.rows * self.columns),)


GROUPED = Grouped(256)
LINEAR = ROW * 128 + COL * 2
SWIZZLED = swizzled(LINEAR, 128)
IN_ROW = (c(COL, "<", 64),)

TRUE = {
    "a group has a row": (c(GROUPED.height, ">=", 1), GROUPED.given),
    "rows of tiles are inside": (c(GROUPED.row, "<", GROUPED.rows), GROUPED.given),
    "columns are inside": (c(GROUPED.column, "<", GROUPED.columns), GROUPED.given),
    **{
        f"a slice of 16 columns is inside: tiles of {width}": (
            c(Grouped(width).column * width + 15, "<", N),
            (*Grouped(width).given, c(N % 16, "==", 0)),
        )
        for width in (64, 144)
    },
    "div and mod rebuild": (
        c(
            GROUPED.column * GROUPED.height + GROUPED.inside % GROUPED.height,
            "==",
            GROUPED.inside,
        ),
        GROUPED.given,
    ),
    "a step of K is whole": (
        c(K0 + 63, "<", K),
        (c(K0, "<", K), c(K0 % 64, "==", 0), c(K % 64, "==", 0)),
    ),
    "a swizzle stays in its rows": (c(SWIZZLED // 128, "==", ROW), IN_ROW),
    "a swizzle undoes itself": (c(swizzled(SWIZZLED, 128), "==", LINEAR), IN_ROW),
    "a slot comes back": (c((FILL + 4) % 4, "==", FILL % 4), ()),
    "the next slot differs": (c((FILL + 1) % 4, "!=", FILL % 4), ()),
    "parity turns with the ring": (
        c(FILL // 4 % 2, "!=", (FILL + 4) // 4 % 2),
        (),
    ),
    "an element lies before the next row": (
        c(ROW * Sym("s", "stride") + COL, "<", M * Sym("s", "stride")),
        (c(ROW, "<", M), c(COL, "<", N), c(N, "<=", Sym("s", "stride"))),
    ),
    "tiles of different blocks are apart": (
        c(TILE * 128 + ROW, "!=", K0 * 128 + COL),
        (c(TILE, "!=", K0), c(ROW, "<", 128), c(COL, "<", 128)),
    ),
    "sizes are at least 1": (c(M, ">=", 1), ()),
    "a definition is used": (
        c(X * 2, "==", K0 * 256),
        (c(X, "==", K0 * 128),),
    ),
    "negative numbers round down": (c((X % 8) + X // 8 * 8, "==", X), ()),
    "an undefined part is skipped": (
        Binary("or", c(K0, "==", 0), c(M // K0, "<=", M)),
        (),
    ),
    "cases of a selection": (
        c(Select(c(X, "<", 0), lift(0) - X, X), ">=", 0),
        (),
    ),
}

FALSE = {
    "a tail is not whole": (c(K0 + 63, "<", K), (c(K0, "<", K), c(K0 % 64, "==", 0))),
    "too few stages": (c((FILL + 3) % 3, "!=", FILL % 3), ()),
    "one row too many": (c(ROW, "<", 63), (c(ROW, "<", 64),)),
    "another swizzle": (c(swizzled(LINEAR, 64), "==", SWIZZLED), IN_ROW),
    "a transposed pair": (c(ROW * 64 + COL, "==", COL * 64 + ROW), IN_ROW),
    "a large value": (c(X * X, "!=", 1234321), ()),
}


@pytest.mark.parametrize("name", TRUE)
def test_proved(name):
    goal, given = TRUE[name]
    found = prove(goal, given)
    assert found.verdict is PROVED, found


@pytest.mark.parametrize("name", FALSE)
def test_refuted_with_a_model(name):
    goal, given = FALSE[name]
    found = prove(goal, given)
    assert found.verdict is REFUTED, found
    assert not on_ints(goal, found.model)
    assert all(on_ints(f, found.model) for f in given)


@pytest.mark.parametrize("name", TRUE)
def test_z3_says_nothing_else(name):
    goal, given = TRUE[name]
    facts = conjuncts(given)
    answer = solve(goal, facts, skim(goal, facts), 300)
    assert answer.holds is not False, answer


def test_an_interrupt_still_ends_a_wait():
    """What asked the solver before may wait for others, and be stopped by Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    goal, given = TRUE[next(iter(TRUE))]
    facts = conjuncts(given)
    solve(goal, facts, skim(goal, facts), 300)
    taken = threading.Lock()
    taken.acquire()
    interrupt = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    release = threading.Timer(4.0, taken.release)
    release.start()
    interrupt.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        taken.acquire()  # a wait with a limit is ended in any case
    release.cancel()
    assert time.monotonic() - begin < 2


def test_division_by_zero_is_neither():
    found = prove(c(M // X, "<=", M), ())
    assert found.verdict is UNKNOWN
    assert "divisor" in found.reason
    assert prove(c(M // X, "<=", M), (c(X, ">=", 1),)).verdict is PROVED


def test_floats_are_unknown():
    scale = Sym("scale", "param", "float")
    assert prove(c(scale, ">", 0.0)).verdict is UNKNOWN
    assert "floating" in prove(c(scale, ">", 0.0)).reason
    # A fact about one does not stand in the way.
    assert prove(c(K0, ">=", 1), (c(scale, ">", 0.0),)).verdict is REFUTED


def test_a_timeout_is_unknown():
    a, b, d = (Sym(n, "dim") for n in "abd")
    fermat = c(a * a * a + b * b * b, "!=", d * d * d)
    begin = time.perf_counter()
    found = prove(fermat, timeout_ms=50)
    assert found.verdict is UNKNOWN
    assert "timeout" in found.reason or "gave up" in found.reason
    assert time.perf_counter() - begin < 5


def test_an_xor_without_bounds_is_unknown():
    y = Sym("y", "param", nonneg=False)
    found = prove(c((X ^ y) ^ y, "==", X + 0 * y), timeout_ms=100)
    assert found.verdict in (PROVED, UNKNOWN)
    found = prove(c((X ^ y) + (X * y), "!=", 987654321), timeout_ms=100)
    assert found.verdict is not PROVED


def test_contradictory_facts_prove_everything():
    assert prove(Const(False), (c(K0, "<", 3), c(K0, ">", 5))).verdict is PROVED


def test_answers_are_remembered():
    goal, given = TRUE["columns are inside"]
    prove(goal, given)
    begin = time.perf_counter()
    prove(goal, given)
    assert time.perf_counter() - begin < 0.01


def test_equal():
    assert equal(K0 % 64 + K0 // 64 * 64, K0).verdict is PROVED
    found = equal(K0, K0 + X)
    assert found.verdict is REFUTED
    assert found.model["x"] != 0
