"""What a diagnostic looks like: golden pictures."""

import pytest

from argus.diagnostics import (
    Diagnostic,
    Label,
    Span,
    register_source,
    render,
    render_all,
)

GEMM = """\
@ag.kernel
def gemm(A: bf16["M K"], B: bf16["N K"], C: bf16["M N"]):
    with ag.role("load", warps=1):
        for k in ag.range(0, K, BK):
            with ring.fill() as slot:
                slot.a.load(A[bm * BM :, k:])
                slot.b.load(B[bn * BN :, k - BK:])
    with ag.role("math", warpgroups=2):
        for k in ag.range(0, K, BK):
            with ring.drain() as slot:
                acc = ag.dot(slot.a, slot.b.T, acc)
        C[bm * BM :, bn * BN :] = acc.to(bf16)
"""
DOT = Span("gemm.py", 11, 23, 11, 52)
LOAD = Span("gemm.py", 7, 17, 7, 51)

MISMATCH = Diagnostic(
    "AG0301",
    "elements that do not share K are multiplied",
    DOT,
    label="K = 208 on the left, K = 144 on the right",
    notes=(
        "thread 165 (role math, warp 1, lane 5), block (0, 0), iteration 3, "
        "operand element (37, 16) x (0, 16)",
        "left: A[37, 208], loaded into ring slot 3 at gemm.py:6 in iteration 3",
    ),
    help="line 7 loads B at column `k - BK`; line 6 loads A at `k`",
    related=(Label(LOAD, "B is loaded here"),),
)

ODD = "\n".join(
    [
        "\tacc = ag.dot(slots.a,\tb)",  # 1: tabs
        "größe, 幅, e\u0301 = slots.a",  # 2: wide, combining
        "x = '\x1b[31m\u202e' + slots.a",  # 3: escape, right-to-left override
        "y = " + " + ".join(f"term{i:03}" for i in range(60)),  # 4: long
        "",  # 5: empty
        "z = call(",  # 6 to 8: several lines, from the middle of one
        "    a,",
        ")",
    ]
)

CASES = {
    "mismatch": MISMATCH,
    "without_label": Diagnostic("AG0101", "there is no name `acc`", DOT),
    "without_span": Diagnostic("AG0903", "no device", None, help="`argus doctor`"),
    "whole_lines": Diagnostic(
        "AG0416", "a slot is not filled", Span("gemm.py", 4, 9, 7, 51), label="the loop"
    ),
    "long_block": Diagnostic(
        "AG0413", "nobody drains", Span("gemm.py", 3, 5, 12, 47), label="these roles"
    ),
    "from_the_middle": Diagnostic(
        "AG0104", "one argument too few", Span("odd.py", 6, 5, 8, 2), label="this call"
    ),
    "up_to_a_line_start": Diagnostic(
        "AG0416", "ends before a line", Span("gemm.py", 5, 13, 7, 1)
    ),
    "tabs": Diagnostic("AG0101", "no `b`", Span("odd.py", 1, 24, 1, 25), label="this"),
    "wide": Diagnostic("AG0101", "no `slots`", Span("odd.py", 2, 14, 2, 19), label="x"),
    "under_wide": Diagnostic("AG0101", "no `幅`", Span("odd.py", 2, 8, 2, 9)),
    "unsafe": Diagnostic(
        "AG0101", "no \x1b[0m `slots`", Span("odd.py", 3, 17, 3, 22), label="\u202ex"
    ),
    "long_line_left": Diagnostic(
        "AG0101", "no `term000`", Span("odd.py", 4, 5, 4, 12), label="not assigned"
    ),
    "long_line_middle": Diagnostic(
        "AG0101", "no `term030`", Span("odd.py", 4, 305, 4, 312), label="not assigned"
    ),
    "long_line_right": Diagnostic(
        "AG0101", "no `term059`", Span("odd.py", 4, 595, 4, 602), label="not assigned"
    ),
    "long_line_all": Diagnostic(
        "AG0106", "types differ", Span("odd.py", 4, 5, 4, 602), label="the whole sum"
    ),
    "empty_line": Diagnostic("AG0001", "unexpected end", Span("odd.py", 5, 1, 5, 1)),
    "slow": Diagnostic("AG0511", "8-way bank conflict", DOT, severity="slow"),
    "warning": Diagnostic("AG0118", "no effect", DOT, severity="warning"),
    "lines_in_help": Diagnostic(
        "AG0408",
        "a fence is missing\nbetween the write and the copy",
        DOT,
        help="write\n    ag.fence_async()\nbefore this line",
    ),
}


@pytest.fixture(autouse=True)
def sources() -> None:
    register_source("gemm.py", GEMM)
    register_source("odd.py", ODD)


@pytest.mark.parametrize("name", CASES)
def test_picture(name: str, golden) -> None:
    golden(f"{name}.txt", render(CASES[name]) + "\n")


@pytest.mark.parametrize("width", [20, 40, 60])
def test_narrow(width: int, golden) -> None:
    golden(f"narrow_{width}.txt", render(MISMATCH, width=width) + "\n")


def test_colors(golden) -> None:
    cases = (MISMATCH, CASES["slow"], CASES["warning"], CASES["whole_lines"])
    text = render_all(cases, color=True)
    golden("colors.txt", text.replace("\x1b", "<ESC>") + "\n")


def test_count(golden) -> None:
    golden("several.txt", render_all([MISMATCH, MISMATCH, CASES["slow"]]) + "\n")


def test_nothing_to_show() -> None:
    assert render_all([]) == ""
