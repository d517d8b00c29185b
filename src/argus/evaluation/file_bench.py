"""A user's kernel as something that is timed: beside the baselines of its file.

    timed = timed_file(problem)
    bench(timed.entry, timed.case, device, ...)

A baseline is a function of the file marked `@ag.baseline`. It takes torch tensors by
the names of the kernel's parameters, as the reference takes arrays, and gives what the
kernel writes. That it does is looked at before anything is timed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from argus.diagnostics import ArgusError, fail
from argus.diagnostics.user_code import raised
from argus.equivalence.references import Unusable, by_output, executed
from argus.evaluation.judge.candidate import environment
from argus.evaluation.judge.reference import REFERENCE_FILE
from argus.evaluation.judge.subject import (
    Subject,
    check_silent,
    own_request,
    subject_of,
)
from argus.kernels.library import Case, LibraryEntry, Work
from argus.lang.frontend.module import parse_module
from argus.model import Prediction, predict
from argus.requests import Request, placed_program
from argus.runs.records import FileProblem
from argus.specification.arguments import named_arguments

__all__ = ["TimedFile", "baseline_names", "baselines_of", "timed_file"]


@dataclass(frozen=True)
class TimedFile:
    """A kernel of a file at some sizes, as an entry with one case.

    ``baselines``: names of the functions beside which it is timed.
    """

    subject: Subject
    entry: LibraryEntry
    baselines: tuple[str, ...]

    @property
    def case(self) -> Case:
        """The sizes."""
        return self.subject.case

    @property
    def request(self) -> Request:
        """The specialisation that is timed."""
        return own_request(self.subject)

    def predicted(self, request: Request) -> Prediction | str:
        """What the model says of a launch on an H200, or why it says nothing."""
        try:
            program = placed_program(request)
            known = environment(program, self.subject.arguments(), self.subject)
            return predict(program, {**self.case.sizes, **known})
        except ArgusError as error:
            return error.diagnostics[0].message


def timed_file(problem: FileProblem) -> TimedFile:
    """A problem of a file, ready to be timed; its text is executed.

    Each tensor counts as read or written once. Raises ArgusError AG1018 where the file
    has no reference for the kernel, or cannot be executed, and AG0127 where it prints.
    """
    subject = subject_of(problem)
    check_silent(placed_program(own_request(subject)))
    names = baseline_names(problem.reference, problem.kernel)
    functions = {n: executed(problem.reference, n, REFERENCE_FILE) for n in names}

    def baselines(
        arrays: dict[str, Any], case: Case
    ) -> Mapping[str, Callable[[], object]]:
        return baselines_of(functions, subject, arrays)

    def work(case: Case) -> Work:
        every = subject.entry.arguments(case)
        return Work(0, sum(prod(a.shape) * a.dtype.bytes for a in every))

    entry = replace(subject.entry, baselines=baselines, work=work)
    return TimedFile(subject, entry, names)


def baseline_names(text: str, kernel: str) -> tuple[str, ...]:
    """The baselines of a kernel: by their names; of a file with one kernel all."""
    env = parse_module(REFERENCE_FILE, text, strict=False)
    kinds = {d.name: d.kind for d in env.functions.values()}
    found = [n for n, kind in kinds.items() if kind == "baseline"]
    if sum(kind == "kernel" for kind in kinds.values()) > 1:
        own = f"{kernel}_baseline"
        found = [n for n in found if n == own or n.startswith(f"{own}_")]
    return tuple(found)


def baselines_of(
    functions: Mapping[str, Callable[..., Any]],
    subject: Subject,
    arrays: Mapping[str, Any],
) -> dict[str, Callable[[], object]]:
    """A call of each baseline, on tensors whose outputs the kernel has written.

    Each is called once. Raises ArgusError AG1050 for one that fails, or gives something
    else than the kernel.
    """
    given: dict[str, Any] = {**subject.numbers}
    given |= {n: a for n, a in arrays.items() if n not in subject.outputs}
    found: dict[str, Callable[[], object]] = {}
    for name, function in functions.items():
        named = named_arguments(function, given, subject.case.sizes, subject.absent)

        def call(
            function: Callable[..., Any] = function, named: dict[str, Any] = named
        ) -> object:
            return function(**named)

        try:
            made = by_output(call(), subject.outputs)
        except Unusable as why:
            raise fail("AG1050", None, f"`{name}`: {why}") from why
        except (Exception, SystemExit) as error:
            raise fail(
                "AG1050",
                None,
                f"`{name}` failed: {raised(error)}",
            ) from error
        _require_same(name, made, subject, arrays)
        found[name] = call
    return found


def _require_same(
    name: str, made: Mapping[str, Any], subject: Subject, arrays: Mapping[str, Any]
) -> None:
    """Raises ArgusError AG1050 where a baseline's result is not the kernel's."""
    tolerance = subject.entry.tolerance
    for output in subject.outputs:
        got, want = made.get(output), arrays[output]
        shape = tuple(getattr(got, "shape", ()))
        if got is None or shape != tuple(want.shape):
            what = "has none" if got is None else f"is {shape}, not {(*want.shape,)}"
            raise fail("AG1050", None, f"`{name}`: the output `{output}` {what}")
        off = (got.double() - want.double()).abs()
        scale = float(want.double().abs().max()) if off.numel() else 0.0
        worst = float(off.max()) if off.numel() else 0.0
        if not worst <= tolerance * max(scale, 1e-30):
            raise fail(
                "AG1050",
                None,
                f"`{name}` computes something else: `{output}` differs by {worst:.3g}, "
                f"where the largest number is {scale:.3g}",
                help="a baseline gives what the kernel writes",
            )
