"""Register budgets: who waits for registers for ever, in programs made by hand.

Placing would refuse most of these. The verifier and the interpreter must not rely on
it: each keeps a pool of registers of its own.
"""

from __future__ import annotations

import copy
import itertools
import random
from dataclasses import dataclass

import pytest

from argus.interpret import InterpreterError, run
from argus.ir import ops as o
from argus.ir.expr import Const, Sym
from argus.ir.memory import BarrierAlloc, BarrierRef
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.targets import TARGETS
from argus.verify.verdict import Verdict
from pieces import at
from verifier.order.check_order import failing, told
from verifier.order.programs import program as library

BAR = BarrierAlloc("bar", 1, 1, "explicit", at(1), offset=0)
FIRST = BarrierRef(BAR, Const(0))


@dataclass
class Warps:
    """A role: its first warp, how many, and what it does, a line each."""

    first: int
    warps: int
    ops: list[o.AnyOp]


def sets(count: int, grow: bool) -> o.SetMaxRegisters:
    return o.SetMaxRegisters(count=count, grow=grow, span=at(1))


def waits() -> o.BarrierWait:
    return o.BarrierWait(barrier=FIRST, n=Const(0), span=at(1))


def arrives() -> o.BarrierArrive:
    return o.BarrierArrive(barrier=FIRST, span=at(1))


def program(*given: Warps, min_blocks: int = 1, cluster: int = 1) -> Program:
    """A placed program; role i is in lines 10 * i, 10 * i + 1, ..."""
    roles: list[o.Role] = []
    for number, one in enumerate(given):
        for line, op in enumerate(one.ops):
            op.span = at(10 * number + line)
        body = o.Block(list(one.ops))
        name, where = f"role{number}", at(10 * number)
        roles.append(o.Role(name, one.warps, None, body, where, one.first))
    used = any(isinstance(op, o.BarrierWait) for one in given for op in one.ops)
    return Program(
        name="budgets",
        file="kernel.py",
        target=TARGETS["sm_90a"],
        params=[],
        statics={},
        body=o.Block([o.Roles(roles=roles, span=at(1))]),
        span=at(1),
        grid=Const(cluster),
        cluster=cluster,
        warps=max(one.first + one.warps for one in given),
        min_blocks=min_blocks,
        barriers=[BAR] if used else [],
        shared_bytes=8 if used else 0,
        placed=True,
    )


def budgets(entry: int, *counts: int | None, each: int = 4) -> list[Warps]:
    """Roles of ``each`` warps with these budgets, one behind the other."""
    made: list[Warps] = []
    for number, count in enumerate(counts):
        change = [] if count is None or count == entry else [sets(count, count > entry)]
        made.append(Warps(each * number, each, [*change]))
    return made


def refuted(made: Program) -> set[tuple[str, int]]:
    return {
        (x.rule, x.span.line) for x in failing(made) if x.verdict is Verdict.REFUTED
    }


def hangs(made: Program) -> bool:
    """Whether the interpreter finds nothing but a deadlock."""
    try:
        for seed in range(3):
            run(made, {}, seed=seed)
    except InterpreterError as error:
        kinds = {fault.kind for fault in error.faults}
        assert kinds == {"deadlock"}
        return True
    return False


def test_the_registers_of_the_launch_not_of_the_multiprocessor() -> None:
    """80 + 2 x 216 are 65536 for 384 threads; the launch gives them 168 each."""
    made = program(*budgets(168, 80, 216, 216))
    bad = failing(made)
    assert refuted(made) == {("AG0403", 20)}, told(bad)
    case = bad[0].counterexample
    assert case is not None
    assert "waits here for 6144 registers, from 168 to 216 per thread" in case.message
    assert "5120 are free" in case.message
    assert "role0 holds 80 per thread of warps 0 to 3" in case.notes
    assert "role1 holds 216 per thread of warps 4 to 7" in case.notes
    assert hangs(made)


def test_what_fits_is_proved() -> None:
    made = program(*budgets(168, 72, 216, 216))
    assert not failing(made)
    assert not hangs(made)


CASES = [
    (counts, blocks, entry, each)
    for counts, blocks, entry, each in (
        ((24, 240, 240), 1, 168, 4),
        ((24, 248, 240), 1, 168, 4),
        ((40, 232), 1, 256, 4),
        ((248, 256), 1, 256, 4),
        ((80, 176), 2, 128, 4),
        ((80, 184), 2, 128, 4),
        ((24, 152, 208, 128), 1, 128, 4),
        ((24, 152, 216, 128), 1, 128, 4),
        ((None, 160, 176), 1, 168, 4),
        ((None, 160, 184), 1, 168, 4),
        ((40, 216), 1, 128, 8),
        ((40, 224), 1, 128, 8),
    )
]


@pytest.mark.parametrize(("counts", "blocks", "entry", "each"), CASES)
@pytest.mark.parametrize("reverse", [False, True])
def test_the_sum_decides(
    counts: tuple[int | None, ...], blocks: int, entry: int, each: int, reverse: bool
) -> None:
    order = counts[::-1] if reverse else counts
    made = program(*budgets(entry, *order, each=each), min_blocks=blocks)
    fits = sum(entry if c is None else c for c in counts) <= entry * len(counts)
    assert bool(failing(made)) is not fits
    assert hangs(made) is not fits


def test_every_schedule_of_a_pool_agrees() -> None:
    """A pool that serves one warp after the other, in any order."""
    rng = random.Random(0)
    for counts in itertools.product((24, 160, 168, 176, 184, 312), repeat=3):
        changes = [c - 168 for c in counts]
        ends = set[bool]()
        for _ in range(4):
            free, left = 0, [x for x in changes for _ in range(4)]
            while possible := [x for x in left if x <= free]:
                left.remove(chosen := rng.choice(possible))
                free -= chosen
            ends.add(not left)
        assert ends == {sum(changes) <= 0}


def test_a_role_that_gives_only_once_it_was_served() -> None:
    """The second waits for registers, the first for the second."""
    made = program(
        Warps(0, 4, [waits(), sets(40, grow=False)]),
        Warps(4, 4, [sets(216, grow=True), arrives()]),
        Warps(8, 4, []),
    )
    bad = failing(made)
    assert refuted(made) == {("AG0403", 10)}, told(bad)
    case = bad[0].counterexample
    assert case is not None
    assert any("completion 0 of bar" in e.text for e in case.interleaving)
    assert hangs(made)


def test_a_role_that_gives_later_is_unknown() -> None:
    """It works, and who asks first could have decided: nothing is claimed."""
    made = program(
        Warps(0, 4, [waits(), sets(40, grow=False)]),
        Warps(4, 4, [arrives(), sets(216, grow=True)]),
        Warps(8, 4, []),
    )
    bad = failing(made)
    assert bad and {x.verdict for x in bad} == {Verdict.UNKNOWN}
    assert "who asks first" in bad[0].reason
    assert not hangs(made)


@pytest.mark.parametrize(
    "others",
    [
        [Warps(0, 4, [])],
        [Warps(0, 1, [])],  # three warps of padding, which give nothing either
        [Warps(0, 1, [sets(240, grow=False)])],
    ],
)
def test_nobody_gives(others: list[Warps]) -> None:
    made = program(*others, Warps(4, 4, [sets(256, grow=True)]), min_blocks=2)
    assert refuted(made) >= {("AG0403", 10)}


def test_warps_beyond_a_role_give_with_it() -> None:
    """A role of one warp that sets a budget sets it for its warpgroup."""
    made = program(
        Warps(0, 1, [sets(24, grow=False)]), *budgets(168, None, 240, 240)[1:]
    )
    assert not failing(made)


def test_a_last_warpgroup_that_is_not_whole() -> None:
    """Nine warps: registers are dealt out as for twelve, and warp 8 keeps its own."""
    fits = program(*budgets(168, 96, 240), Warps(8, 1, []))
    assert not failing(fits)
    over = program(*budgets(168, 104, 240), Warps(8, 1, []))
    assert refuted(over) == {("AG0403", 10)}


@pytest.mark.parametrize(
    "roles",
    [
        [Warps(2, 4, [sets(40, grow=False)]), Warps(8, 4, [])],
        [Warps(0, 1, [sets(40, grow=False)]), Warps(1, 3, []), Warps(4, 8, [])],
        [Warps(0, 1, [waits(), sets(40, grow=False)]), Warps(4, 8, [arrives()])],
        [Warps(0, 4, []), Warps(4, 6, [sets(40, grow=False)])],
    ],
    ids=["not at a warpgroup", "beside another", "not first", "beyond the block"],
)
def test_less_than_a_warpgroup(roles: list[Warps]) -> None:
    assert any(rule == "AG0419" for rule, _ in refuted(program(*roles)))


@pytest.mark.parametrize(
    ("count", "grow"), [(200, False), (40, True), (44, False), (16, False), (264, True)]
)
def test_a_budget_that_the_instruction_cannot_set(count: int, grow: bool) -> None:
    made = program(Warps(0, 4, [sets(count, grow)]), Warps(4, 8, []))
    assert refuted(made) == {("AG0425", 0)}


@pytest.mark.parametrize("grow", [False, True])
def test_what_is_held_already_is_unknown(grow: bool) -> None:
    bad = failing(program(Warps(0, 4, [sets(168, grow)]), Warps(4, 8, [])))
    assert bad and {x.verdict for x in bad} == {Verdict.UNKNOWN}


def test_each_block_of_a_cluster_has_its_own() -> None:
    made = program(*budgets(168, 24, 240, 240), cluster=2)
    assert not failing(made)
    made = program(*budgets(168, 32, 240, 240), cluster=2)
    assert refuted(made) == {("AG0403", 20)}


def test_in_a_loop() -> None:
    """What is taken and given back each iteration is walked, and nothing is claimed."""

    def loop(*ops: o.AnyOp) -> o.For:
        body = o.Block(list(ops))
        return o.For(
            var=Sym("i", "loop"),
            start=Const(0),
            stop=Const(3),
            step=Const(1),
            body=body,
            span=at(1),
        )

    takes = [sets(216, grow=True), sets(168, grow=False)]
    made = program(
        Warps(0, 4, [sets(120, grow=False)]),
        Warps(4, 4, [loop(*takes)]),
        Warps(8, 4, []),
    )
    assert {x.verdict for x in failing(made)} == {Verdict.UNKNOWN}
    gives = [sets(216, grow=True)]
    made = program(
        Warps(0, 4, [sets(128, grow=False)]),
        Warps(4, 4, [loop(*gives)]),
        Warps(8, 4, []),
    )
    assert ("AG0403", 1) in refuted(made)


@pytest.mark.parametrize("name", ["gemm", "gemm cluster", "attention", "grouped"])
def test_kernels_whose_budgets_are_raised(name: str) -> None:
    """Loops, rings, and sequences of trip counts change nothing about it."""
    made = copy.deepcopy(library(name))
    raised = [
        op
        for op in walk(made.body)
        if isinstance(op, o.SetMaxRegisters) and not op.grow
    ]
    assert raised
    raised[0].count += 8
    found = {x.rule for x in failing(made) if x.verdict is Verdict.REFUTED}
    assert found == {"AG0403"}
