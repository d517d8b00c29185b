"""Which programs are mutated, and how a mutant is named. The verifier is not imported.

    for mutant in mutants(SUBJECTS, per_operator=2, seed=0):
        program, line = mutant.made()

A subject is a library kernel as it is placed for a case, with other sizes to run it at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from argus.evaluation.requests import request_for
from argus.ir.program import Program
from argus.kernels.attention.kernel import attention_persistent
from argus.kernels.library import LIBRARY, Case, KernelChoice, LibraryEntry
from argus.requests import placed_program
from verifier import mutate, mutate_order
from verifier.mutate_order import Sites

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
    entry: LibraryEntry
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


def _persistent_causal() -> Subject:
    """A form that the optimiser tries; the library has one for each tile."""
    sizes = {"B": 1, "H": 2, "G": 1, "S": 200, "T": 200, "D": 64}
    statics = {"CAUSAL": True, "D": 64, "BQ": 64, "BT": 64, "WARPGROUPS": 1}
    choice = KernelChoice(attention_persistent, statics, {"scale": 0.125})
    entry = replace(LIBRARY["attention"], choose=lambda case, target: choice)
    case = Case("causal", sizes, {"causal": 1})
    name = "attention causal persistent"
    return Subject(name, entry, case, "sm_90a", ({"S": 330, "T": 130}, {"H": 3}))


SUBJECTS: dict[str, Subject] = {
    s.name: s
    for s in (
        _subject("gemm", "gemm", 0, {"M": 130, "N": 144, "K": 336}, {"M": 1, "N": 528}),
        _subject(
            "gemm cluster", "gemm", 0, {"M": 300, "N": 208, "K": 336}, CLUSTER=2, BK=32
        ),
        _subject("gemm epilogue", "gemm", 1, {"M": 129, "N": 72, "K": 328}),
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
        _subject("attention", "attention", 0, {"S": 70, "T": 600}, {"T": 100}),
        _subject("attention causal", "attention", 1, {"S": 520, "T": 520}),
        _persistent_causal(),
        _subject("attention tails", "attention", 2, {"S": 2, "T": 10}, {"T": 530}),
        _subject("grouped", "grouped", 0, {"P": 140, "N": 160, "K": 328}),
        _subject("grouped gather", "grouped", 1, {"P": 90, "N": 80, "K": 336}),
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
