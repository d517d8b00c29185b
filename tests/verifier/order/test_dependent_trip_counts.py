"""Loops that iterate differently often in each iteration of another: all sequences, or
unknown.

What is proved is walked with random trip counts, too, and run in the interpreter.
What is wrong for some sequence only is never proved.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from argus.interpret import run
from argus.ir import ops as o
from argus.ir.expr import evaluate
from argus.ir.program import GRID_SIZE, Program
from argus.verify.order.control_dependence import study
from argus.verify.order.course import Courses
from argus.verify.order.dependent_trip_counts import Kinds
from argus.verify.order.fills import Fills
from argus.verify.order.finding import OrderFindings
from argus.verify.order.footprint import Footprints
from argus.verify.order.joint_state import joint
from argus.verify.order.scalars import Scalars
from argus.verify.order.sizes import Sizes
from argus.verify.order.slicing import prune
from argus.verify.order.state import GroupState
from argus.verify.order.trip_count_choices import Choices
from argus.verify.order.trip_count_sequences import Sequences
from argus.verify.order.walk import ClusterWalk
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify
from few import EVERY, few
from verifier import mutate_order as m
from verifier.order.check_order import HERE, failing, placed, told
from verifier.order.test_unknown import TABLE_ITERATIONS, TRIANGLE

FILE = (HERE / "kernels" / "varying.py").read_text()
HEAD, *KERNELS = FILE.split("@ag.kernel\n")
SOURCES = {k.split("(")[0][4:]: HEAD + "@ag.kernel\n" + k for k in KERNELS}

RIGHT = {
    "triangle 2": ("triangle", {}),
    "triangle 4": ("triangle", {"STAGES": 4}),
    "by hand 2": ("by_hand", {}),
    "by hand 3": ("by_hand", {"STAGES": 3}),
    "credit": ("credit", {}),
    "causal 2": ("causal", {}),
    "causal 3": ("causal", {"STAGES": 3}),
    "ragged": ("ragged", {}),
}


WRITES = """            First[tile:] = ag.full((32,), 1, i32)
            steps = ag.min"""


def _sequences(program: Program, kind: type[Sequences] = Sequences) -> Sequences:
    control = study(program)
    kinds = control.kinds()
    assert not control.gaps and isinstance(kinds, Kinds), (control.gaps, kinds)
    env = _sizes(program)
    fills = Fills(program, Scalars())
    footprints = Footprints(program.shared_bytes, fills.scalars, 32)
    pruned = prune(program, control)
    return kind(program, kinds, control.deciding, env, footprints, fills, pruned)


def _sizes(program: Program) -> dict[str, int | float]:
    control = study(program)
    courses = Courses(program, Scalars())
    sizes = Sizes(program, control, prune(program, control), courses)
    env = sizes.environment(dict.fromkeys(sizes.varied, 2))
    assert env is not None
    env[GRID_SIZE.name] = int(evaluate(program.grid, env))
    return env


# ------------------------------------------------------------------------ what is right


@pytest.mark.parametrize("name", RIGHT)
def test_proved(name: str) -> None:
    kernel, statics = RIGHT[name]
    bad = failing(placed(SOURCES[kernel], **statics))
    assert not bad, told(bad)


def test_proved_as_a_whole() -> None:
    """Elements, order and all: the causal kernel needs no `ag.trust`."""
    report = verify(placed(SOURCES["causal"]), only=("tags", "order"))
    assert report.verdict is Verdict.PROVED


class _Sure(Sequences):
    """Compares states where the graph says already what follows."""

    compared = 0

    def _state(self, walk: ClusterWalk, group: GroupState, op: o.For | o.If) -> int:
        before = self.at
        known = before is not None and before[1] in self.graph.ways[before[0]]
        number = super()._state(walk, group, op)
        if known:
            state = joint(
                walk, group, self.choices, self.families, self.live, self.starts
            )
            if state is None:
                state = ("after", *before) if before else None
            assert self.graph.numbers[state] == number
            self.compared += 1
        return number


@pytest.mark.parametrize("name", ["triangle 2", "by hand 2", "credit", "causal 2"])
def test_states_that_are_alike_go_on_alike(name: str) -> None:
    kernel, statics = RIGHT[name]
    sure = _sequences(placed(SOURCES[kernel], **statics), _Sure)
    assert isinstance(sure, _Sure)
    assert sure.run() == []
    assert sure.compared > len(sure.graph.ways)
    assert all(len(ways) == 2 for ways in sure.graph.ways)


def _wrong_for(program: Program, rng: Random) -> str:
    """What goes wrong with some trip counts, if anything does."""
    sequences = _sequences(program)
    kinds = sequences.kinds
    numbers: dict[object, int] = {}
    most = rng.choice((1, 2, 3, 5, 9))

    def choose(walk: ClusterWalk, group: GroupState, op: o.For | o.If) -> bool:
        assert isinstance(op, o.For)
        kind, count = kinds.of[op]
        around = group.iterations[: len(group.loops) - 1]
        if (kind, around) not in numbers:
            number = rng.randint(0, most if around else 12)
            numbers[kind, around] = max(number, kinds.least[kind])
        return count.of(numbers[kind, around]) > group.iterations[-1]

    findings = OrderFindings()
    walk = ClusterWalk(
        program,
        sequences.env,
        0,
        findings,
        sequences.footprints,
        sequences.fills,
        lambda name, coords: 1,
        sequences.pruned,
        choices=Choices(program, kinds, sequences.mine, choose),
    )
    walk.run()
    if findings.found or findings.gaps or walk.stuck:
        return f"{sorted(numbers.items(), key=str)}: {list(findings.found.values())}"
    return ""


@pytest.mark.parametrize("name", RIGHT)
def test_no_random_sequence_is_wrong(name: str) -> None:
    kernel, statics = RIGHT[name]
    program = placed(SOURCES[kernel], **statics)
    for seed in range(12):
        assert not _wrong_for(program, Random(seed))


def test_random_sequences_find_what_is_wrong() -> None:
    program = placed(SOURCES["credit"].replace("tile) + 2", "tile) + 1"))
    assert any(_wrong_for(program, Random(seed)) for seed in range(12))


@pytest.mark.parametrize("sms", [1, 2, 3])
def test_the_interpreter_agrees(sms: int) -> None:
    """Tiles of different lengths, in several orders: no fault, and the right sums."""
    rng = np.random.default_rng(sms)
    a, b = (rng.integers(-2, 3, (n, 208)).astype(np.float32) for n in (240, 112))
    for kernel, more in (("triangle", 1), ("by_hand", 0)):
        program = placed(SOURCES[kernel].replace("bf16", "f16"))
        c = np.full((240, 112), np.nan, np.float16)
        arrays = {"A": a.astype(np.float16), "B": b.astype(np.float16), "C": c}
        run(program, arrays, sm_count=sms, seed=sms)
        for i in range(4):
            rows = slice(64 * i, 64 * (i + 1))
            wanted = np.zeros_like(c[rows], np.float32)
            for k in range(min(4, i + more)):
                part = slice(64 * k, 64 * (k + 1))
                other = part if kernel == "triangle" else slice(0, 64)
                width = min(a[:, part].shape[1], b[:, other].shape[1])
                left, right = a[rows, part][:, :width], b[:, other][:, :width]
                wanted += left @ right.T
            np.testing.assert_array_equal(c[rows], wanted)


def test_a_loop_of_constant_length_inside() -> None:
    def thrice(text: str) -> str:
        head, mark, rest = text.partition("with ring.")
        body, end, tail = rest.partition("            C[")
        lines = (mark + body).rstrip().splitlines()
        pad = " " * 16
        inner = [lines[0], *(x.removeprefix(pad) for x in lines[1:])]
        inner = [pad + "    " + x for x in inner]
        return (
            head + "for _ in ag.range(0, 3):\n" + "\n".join(inner) + "\n" + end + tail
        )

    first, mark, second = SOURCES["triangle"].partition('    with ag.role("math"')
    both = thrice(first) + mark + thrice(second)
    assert both.count("ag.range(0, 3)") == 2
    bad = failing(placed(both))
    assert not bad, told(bad)
    bad = failing(placed(thrice(first) + mark + second))
    assert bad[0].verdict is Verdict.REFUTED, told(bad)


def _two_loops(text: str) -> str:
    """Each role's loop stands twice: two loops, one after another."""
    loop = "            for k in ag.range(0, steps):\n"
    first, load, use = text.split(loop)
    load, mark, rest = load.partition('    with ag.role("math"')
    return first + 2 * (loop + load) + mark + rest + 2 * (loop + use)


def test_two_loops_have_numbers_of_their_own() -> None:
    bad = failing(placed(_two_loops(SOURCES["ragged"])))
    assert not bad, told(bad)


def test_loops_that_are_three_deep() -> None:
    """The innermost one runs once more in each iteration of the middle."""
    bad = failing(placed(TRIANGLE.replace("    ag.cluster(2)\n", "")))
    assert not bad, told(bad)
    less = TRIANGLE.replace("    ag.cluster(2)\n", "")
    head, mark, rest = less.partition('    with ag.role("use"')
    bad = failing(placed(head + mark + rest.replace("range(0, j,", "range(BK, j,")))
    assert bad and bad[0].verdict is Verdict.REFUTED, told(bad)


def test_a_table_that_says_how_often() -> None:
    """Without a loop around it."""
    bad = failing(placed(TABLE_ITERATIONS))
    assert not bad, told(bad)


def test_a_table_that_is_written_says_nothing() -> None:
    """Two roles may then find different numbers there."""
    text = SOURCES["ragged"].replace("            steps = ag.min", WRITES, 1)
    bad = failing(placed(text))
    waits = [b for b in bad if b.rule == "AG0403"]
    assert waits, told(bad)
    assert {b.verdict for b in waits} == {Verdict.UNKNOWN}, told(bad)


# ------------------------------------------------------------------------ what is wrong


@dataclass(frozen=True)
class Seed:
    """A change of one kernel: in all places, or in the second role alone."""

    kernel: str
    old: str
    new: str
    second: bool = False
    refuted: bool = True
    """Sizes were found for which it is wrong; else it is unknown."""

    def text(self) -> str:
        text = SOURCES[self.kernel]
        first, mark, rest = text.partition('    with ag.role("math"')
        if not self.second:
            first, mark, rest = "", "", text
        assert self.old in rest, self.old
        return first + mark + rest.replace(self.old, self.new)


STEPS = "steps = ag.min(ag.cdiv(K, BK), i + 1)"
BY_HAND = "steps = ag.min(ag.cdiv(K, BK), i)\n"
ITERATIONS = "for _ in ag.range(0, steps)"
EMPTY = "empty[n % STAGES].wait(n // STAGES - 1)"
FULL = "full[n % STAGES].wait(n // STAGES)"
FREE = '            free[0].arrive(per="warp")\n'
SEEDS = {
    "at most 4 in one role": Seed(
        "triangle", STEPS, STEPS + "\n            steps = ag.min(steps, 4)", True
    ),
    "at least 1 in one role": Seed(
        "by_hand", ITERATIONS, "for _ in ag.range(0, ag.max(steps, 1))", True
    ),
    "an iteration less in one role": Seed(
        "triangle", ITERATIONS, "for _ in ag.range(1, steps)", True
    ),
    "pairs in one role": Seed(
        "triangle", ITERATIONS, "for _ in ag.range(0, steps // 2 * 2)", True
    ),
    "the tile before": Seed(
        "triangle", STEPS, "steps = ag.min(ag.cdiv(K, BK), i)", True
    ),
    "the iteration before": Seed(
        "by_hand",
        BY_HAND,
        "steps = n\n            n = ag.min(ag.cdiv(K, BK), i)\n",
        True,
    ),
    "tiles in another order": Seed(
        "triangle", "tile // columns, tile % columns", "tile % rows, tile // rows", True
    ),
    "counters begin anew": Seed("by_hand", BY_HAND, BY_HAND + "            n = 0\n"),
    "one counter begins anew": Seed(
        "by_hand", BY_HAND, BY_HAND + "            n = 0\n", True
    ),
    "counters go on by an even number": Seed(
        "by_hand", "            t += 1", "            n += n % 2\n            t += 1"
    ),
    "a counter goes on by an even number": Seed(
        "by_hand", "            t += 1", "            n += n % 2\n            t += 1",
        True,
    ),
    "four steps for each tile": Seed(
        "by_hand", FREE, FREE + "            n = 4 * t + 4\n", True
    ),
    "the phase of each second tile": Seed(
        "by_hand", EMPTY, EMPTY.replace("(n // ", "((n + t % 2) // ")
    ),
    "the phase by steps": Seed("by_hand", "there[0].wait(t)", "there[0].wait(n)"),
    "released in the loop": Seed(
        "by_hand", "                n += 1\n" + FREE,
        "                n += 1\n    " + FREE, True,
    ),
    "released by one warp": Seed("by_hand", 'arrive(per="warp")', "arrive()"),
    "released before the loop, too": Seed(
        "by_hand", "there[0].wait(t)\n", "there[0].wait(t)\n" + FREE, True
    ),
    "not released": Seed("by_hand", "empty[n % STAGES].arrive()", "pass", True),
    "not waited for": Seed("by_hand", EMPTY, "pass"),
    "filled without a wait": Seed("by_hand", FULL, "pass", True),
    "tiles of one step": Seed("credit", "tile) + 2", "tile) + 1"),
    "another element of the table": Seed(
        "ragged", "First[tile + 1]", "First[tile + 2]", True, False
    ),
    "the whole beginning": Seed("ragged", "[tile + 1] - First[tile]", "[tile]", True),
    "no step at all": Seed("causal", "i * BQ // BT + 1)", "i * BQ // BT)"),
}  # fmt: skip


LEFT = {"pairs in one role", "the tile before", "an iteration less in one role"}


@pytest.mark.parametrize("name", few(SEEDS, *SEEDS.keys() - LEFT))
def test_never_proved(name: str) -> None:
    seed = SEEDS[name]
    bad = failing(placed(seed.text()))
    assert bad, "proved"
    wanted = Verdict.REFUTED if seed.refuted else Verdict.UNKNOWN
    assert bad[0].verdict is wanted, told(bad)


EQUIVALENT = {
    # The role is one warpgroup.
    "triangle": {"per_role"},
    # Nobody waits for the last release, nor fills what it hands back; the first slot is
    # free, as its neighbour is.
    "credit": {
        "delete_arrive", "delete_fence", "early_arrive", "delete_wait", "swap_waits",
        "other_barrier",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", EQUIVALENT)
def test_mutants(name: str) -> None:
    """Of each kind of change one place; what is proved is right with random numbers."""
    program = placed(SOURCES[name])
    right: set[str] = set()
    for operator in m.ORDER:
        mutant = operator(program, Random(2))
        if mutant is not None and not failing(mutant):
            right.add(operator.__name__)
            for seed in range(12 if EVERY else 4):
                assert not _wrong_for(mutant, Random(seed)), operator.__name__
    assert right == EQUIVALENT[name]
