"""One mutant at a time: what the verifier says of it, and what the interpreter shows.

    for mutant in mutants(SUBJECTS, per_operator=2, seed=0):
        outcome = trial(mutant)

A subject is a library kernel with sizes to run it at. The verifier's word counts for all
sizes; the interpreter runs the mutant at each size of the subject, with fresh inputs,
under several schedules, until something is wrong. What it does not show in that many
runs may still be wrong, so nothing here says "equivalent" for certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from argus.compiler import placed_program
from argus.diagnostics import ArgusError
from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.oracle import judge, make_inputs
from argus.evaluation.replay import confirm
from argus.evaluation.requests import request_for
from argus.evaluation.simulate import interpret
from argus.interpret.machine import Schedule
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.kernels.library import LIBRARY, Case, Entry
from argus.verify.verdict import Obligation, Verdict
from argus.verify.verifier import verify
from verifier import mutate, mutate_order
from verifier.mutate_order import Sites

CRASHES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError,
           ValueError, ArgusError, NotImplementedError)  # fmt: skip
"""What a program that is none may end in."""

OPERATORS: dict[str, tuple[str, Sites]] = {
    **{s.__name__: ("data", s) for s in mutate.SITES},
    **{s.__name__: ("order", s) for s in mutate_order.SITES},
}
"""Every operator, and which of the two files it is from."""


@dataclass(frozen=True)
class Subject:
    """A library kernel as it is placed for ``case``; ``sizes`` to run it at, too.

    Other sizes need the same facts: what the specialisation relies on is checked.
    """

    name: str
    entry: Entry
    case: Case
    target: str
    sizes: tuple[dict[str, int], ...]

    @property
    def cases(self) -> tuple[Case, ...]:
        """The case itself, and the same at the other sizes."""
        others = (
            replace(self.case, sizes={**self.case.sizes, **s}) for s in self.sizes
        )
        return (self.case, *others)


def _subject(
    name: str, entry: str, number: int, *sizes: dict[str, int], target: str = "sm_90a",
    **options: object,
) -> Subject:  # fmt: skip
    found = LIBRARY[entry]
    case = found.small[number]
    if options:
        case = replace(case, options={**case.options, **options})
    return Subject(name, found, case, target, sizes)


SUBJECTS: dict[str, Subject] = {
    s.name: s
    for s in (
        _subject("gemm", "gemm", 0, {"M": 130, "N": 144, "K": 80}, {"M": 1, "N": 528}),
        _subject(
            "gemm cluster", "gemm", 0, {"M": 300, "N": 208, "K": 336}, CLUSTER=2, BK=32
        ),
        _subject("gemm epilogue", "gemm", 1, {"M": 129, "N": 72, "K": 136}),
        _subject("gemm one warpgroup", "gemm", 2, {"M": 1, "N": 160, "K": 200}),
        _subject(
            "gemm registers out",
            "gemm",
            0,
            {"M": 40, "N": 176, "K": 144},
            TMA_STORE=False,
        ),
        _subject("gemm sm80", "gemm_sm80", 0, {"M": 70, "N": 80, "K": 48}),
        _subject("gemm sm80 epilogue", "gemm_sm80", 1, {"M": 3, "N": 65, "K": 33}),
        _subject("gemm sm80 pairs", "gemm_sm80", 2, {"M": 64, "N": 66, "K": 2}),
        _subject("softmax", "softmax", 0, {"M": 1, "N": 240}),
        _subject("softmax odd", "softmax", 1, {"M": 2, "N": 520}),
        _subject("rmsnorm", "rmsnorm", 0, {"M": 1, "N": 16}),
        _subject("rmsnorm wide", "rmsnorm", 2, {"M": 2, "N": 3900}, target="sm_80"),
        _subject("attention", "attention", 0, {"S": 70, "T": 400}, {"T": 100}),
        _subject("attention causal", "attention", 1, {"S": 136, "T": 264}),
        _subject("attention tails", "attention", 2, {"S": 2, "T": 10}),
        _subject("grouped", "grouped", 0, {"P": 140, "N": 160, "K": 136}),
        _subject("grouped gather", "grouped", 1, {"P": 90, "N": 80, "K": 144}),
    )
}


@lru_cache
def program_of(name: str) -> Program:
    """The placed program of a subject, not to be changed."""
    subject = SUBJECTS[name]
    return placed_program(request_for(subject.entry, subject.case, subject.target)[0])


@dataclass(frozen=True)
class Mutant:
    """One change: the ``number``-th place of an operator in a subject."""

    subject: str
    operator: str
    number: int

    def made(self) -> tuple[Program, int]:
        """The changed program, and the line of the source where it was changed."""
        _, sites = OPERATORS[self.operator]
        return mutate_order.at(program_of(self.subject), sites, self.number)


def mutants(
    subjects: Iterable[str], *, per_operator: int, seed: int = 0
) -> Iterator[Mutant]:
    """Of each operator at most so many places of each subject, drawn by ``seed``."""
    for name in subjects:
        program = program_of(name)
        for operator, (_, sites) in OPERATORS.items():
            count = mutate_order.places(program, sites)
            rng = Random(f"{name} {operator} {seed}")
            for number in sorted(rng.sample(range(count), min(count, per_operator))):
                yield Mutant(name, operator, number)


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant.

    ``verdict``: refuted, unknown, proved, or crash. ``shown``: what the interpreter
    showed: "" (nothing), "wrong", "fault", "replay" (a fault at the sizes of the
    counterexample), "refused" (no run was possible). ``named``: the counterexample
    names the changed line ("line"), one of an operation on the same data ("chain"),
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
    """What goes wrong in a run of a program at the subject's sizes, if anything does."""
    done = 0
    for turn in range(runs):
        for case in subject.cases:
            schedule: Schedule = "in_order" if turn == 0 else "random"
            _, choice = request_for(subject.entry, case, subject.target)
            inputs = make_inputs(subject.entry, case, NumpyArrays(turn))
            try:
                found = interpret(
                    program, inputs, choice.scalars, seed=turn, schedule=schedule
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
    """Whether a counterexample names the line, or one of an operation on its data."""
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
    """Lines of operations that touch a buffer, barrier or tile that the line touches."""
    here: set[int] = set()
    for alloc in (*program.shared, *program.barriers):
        if alloc.span.line == line:
            here.add(id(alloc))
    touched = [(op.span.line, _things(op)) for op in walk(program.body)]
    for at, things in touched:
        if at == line:
            here |= things
    return {at for at, things in touched if things & here}


def _things(op: object) -> set[int]:
    """Buffers, barriers and tiles that an operation mentions itself, by identity."""
    from argus.ir import ops as o

    found: set[int] = set()
    for value in vars(op).values():
        alloc = getattr(value, "alloc", None)
        if alloc is not None:
            found.add(id(alloc))
        if isinstance(value, o.Tile):
            found.add(id(value))
    return found
