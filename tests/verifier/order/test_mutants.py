"""Mutants of the library, the tutorial and the examples: refuted, or right as to order.

A quick subset: of each kind of change one place in each program. (All places are the
business of the mutation report, which runs what is proved in the interpreter. That some
of these mutants compute something else is for the analysis of tags to say.)
"""

from __future__ import annotations

from random import Random

import pytest

from argus.verify.verdict import Verdict
from few import few
from verifier import mutate_order as m
from verifier.order.check_order import failing
from verifier.order.programs import program

EQUIVALENT = {
    "gemm": set[str](),
    # The role is one warpgroup.
    "gemm one warpgroup": {"per_role"},
    # A copy joins an earlier group; all threads iterate once more, or once less.
    "ampere": {"swap_waits", "one_iteration_less", "one_iteration_more"},
    # The tile of queries is filled once: nobody waits for its release, nor for the last
    # releases of other slots. Copies that complete on different barriers change places.
    "attention": {"delete_arrive", "more_arrivals", "early_arrive", "swap_waits"},
    # Two copies that complete on one barrier change places.
    "grouped": {"swap_waits"},
    "step 2": {"one_iteration_less", "one_iteration_more"},
    # A copy may start before its bytes are announced: the arrival is still missing.
    "step 4": {"swap_waits"},
    "step 5": {"swap_waits"},
    # A slot is refilled after both roles have released it, and the second one does so
    # after the first one's product, since they take turns.
    "turns": {"early_arrive", "per_role", "more_arrivals", "swap_waits"},
    "softmax": set[str](),
}


# What the others wait for is in these, too.
KEPT = ("ampere", "attention", "turns", "softmax")


@pytest.mark.parametrize("name", few(EQUIVALENT, *KEPT))
def test_mutants(name: str) -> None:
    right: set[str] = set()
    for operator in m.ORDER:
        mutant = operator(program(name), Random(1))
        if mutant is not None:
            verdicts = {o.verdict for o in failing(mutant)}
            assert verdicts != {Verdict.UNKNOWN}, operator.__name__
            if Verdict.REFUTED not in verdicts:
                right.add(operator.__name__)
    assert right == EQUIVALENT[name]
