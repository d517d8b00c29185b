"""A kernel and another one as terms, compared for all sizes.

    found = decided_alike(programs_of(request), programs_of(other).tile)

Both become terms of one world, tile programs by `argus.verify.denotation`. That a
placed program is its tile program, in any order of its roles, is what the analyses of
the verifier prove of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from argus.clock import now
from argus.diagnostics import ArgusError, Span
from argus.equivalence.denoted import SECONDS, LimitedWorld
from argus.equivalence.fitting import Inexact, inexact_number, require_fitting
from argus.equivalence.programs import Programs
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program, ScalarParam
from argus.terms import Unknown, Untraced
from argus.verify.denotation import Denotation, denote
from argus.verify.equality import EqualityResult, decide, stored_arrays
from argus.verify.equality.coverage import positions
from argus.verify.equality.stored import shape_of

__all__ = [
    "PLACES",
    "Decided",
    "Element",
    "TrialPlace",
    "beside",
    "decided_alike",
    "open_",
    "told",
]


PLACES = 2.0
"""CPU time in which places are looked for at which terms differ of which nothing is
known, since numbers may not fit their type."""
Element = tuple[str, tuple[int, ...]]
"""An output, and an index of it."""


@dataclass(frozen=True)
class TrialPlace:
    """Where terms differ: ``sizes`` and scalars by name.

    ``element``: the one that differs, if it is known; ``missing``: none writes it.
    """

    sizes: Mapping[str, int]
    element: Element | None = None
    missing: bool = False


@dataclass(frozen=True)
class Decided:
    """A decision, or why there is none, and where. ``seconds`` of CPU time.

    ``samples``: sizes at which runs should look, where there is no decision, and
    ``apart``: where terms differ all the same, of numbers that may not fit their type.
    ``untraced``: it is the specification, or a part of it, of which nothing is known;
    all else that was compared is equal. ``signed``: of entries of tables nothing is
    assumed by which they may not be negative: no index is one of them as it stands.
    """

    decision: EqualityResult | None
    reason: str = ""
    span: Span | None = None
    axioms: tuple[str, ...] = ()
    seconds: float = 0.0
    samples: tuple[Mapping[str, int], ...] = ()
    untraced: bool = False
    signed: bool = False
    apart: tuple[TrialPlace, ...] = ()

    @property
    def places(self) -> tuple[TrialPlace, ...]:
        """Where runs should look: those first at which terms differ by most."""
        if self.samples or self.apart:
            said = (TrialPlace(dict(sample)) for sample in self.samples)
            return (*said, *self.apart)
        first = None if self.decision is None else self.decision.first
        if first is None:
            return ()
        return tuple(
            TrialPlace(
                {v.name: n for v, n in point.values.items()},
                None if point.element is None else (first.tensor, point.element),
                point.missing,
            )
            for point in first.points
        )

    @property
    def element(self) -> Element | None:
        """An output and an index of it at which terms differ, at ``sizes``."""
        return self.places[0].element if self.places else None

    @property
    def equal(self) -> bool:
        """Whether every element of every output is shown to be equal."""
        return self.decision is not None and self.decision.equal


def decided_alike(
    programs: Programs,
    given: Program,
    seconds: float = SECONDS,
    divisors: Mapping[str, int] | None = None,
    *,
    whole: bool = False,
) -> Decided:
    """Compare a kernel with another one, which says what is right.

    ``given`` is the tile program of the other (`Programs.tile`). Tensors go together by
    name. ``divisors``: what divides sizes of all launches that are spoken of.
    ``whole``: these are all of the kernel's, else those that the other admits, too.
    """
    begin = now()
    program = programs.tile
    world = LimitedWorld(seconds)
    inexact: Inexact | None = None
    for dim, divisor in (divisors or {}).items():
        world.require_divides(divisor, world.size(dim))
    try:
        _require_alike(program, given)
        require_fitting(programs)
        mine = denote(program, world)
        inexact = inexact_number(program, mine)
        if inexact is not None:
            world.limit(min(seconds, PLACES))
        noted = world.obligations.another()
        learned = world.learned
        theirs = denote(given, world)
        if whole:
            _require_admitted(mine, theirs, world, learned)
        taken = {s.tensor.name for s in mine.stores}
        found = decide(
            mine,
            stored_arrays(theirs),
            taken,
            noted=noted,
            sequential=lambda: programs.sequential,
        )
    except (Unknown, RecursionError, ArgusError) as why:
        return open_(inexact or why, begin)
    made = told(found, (*found.axioms, *theirs.notes), begin)
    return made if inexact is None else beside(inexact, made)


def open_(why: Unknown | RecursionError | ArgusError, begin: float) -> Decided:
    """Why nothing could be compared."""
    match why:
        case Unknown():
            reason, span = why.reason, why.span
        case ArgusError():
            reason, span = why.diagnostics[0].message, why.diagnostics[0].span
        case RecursionError():
            reason, span = "the terms are nested too deeply", None
    samples = why.samples if isinstance(why, Inexact) else ()
    spent = now() - begin
    untraced = isinstance(why, Untraced)
    return Decided(
        None, reason, span, seconds=spent, samples=samples, untraced=untraced
    )


def beside(why: Inexact, made: Decided) -> Decided:
    """No decision of numbers that may wrap; runs look where the terms differ, too."""
    reason, span, samples = why.reason, why.span, why.samples
    return Decided(
        None,
        reason,
        span,
        seconds=made.seconds,
        samples=samples,
        signed=made.signed,
        apart=made.places,
    )


def _require_admitted(
    mine: Denotation, theirs: Denotation, world: LimitedWorld, learned: tuple[int, int]
) -> None:
    """Raises Unknown where the other kernel admits or assumes less than is given.

    ``learned``: what the world knew before it was told of the other.
    """
    assumed = (n for n in theirs.notes if n.startswith("assumed: "))
    note = next((n for n in assumed if n not in mine.notes), "")
    if note:
        raise Unknown(f"what the other kernel takes for given is not said here: {note}")
    new = world.requirements[learned[0] :]
    outputs = {s.tensor.name: s.tensor for s in mine.stores}.values()
    with world.knowing(learned):
        for tensor in outputs if new else ():
            _, inside = positions(world, tensor.dims, shape_of(world, tensor))
            for needed in new:
                if not world.is_subset(inside, needed.where):
                    why = f"the other kernel admits fewer launches: {needed.why}"
                    raise Unknown(why)


def _require_alike(program: Program, given: Program) -> None:
    """Raises Unknown for tensors of one name and other dimensions."""
    theirs = {p.name: p for p in given.params}
    for param in program.params:
        other = theirs.get(param.name)
        match param, other:
            case GlobalTensor(), GlobalTensor():
                if param.dims != other.dims:
                    raise Unknown(
                        f"the dimensions of `{param.name}` are "
                        f"{' '.join(param.dims)} here, and {' '.join(other.dims)} there"
                    )
            case ScalarParam(), ScalarParam():
                pass
            case _:
                raise Unknown(f"`{param.name}` is no parameter of both kernels")


def told(
    found: EqualityResult,
    axioms: tuple[str, ...],
    begin: float,
    *,
    signed: bool = False,
) -> Decided:
    """A decision, and what it rests on; ``begin``: the CPU time before it."""
    first = found.first
    return Decided(
        found,
        "" if first is None else first.reason,
        None if first is None else first.span,
        tuple(dict.fromkeys(axioms)),
        now() - begin,
        untraced=first is not None and first.untraced,
        signed=signed,
    )
