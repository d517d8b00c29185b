"""Pipelines whose stage and phase are turned by hand: right ones, and wrong ones."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from argus.evaluation.proving import proved_all
from argus.evaluation.requests import default_dtypes
from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request, placed_program
from argus.verify.counting import with_turned_counters
from argus.verify.verdict import Verdict
from few import few

SM90 = "sm_90a"

BRANCH = """\
st = st + 1
if st == S:
    st = 0
    ph = ph + 1
"""
WAYS = {
    "branch": BRANCH,
    "at_least": BRANCH.replace("==", ">="),
    "taken_away": BRANCH.replace("st = 0", "st = st - S"),
    "else": """\
if st == S - 1:
    st = 0
    ph = ph + 1
else:
    st = st + 1
""",
    "choices": """\
ph = ph + 1 if st == S - 1 else ph
st = 0 if st == S - 1 else st + 1
""",
    "remainder": """\
st = (st + 1) % S
ph = ph + (st == 0)
""",
}
LOAD = """\
for n in ag.range(0, N, 32):
    empty[st].wait(ph - 1)
    full[st].expect(64 * 32 * 4)
    s[st].copy(X[i * 64 :, n:], full[st])
"""
USE = """\
for n in ag.range(0, N, 32):
    full[st].wait(ph)
    Y[i * 64 :, n:] = s[st].load() + 1.0
    empty[st].arrive(per="warp")
"""
TILES = "for i in ag.persistent(ag.cdiv(M, 64)):"
KERNEL = """\
import argus as ag
from argus import f32

@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, S: int = 3):
    M, N = X.shape
    s = ag.shared(f32, (64, 32), dims="M N", stages=S)
    full, empty = ag.barriers(S), ag.barriers(S, arrivals=4)
    with ag.role("load", warps=1):
        st, ph = 0, 0
        {tiles}
{load}
    with ag.role("use", warpgroups=1):
        st, ph, t = 0, 0, 0
        {tiles}
{use}

@ag.reference
def ref(X):
    return X + 1
"""


def kernel(
    load: str = BRANCH,
    use: str = BRANCH,
    *,
    loads: str = LOAD,
    uses: str = USE,
    stages: int = 3,
    tiles: bool = True,
) -> Kernel:
    """A copy by two roles, with how each moves its stage and phase on."""
    text = KERNEL.format(
        tiles=TILES,
        load=indent(loads + indent(load, "    "), " " * 12),
        use=indent(uses + indent(use, "    "), " " * 12),
    ).replace("S: int = 3", f"S: int = {stages}")
    if not tiles:
        text = text.replace(TILES, "for _ in ag.static_range(1):")
        text = text.replace(
            "    s = ag.shared", "    i = ag.block(ag.cdiv(M, 64))\n    s = ag.shared"
        )
    return load_kernels(Path("turned.py"), text).kernels["k"]


def verdict(kernel: Kernel) -> Verdict:
    return proved_all(kernel, {}, SM90, fresh=True).report.verdict


def placed(kernel: Kernel) -> Program:
    return placed_program(Request(kernel, default_dtypes(kernel, {}), {}, SM90, {}))


def carried(program: Program) -> list[list[str]]:
    loops = (op for op in walk(program.body) if isinstance(op, o.For))
    return [[c.arg.name for c in loop.scalars] for loop in loops]


@pytest.mark.parametrize("way", WAYS)
def test_one_number_in_the_place_of_stage_and_phase(way: str) -> None:
    made = with_turned_counters(placed(kernel(WAYS[way], BRANCH)))
    names = carried(made)
    assert len(names) == 4
    assert all(len(one) == 1 and one[0].endswith("#") for one in names)
    assert not any(isinstance(op, o.If) for op in walk(made.body))


@pytest.mark.parametrize("way", ["branch", "choices", "remainder"])
def test_right(way: str) -> None:
    assert verdict(kernel(WAYS[way], BRANCH)) is Verdict.EQUAL


def test_other_numbers_of_stages() -> None:
    assert verdict(kernel(stages=5)) is Verdict.EQUAL
    flip = "ph = ph + st\nst = st ^ 1\n"
    assert verdict(kernel(flip, BRANCH, stages=2)) is Verdict.EQUAL


RELEASED_LATER = USE.replace("empty[st]", "empty[BEFORE]").replace(
    "    empty", "    if t > 0:\n        empty"
)
BEFORE = {
    "remainder": "(st + S - 1) % S",
    "choice": "S - 1 if st == 0 else st - 1",
}


@pytest.mark.parametrize("before", BEFORE)
def test_stages_released_an_iteration_later(before: str) -> None:
    uses = RELEASED_LATER.replace("BEFORE", BEFORE[before])
    right = kernel(use=BRANCH + "t += 1\n", uses=uses, tiles=False)
    assert verdict(right) is Verdict.EQUAL
    later = uses.replace("t > 0", "t > 1")
    wrong = kernel(use=BRANCH + "t += 1\n", uses=later, tiles=False)
    assert verdict(wrong) is Verdict.REFUTED


LOAD_IF = "if N > 64:\n" + indent(LOAD + indent(BRANCH, "    "), "    ")
USE_IF = "if N > 64:\n" + indent(USE + indent(BRANCH, "    "), "    ")


def test_loops_in_branches() -> None:
    """What a branch leaves is a number, too."""
    made = with_turned_counters(placed(kernel("", "", loads=LOAD_IF, uses=USE_IF)))
    assert all(n.endswith("#") or n == "t" for one in carried(made) for n in one)


def test_a_program_without_such_counters_stays_as_it_is() -> None:
    plain = "st = st + 1\n"
    program = placed(kernel(plain, plain))
    assert with_turned_counters(program) is program


WRONG = {
    "phase_early": kernel(loads=LOAD.replace("ph - 1", "ph - 2")),
    "phase_late": kernel(uses=USE.replace("wait(ph)", "wait(ph - 1)")),
    "phase_stands": kernel(use="st = st + 1\nif st == S:\n    st = 0\n"),
    "phase_by_two": kernel(use=BRANCH.replace("ph + 1", "ph + 2")),
    "phase_too_soon": kernel(use="if st == S - 2:\n    ph += 1\nst = (st + 1) % S\n"),
    "one_stage_less": kernel(use=BRANCH.replace("== S", "== S - 1")),
    "one_stage_more": kernel(BRANCH.replace("== S", "== S + 1"), BRANCH),
    "begins_anew": kernel(uses="st, ph = 0, 0\n" + USE),
    "phase_begins_anew": kernel(uses="ph = 0\n" + USE),
    "stage_begins_anew": kernel(loads="st = 0\n" + LOAD),
    "never_taken_back": kernel(use="st = st + 1\nif st == S:\n    ph += 1\n"),
}


KEPT = "phase_early", "phase_too_soon", "one_stage_more"


@pytest.mark.parametrize("name", few(WRONG, *KEPT))
def test_wrong(name: str) -> None:
    assert verdict(WRONG[name]) is Verdict.REFUTED
