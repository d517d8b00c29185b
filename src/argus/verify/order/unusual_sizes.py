"""Sizes at which trip counts differ as they do nowhere else.

    range(0, min(steps, i + 1))     range(0, min(steps, i + 1 + i // 1000))

Two roles may iterate equally often at all sizes that are walked, and at nearly all
others. A solver is asked for a block, and sizes, at which a loop iterates more often
beside another one than it does elsewhere, or less often: in the first iteration of the
loops around both, since with enough multiprocessors every tile is some block's first.
Where such sizes are walked, a mistake is found with its witness; nothing is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from argus.ir import ops as o
from argus.ir.expr import Expr, binary, evaluate, substitute, symbols
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, GRID_SIZE, SM_COUNT, Program
from argus.verify.decide import prove
from argus.verify.decide.evaluation import has_floats
from argus.verify.decide.facts import conjuncts
from argus.verify.order.events import loops_with_events
from argus.verify.order.scalar_sources import ScalarSources
from argus.verify.order.trip_count import expanded
from argus.verify.verdict import Verdict

__all__ = ["LONG", "UnusualCase", "unusual"]

LONG = 4096
"""More iterations of one loop are not walked."""
_MS = 1000
"""For each question."""


@dataclass(frozen=True)
class UnusualCase:
    """Sizes in elements, how many multiprocessors there are, and a block's index."""

    sizes: Mapping[str, int]
    multiprocessors: int
    block: int


@dataclass(frozen=True)
class _Count:
    """How often a loop iterates, and what is known where it does."""

    number: Expr
    facts: tuple[Expr, ...]


def unusual(program: Program, sources: ScalarSources) -> Iterator[UnusualCase]:
    """Cases to be walked, of loops that stand equally deep."""
    rank = binary("%", BLOCK_INDEX, program.cluster)
    given = [
        *(r.cond for r in program.requirements),
        binary("<", BLOCK_INDEX, GRID_SIZE),
        binary("==", GRID_SIZE, program.grid),
        binary(">=", SM_COUNT, program.cluster),
        binary("==", CLUSTER_RANK, rank),
    ]
    facts = tuple(f for f in conjuncts(given) if not has_floats(f))
    first: dict[int, _Count] = {}
    for op, around in loops_with_events(program.body):
        count = _count(op, around, sources)
        if count is None:
            continue
        before = first.setdefault(len(around), count)
        if before.number != count.number:
            yield from _apart(before, count, facts)


def _count(op: o.For, around: Sequence[o.For], sources: ScalarSources) -> _Count | None:
    """None where more than sizes and the block decides it."""
    known = sources.lets | sources.merged
    begun: dict[str, Expr] = {}

    def whole(e: Expr) -> Expr:
        return substitute(expanded(e, known, sources.varying), begun)

    facts: list[Expr] = []
    for loop in around:
        start = whole(loop.start)
        facts += conjuncts([binary("<", start, whole(loop.stop))])
        begun[loop.var.name] = start
    step = whole(op.step)
    length = whole(binary("-", op.stop, op.start))
    number = binary("//", binary("-", binary("+", length, step), 1), step)
    everything = (number, *facts)
    if any(s.name in sources for e in everything for s in symbols(e)):
        return None
    return _Count(number, (*facts, binary(">=", step, 1)))


def _apart(a: _Count, b: _Count, facts: Sequence[Expr]) -> Iterator[UnusualCase]:
    """A case in which two counts differ by another number than in some case."""
    less = binary("-", b.number, a.number)
    used: list[Expr] = [*facts, *a.facts, *b.facts]
    for number in (a.number, b.number):
        # What both have where one of them does not iterate, is looked at anyway.
        used += binary(">=", number, 1), binary("<=", number, LONG)
    some = prove(binary("<", less, less), used, timeout_ms=_MS)
    if some.verdict is not Verdict.REFUTED:
        return
    try:
        usual = int(evaluate(less, some.model))
    except (KeyError, ZeroDivisionError):
        return
    odd = prove(binary("==", less, usual), used, timeout_ms=_MS)
    if odd.verdict is Verdict.REFUTED:
        given = {s.name for e in (*used, less) for s in symbols(e) if _given(s.kind)}
        yield UnusualCase(
            {name: n for name, n in odd.model.items() if name in given},
            odd.model.get(SM_COUNT.name, 1),
            odd.model.get(BLOCK_INDEX.name, 0),
        )


def _given(kind: str) -> bool:
    return kind in ("dim", "param")
