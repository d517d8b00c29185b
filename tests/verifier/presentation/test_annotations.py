"""What annotations become, and what they must not do."""

import sys
from pathlib import Path

import numpy as np
import pytest

from argus.diagnostics import ArgusError
from argus.interpret import run
from argus.ir import ops as o
from argus.ir.annotations import annotations_of
from argus.ir.check import InvalidProgramError, check
from argus.ir.expr import Sym

sys.path.insert(0, str(Path(__file__).parent))
from reports import first, placed

KERNEL = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], Rows: i32["R"], *, BN: int = 64):
    M, N = X.shape
    (m,) = ag.block(M)
{body}
    x = ag.load(X[m : m + 1, 0:], (1, BN))
    Y[m : m + 1, 0:] = x
"""


def kernel(tmp_path: Path, *body: str):
    return placed(tmp_path, KERNEL.format(body="\n".join(f"    {x}" for x in body)))


def test_a_tag_has_its_components_over_coordinates(tmp_path: Path) -> None:
    program = kernel(tmp_path, 'ag.tag(X, lambda m, n: {"N": n, "odd": n % 2})')
    tag = first(program, o.Tag)
    assert tag.target is program.params[0]
    assert [(n, str(e)) for n, e in tag.components] == [
        ("N", "%1"),
        ("odd", "(%1 % 2)"),
    ]


def test_a_check_runs_axes_of_one_name_together(tmp_path: Path) -> None:
    program = kernel(
        tmp_path,
        "a = ag.load(X[0:, 0:], (8, 16))",
        "b = ag.load(X[0, 0:], 16)",
        "ag.check(lambda a, b: a.N == b.N + 1, a, b)",
        "ag.check(lambda b, a: a.N == b.N, b, a)",
    )
    one, other = (x for x in annotations_of(program) if isinstance(x, o.Check))
    assert (one.axes, one.shape, one.dims) == (((0, 1), (1,)), (8, 16), ("M", "N"))
    assert str(one.cond) == "(0.N == (1.N + 1))"
    assert (other.axes, other.shape) == (((0,), (1, 0)), (16, 8))


def test_trust_covers_the_statement_after_it(tmp_path: Path) -> None:
    program = kernel(tmp_path, 'ag.trust("why", whole=True)', "s = M + N")
    trust = first(program, o.Trust)
    assert trust.covers.line == trust.span.line + 1
    assert (trust.reason, trust.whole) == ("why", True)


def test_facts_of_an_expectation(tmp_path: Path) -> None:
    program = kernel(tmp_path, "ag.expect(spills=0, bank_conflicts=2)")
    assert dict(first(program, o.Expect).facts) == {"spills": 0, "bank_conflicts": 2}


def test_annotations_inside_static_control_flow(tmp_path) -> None:
    program = kernel(
        tmp_path,
        "if BN == 64:", '    ag.trust("a")', "    s = M", "for i in range(2):",
        '    ag.trust("b")', "    s = i", "ag.expect(spills=0)",
    )  # fmt: skip
    reasons = [x.reason for x in annotations_of(program) if isinstance(x, o.Trust)]
    assert reasons == ["a", "b", "b"]


def test_a_name_imported_alone_is_no_annotation(tmp_path: Path) -> None:
    with pytest.raises(ArgusError) as caught:
        placed(
            tmp_path,
            "from argus import expect\n\n\n@ag.kernel\n"
            'def k(Y: f32["M"]):\n    expect(spills=0)\n    Y[0:4] = 1.0\n',
        )
    assert caught.value.codes == ("AG0121",)


class TestTheInterpreter:
    def values(self, tmp_path: Path, *body: str, rows: list[int]):
        program = kernel(tmp_path, *body)
        x = np.ones((16, 64), np.float32)
        arrays = {"X": x, "Y": 0 * x, "Rows": np.array(rows, np.int32)}
        return run(program, arrays, {}, collect=True).errors

    ROWS = "ag.assume(lambda r: (r >= 0) & (r < M), Rows)"
    APART = "ag.assume(lambda a, b: a != b, Rows, pairs=True)"

    def test_holds_assumptions_that_hold(self, tmp_path: Path) -> None:
        rows = list(range(16))
        assert self.values(tmp_path, self.ROWS, self.APART, rows=rows) == []

    def test_says_which_does_not(self, tmp_path: Path) -> None:
        rows = [*range(15), 99]
        (fault,) = self.values(tmp_path, self.ROWS, self.APART, rows=rows)
        assert fault.kind == "assumption"
        assert "at position 15 of Rows" in fault.message

    def test_compares_pairs(self, tmp_path: Path) -> None:
        rows = [*range(15), 3]
        (fault,) = self.values(tmp_path, self.ROWS, self.APART, rows=rows)
        assert "at position 3, 15 of Rows" in fault.message

    def test_evaluates_scalars(self, tmp_path: Path) -> None:
        (fault,) = self.values(tmp_path, "ag.assume(N > 64)", rows=list(range(16)))
        assert "(N > 64)" in fault.message


class TestTheChecker:
    def test_a_tile_must_exist(self, tmp_path: Path) -> None:
        program = kernel(tmp_path, "ag.assume(M > 1)")
        load = first(program, o.LoadGlobal)
        wrong = o.Tag(load.result, (), span=program.span)
        program.body.ops.insert(0, wrong)
        with pytest.raises(InvalidProgramError, match="does not exist yet"):
            check(program)

    def test_symbols_must_mean_something(self, tmp_path: Path) -> None:
        program = kernel(tmp_path, "ag.assume(M > 1)")
        first(program, o.Assume).cond = Sym("Rows[i]", "gather")
        with pytest.raises(InvalidProgramError, match="not of this annotation"):
            check(program)
