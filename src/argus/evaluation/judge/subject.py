"""What is judged against: a problem as a library entry, its case and its own kernel.

    subject = subject_of(problem)

A library problem is an entry and a case as they are. Of a user's file the kernel gives
signature, outputs and assumptions; the function marked `@ag.reference` is executed (in
the process that calls this: a judge's worker) and becomes the entry's reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from argus.call_arguments import scalar_defaults
from argus.diagnostics import fail, source_text
from argus.equivalence.references import executed
from argus.evaluation.judge.reference import REFERENCE_FILE, called
from argus.evaluation.loose import arguments_of
from argus.evaluation.requests import contiguous_facts
from argus.ir.annotations import Assume, Print, Trust, annotations_of
from argus.ir.dtypes import DTYPES, DType
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.kernels.entry import choose
from argus.kernels.library import (
    LIBRARY,
    Argument,
    Case,
    KernelChoice,
    LibraryEntry,
    Work,
)
from argus.lang.frontend.declarations import FunctionDecl
from argus.lang.frontend.module import parse_module
from argus.lang.kernel import Kernel, literal
from argus.requests import Request, tile_program
from argus.runs.records import FileProblem, LibraryProblem, Problem

FILE_TOLERANCE = 1e-2
"""Largest tolerance for a reference of a user, of whom no better one is known."""


@dataclass(frozen=True)
class Subject:
    """A problem, ready to judge candidates for it.

    ``kernel`` and ``statics`` are the problem's own; ``outputs`` what it writes.
    ``stated`` are assumptions of its own kernel, as (kind, text): a candidate may state
    the same.
    """

    problem: Problem
    entry: LibraryEntry
    case: Case
    kernel: Kernel
    statics: Mapping[str, object]
    scalars: Mapping[str, int | float]
    target: str
    outputs: tuple[str, ...]
    stated: frozenset[tuple[str, str]]

    def arguments(self) -> tuple[Argument, ...]:
        """The tensors at the problem's sizes."""
        return self.entry.arguments(self.case)

    @property
    def numbers(self) -> dict[str, object]:
        """What functions of its file may take besides tensors, by name: numbers."""
        return _numbers(self.kernel, self.statics, self.case.sizes, self.scalars)

    @property
    def absent(self) -> frozenset[str]:
        """Tensors of its own kernel that its calls leave out."""
        given = {a.name for a in self.arguments()}
        return _tensors(self.kernel) - given


def _numbers(
    kernel: Kernel, statics: Mapping[str, object], sizes: Mapping[str, int],
    scalars: Mapping[str, int | float],
) -> dict[str, object]:  # fmt: skip
    """Static parameters of a kernel, sizes and scalars, by name."""
    usual = {s.name: literal(s.default) for s in kernel.signature.statics}
    return {**usual, **statics, **sizes, **scalars}


def _tensors(kernel: Kernel) -> frozenset[str]:
    return frozenset(t.name for t in kernel.signature.tensors)


def subject_of(problem: Problem, *, reference: bool = True) -> Subject:
    """The subject of a problem.

    ``reference``: whether a user's reference is executed; without, it cannot be
    called. Raises ArgusError AG1018 for a problem that cannot be judged, AG0909 for an
    unknown entry.
    """
    match problem:
        case LibraryProblem():
            return _library(problem)
        case FileProblem():
            return _file(problem, reference)


def _library(problem: LibraryProblem) -> Subject:
    if problem.entry not in LIBRARY:
        raise fail("AG0909", None, f"there is no library kernel `{problem.entry}`")
    entry = LIBRARY[problem.entry]
    wanted = set(entry.large[0].sizes) if entry.large else set(problem.sizes)
    if missing := wanted - set(problem.sizes):
        raise fail(
            "AG1018", None, f"`{entry.name}` has no size {', '.join(sorted(missing))}"
        )
    _check_sizes(problem.sizes)
    name = "x".join(map(str, problem.sizes.values()))
    case = Case(name, dict(problem.sizes), dict(problem.options))
    choice = choose(entry, case, problem.target)
    arguments = entry.arguments(case)
    outputs = tuple(a.name for a in arguments if a.draw == "output")
    program = tile_program(
        _request(choice.kernel, choice.statics, arguments, problem.target)
    )
    return Subject(
        problem,
        entry,
        case,
        choice.kernel,
        choice.statics,
        {**scalar_defaults(choice.kernel), **choice.scalars},
        problem.target,
        outputs,
        stated_by(program),
    )


def _check_sizes(sizes: Mapping[str, int]) -> None:
    if odd := [name for name, n in sizes.items() if n < 1]:
        raise fail("AG1018", None, f"size {odd[0]} of the problem is {sizes[odd[0]]}")


def own_request(subject: Subject) -> Request:
    """The specialisation of the problem's own kernel at its sizes."""
    return _request(
        subject.kernel, subject.statics, subject.arguments(), subject.target
    )


def _request(
    kernel: Kernel,
    statics: Mapping[str, object],
    arguments: tuple[Argument, ...],
    target: str,
) -> Request:
    shapes = {a.name: a.shape for a in arguments}
    dtypes = {a.name: a.dtype for a in arguments}
    facts = contiguous_facts(kernel, shapes)
    return Request(kernel, dtypes, dict(statics), target, facts)


def check_silent(program: Program) -> None:
    """Raises ArgusError AG0127 for a program that prints."""
    for op in walk(program.body):
        if isinstance(op, Print):
            raise fail(
                "AG0127",
                op.span,
                "a kernel that prints is not timed",
                help="take `ag.print` out; `argus run` and `argus test` run it",
            )


def stated_by(program: Program) -> frozenset[tuple[str, str]]:
    """What a program states without proof: (kind, text) of assumptions and trusts.

    The text of an assumption is its condition as it was understood; that of a trust is
    its reason and the whole text of what it covers, so that the same reason does not
    cover another statement.
    """
    found: set[tuple[str, str]] = set()
    for op in annotations_of(program):
        match op:
            case Assume(cond=cond):
                # Its symbols name the tables: the author's words may mean others.
                found.add(("assume", str(cond)))
            case Trust(reason=reason, covers=covers, whole=whole):
                lines = _text_between(covers.file, covers.line, covers.end_line)
                found.add(("trust", f"{reason}|{whole}|{lines}"))
            case _:
                pass
    return frozenset(found)


def _text_between(file: str, first: int, last: int) -> str:
    source = source_text(file)
    lines = source.lines if source is not None else ()
    return " ".join(" ".join(lines[first - 1 : last]).split())


# ------------------------------------------------------------------------ user's files


def _file(problem: FileProblem, reference: bool) -> Subject:
    env = parse_module(REFERENCE_FILE, problem.reference, strict=False)
    kernels = {d.name: d for d in env.functions.values() if d.kind == "kernel"}
    if problem.kernel not in kernels:
        known = ", ".join(kernels) or "none"
        raise fail(
            "AG1018",
            None,
            f"the file of `{problem.name}` has no kernel `{problem.kernel}`",
            notes=[f"its kernels: {known}"],
        )
    decl = kernels[problem.kernel]
    kernel = Kernel(decl.name, REFERENCE_FILE, lambda: decl)
    _check_sizes(problem.sizes)
    dtypes = _dtypes(problem, kernel)
    needed = {
        d for t in kernel.signature.tensors if t.name in dtypes for d in t.dims
    }  # fmt: skip
    if missing := {d for d in needed if isinstance(d, str)} - set(problem.sizes):
        raise fail("AG1018", None, f"dimension {min(missing)} has no size")
    statics = {
        s.name: problem.sizes[s.name]
        for s in kernel.signature.statics
        if s.name in problem.sizes
    }
    scalars = _scalars(problem, kernel)
    shapes = {
        t.name: tuple(d if isinstance(d, int) else problem.sizes[d] for d in t.dims)
        for t in kernel.signature.tensors
        if t.name in dtypes
    }
    facts = contiguous_facts(kernel, shapes)
    request = Request(kernel, dtypes, statics, problem.target, facts)
    program = tile_program(request)
    outputs = tuple(program.outputs)
    name = _reference_name(problem, [*env.functions.values()])
    function = executed(problem.reference, name, REFERENCE_FILE) if reference else None

    def arguments(case: Case) -> tuple[Argument, ...]:
        return arguments_of(request, case.sizes, list(outputs))

    def computed(xp: Any, arrays: dict[str, Any], case: Case) -> dict[str, Any]:
        if function is None:
            raise AssertionError("the reference was not loaded")
        numbers = _numbers(kernel, statics, case.sizes, scalars)
        absent = _tensors(kernel) - dtypes.keys()
        return called(function, xp, arrays, case.sizes, outputs, numbers, absent)

    def work(case: Case) -> Work:
        # Of a user's reference nothing is known: outputs are written, at least.
        written = sum(
            prod(a.shape) * a.dtype.bytes for a in arguments(case) if a.draw == "output"
        )
        return Work(0, written)

    case = Case(problem.name, dict(problem.sizes), {})
    entry = LibraryEntry(
        name=problem.name,
        title=problem.name,
        arguments=arguments,
        choose=lambda case, target: KernelChoice(kernel, statics, scalars),
        reference=computed,
        work=work,
        small=(),
        odd=(),
        large=(case,),
        baselines=lambda arrays, case: {},
        beside="",
        line=problem.name,
        targets=(problem.target,),
        tolerance=FILE_TOLERANCE,
        memory_bound=True,
    )
    return Subject(
        problem, entry, case, kernel, statics, scalars, problem.target, outputs,
        stated_by(program),
    )  # fmt: skip


def _dtypes(problem: FileProblem, kernel: Kernel) -> dict[str, DType]:
    found: dict[str, DType] = {}
    for tensor in kernel.signature.tensors:
        name = problem.dtypes.get(tensor.name)
        if name is None:
            if not tensor.optional:
                found[tensor.name] = tensor.dtypes[0]
            continue
        if name not in DTYPES or DTYPES[name] not in tensor.dtypes:
            raise fail("AG1018", None, f"`{tensor.name}` cannot be of type `{name}`")
        found[tensor.name] = DTYPES[name]
    return found


def _scalars(problem: FileProblem, kernel: Kernel) -> dict[str, int | float]:
    given = {**scalar_defaults(kernel), **problem.scalars}
    found: dict[str, int | float] = {}
    for scalar in kernel.signature.scalars:
        if scalar.name not in given:
            raise fail("AG1018", None, f"the scalar `{scalar.name}` has no value")
        value = given[scalar.name]
        found[scalar.name] = float(value) if scalar.dtype.is_float else int(value)
    return found


def _reference_name(problem: FileProblem, functions: list[FunctionDecl]) -> str:
    """The reference that goes with the kernel: by name, or the only one."""
    names = [f.name for f in functions if f.kind == "reference"]
    for wanted in (f"{problem.kernel}_reference", "reference"):
        if wanted in names:
            return wanted
    if len(names) == 1:
        return names[0]
    raise fail(
        "AG1018",
        None,
        f"the file of `{problem.name}` has no reference for `{problem.kernel}`",
        help=f"mark a function `{problem.kernel}_reference` with `@ag.reference`",
    )
