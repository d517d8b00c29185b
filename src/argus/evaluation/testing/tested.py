"""A kernel against its reference: over sizes, element types and seeds.

for row in tested(kernel, ...): ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from argus.diagnostics import ArgusError, fail
from argus.equivalence.references import Reference, load, reference_of
from argus.equivalence.sizes import with_others_small
from argus.evaluation.device import free_memory
from argus.evaluation.equal.refuting import Tried
from argus.evaluation.loose import scalars_of
from argus.evaluation.memory import require_memory
from argus.evaluation.requests import contiguous_facts
from argus.evaluation.testing.planning import forms_of, least_request, planned, widened
from argus.evaluation.testing.trial import TrialOutcome, arguments_at, tried_once
from argus.ir.program import Program
from argus.lang.kernel import Kernel
from argus.requests import Request, placed_program, tile_program
from argus.specialisations import Form, SpecialisationSpace

__all__ = ["TestedKernel", "TestedRow", "no_reference", "tested"]

_OF_OTHERS = (0, 1, -1)
"""Which sizes forms other than the first are tried at."""
_SMALL = 5
"""A size of a dimension that only another form has."""
_NOT_ADMITTED = "AG0808"
"""What a kernel says of sizes and values that it does not admit."""


@dataclass(frozen=True)
class TestedRow:
    """One combination of element types and sizes.

    ``outcome`` is the worst of the seeds, and ``seed`` the one it is of.
    """

    form: Form
    sizes: Mapping[str, int]
    seed: int
    outcome: TrialOutcome


@dataclass
class TestedKernel:
    """The rows of a kernel as they come, and what the search for sizes found."""

    kernel: Kernel
    reference: str
    rows: Iterator[TestedRow]
    tried: Tried
    larger: int
    bytes: int
    """Of the largest run."""


def no_reference(kernel: Kernel) -> ArgusError:
    """What to raise where a kernel has no reference: AG1018."""
    return fail(
        "AG1018",
        None,
        f"`{kernel.name}` has no reference that it could be compared with",
        help="write a function in the same file that computes the outputs with "
        f"numpy: `@ag.reference` above `def {kernel.name}_reference(...)`",
    )


def tested(
    request: Request,
    space: SpecialisationSpace,
    given: Mapping[str, int],
    scalars: Mapping[str, float],
    *,
    seeds: Sequence[int] = (0, 1),
    on_device: bool = False,
    first: Callable[[Request], object] = lambda _: None,
) -> TestedKernel:
    """Plan the runs of a kernel; they are run as ``rows`` are taken.

    ``request`` says statics and target, ``space`` the element types; ``first`` is
    called with each specialisation before it is run. Executes the file of the
    reference. Raises ArgusError: AG1018 (no reference, or it cannot be loaded), AG0808
    (sizes that are not admitted), AG0908 (too much memory), AG0801 (a scalar without
    value), and what parsing finds.
    """
    kernel = request.kernel
    declared = reference_of(kernel)
    if declared is None:
        raise no_reference(kernel)
    reference = load(declared)
    passed = scalars_of(kernel, scalars)
    forms = forms_of(space)
    least, program = _typed(request, space, forms)
    plan = planned(
        least, program, reference, given, seed=seeds[0], interpreted=not on_device
    )
    most = max(
        require_memory(arguments_at(program, s), s, compared=True) for s in plan.sizes
    )
    run = _Run(request, space, reference, passed, given, seeds, on_device, first)
    rows = run.rows(forms, plan.sizes)
    return TestedKernel(kernel, declared.name, rows, plan.tried, plan.larger, most)


def _typed(
    request: Request, space: SpecialisationSpace, forms: Sequence[Form]
) -> tuple[Request, Program]:
    """The first form that can be typed. Raises ArgusError where none can."""
    for form in forms[:-1]:
        least = least_request(space, form, request)
        try:
            return least, tile_program(least)
        except ArgusError:
            continue  # its row says so
    least = least_request(space, forms[-1], request)
    return least, tile_program(least)


@dataclass
class _Run:
    request: Request
    space: SpecialisationSpace
    reference: Reference
    scalars: Mapping[str, float]
    given: Mapping[str, int]
    seeds: Sequence[int]
    on_device: bool
    first: Callable[[Request], object]

    def rows(
        self, forms: Sequence[Form], sizes: Sequence[Mapping[str, int]]
    ) -> Iterator[TestedRow]:
        """The first form at all sizes, others at some.

        Beside sizes that are refused, such that rows are whole accesses are tried.
        """
        for form in forms:
            try:
                typed = tile_program(least_request(self.space, form, self.request))
            except ArgusError as error:
                yield self._refused(form, {}, error)
                continue
            some = sizes
            if form is not forms[0] and len(sizes) > len(_OF_OTHERS):
                some = [sizes[i] for i in _OF_OTHERS]
            again: list[dict[str, int]] = []
            for at in some:
                row = self._row(form, at)
                yield row
                if row.outcome.word == "refused":
                    wide = widened(typed, row.sizes, self.given)
                    if wide is not None and wide not in (*some, *again):
                        again.append(wide)
            for at in again:
                yield self._row(form, at)

    def _row(self, form: Form, sizes: Mapping[str, int]) -> TestedRow:
        try:
            request, whole = self._request(form, sizes)
            program = placed_program(request)
        except ArgusError as error:
            return self._refused(form, sizes, error)
        self.first(request)
        arguments = arguments_at(program, whole)
        require_memory(arguments, whole, compared=True)
        if self.on_device:
            require_memory(arguments, whole, free=free_memory())
        found: list[tuple[int, TrialOutcome]] = []
        for seed in self.seeds:
            try:
                outcome = tried_once(
                    request,
                    program,
                    self.reference,
                    whole,
                    self.scalars,
                    seed=seed,
                    on_device=self.on_device,
                )
            except ArgusError as error:
                if error.diagnostics[0].code != _NOT_ADMITTED:
                    raise
                return self._refused(form, whole, error)
            found.append((seed, outcome))
        seed, outcome = max(found, key=lambda x: x[1].rank)
        return TestedRow(form, whole, seed, outcome)

    def _refused(
        self, form: Form, sizes: Mapping[str, int], error: ArgusError
    ) -> TestedRow:
        said = error.diagnostics[0]
        outcome = TrialOutcome("refused", why=(f"{said.code}: {said.message}",))
        return TestedRow(form, sizes, self.seeds[0], outcome)

    def _request(
        self, form: Form, sizes: Mapping[str, int]
    ) -> tuple[Request, Mapping[str, int]]:
        """What a call specialises, and sizes for dimensions that only this form has."""
        kernel = self.request.kernel
        dims = {t.name: t.dims for t in kernel.signature.tensors if t.name in form}
        if any(isinstance(d, str) and d not in sizes for t in dims.values() for d in t):
            program = tile_program(least_request(self.space, form, self.request))
            made = with_others_small(program, sizes, _SMALL)
            if made is None:
                raise fail("AG0808", program.span, "no sizes were found beside these")
            sizes = made
        shapes = {
            name: tuple(sizes[d] if isinstance(d, str) else d for d in own)
            for name, own in dims.items()
        }
        facts = contiguous_facts(kernel, shapes)
        request = self.request
        made_of = Request(kernel, form, request.statics, request.target, facts)
        return made_of, sizes
