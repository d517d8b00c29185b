"""One random kernel through everything that needs no GPU.

    found = examine(generated)
    found.verdict      # of `argus check`, or rejected (by the compiler), crashed
    found.problems     # [] if nothing is wrong with Argus

A problem is an exception that is no diagnosed mistake (or one that says AG0913), a
kernel that is proved or equal and faults in the interpreter or disagrees with the
reference, or one that is refuted and right. That a right kernel is refused or not
decided is counted and is no problem.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from argus.codegen import emit
from argus.diagnostics import ArgusError, render_all
from argus.evaluation.proving import proved_all
from argus.interpret import ArgumentError, run
from argus.ir.printer import print_program
from argus.ir.program import Program
from argus.requests import Request, placed_program
from argus.specialisations import SpecialisationSpace
from argus.verify.render.data import report_json
from argus.verify.render.diagnostics import diagnostics
from argus.verify.verdict import Report, Verdict
from generate.draft import Generated
from generate.running import (
    compared,
    inputs_of,
    launched_sizes,
    reference_of,
    request_of,
)

BUG = "AG0913"
SHOWN = ("equal", "proved")
"""Verdicts of kernels that must run, and be right."""
SCHEDULES = (("random", 0), ("random", 1), ("in_order", 0))


@dataclass
class Found:
    """What became of a kernel. ``rules``: codes of a refusal, or of what is not proved;
    ``wrong``: what the interpreter found, of a kernel of any verdict."""

    seed: int
    family: str
    features: list[str]
    verdict: str = ""
    rules: list[str] = field(default_factory=list)
    said: str = ""
    line: str = ""
    wrong: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def examine(g: Generated, *, schedules: int = 1, render: bool = True) -> Found:
    """Parse, place, check, print, interpret at all sizes, compare."""
    found = Found(g.seed, g.family, sorted(g.features))
    request, program = _step(found, "place", lambda: _placed(g)) or (None, None)
    if program is None or request is None:
        return found
    _step(found, "print", lambda: (emit(program), print_program(program)))
    report: Report | None = _step(found, "verify", lambda: _checked(request))
    if report is None:
        return found
    _judge(found, report, g)
    if render:
        _step(found, "render", lambda: _rendered(report))
    _step(found, "interpret", lambda: _interpreted(found, g, program, schedules))
    return found


def _placed(g: Generated) -> tuple[Request, Program]:
    request = request_of(g)
    return request, placed_program(request)


def _checked(request: Request) -> Report:
    """What `argus check` says, of the tensors and types that the reference is about."""
    kernel, statics, target = request.kernel, request.statics, request.target
    space = SpecialisationSpace.of(kernel.signature)
    types = {name: request.dtypes.get(name) for name in space.types}
    space = space.restricted(types, {})
    return proved_all(kernel, statics, target, space, fresh=True).report


def _rendered(report: Report) -> None:
    report_json(report)
    render_all(diagnostics(report))


def _step(found: Found, what: str, work: Callable[[], Any]) -> Any:
    """The result of a step; None where it fails, which is noted."""
    begin = time.perf_counter()
    try:
        return work()
    except ArgusError as error:
        first = error.diagnostics[0]
        found.verdict = found.verdict or "rejected"
        found.rules += error.codes
        found.said = found.said or first.message
        if BUG in error.codes or what not in ("place", "print"):
            found.problems.append(f"{what}: {error}")
    except Exception:  # noqa: BLE001 - whatever comes is what is looked for
        last = " <- ".join(reversed(traceback.format_exc(limit=-2).splitlines()))
        found.problems.append(f"{what}: {last}")
        found.verdict = found.verdict or "crashed"
    finally:
        found.seconds[what] = round(time.perf_counter() - begin, 3)
    return None


def _judge(found: Found, report: Report, g: Generated) -> None:
    found.verdict = str(report.verdict)
    if report.verdict >= Verdict.PROVED:
        return
    least = [
        o for o in report.obligations if o.verdict is report.verdict and not o.slow
    ]
    found.rules = sorted({o.rule for o in least})
    first = least[0]
    case = first.counterexample
    found.said = case.message if case is not None else f"{first.claim}: {first.reason}"
    found.line = g.source.splitlines()[first.span.line - 1].strip()


def _interpreted(found: Found, g: Generated, program: Program, schedules: int) -> None:
    for sizes in launched_sizes(g):
        for schedule, seed in SCHEDULES[:schedules]:
            arrays = inputs_of(g, sizes, seed)
            expected = reference_of(g, sizes, arrays)
            try:
                with np.errstate(all="ignore"):
                    result = run(
                        program, arrays, g.scalars,
                        seed=seed, schedule=schedule, collect=True,
                    )  # fmt: skip
            except ArgumentError as error:
                found.problems.append(f"interpret: {dict(sizes)}: {error}")
                continue
            said = [str(fault) for fault in result.errors[:2]]
            said += compared(g, arrays, expected)
            found.wrong += [f"{dict(sizes)} {schedule} {seed}: {text}" for text in said]
    if found.verdict in SHOWN:
        found.problems += [f"{found.verdict}, but {text}" for text in found.wrong]
    # A maximum of nothing is one of sizes that a launch refuses.
    doubt = {*found.rules} - {"AG0331", "AG0332"}
    if found.verdict == "refuted" and doubt and not found.wrong:
        found.problems.append(f"refuted, but right: {found.rules} {found.said}")
