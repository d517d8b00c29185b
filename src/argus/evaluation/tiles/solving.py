"""What the verifier's procedures say of a condition: where it holds, or that it cannot.

For given sizes a block is asked for; else sizes at which there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

from argus.evaluation.tiles.facet import Facet
from argus.ir import ops as o
from argus.ir.expr import (
    Binary,
    Const,
    Expr,
    Select,
    Sym,
    binary,
    substitute,
    symbols,
)
from argus.ir.program import BLOCK_INDEX, CLUSTER_RANK, GRID_SIZE, Program
from argus.verify.decide import negate, prove
from argus.verify.verdict import Verdict

__all__ = [
    "ChosenSizes",
    "Goal",
    "conditions",
    "decided",
    "goal_of",
    "other_sizes",
]

_SOLVER_MS = 250


@dataclass(frozen=True)
class ChosenSizes:
    """Sizes at which a condition turns out in a given way, and a block of them."""

    sizes: Mapping[str, int]
    block: int


Goal = tuple[Expr, list[Expr]]


def goal_of(program: Program, facet: Facet, known: Mapping[str, Expr]) -> Goal | None:
    """The condition over blocks, iterations and axes, and what is known of these.

    None where it is about something else, too.
    """
    goal, given = _meant(program, facet, known)
    free = {s.name for e in (goal, *given) for s in symbols(e)}
    own = {BLOCK_INDEX.name, *(f"axis_{i}" for i in range(len(facet.shape)))}
    own |= {
        s.name for e in given for s in symbols(e) if s.name.startswith("iteration_")
    }
    dims = {s.name for e in (goal, *given) for s in symbols(e) if s.kind == "dim"}
    return (goal, given) if free <= own | dims else None


def _meant(program: Program, facet: Facet, known: Mapping[str, Expr]) -> Goal:
    assert facet.when is not None
    meaning: dict[str, Expr] = dict(known)
    block = BLOCK_INDEX
    meaning[CLUSTER_RANK.name] = binary("%", block, program.cluster)
    given: list[Expr] = []
    for step in facet.scope:
        match step:
            case o.Let():
                meaning[step.sym.name] = substitute(step.value, meaning)
            case o.LoadScalar():
                meaning.pop(step.sym.name, None)
            case o.For():
                start, stop, by = (
                    substitute(e, meaning) for e in (step.start, step.stop, step.step)
                )
                iteration = Sym(f"iteration_{step.var.name}", "loop")
                value = binary("+", start, binary("*", iteration, by))
                meaning[step.var.name] = value
                given += [binary(">=", iteration, 0), binary("<", value, stop)]
            case tuple():
                cond, taken = step
                made = substitute(cond, meaning)
                given.append(made if taken else negate(made))
            case _:
                assert_never(step)
    axes = {f"%{i}": Sym(f"axis_{i}", "loop") for i in range(len(facet.shape))}
    for i, extent in enumerate(facet.shape):
        given.append(binary("<", axes[f"%{i}"], extent))
    goal = substitute(substitute(facet.when, meaning), axes)
    return goal, given


def decided(goal: Goal, grid: int | Expr | None) -> tuple[dict[str, int] | None, bool]:
    """Values for which a condition holds; whether there are none.

    ``grid``: how many blocks there are, None where that is not known.
    """
    condition, given = goal
    inside = [binary(">=", BLOCK_INDEX, 0), *given]
    if grid is not None:
        inside.append(binary("<", BLOCK_INDEX, grid))
    try:
        made = prove(negate(condition), inside, timeout_ms=_SOLVER_MS)
    except (ZeroDivisionError, ValueError, TypeError):
        return None, False
    if made.verdict is Verdict.PROVED:
        return None, True
    return made.model if made.verdict is Verdict.REFUTED else None, False


def other_sizes(
    program: Program,
    facet: Facet,
    known: Mapping[str, int | float],
    free: Mapping[str, tuple[int, int]],
) -> ChosenSizes | Literal["never", "unknown"]:
    """Sizes at which a facet is there, where those of the problem never show it.

    ``known``: what stays, by name; ``free``: a divisor and the largest value of each
    size that may change. "never" if there are none, "unknown" if none was found.
    """
    meaning: dict[str, Expr] = {name: Const(value) for name, value in known.items()}
    grid = substitute(program.grid, meaning)
    # What it can never be is known, whatever the grid.
    around = _meant(program, facet, {**meaning, GRID_SIZE.name: grid})[0]
    if decided((around, []), None)[1]:
        return "never"  # whatever there is around it
    goal = goal_of(program, facet, meaning)
    alone = goal is None
    if alone:
        # Blocks go through any number of tiles: as if one block took all of them.
        grid = Const(1)
        meaning |= {GRID_SIZE.name: grid, BLOCK_INDEX.name: Const(0)}
        goal = goal_of(program, facet, meaning)
    if goal is None:
        return "unknown"
    condition, given = goal
    dims = {s.name for e in (condition, *given) for s in symbols(e) if s.kind == "dim"}
    if not dims:
        return "unknown" if alone else "never"  # sizes change nothing about it
    if not dims <= free.keys() or any(s.name not in free for s in symbols(grid)):
        return "unknown"
    own = [*given]
    for name, (step, most) in free.items():
        sym = Sym(name, "dim")
        own.append(binary("<=", sym, most))
        if step > 1:
            own.append(binary("==", binary("%", sym, step), 0))
    own += [substitute(r.cond, meaning) for r in program.requirements]
    model, impossible = decided((condition, own), grid)
    if model is None:
        return "never" if impossible and not alone else "unknown"
    sizes = {name: int(model.get(name, step)) for name, (step, _) in free.items()}
    return ChosenSizes(sizes, int(model.get(BLOCK_INDEX.name, 0)))


def conditions(facet: Facet) -> Iterator[tuple[Expr, bool]]:
    """What has to hold, or fail, where a facet is; parts of `and` and `or` alone."""
    assert facet.when is not None
    meaning: dict[str, Expr] = {}
    for step in facet.scope:
        match step:
            case o.Let():
                meaning[step.sym.name] = substitute(step.value, meaning)
            case o.LoadScalar() | o.For():
                pass
            case tuple():
                cond, taken = step
                yield from _parts(substitute(cond, meaning), taken)
            case _:
                assert_never(step)
    yield from _parts(substitute(facet.when, meaning), True)


def _parts(e: Expr, taken: bool) -> Iterator[tuple[Expr, bool]]:
    if isinstance(e, Binary) and e.op == ("and" if taken else "or"):
        yield from _parts(e.left, taken)
        yield from _parts(e.right, taken)
    elif isinstance(e, Select) and (e.then, e.other) == (Const(False), Const(True)):
        yield from _parts(e.cond, not taken)
    else:
        yield e, taken
