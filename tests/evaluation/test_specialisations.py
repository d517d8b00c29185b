"""What `argus check` proves of a kernel is what its calls may choose."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.diagnostics import ArgusError
from argus.evaluation.exploring import Explored, explore, fingerprint_of
from argus.evaluation.proving import proved_all
from argus.ir.dtypes import bf16, f16, f32
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import placed_program, request_of
from argus.runtime.arguments import describe
from argus.specialisations import (
    DIVISORS,
    SpecialisationSpace,
    divisor,
    facts_of,
    specialisation,
    stride_divisors,
)
from argus.verify.verdict import Report, Verdict

HEAD = "import argus as ag\nfrom argus import bf16, f16, f32, i32\n\n\n@ag.kernel\n"


def kernel(text: str) -> Kernel:
    return next(iter(load_kernels("k.py", HEAD + text).kernels.values()))


def checked(text: str, **restricted) -> Report:
    one = kernel(text)
    space = SpecialisationSpace.of(one.signature).restricted(
        restricted.get("types", {}), restricted.get("extents", {})
    )
    return proved_all(one, {}, "sm_90a", space, fresh=True).report


SUM = """def k(X: ag.float["M N"], Y: ag.float["M N"], Bias: f32["N"] | None = None, *,
      BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,)).to(f32)
    if Bias is not None:
        x = x + ag.load(Bias[{start} :], (BN,))
    Y[m, j * BN :] = x.to(Y.dtype)
"""
RIGHT = SUM.format(start="j * BN")
WRONG = {
    "a number of columns that is not a multiple of 16": (
        '''def k(X: f32["M N"], Y: f32["M N"], *, BN: int = 16):
    M, N = X.shape
    m, j = ag.block(M, N // BN)
    Y[m, j * BN :] = ag.load(X[m, j * BN :], (BN,))
''',
        "AG0306",
        "N and the strides of X, Y divisible by 4",
    ),
    "with the optional tensor": (SUM.format(start=0), "AG0303", "Bias given"),
    "without the optional tensor": (
        '''def k(X: f32["M N"], Y: f32["M N"], Bias: f32["N"] | None = None, *,
      BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    if Bias is None:
        Y[m, j * BN :] = ag.load(X[m, 0:], (BN,))
    else:
        Y[m, j * BN :] = ag.load(X[m, j * BN :], (BN,)) + ag.load(
            Bias[j * BN :], (BN,)
        )
''',
        "AG0305",
        "Bias absent",
    ),
    "f16 of a group": (
        '''def k(X: ag.float["M N"], Y: f32["M N"], *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    if X.dtype == f16:
        Y[m, j * BN :] = ag.load(X[m, 0:], (BN,)).to(f32)
    else:
        Y[m, j * BN :] = ag.load(X[m, j * BN :], (BN,)).to(f32)
''',
        "AG0305",
        "X f16",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_in_some_specialisations_is_refuted_there(name: str) -> None:
    text, rule, where = WRONG[name]
    report = checked(text)
    assert report.verdict is Verdict.REFUTED
    wrong = [o for o in report.obligations if o.verdict is Verdict.REFUTED]
    assert rule in {o.rule for o in wrong}
    assert any(where in o.specialisation for o in wrong if o.rule == rule)


def test_a_right_kernel_is_proved_for_all() -> None:
    report = checked(RIGHT)
    assert report.verdict is Verdict.PROVED
    found = report.specialised
    assert found is not None
    assert found.count == 3 * 3 * 2 * 25
    assert not found.refused
    assert not found.left
    assert "Bias absent or given" in found.text
    assert "X bf16, f16 or f32" in found.text
    assert "N and the strides of X, Y divisible by 16, 8, 4, 2 or 1" in found.text
    # bf16 and f16 are one; widths of 8, 4, 2, 1 elements, of f32 at most 4.
    assert 1 < len(found.programs) < 40
    assert all(p.verdict is Verdict.PROVED for p in found.programs)


def test_restrictions_are_what_the_report_is_about() -> None:
    text, *_ = WRONG["a number of columns that is not a multiple of 16"]
    report = checked(text, extents={"N": 48})
    assert report.verdict is Verdict.PROVED
    assert report.specialised is not None
    assert "N divisible by 16" in report.specialised.text
    report = checked(SUM.format(start=0), types={"Bias": None})
    assert report.verdict is Verdict.PROVED
    assert "Bias" not in report.specialised.text.split(";")[0]


def test_a_mistake_with_an_optional_tensor_is_an_error() -> None:
    wrong = RIGHT.replace("ag.load(Bias[j * BN :], (BN,))", "nothing")
    with pytest.raises(ArgusError, match="nothing"):
        checked(wrong)


def test_what_calls_are_refused_is_listed() -> None:
    report = checked('''def k(A: bf16["M K"], B: bf16["N K"], C: f32["M N"]):
    M, K = A.shape
    N, _ = B.shape
    bm, bn = ag.block_tile(ag.cdiv(M, 64), ag.cdiv(N, 64))
    ring = ag.ring(2, a=bf16.tile(64, 64), b=bf16.tile(64, 64))
    with ag.role("load", warps=1):
        for k in ag.range(0, K, 64):
            with ring.fill() as slot:
                slot.a.load(A[bm * 64 :, k:])
                slot.b.load(B[bn * 64 :, k:])
    with ag.role("math", warpgroups=1):
        acc = ag.zeros((64, 64), f32)
        for k in ag.range(0, K, 64):
            with ring.drain() as slot:
                acc = ag.dot(slot.a, slot.b.T, acc)
        C[bm * 64 :, bn * 64 :] = acc
''')  # fmt: skip
    assert report.verdict is Verdict.PROVED
    (refused,) = report.specialised.refused
    assert refused.code == "AG0611"
    assert refused.text == "the strides of A, B not divisible by 8"


def test_what_is_left_out_is_unknown(monkeypatch) -> None:
    monkeypatch.setattr("argus.evaluation.proving.MOST_PROGRAMS", 2)
    report = checked(RIGHT)
    assert report.verdict is Verdict.UNKNOWN
    (left,) = (o for o in report.obligations if o.verdict is Verdict.UNKNOWN)
    assert left.rule == "AG0393"
    monkeypatch.setattr("argus.evaluation.exploring.MOST_FORMS", 3)
    monkeypatch.undo()
    monkeypatch.setattr("argus.evaluation.exploring.MOST_FORMS", 3)
    assert checked(RIGHT).specialised.left == ("15 combinations of element types",)


# -------------------------------------------------------------------- what calls choose

DRAWN = kernel(RIGHT)
SPACE = SpecialisationSpace.of(DRAWN.signature)


@pytest.fixture(scope="module")
def explored() -> Explored:
    return explore(DRAWN, {}, "sm_90a", SPACE)


@st.composite
def tensors(draw):
    """Arrays of one call: shapes, strides, offsets, types and the optional one."""
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 70))
    found = {}
    for name in ("X", "Y"):
        dtype = draw(st.sampled_from(["float16", "float32"]))
        pitch = columns + draw(st.sampled_from([0, 0, 1, 2, 3, 8, 13]))
        offset = draw(st.integers(0, 9))
        memory = np.zeros(offset + (rows + 1) * pitch, dtype)
        size = memory.itemsize
        step = draw(st.integers(0, 99)) if rows == 1 else pitch
        found[name] = np.lib.stride_tricks.as_strided(
            memory[offset:], (rows, columns), (step * size, size)
        )
    if draw(st.booleans()):
        found["Bias"] = np.zeros(columns, "float32")
    return found


@settings(max_examples=60)
@given(arrays=tensors())
def test_what_calls_choose_was_looked_at(explored: Explored, arrays) -> None:
    described = {}
    for name, array in arrays.items():
        arg = describe(name, array)
        dtype = {"f16": f16, "f32": f32}[arg.dtype]
        strides = stride_divisors(arg.shape, arg.strides)
        described[name] = dtype, tuple(map(divisor, arg.shape)), strides
    chosen = specialisation(DRAWN.signature, described)
    assert chosen in SPACE
    for name, array in arrays.items():
        facts = facts_of(DRAWN.signature, chosen)
        assert array.shape[-1] % facts["N"] == 0
        if array.ndim == 2 and array.shape[0] > 1:
            assert array.strides[0] // array.itemsize % facts[f"{name}_s0"] == 0
    program = placed_program(request_of(DRAWN, {}, "sm_90a", chosen))
    assert fingerprint_of(program) in explored.programs


@settings(max_examples=60)
@given(data=st.data())
def test_members_become_what_their_box_says(explored: Explored, data) -> None:
    form = data.draw(st.sampled_from(list(SPACE.forms())))
    numbers = tuple(data.draw(st.sampled_from(n)) for n in SPACE.levels(form))
    program = placed_program(request_of(DRAWN, {}, "sm_90a", SPACE.at(form, numbers)))
    mine = [
        key
        for key, became in explored.programs.items()
        for box in became.boxes
        if box.form == form
        and all(a <= n <= b for a, n, b in zip(box.low, numbers, box.high, strict=True))
    ]
    assert mine == [fingerprint_of(program)]


def test_bf16_and_f16_are_proved_alike() -> None:
    one, other = (
        checked(RIGHT, types={"X": t, "Y": t, "Bias": f32}) for t in (bf16, f16)
    )
    assert [(o.rule, o.claim, o.verdict) for o in one.obligations] == [
        (o.rule, o.claim, o.verdict) for o in other.obligations
    ]


@pytest.mark.parametrize(
    ("shape", "strides", "extent", "stride"),
    [
        ((4, 32), (32, 1), 16, 16),
        ((4, 24), (24, 1), 8, 8),
        ((4, 31), (32, 1), 1, 16),
        ((4, 32), (33, 1), 16, 1),
        ((1, 32), (33, 1), 16, 16),
        ((4, 32), (0, 1), 16, 16),
    ],
)
def test_the_stride_of_one_row_counts_for_nothing(
    shape, strides, extent, stride
) -> None:
    given = (f32, tuple(map(divisor, shape)), stride_divisors(shape, strides))
    chosen = specialisation(DRAWN.signature, {"X": given, "Y": given})
    (row,) = chosen.rows
    assert (row.extent, row.stride) == (extent, stride)
    assert DIVISORS[0] == 16


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"X": None}, "AG0801"),
        ({"X": (bf16, (1,), (1,))}, "AG0803"),
        ({"Bias": (bf16, (16,), (1,))}, "AG0802"),
    ],
)
def test_tensors_that_do_not_fit(change, code: str) -> None:
    fits = (f32, (16, 16), (16, 1))
    described = {"X": fits, "Y": fits, **change}
    given = {n: d for n, d in described.items() if d is not None}
    with pytest.raises(ArgusError) as caught:
        specialisation(DRAWN.signature, given)
    assert caught.value.diagnostics[0].code == code


def _excluded(report: Report) -> bool:
    """Whether some specialisations are of no launch."""
    assert report.specialised is not None
    return any(r.code == "AG0318" for r in report.specialised.refused)


COPY = """def k(X: f32["N"], Y: f32["N"], *, B: int = 128):
    N = X.shape[0]
    {require}
    i = ag.block({blocks})
    Y[i * B :] = ag.load(X[i * B :], (B,))
"""


@pytest.mark.parametrize(
    "require",
    [
        'ag.require(N == 17, "one size")',
        'ag.require(N % 4 == 2, "pairs")',
        "ag.assume(N % 2 == 1)",
    ],
)
def test_sizes_that_requirements_exclude_are_no_mistake(require: str) -> None:
    report = checked(COPY.format(require=require, blocks="ag.cdiv(N, B)"))
    assert report.verdict is Verdict.PROVED
    assert _excluded(report)
    assert any(o.rule == "AG0306" for o in report.obligations)
    wrong = checked(COPY.format(require=require, blocks="N // B"))
    assert wrong.verdict is Verdict.REFUTED


def test_a_grid_without_blocks_excludes_no_launch() -> None:
    report = checked(COPY.format(require="pass", blocks="N % 16"))
    assert report.verdict < Verdict.PROVED
    assert not _excluded(report)


def test_requirements_that_no_size_satisfies_are_a_mistake() -> None:
    require = 'ag.require(N < 0, "none")'
    report = checked(COPY.format(require=require, blocks="ag.cdiv(N, B)"))
    assert report.verdict is Verdict.REFUTED
    assert any(o.rule == "AG0318" for o in report.obligations)


def test_a_branch_that_no_size_comes_to_excludes_no_launch() -> None:
    text = """def k(X: f32["N"], Y: f32["N"], c: i32 = 0, *, B: int = 128):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, B))
    if c > 0:
        ag.assume(N % 2 == 1)
    Y[i * B :] = ag.load(X[i * B :], (B,))
"""
    report = checked(text)
    assert not _excluded(report)
