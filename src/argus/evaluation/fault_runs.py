"""Faults of runs, where the order of events is neither shown nor refuted.

    report = with_faults(program, request, report)

Where a role does something else in one iteration of many, no walk of the verifier may
end in sizes at which that is so. The placed program runs at some sizes, past the small
numbers that it compares with: a fault there is the mistake, whatever is known besides.
So it is where a condition turns out otherwise in a block far away, which runs alone, or
for a scalar that the program compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from argus.clock import now
from argus.equivalence.sizes import free_sizes, with_others_small
from argus.evaluation.equal.sizes import narrower
from argus.evaluation.replay import RunInputs, faults_of
from argus.evaluation.tiles import Facets, other_sizes
from argus.evaluation.tiles.extents import tile_extents
from argus.interpret import ArgumentError, Fault, TimeOver
from argus.interpret.numbers import compute, rounded
from argus.ir.expr import symbols, whole_constants
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program, ScalarParam
from argus.ir.walk import expressions, walk
from argus.requests import Request, tile_program
from argus.verify.evidence import Counterexample, ThreadPlace
from argus.verify.verdict import Obligation, Report, Verdict

__all__ = ["with_faults"]

_RULES: Mapping[str, tuple[str, ...]] = {
    "uninitialised": ("AG0311",),
    "in_flight": ("AG0421", "AG0401"),
    "unordered": ("AG0401",),
    "proxy_fence": ("AG0408",),
    "accumulator": ("AG0407",),
    "barrier": ("AG0409", "AG0405", "AG0404"),
    "unfinished": ("AG0410", "AG0421"),
    "deadlock": ("AG0403",),
}
"""What a kind of fault breaks; bounds and layouts are decided without runs."""
_TILES, _PAST = (2, 7), 6
"""Iterations that are tried, and so many beyond constants."""
_ITERATIONS, _ELEMENTS = 128, 1 << 13
"""Constants up to here may count iterations, or elements."""
_SMALL = 3
_SIGNS, _SIGNED = (0, -1, 1), 4
"""Signs of all floats (0: they are of both) in the first runs."""
_SECONDS, _FAR_SECONDS = 2.0, 3.0
"""CPU time of all runs, but for the last one; of those of single blocks."""
_FAR = 1 << 17
"""Sizes at which a condition is looked for."""


def with_faults(program: Program, request: Request, report: Report) -> Report:
    """The report with what runs refute of the order of events that is unknown."""
    rules = {rule for several in _RULES.values() for rule in several}
    open_ = [
        x
        for x in report.obligations
        if x.verdict is Verdict.UNKNOWN and x.rule in rules
    ]
    wrong = any(x.verdict is Verdict.REFUTED and not x.slow for x in report.obligations)
    if not open_ or wrong:
        return report
    for until, runs in (
        (now() + _SECONDS, _usual(program)),
        (now() + _SECONDS + _FAR_SECONDS, _driven(program, request)),
    ):
        for chosen in runs:
            if now() > until:
                break
            made = _refuted(program, request, chosen, open_)
            if made is not None:
                kept = [x for x in report.obligations if x is not made[0]]
                return replace(report, obligations=(made[1], *kept))
    return report


@dataclass(frozen=True)
class _Run:
    """Sizes, and scalars by the names of their symbols; which blocks, if not all.

    ``sign``: of all floats, if it is not 0: elements may say which way is taken.
    """

    sizes: Mapping[str, int]
    sign: int = 0
    blocks: tuple[int, ...] = ()


def _usual(program: Program) -> Iterator[_Run]:
    """All blocks at small sizes, of which one is longer."""
    for number, sizes in enumerate(_sizes(program)):
        for sign in _SIGNS if number < _SIGNED else _SIGNS[:1]:
            yield _Run(sizes, sign)


def _driven(program: Program, request: Request) -> Iterator[_Run]:
    """All blocks at sizes of some tiles; then blocks in which a condition turns out.

    Loops iterate some more times there, but where the grid would be another one. Last
    come scalars that the program may compare.
    """
    typed, tiles = tile_program(request), tile_extents(program)[0]
    dims, grid = free_sizes(program), {s.name for s in symbols(program.grid)}
    more = {d: 0 if d in grid else _PAST * tiles.get(d, 1) for d in dims}
    scalars = [p.sym.name for p in typed.params if isinstance(p, ScalarParam)]
    turns = {d: _TILES[-1] if d in grid else 2 * _PAST for d in dims}
    every = {d: turns[d] * tiles.get(d, 1) for d in dims}
    long = with_others_small(program, every, _SMALL)
    if long is not None:
        yield _Run(long)
    for facet in Facets(typed).all:
        if facet.when is None or not facet.compares:
            continue
        for some in narrower(dims, _FAR):
            found = other_sizes(typed, facet, dict.fromkeys(scalars, 1), some)
            if not isinstance(found, str):
                longer = {d: found.sizes[d] + more[d] for d in dims}
                whole = with_others_small(program, longer, _SMALL)
                first = found.block - found.block % program.cluster
                blocks = tuple(range(first, first + program.cluster))
                if whole is not None:
                    yield _Run(whole, blocks=blocks)
                break
    if long is None:
        return
    for scalar in scalars:
        for number in _constants(program):
            yield _Run({**long, scalar: number}, blocks=tuple(range(program.cluster)))


def _constants(program: Program) -> list[int]:
    """Whole numbers that a program computes with."""
    parts = (e for op in walk(program.body) for e in expressions(op))
    return sorted({number for e in parts for number in whole_constants(e)})


def _sizes(program: Program) -> Iterator[dict[str, int]]:
    """Sizes of one dimension after the other, beside small others.

    A constant may count iterations, or elements.
    """
    tiles, _ = tile_extents(program)
    own = _constants(program)
    counts = (*_TILES, *(c + _PAST for c in own if 1 < c <= _ITERATIONS))
    seen: list[dict[str, int]] = []
    for count, constant in (
        *((n, 0) for n in counts),
        *((_PAST, c) for c in own if _ITERATIONS < c <= _ELEMENTS),
    ):
        for dim in free_sizes(program):
            extent = constant + count * tiles.get(dim, 1)
            found = with_others_small(program, {dim: extent}, _SMALL)
            if found is not None and found not in seen:
                seen.append(found)
                yield found


def _refuted(
    program: Program,
    request: Request,
    chosen: _Run,
    open_: list[Obligation],
) -> tuple[Obligation, Obligation] | None:
    """An obligation that is open, and what a run makes of it."""
    inputs = RunInputs.at(program, request, chosen.sizes)
    if inputs is None:
        return None
    for tensor in program.params if chosen.sign else ():
        if isinstance(tensor, GlobalTensor) and tensor.dtype.is_float:
            drawn = compute(inputs.arrays[tensor.name], tensor.dtype)
            numbers = chosen.sign * np.abs(drawn)
            inputs.arrays[tensor.name] = rounded(numbers, tensor.dtype)
    try:
        faults = faults_of(program, inputs, list(chosen.blocks) or None)
    except (ArgumentError, TimeOver, ZeroDivisionError):
        return None
    if any(f.kind == "assumption" for f in faults):
        return None  # no launch has these tables
    for fault in faults:
        for rule in _RULES.get(fault.kind, ()):
            same = [x for x in open_ if x.rule == rule]
            here = [x for x in same if x.span == fault.span]
            for x in (*here, *same):
                return x, _of_fault(x, fault, chosen.sizes)
    return None


def _of_fault(x: Obligation, fault: Fault, sizes: Mapping[str, int]) -> Obligation:
    return replace(
        x,
        span=fault.span or x.span,
        verdict=Verdict.REFUTED,
        method="interpreter",
        reason="",
        counterexample=Counterexample(
            f"{fault.role}: {' '.join(fault.message.split())}",
            "a run shows it here",
            ThreadPlace(fault.role, fault.thread, fault.block),
            sizes=dict(sizes),
            replayed=True,
        ),
    )
