"""States that are the same but for where rings have turned to have the same future.

Wherever that is used, it must say what is said without it: of right kernels, and of
kernels whose slots are not all the same.
"""

from __future__ import annotations

from random import Random

import pytest

from argus.ir.parser import parse_program
from argus.ir.printer import print_program
from argus.ir.program import GRID_SIZE, Program
from argus.verify.order.control_dependence import study
from argus.verify.order.course import used
from argus.verify.order.extrapolation import SizeExplorer
from argus.verify.order.finding import OrderFindings
from argus.verify.order.rules import _judged  # pyright: ignore[reportPrivateUsage]
from argus.verify.order.walk import ClusterWalk
from argus.verify.verdict import Verdict
from few import few, rest
from verifier import mutate_order
from verifier.order.check_order import placed, source_of
from verifier.order.test_cost import TWICE

Said = list[tuple[str, int, Verdict]]


def _said(program: Program, *, turns: bool) -> Said:
    outcome = SizeExplorer(program, study(program), turns=turns).run()
    return [(o.rule, o.span.line, o.verdict) for o in _judged(program, outcome)]


def _alike(program: Program) -> Said:
    """What is said of a program, either way."""
    said = _said(program, turns=True)
    assert said == _said(program, turns=False)
    return said


@pytest.mark.parametrize("stages", [2, 4, 7])
def test_a_ring_repeats_after_one_step(stages: int) -> None:
    program = placed(TWICE.format(stages=stages))
    for turns, period in ((True, 1), (False, stages)):
        explorer = SizeExplorer(program, study(program), turns=turns)
        loops = explorer.sizes.loops["K"]
        (watch,) = explorer.watched({"M": 2, "K": 4 * stages}, loops, {})
        assert watch.period == period


def test_rings_that_turn_by_themselves_repeat_after_one_step() -> None:
    """Without it after all stages of both, 4 times 7."""
    program = placed(
        """import argus as ag
from argus import f32

@ag.kernel
def kernel(A: f32["M K"], B: f32["M K"], C: f32["M K"]):
    M, K = A.shape
    i = ag.block(ag.cdiv(M, 64))
    first = ag.ring(4, a=f32.tile(64, 32))
    second = ag.ring(7, b=f32.tile(64, 32))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, 32):
            with first.fill() as slot:
                slot.a.load(A[i * 64 :, k:])
            with second.fill() as slot:
                slot.b.load(B[i * 64 :, k:])
    with ag.role("use", warpgroups=1):
        for k in ag.range(0, K, 32):
            with first.drain() as x, second.drain() as y:
                C[i * 64 :, k:] = x.a.load() + y.b.load()
"""
    )
    explorer = SizeExplorer(program, study(program))
    (watch,) = explorer.watched({"K": 30}, explorer.sizes.loops["K"], {})
    assert watch.period == 1


FILL, DRAIN = "(ring_fill_1 % 4)", "(ring_drain_3 % 4)"
WRONG = {
    "another phase in one slot": (
        "(ring_fill_1 // 4) + -1",
        "(ring_fill_1 // 4) + ((0 - 2) if ((ring_fill_1 % 4) == 3) else (0 - 1))",
    ),
    "another phase": ("(ring_fill_1 // 4) + -1", "(ring_fill_1 // 4) + -2"),
    "a lap of three": ("completion ring_drain_3 // 4", "completion ring_drain_3 // 3"),
    "a lap later": (
        "completion ring_drain_3 // 4",
        "completion (ring_drain_3 + 1) // 4",
    ),
    "one slot is not released": (
        "arrive ring_empty[ring_drain_3 % 4]",
        "arrive ring_empty[min((ring_drain_3 % 4), 2)]",
    ),
    "one stage is not filled": (f"$ring_a{FILL}", "$ring_a(min((ring_fill_1 % 4), 2))"),
    "another stage is read": (f"$ring_a{DRAIN}", "$ring_a((ring_drain_3 + 1) % 4)"),
    "the last stage is read twice": (
        f"$ring_a{DRAIN}",
        "$ring_a(max((ring_drain_3 % 4), 1))",
    ),
    "a stage of three": (f"$ring_a{DRAIN}", "$ring_a(ring_drain_3 % 3)"),
    "two steps": ("yield ring_drain_3 + 1", "yield ring_drain_3 + 2"),
    "no step in the last slot": (
        "yield ring_drain_3 + 1",
        "yield ring_drain_3 + (0 if ((ring_drain_3 % 4) == 3) else 1)",
    ),
    "fewer bytes in the last slot": (
        "bytes 8192  #",
        "bytes (4096 if ((ring_fill_1 % 4) == 3) else 8192)  #",
    ),
    "a counter that begins anew": (
        "carry ring_drain_3 = ring_drain_2",
        "carry ring_drain_3 = 0",
    ),
    "another phase after laps": (
        "(ring_fill_1 // 4) + -1",
        "(ring_fill_1 // 4) + ((0 - 2) if ((ring_fill_1 % 20) == 19) else (0 - 1))",
    ),
    "another stage after laps": (
        f"$ring_a{DRAIN}",
        "$ring_a(((ring_drain_3 % 4) if ((ring_drain_3 % 20) < 19) else 0))",
    ),
    "another slot after laps": (
        "arrive ring_empty[ring_drain_3 % 4]",
        "arrive ring_empty[(ring_drain_3 % 4) if ((ring_drain_3 % 20) < 19) else 0]",
    ),
    "another number of bytes after laps": (
        "bytes 8192  #",
        "bytes (4096 if ((ring_fill_1 % 20) == 19) else 8192)  #",
    ),
}
TURNS = {
    "another phase": {"ring_full", "ring_empty", "ring_a"},
    "another phase in one slot": {"ring_full", "ring_a"},
    "a lap of three": {"ring_empty", "ring_a"},
    "another slot after laps": {"ring_full", "ring_a"},
    "another stage after laps": {"ring_empty"},
}
"""What turns after some of these changes."""


@pytest.mark.parametrize(
    "change", few(WRONG, *WRONG.keys() - {"another phase after laps"})
)
def test_slots_that_differ_do_not_stand_for_each_other(change: str) -> None:
    text = print_program(placed(TWICE.format(stages=4)))
    old, new = WRONG[change]
    assert old in text
    said = _alike(parse_program(text.replace(old, new)))
    assert any(verdict is Verdict.REFUTED for *_, verdict in said)


@pytest.mark.parametrize("change", TURNS)
def test_what_turns_names_slots_by_remainders_alone(change: str) -> None:
    text = print_program(placed(TWICE.format(stages=4)))
    program = parse_program(text.replace(*WRONG[change]))
    turning = SizeExplorer(program, study(program)).names.families.turning
    found = {x.name for x in (*turning.barriers, *turning.buffers)}
    assert found == TURNS[change]


def test_nothing_turns_before_all_loops_have_begun() -> None:
    program = placed(TWICE.format(stages=4))
    explorer = SizeExplorer(program, study(program))
    turned: list[tuple[bool, bool]] = []

    def noted(walk: ClusterWalk) -> bool:
        roles = [g for g in walk.everyone if g.name != "block"]
        begun = len(roles) == 2 and all(g.loops or g.left for g in roles)
        turned.append((explorer.names(walk).turned, begun))
        return False

    env = explorer.sizes.environment({"M": 1, "K": 3})
    assert env is not None
    env[GRID_SIZE.name] = 1
    parts = explorer.footprints, explorer.fills
    walk = ClusterWalk(program, env, 0, OrderFindings(), *parts, used, explorer.pruned)
    walk.run(noted)
    assert {True, False} <= {t for t, _ in turned}
    assert all(begun for t, begun in turned if t)


def test_a_step_before_the_loops_has_a_slot_of_its_own() -> None:
    """It names slot 0, which is then no other slot's first state."""
    text = print_program(placed(TWICE.format(stages=4)))
    line = next(x for x in text.splitlines() if "for i_1 in block_x" in x)
    wait = " " * line.index("for") + "wait ring_full[3] completion 0\n"
    said = _alike(parse_program(text.replace(line, wait + line)))
    assert any(verdict is not Verdict.PROVED for *_, verdict in said)


@pytest.mark.parametrize("bad", ["near", "beyond"])
def test_buffers_of_which_stages_differ_do_not_turn(bad: str) -> None:
    """Stages that are too near to each other, and an access beyond the last one."""
    program = placed(TWICE.format(stages=4))
    (ring,) = program.shared
    if bad == "near":
        ring.shape, ring.alignment = (64, 31), 16  # stages are 7936 bytes apart
    else:
        ring.offset = 4096
    _alike(program)
    explorer = SizeExplorer(program, study(program))
    explorer.run()
    assert not explorer.even


KERNELS = (
    "products",
    "persistent",
    "relay",
    "alternate",
    "copies",
    "together",
    "tiles",
    "ahead",
    "early",
    "rotating",
    "handed",
    "crossed",
    "by_turns",
)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_and_their_mutants_are_judged_alike(kernel: str) -> None:
    program = placed(source_of(kernel))
    said = _alike(program)
    assert all(verdict is Verdict.PROVED for *_, verdict in said)
    rng = Random(kernel)
    for operator in rng.sample(mutate_order.ORDER, 3):
        mutant = operator(program, rng)
        if mutant is not None:
            _alike(mutant)


TRIANGLE = """import argus as ag
from argus import f32

@ag.kernel
def kernel(A: f32["M K"], C: f32["M K"]):
    ag.cluster(2)
    M, K = A.shape
    i, _ = ag.block_tile(ag.cdiv(M, 64), 1)
    ring = ag.ring(2, a=f32.tile(64, 32))
    with ag.role("load", warps=1):
        for j in ag.range(0, K, 32):
            for k in ag.range(0, j, 32):
                with ring.fill() as slot:
                    slot.a.load(A[i * 64 :, k:]HOW)
    with ag.role("use", warpgroups=1):
        for j in ag.range(0, K, 32):
            for k in ag.range(0, j + MORE, 32):
                with ring.drain() as slot:
                    C[i * 64 :, k:] = slot.a.load()
"""
OWN = TRIANGLE.replace("HOW", "")
SHARED = TRIANGLE.replace("A[i * 64 :, k:]HOW", "A[0:, k:], multicast=2")


@pytest.mark.parametrize(
    ("text", "more"),
    [(OWN, "0"), (SHARED, "0"), *rest((SHARED, "32"), (OWN, "32"))],
)
def test_blocks_of_a_cluster_iterate_together(text: str, more: str) -> None:
    said = _alike(placed(text.replace("MORE", more)))
    assert all(verdict is Verdict.PROVED for *_, verdict in said) is (more == "0")
