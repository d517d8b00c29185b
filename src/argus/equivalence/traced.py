"""A kernel and its reference as terms, compared for all sizes.

    found = decided(request, declared)                       of a file
    found = decided_case(request, entry.reference, case)     of the library

The tile program becomes terms by `argus.verify.denotation`, the reference, which is run
on symbolic arrays, by `argus.specification`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from argus.clock import now
from argus.diagnostics import ArgusError
from argus.equivalence.deciding import PLACES, Decided, beside, open_, told
from argus.equivalence.denoted import SECONDS, Denoted, LimitedWorld
from argus.equivalence.file_reference import FileReference
from argus.equivalence.fitting import Inexact, inexact_number, require_fitting
from argus.equivalence.large_numbers import writes_large_numbers
from argus.equivalence.programs import KnownPrograms, Programs
from argus.equivalence.references import load
from argus.equivalence.sizes import distinct_sizes
from argus.extents import LEAST_EXTENT
from argus.ir import ops as o
from argus.ir.expr import Const, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program, ScalarParam
from argus.ir.walk import expressions, walk
from argus.lang.frontend.declarations import FunctionDecl
from argus.lang.kernel import Kernel, literal
from argus.requests import Request
from argus.specification import (
    APART,
    LibraryCase,
    LibraryReference,
    Need,
    Specification,
    trace_entry,
    trace_numpy,
)
from argus.terms import (
    IndexSet,
    Integer,
    Unknown,
    Untraced,
    Value,
    World,
    tracing_specification,
)
from argus.terms.arithmetic import SUBTRACTED
from argus.verify.collecting import rarely_collected
from argus.verify.denotation import Denotation
from argus.verify.denotation.ranges import assume_range
from argus.verify.equality import decide, untraced_part
from argus.verify.equality.coverage import positions
from argus.verify.equality.defined import ABOVE_ZERO, SOME
from argus.verify.equality.result import Array
from argus.verify.equality.same import INFINITE, NO_NUMBER
from argus.verify.equality.stored import shape_of

__all__ = ["decided", "decided_case"]


_OF_INFINITY = (ABOVE_ZERO, SUBTRACTED)
"""Ends of reasons that a number may be the cause of that stands for infinity."""

_Trace = Callable[[Program, World], Specification]
_Given = Callable[[], tuple[Collection[str] | None, _Trace]]
"""Which scalars a reference takes (None: all), and what it is for a program."""


def decided(
    request: Request,
    declared: FunctionDecl,
    seconds: float = SECONDS,
    known: KnownPrograms | None = None,
) -> Decided:
    """Compare a kernel with its reference.

    ``known``: what else is asked of the kernel; the decision is made once there. Raises
    ArgusError of parsing and placing.
    """

    def given() -> tuple[Collection[str], _Trace]:
        reference = load(declared)
        function, optional = reference.function, reference.optional
        if reference.in_torch:
            from argus.specification.aten.export import trace_torch

            def exported(program: Program, world: World) -> Specification:
                sizes = distinct_sizes(program)
                return trace_torch(
                    function, program, world, sizes=sizes, optional=optional
                )

            return reference.parameters, exported
        text = "\n".join(declared.env.source.lines)
        trace = partial(trace_numpy, function, source=text, optional=optional)
        return reference.parameters, trace

    known = known or KnownPrograms()
    programs = known.of(request)
    return known.decided(
        programs,
        declared.name,
        lambda: _compared(
            request, given, seconds, programs, meant=writes_large_numbers(declared)
        ),
    )


def decided_case(
    request: Request,
    reference: LibraryReference,
    case: LibraryCase,
    seconds: float = SECONDS,
    known: KnownPrograms | None = None,
) -> Decided:
    """Compare a kernel with the reference of a library entry, at all sizes.

    Options are those of the case, whose sizes are numbers only where the kernel has
    none of their name. ``known``: see `decided`. Raises ArgusError of parsing and
    placing.
    """
    if isinstance(reference, FileReference):
        return decided(request, reference.declared, seconds, known)
    known = known or KnownPrograms()

    def traced(program: Program, world: World) -> Specification:
        return trace_entry(reference, program, case, world)

    return _compared(request, lambda: (None, traced), seconds, known.of(request))


@rarely_collected()
def _compared(
    request: Request,
    given: _Given,
    seconds: float,
    programs: Programs,
    *,
    meant: bool = False,
) -> Decided:
    """Kernel and reference, with large numbers as infinity, or as what they are.

    The latter where an element is one of them: both may store -1e30, or what is larger.
    Or where one makes what is no number, and the reference writes such itself, which
    is ``meant``: one that is multiplied with what may be 0 (`(1 - mask) * -1e30`).
    """
    made = _compared_once(request, given, seconds, programs)
    stored = made.reason == INFINITE or made.reason.endswith(SOME)
    made_of = made.reason.startswith(NO_NUMBER) or made.reason.endswith(_OF_INFINITY)
    if not stored and not (meant and made_of):
        return made
    other = _compared_once(request, given, seconds, programs, large=True)
    return other if other.equal else made


def _compared_once(
    request: Request,
    given: _Given,
    seconds: float,
    programs: Programs,
    *,
    large: bool = False,
) -> Decided:
    begin = now()
    try:
        taken, trace = given()
    except (Unknown, ArgusError) as why:
        return open_(why, begin)
    inexact: Inexact | None = None
    try:
        require_fitting(programs)
        program, axioms = programs.tile, ()
        if taken is not None:
            program, axioms = _with_defaults(program, request.kernel, taken)
        same = program is programs.tile
        kept = programs.denoted if same and not large else None
        terms = kept or Denoted(program, seconds, large=large)
        with terms.asked(seconds) as mine:
            if mine.unknown is not None and not mine.stores:
                raise mine.unknown
            inexact = inexact_number(program, mine)
            world = terms.world
            if inexact is not None:
                world.limit(min(seconds, PLACES))
            noted = world.obligations.another()
            learned = world.learned
            wanted = trace(program, world)
            _require_defined(program, mine, world, wanted.needs, learned)
            found = decide(
                mine,
                {name: _Said(array) for name, array in wanted.outputs.items()},
                wanted.taken,
                noted=noted,
                sequential=lambda: programs.sequential,
            )
    except (Unknown, RecursionError, ArgusError) as why:
        untraced = _untraced(programs.tile, trace, seconds)
        return _with_samples(open_(untraced or inexact or why, begin), inexact)
    needs = (
        f"the reference does not fail: {n.why}" for n in wanted.needs if n.where is None
    )
    every = (*axioms, *found.axioms, *wanted.assumptions, *needs)
    made = told(found, every, begin, signed=all(wanted.assumptions.values()))
    said = next((text for text in APART if text in wanted.assumptions), "")
    if made.equal and said:
        why = f"whether {said}, as `ag.assume(..., pairs=True)` would say"
        return open_(Unknown(why), begin)
    if inexact is None:
        return made
    untraced = _untraced(programs.tile, trace, seconds)
    if untraced is None:
        return beside(inexact, made)
    return _with_samples(open_(untraced, begin), inexact)


def _with_samples(made: Decided, inexact: Inexact | None) -> Decided:
    """The same, with sizes at which a number may wrap, whatever else is not known."""
    return made if inexact is None else replace(made, samples=inexact.samples)


@dataclass(frozen=True)
class _Said:
    """An output of a specification, of which what is Unknown is Untraced."""

    array: Array

    @property
    def sizes(self) -> tuple[Integer, ...]:
        """See `Array`."""
        return self.array.sizes

    def at(self, indices: list[Integer]) -> Value:
        """See `Array`."""
        with tracing_specification():
            return self.array.at(indices)


def _untraced(program: Program, trace: _Trace, seconds: float) -> Untraced | None:
    """Why a reference, or a part of it, has no terms whatever the kernel is, if so."""
    world = LimitedWorld(seconds)
    for param in program.params:
        if isinstance(param, GlobalTensor):
            assume_range(world, param)
    try:
        outputs = trace(program, world).outputs
    except Untraced as why:
        return why
    except (Unknown, RecursionError):
        return None
    found = (untraced_part(world, _Said(array)) for array in outputs.values())
    return next((why for why in found if why is not None), None)


def _require_defined(
    program: Program,
    mine: Denotation,
    world: LimitedWorld,
    needs: Sequence[Need],
    learned: tuple[int, int],
) -> None:
    """Raises Unknown where outputs have elements and the reference is not defined.

    ``learned``: what the world knew before the reference was traced. A need that sets
    cannot say is an axiom.
    """
    outputs = {s.tensor.name: s.tensor for s in mine.stores}.values()
    with world.knowing(learned):
        for tensor in outputs if needs else ():
            sizes = shape_of(world, tensor)
            _, inside = positions(world, tensor.dims, sizes)
            for need in needs:
                if need.where is None or world.is_subset(inside, need.where):
                    continue
                launched = inside & _of_entries(program, world)
                if need.shape:
                    launched = launched & _not_empty(program, world)
                if not world.is_subset(launched, need.where):
                    raise Unknown(
                        f"the reference needs that {need.why}, which the kernel does "
                        "not require of its launches"
                    )


def _not_empty(program: Program, world: LimitedWorld) -> IndexSet:
    """That no tensor is: a launch that has outputs refuses it (AG0814).

    What a mean or a maximum over nothing is, a kernel has to say all the same.
    """
    found = IndexSet.universe
    for param in program.params:
        if isinstance(param, GlobalTensor):
            for size in shape_of(world, param):
                found = found & world.compare(size, ">=", LEAST_EXTENT)
    return found


def _of_entries(program: Program, world: LimitedWorld) -> IndexSet:
    """What assumptions on tables say of sizes: they hold of the first entries."""
    found = IndexSet.universe
    for param in program.params:
        if isinstance(param, GlobalTensor):
            first = (Integer.of(0),) * param.rank
            for fact in world.entry_facts.get(param.name, ()):
                found = found & fact(first, world.entry(param.name, first))
    return found


def _with_defaults(
    program: Program, kernel: Kernel, taken: Collection[str]
) -> tuple[Program, tuple[str, ...]]:
    """The program at the defaults of scalars that a reference does not take.

    Raises Unknown for one without a default that the kernel uses.
    """
    lets: list[o.AnyOp] = []
    axioms: list[str] = []
    defaults = {s.name: literal(s.default) for s in kernel.signature.scalars}
    every = [e for op in walk(program.body) for e in expressions(op)]
    required = [r.cond for r in program.requirements]
    used = {s for e in (*every, *required, program.grid) for s in symbols(e)}
    for param in program.params:
        if not isinstance(param, ScalarParam) or param.name in taken:
            continue
        value = defaults.get(param.name)
        if not isinstance(value, int | float):
            if param.sym not in used:
                continue  # whatever it is: terms hold for all scalars
            raise Unknown(f"the reference does not take the scalar `{param.name}`")
        number = float(value) if param.dtype.startswith("f") else int(value)
        lets.append(o.Let(param.sym, Const(number), span=program.span))
        axioms.append(f"{param.name} is {number:g}, as the reference does not take it")
    if not lets:
        return program, ()
    return replace(program, body=o.Block([*lets, *program.body.ops])), tuple(axioms)
