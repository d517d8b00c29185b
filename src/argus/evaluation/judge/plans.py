"""What a candidate is run with, as records: decided once, done by two executors.

Which sizes, inputs and poisons are worth a run does not depend on where it is done. It
is decided on the host, before anything is launched: trials at small sizes (`trials`),
and runs that were seen to drive conditions (`driving.py`). The interpreter and tiles do
them where there is no GPU; a process with one gets the plan and launches it
(`replaying.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from argus.evaluation.judge.inputs import Distribution
from argus.evaluation.judge.small import Small
from argus.runs.records import StrictModel

__all__ = ["Drive", "Plan", "PlannedTrial", "chosen", "in_turns", "trials"]

_SMALL: tuple[Distribution, ...] = (
    "normal",
    "scaled",
    "steps",
    "shifted",
    "sparse",
    "constant",
)
"""Inputs of the trials at small sizes, in this order."""
_LEAST = 3
"""Trials of a candidate."""
_MORE = 4
"""Runs that are launched though they show nothing that others have not."""


class PlannedTrial(StrictModel):
    """Sizes and inputs whose results are compared with the oracle, whole.

    ``finite``: outputs hold finite numbers before, not NaN. ``number`` counts the
    trials at the same sizes.
    """

    sizes: dict[str, int]
    distribution: Distribution
    finite: bool
    number: int = 0


class Drive(StrictModel):
    """A run that drives conditions, compared with the problem's own kernel on blocks.

    Everything is drawn from ``seed`` in the ``mode`` of that name (`drawing.py`).
    ``blocks`` of the problem's own kernel write what is right, with so many
    ``multiprocessors``; ``slack`` is a factor of the tolerance; ``shown`` the number of
    ways of conditions to turn out that it was the first to show.
    """

    sizes: dict[str, int]
    scalars: dict[str, int | float]
    mode: str
    seed: int
    blocks: tuple[int, ...]
    multiprocessors: int
    slack: float = 1.0
    shown: int = 0


class Plan(StrictModel):
    """What is launched besides the problem itself; ``tolerances``: of the drives."""

    trials: tuple[PlannedTrial, ...]
    drives: tuple[Drive, ...]
    tolerances: dict[str, float]


def trials(cases: Sequence[Small], seeds: int) -> tuple[PlannedTrial, ...]:
    """Each case with both poisons; the last one ``seeds`` times, with other inputs."""
    wanted = [(s, finite) for s in cases for finite in (False, True)]
    more = max(seeds - 2, _LEAST - len(wanted))
    wanted += [(cases[-1], bool(n % 2)) for n in range(more)]
    made: list[PlannedTrial] = []
    for position, (small, finite) in enumerate(wanted):
        number = sum(t.sizes == small.case.sizes for t in made)
        distribution = _SMALL[position % len(_SMALL)]
        sizes = dict(small.case.sizes)
        made.append(
            PlannedTrial(
                sizes=sizes, distribution=distribution, finite=finite, number=number
            )
        )
    return tuple(made)


def in_turns(
    sizes: Mapping[str, int], distributions: Sequence[Distribution]
) -> tuple[PlannedTrial, ...]:
    """A trial for each distribution, poisoned in turns; the last poison is finite.

    So that one that is alone has it: it says more.
    """
    count = len(distributions)
    return tuple(
        PlannedTrial(
            sizes=dict(sizes), distribution=d, finite=(count - i) % 2 == 1, number=i
        )
        for i, d in enumerate(distributions)
    )


def chosen(drives: Iterable[Drive]) -> tuple[Drive, ...]:
    """What is worth a launch: what shows something, the most first, and some others."""
    ordered = sorted(drives, key=lambda drive: -drive.shown)
    showing = [drive for drive in ordered if drive.shown]
    others = [drive for drive in ordered if not drive.shown]
    return (*showing, *others[:_MORE])
