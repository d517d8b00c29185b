"""Random kernels and changes of them: what is equal is what a run gives.

ARGUS_FUZZ_EQUAL=2000 pytest tests/verifier/equality/test_fuzz.py -s     # more of them

A run that breaks an assumption or an order of the program says nothing of values:
others prove these.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import numpy as np

from argus.diagnostics import ArgusError
from argus.equivalence.references import reference_of as declared_of
from argus.equivalence.traced import decided
from argus.interpret import ArgumentError, run
from argus.requests import placed_program
from generate import Generated, generate, mutate
from generate.running import compared, inputs_of, reference_of, request_of

COUNT = int(os.environ.get("ARGUS_FUZZ_EQUAL", "8"))
"""Kernels; each is looked at as it is and with some changes."""
CHANGES = 2
FIRST = 7000
SECONDS = 4.0
"""CPU time of one comparison."""


def programs() -> Iterator[tuple[str, Generated]]:
    """Kernels that are right, and what changes make of them, with their names."""
    for seed in range(FIRST, FIRST + COUNT):
        made = generate(seed)
        yield f"kernel {seed}", made
        for number in range(CHANGES):
            try:
                yield f"kernel {seed} change {number}", mutate(made, number).generated
            except ValueError:
                break  # it has no place for a change


def verdict(made: Generated) -> str:
    """What comparing a kernel with its reference comes to."""
    try:
        request = request_of(made)
        declared = declared_of(request.kernel)
        assert declared is not None
        return "equal" if decided(request, declared, SECONDS).equal else "open"
    except ArgusError:
        return "refused"


def differences(made: Generated) -> list[str]:
    """What runs say that is wrong with a kernel's results."""
    program = placed_program(request_of(made))
    said: list[str] = []
    for sizes in made.sizes:
        arrays = inputs_of(made, sizes, 0)
        wanted = reference_of(made, sizes, arrays)
        try:
            with np.errstate(all="ignore"):
                done = run(program, arrays, made.scalars, collect=True)
        except (ArgumentError, TypeError):
            continue  # not admitted, or an assumption that cannot be evaluated
        if not done.errors:
            said += [
                f"{dict(sizes)}: {text}" for text in compared(made, arrays, wanted)
            ]
    return said


def test_what_is_equal_is_what_runs_give() -> None:
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for name, made in programs():
        found = verdict(made)
        counts[found] += 1
        if found == "equal":
            wrong += [f"{name}: {text}" for text in differences(made)]
    print(dict(counts))
    assert not wrong, "\n".join(wrong)
    # A comparison that decides nothing would pass, too.
    assert counts["equal"] >= COUNT // 2
    assert counts["open"]
