"""One mutant at a time: what the verifier says of it, and what the interpreter shows.

    outcome = trial(mutant)

The verifier's word counts for all sizes; the interpreter runs the mutant at each size
of its subject, with fresh inputs, under several schedules, until something is wrong.
What it does not show in that many runs may still be wrong, so nothing here says
"equivalent" for certain.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.diagnostics import ArgusError
from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.oracle import judge, make_inputs
from argus.evaluation.replay import confirm
from argus.evaluation.requests import request_for
from argus.evaluation.simulate import interpret
from argus.interpret.machine import Schedule
from argus.ir import ops as o
from argus.ir.expr import symbols
from argus.ir.program import Program
from argus.ir.walk import blocks, defined, expressions, used, walk
from argus.verify.verdict import Obligation, Verdict
from argus.verify.verifier import verify
from verifier.report.subjects import SUBJECTS, Mutant, Subject, program_of

CRASHES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError,
           ValueError, ArgusError, NotImplementedError)  # fmt: skip
"""What a program that is none may end in."""


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant.

    ``verdict``: refuted, unknown, proved, or crash. ``shown``: what the interpreter
    showed: "" (nothing), "wrong", "fault", "replay" (a fault at the sizes of the
    counterexample), "refused" (no run was possible). ``named``: the counterexample
    names the changed line ("line"), one that the changed operation leads to ("chain"),
    or neither ("").
    """

    mutant: Mutant
    line: int
    verdict: str
    rules: tuple[str, ...] = ()
    named: str = ""
    shown: str = ""
    detail: str = ""


def trial(mutant: Mutant, *, runs: int = 3) -> Outcome:
    """Verify a mutant; run it at all sizes, ``runs`` times each, until it is wrong."""
    program, line = mutant.made()
    shown, detail = execute(SUBJECTS[mutant.subject], program, runs)
    try:
        report = verify(program, only=("tags", "order"))
    except CRASHES as error:
        text = f"{type(error).__name__}: {error}"
        return Outcome(mutant, line, "crash", shown=shown, detail=text)
    refuted = [x for x in report.obligations if x.verdict is Verdict.REFUTED]
    if refuted and not shown and replays(SUBJECTS[mutant.subject], program, refuted):
        shown = "replay"
    bad = refuted or [x for x in report.obligations if x.verdict is Verdict.UNKNOWN]
    return Outcome(
        mutant,
        line,
        str(report.verdict),
        tuple(sorted({x.rule for x in bad})),
        naming(program_of(mutant.subject), line, refuted),
        shown,
        detail or (bad[0].reason if bad and not refuted else ""),
    )


# ------------------------------------------------------------------- the interpreter


def execute(subject: Subject, program: Program, runs: int) -> tuple[str, str]:
    """What goes wrong at the subject's sizes, if anything does, and how it shows."""
    done = 0
    for iteration in range(runs):
        for case in subject.cases:
            schedule: Schedule = "in_order" if iteration == 0 else "random"
            _, choice = request_for(subject.entry, case, subject.target)
            inputs = make_inputs(subject.entry, case, NumpyArrays(iteration))
            try:
                found = interpret(
                    program, inputs, choice.scalars, seed=iteration, schedule=schedule
                )
            except ArgusError:
                continue  # the requirements of the program do not admit this size
            except CRASHES as error:
                return "fault", f"{type(error).__name__}: {error}"
            done += 1
            if found.faults:
                return "fault", str(found.faults[0])
            verdict = judge(subject.entry, case, inputs)
            if not verdict.ok:
                return "wrong", verdict.why()[0]
    return ("", "") if done else ("refused", "")


def replays(subject: Subject, program: Program, refuted: list[Obligation]) -> bool:
    """Whether the interpreter confirms one of the counterexamples at its own sizes."""
    request, _ = request_for(subject.entry, subject.case, subject.target)
    for x in refuted:
        if x.counterexample is None:
            continue
        try:
            if confirm(program, request, x.rule, x.counterexample):
                return True
        except CRASHES:
            continue
    return False


# -------------------------------------------------------------------------- the line


def naming(program: Program, line: int, refuted: list[Obligation]) -> str:
    """Whether a counterexample names the line, or one that it leads to."""
    named = {n for x in refuted for n in lines_named(x)}
    if line in named:
        return "line"
    return "chain" if named & _related(program, line) else ""


def lines_named(x: Obligation) -> set[int]:
    """Every line that a refuted obligation points at."""
    found = {x.span.line}
    if x.counterexample is not None:
        for operand in x.counterexample.operands:
            found |= {s.span.line for s in operand.chain}
        found |= {e.span.line for e in x.counterexample.interleaving}
    return found


def _related(program: Program, line: int) -> set[int]:
    """Lines of what the operations of a line lead to.

    Operations on the same buffer or barrier, those that use a tile that was made there,
    and so on; of a loop or branch, what it contains; of the rest of a line (a grid, a
    scalar), those that name it.
    """
    operations = list(walk(program.body))
    here: set[object] = set()
    for alloc in (*program.shared, *program.barriers):
        if alloc.span.line == line:
            here.add(alloc)
    if line == program.span.line:
        return {op.span.line for op in operations}
    reached: set[int] = set()
    for op in operations:
        if op.span.line == line:
            reached |= {id(x) for x in _with_inner(op)}
    changed = True
    while changed:
        changed = False
        for op in operations:
            reads, makes = _flow(op)
            if id(op) not in reached and reads & here:
                reached.add(id(op))
                changed = True
            if id(op) in reached and not makes <= here:
                here |= makes
                changed = True
    return {op.span.line for op in operations if id(op) in reached}


def _with_inner(op: o.AnyOp) -> list[o.AnyOp]:
    found = [op]
    for block in blocks(op):
        for inner in block.ops:
            found += _with_inner(inner)
    return found


def _flow(op: o.AnyOp) -> tuple[set[object], set[object]]:
    """What an operation reads and what it makes: tiles, buffers, barriers, scalars."""
    reads: set[object] = set(used(op))
    makes: set[object] = set(defined(op))
    for e in expressions(op):
        reads |= {s.name for s in symbols(e)}
    match op:
        case o.Let() | o.LoadScalar():
            makes.add(op.sym.name)
        case o.For():
            makes.add(op.var.name)
            makes |= {c.arg for c in op.tiles}
            makes |= {x.name for c in op.scalars for x in (c.arg, c.result)}
        case o.LoadShared() | o.StoreShared():
            (reads if isinstance(op, o.LoadShared) else makes).add(op.view.alloc)
        case o.CopyAsync():
            makes.add(op.dst.alloc)
        case o.CopyOut():
            reads.add(op.src.alloc)
        case o.Dot():
            for x in (op.a, op.b):
                if not isinstance(x, o.Tile):
                    reads.add(x.alloc)
        case o.BarrierWait() | o.BarrierArrive() | o.BarrierExpect():
            reads.add(op.barrier.alloc)
            makes.add(op.barrier.alloc)
        case _:
            pass
    return reads, makes
