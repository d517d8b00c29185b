"""Kernels as people write them: each is its reference, and no longer with a mistake.

`kernels/` has a file for each subject. Names of references say whose they are.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from argus.clock import now
from argus.equivalence.deciding import Decided
from argus.equivalence.references import reference_of
from argus.equivalence.traced import decided
from argus.evaluation.proving import proved_all
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request
from argus.verify.verdict import Report, Verdict
from few import EVERY, rest

FOLDER = Path(__file__).parent / "kernels"
SM90 = "sm_90a"


@cache
def kernels(file: str, text: str | None = None) -> dict[str, Kernel]:
    return dict(load_kernels(FOLDER / file, text).kernels)


def compared(kernel: Kernel) -> Decided:
    reference = reference_of(kernel)
    assert reference is not None
    return decided(Request(kernel, default_dtypes(kernel, {}), {}, SM90, {}), reference)


def checked(kernel: Kernel) -> Report:
    """What `argus check` says, without what is kept on disk."""
    return proved_all(kernel, {}, SM90, fresh=True).report


# What names of dimensions, padding or alignment once had refuted or left open.
WHOLE = {
    "attention.py": ("paged_attention", "relative_bias", "sinks", "sliding_softmax"),
    "choices.py": (
        *("windows_back", "packed_documents", "either_way", "ignored_labels"),
        *("hashed", "quantised_rows", "optional_parts", "kept_elements"),
    ),
    "grids.py": ("equal_parts",),
    "handoffs.py": (
        *("three_meet", "each_arrives", "two_readers", "two_buffers"),
        *("numbered_stages", "by_phases", "handed_on_twice", "handed_operands"),
        "told_of_copies",
    ),
    "losses.py": ("segment_max",),
    "products.py": ("gemm_w4",),
    "recurrences.py": ("mamba_scan", "segment_counter", "welford_chunk"),
    "rows.py": ("atomic_scalar", "moe_router_top1"),
    "signs.py": ("huber",),
    "turns.py": ("each_other_half", "some_steps"),
    "windows.py": ("pixel_shuffle",),
}
LEFT = {
    *("block_sparse", "stencil", "optional_parts", "rows_of_windows", "relative_bias"),
    *("sinks", "each_other_half", "windows_back", "flattened", "huber", "dilated"),
    *("welford_chunk", "packed_documents", "gemm_w4", "pixel_shuffle"),
}
"""Kernels that take long, and pass next to no code that the others do not (measured by
lines): left with their mistakes to ``ARGUS_TESTS=all``.
"""


def kept(name: str) -> bool:
    return EVERY or name not in LEFT


OTHERS = [
    (path.name, name)
    for path in sorted(FOLDER.glob("*.py"))
    for name in kernels(path.name)
    if kept(name) and name not in (*WHOLE.get(path.name, ()), "mish_twice")
]


@pytest.mark.parametrize(("file", "name"), OTHERS, ids=[name for _, name in OTHERS])
def test_is_its_reference(file: str, name: str) -> None:
    """Of the others, :func:`test_is_equal_as_a_whole` says it."""
    made = compared(kernels(file)[name])
    assert made.equal, made.reason


@pytest.mark.parametrize(
    ("file", "name"),
    [(file, name) for file, names in WHOLE.items() for name in names if kept(name)],
)
def test_is_equal_as_a_whole(
    file: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # How a search for a difference goes is the subject of `tests/evaluation`.
    monkeypatch.setattr("argus.evaluation.equal.refuting._TRIALS", 4)
    report = checked(kernels(file)[name])
    assert report.verdict is Verdict.EQUAL, report.equality


def test_what_is_used_many_times_is_looked_at_once() -> None:
    """It took half a minute: a sum in sixteen places, of cases that are nowhere."""
    begin = now()
    assert checked(kernels("products.py")["mish_twice"]).verdict is Verdict.EQUAL
    assert now() - begin < 10, "some two seconds"


DOUBLED_AGAIN = """\
    for t in ag.range(2):
        for n in ag.range(0, N, BN):
            R[m : m + 1, n:] = ag.load(R[m : m + 1, n:], (1, BN)) * (t + {})
"""
# What takes long, and passes no code that the others do not: the rest.
MISTAKES = {
    ("windows.py", "nchw_convolution"): (
        ("h + r - 1", "h + r"),
        *rest(("F[n, c, r, s]", "F[n, c, s, r]")),
        *rest(("ag.range(0, C)", "ag.range(1, C)")),
    ),
    ("windows.py", "nchw_product"): (
        ("q % 9 // 3 - 1, m % W + q % 3", "q % 3 - 1, m % W + q % 9 // 3"),
        *rest(("(b, n, m // W, m % W)", "(b, n, m // H, m % H)")),
        *rest(("M, K = H * W, C * 9", "M, K = H * W - 1, C * 9")),
        *rest(("q // 9, m // W", "q % C, m // W")),
    ),
    ("losses.py", "kept_mean"): (
        *rest(("ag.maximum(n, 1.0)", "ag.maximum(n, 2.0)")),
        ("ag.maximum(n, 1.0)", "n"),
        ("(BM, N)) > 0", "(BM, N)) >= 0"),
    ),
    ("counts.py", "segment_begins"): (
        ("(BM - 1)) // BM", "BM) // BM"),
        ('"E") - tiles) * BM', '"E")) * BM'),
        ("n <= 16), Count", "n <= 2**20), Count"),  # what wraps is another number
    ),
    ("counts.py", "counted_before"): (("< b\n", "<= b\n"),),
    ("counts.py", "owner_of_tile"): (
        ("upto, ended) <= ", "upto, ended) < "),
        ("past & real", "past"),
    ),
    ("counts.py", "parity_of_bits"): (
        ("total % 7", "total % 8"),
        *rest(("total & 15", "total & 14")),
    ),
    ("counts.py", "pooled_bytes"): (
        *rest(("(total + 2)", "(total + 1)")),
        ("(total + 2)", "(total + 4)"),  # may be 256
    ),
    ("counts.py", "bytes_below"): (("(BN,)) < s)", "(BN,)) <= s)"),),
    ("counts.py", "bytes_raised"): (("ag.maximum(", "ag.minimum("),),
    ("counts.py", "bounded_products"): (
        ("n < 1000), T", "n < 1200), T"),
        ("n <= 1000), U", "n <= 2**22), U"),
        *rest(("< 2**21", "< 2**22")),
    ),
    ("choices.py", "kept_elements"): (
        *rest(("keep > 0, pos, -1", "keep >= 0, pos, -1")),
        ("keep > 0, pos, -1", "keep > 0, pos, 0"),
        ("ag.assume(lambda a, b: a != b, P, pairs=True)\n", "pass\n"),
    ),
    ("recurrences.py", "growing_mean"): (
        *rest(("(c / (n + c))", "(c / (n + BN))")),
        ("c = ag.min(BN, N - n)", "c = BN"),
        ("(c / (n + c))", "(c / N)"),
    ),
    ("grids.py", "one_number_of_three"): (
        ("t // n % C", "t // n % B"),
        *rest(("t // (C * n)", "t // (B * n)")),
    ),
    ("rows.py", "quantised_by_largest"): (
        ('S[i * BM :] = ag.max(ag.abs(x), "N")', 'S[i * BM :] = ag.max(x, "N")'),
        ('(N > 0) & (N <= BN), "a row"', 'N <= BN, "a row"'),
        *rest(("/ 127.0, 1e-8", "/ 127.0, 1e-7")),
    ),
    ("recurrences.py", "place_from_a_tile"): (
        ("m > best", "m >= best"),
        ('best = ag.max(x, "N")', 'best = ag.max(x, "N") + 1.0'),
        *rest(("ag.range(BN, N, BN)", "ag.range(2 * BN, N, BN)")),
        *rest(('at = ag.argmax(x, "N")', 'at = ag.argmax(x, "N") + 1')),
    ),
    ("recurrences.py", "place_from_a_row"): (
        ("x < best", "x <= best"),
        ("ag.full((BM,), 0, i32", "ag.full((BM,), 1, i32"),
        *rest(("X[0, i * BM :]", "X[N - 1, i * BM :]")),
        *rest(("ag.range(1, N)", "ag.range(2, N)")),
    ),
    ("recurrences.py", "first_is_another"): (
        ("if n == 0:", "if n == BN:"),
        ("if n == 0:", "if n <= BN:"),
        *rest(("ag.range(0, N, BN)", "ag.range(BN, N, BN)")),
    ),
    ("recurrences.py", "welford_tail"): (
        *rest(("c = ag.min(BN, N - n)", "c = ag.min(BN, N - n - 1)")),
        ("(count * c / total)", "(count * BN / total)"),
        *rest(("count = total", "count = count + BN")),
        *rest(("m2 / count", "m2 / (count - 1)")),
        *rest(("real, x - own, 0.0", "real, x - own, own")),
    ),
    ("recurrences.py", "welford_tiles"): (
        ("(BN * t / (t + 1))", "(BN * t / (t + 2))"),
        *rest(("+ 1e-5", "+ 1e-4")),
        *rest(("m2 / N", "m2 / (N - 1)")),
    ),
    # The denominator lacks the sink.
    ("attention.py", "sinks"): rest(
        ("l = ag.full((BM,), 1.0,", "l = ag.full((BM,), 0.0,")
    ),
    # Tiles without any key are NaN where a maximum begins at infinity.
    ("attention.py", "sliding_softmax"): (
        ("m = ag.full((64,), -1e30, f32)", "m = ag.full((64,), -ag.inf, f32)"),
        *rest(("(ki > qi - W)", "(ki >= qi - W)")),
    ),
    ("attention.py", "paged_attention"): (
        ("page = Table[b, w]", "page = Table[b, 0]"),
        *rest(("w * T + ag.index", "w * T + 1 + ag.index")),
    ),
    ("attention.py", "relative_bias"): rest(("s - t + S - 1)", "t - s + S - 1)")),
    # Every other place, the last row's neighbour, an interval that may be none.
    ("strides.py", "rms_of_pairs"): (
        ("(m, 2 * n + 1)", "(m, 2 * n)"),
        *rest(('ag.require(N % 2 == 0, "pairs")', "pass")),
    ),
    ("strides.py", "largest_of_fours"): rest(("range(4)", "range(3)")),
    ("windows.py", "causal_taps"): (
        ("s + r - R + 1", "s + r - R"),
        *rest(("ag.range(R)", "ag.range(1, R)")),
    ),
    ("windows.py", "periodic"): (
        ("n + 1 == N, 0, n + 1", "n + 1 == N, 1, n + 1"),
        ("n + N - 3, n - 3", "n + N - 4, n - 3"),
        *rest(("n == 0, N - 1", "n == 0, 0")),
    ),
    ("signs.py", "huber_by_minimum"): (
        ("delta * (a - q)", "a - q"),
        *rest(("ag.minimum(a", "ag.maximum(a"), ("0.5 * q * q", "0.5 * a * a")),
        ("delta > 0.0", "delta > -1.0"),
    ),
    ("signs.py", "clamped"): (
        ('ag.require(low <= high, "an interval")', "pass"),
        *rest(('ag.require(high >= 0.0, "limits")', "pass")),
    ),
    # Offsets that leave no room for the sum, and none that are known.
    ("products.py", "biased_sums"): (
        ("(s < 1000000)", "(s < 2147483000)"),
        *rest(("ag.assume(lambda s: (s > -1000000) & (s < 1000000), S)", "pass")),
    ),
    ("bits.py", "bits_that_differ"): (("b).to(i32)", "b).to(i32) + 0 * d - 1"),),
    # Digits of a sum that wraps are others.
    ("bits.py", "parts_of_sums"): (
        ('ag.require(N < 2**20, "sums fit")', "pass"),
        *rest(("total & 1", "total & 3"), ("total >> 3", "total >> 2")),
    ),
    ("rows.py", "counted_entries"): (
        ("n = n + 1", "n = n + 2"),
        ("ag.max(n, 1)", "ag.max(n, 2)"),
        *rest(('ag.require(N < 2**20, "sums fit")', "pass")),
    ),
    ("rows.py", "places_of_kept"): (
        ("T[m, j] > 0", "T[m, j] >= 0"),
        *rest(("Y[m, j] = n", "Y[m, j] = n + 1")),
    ),
    ("products.py", "squared_distances"): (("2.0 * acc", "acc"),),
    ("bits.py", "mixed"): (("* 2246822507", "* 2246822506"),),
    ("bits.py", "next_random"): (("(t >> 16)", "(t >> 15)"),),
    ("attention.py", "retention"): rest(("s = s * g + ag", "s = s * 0.5 + ag")),
    ("attention.py", "linear_attention_causal"): (
        ("s = s + ag.broadcast(k, s) * v\n", "s = ag.broadcast(k, s) * v\n"),
    ),
    ("choices.py", "windows_back"): (("l - w, w", "l - w, W - 1 - w"),),
    ("choices.py", "packed_documents"): rest(
        ("ag.broadcast(dq, s) ==", "ag.broadcast(dq, s) <=")
    ),
    ("choices.py", "either_way"): (("mode == 0", "mode == 1"),),
    ("choices.py", "ignored_labels"): (("== -100, 0.0", "== -1, 0.0"),),
    ("choices.py", "hashed"): (("* 31421", "* 31420"),),
    # Clipped below the largest, and cut instead of rounded.
    ("choices.py", "quantised_rows"): (
        *rest(("ag.round(x / s), 127.0), -127.0", "ag.round(x / s), 126.0), -127.0")),
        ("ag.round(x / s), 127.0), -127.0", "ag.floor(x / s), 127.0), -127.0"),
    ),
    # What the type cuts: more than the largest, the largest of signed numbers.
    ("choices.py", "quantised_unclipped"): (
        *rest(("1e-8) / 127.0", "1e-8) / 128.0")),
        *rest(("ag.max(ag.abs(x), ", "ag.max(x, ")),
        ("ag.max(ag.abs(x), ", "ag.min(ag.abs(x), "),
        ("ag.round(x / s)", "(x / s)"),
    ),
    # The factor of another step, or of none.
    ("recurrences.py", "mamba_scan"): (
        *rest(("h * ag.exp(a * dt) +", "h * ag.exp(a * u) +")),
        ("h = ag.zeros((BD, S)", "h = ag.full((BD, S), 1.0"),
    ),
    ("recurrences.py", "running_max"): (("ag.maximum(h, ", "ag.maximum(0.0 * h, "),),
    ("recurrences.py", "prefix_with_init"): (
        ("h = ag.load(H0", "h = 2.0 * ag.load(H0"),
    ),
    ("recurrences.py", "segment_counter"): (("n += BN", "n += BN // 2"),),
    ("recurrences.py", "welford_chunk"): rest(
        ("total = n + BN", "total = n + BN + BN")
    ),
    # A quotient by the sum of all, of another number than the largest.
    ("rows.py", "moe_router_top1"): (
        ("m = ag.max(x", "m = ag.min(x"),
        ("ag.argmax(x", "ag.argmin(x"),
    ),
    ("rows.py", "router_softmax_argmax"): (("ag.max(p", "ag.min(p"),),
    ("rows.py", "atomic_scalar"): (
        ("ag.atomic_add(Count[i], 1)", "ag.atomic_add(Count[i], 2)"),
        ("0.5 * d * d,", "0.5 * d * a,"),
    ),
    ("rows.py", "and_mask"): (("x & 15", "x & 7"), ("x & 15", "x & 14")),
    # A read of the buffer before what is meant to be in it, of the other role's.
    ("handoffs.py", "three_meet"): (("* 3.0", "* 2.0"),),
    ("handoffs.py", "numbered_stages"): (
        ("Y[i * 64 :, n:] = s[0]", "Y[i * 64 :, n:] = s[1]"),
        *rest(("s[1].store", "s[0].store")),
    ),
    ("handoffs.py", "by_phases"): (
        ("full[0].wait(t)", "full[0].wait(t - 1)"),
        ('            full[0].arrive(per="warp")\n', ""),
        *rest(('full[0].arrive(per="warp")', 'full[0].arrive(per="thread")')),
        *rest(("done[0].wait(t - 1)", "full[0].arrive()")),
    ),
    ("handoffs.py", "told_of_copies"): (
        ("full[0].wait(t)", "full[0].wait(t - 1)"),
        # Each may have heard of more from the other one.
        *rest(
            ("s.load() + 1.0", 's.load() + 1.0\n            ag.sync("x", threads=128)')
        ),
    ),
    ("handoffs.py", "handed_operands"): rest(("B[j * 64 :, k:]", "B[j * 64 :, 0:]")),
    ("handoffs.py", "handed_on_twice"): (
        ('            ag.sync("made", threads=256)\n            x', "            x"),
        *rest(("u.store(ag.exp(x))", "s.store(ag.exp(x))")),
    ),
    ("handoffs.py", "each_arrives"): (
        ("s.store(ag.load(X[i * 64 :, n:]", "s.store(ag.load(X[i * 64 :, n + 32 :]"),
        ('ag.arrive("full", threads=256)', 'ag.arrive("full", threads=288)'),
    ),
    ("handoffs.py", "two_readers"): (("n:], (64, 32)) * 3.0", "0:], (64, 32)) * 3.0"),),
    # The other role's half, and a part of it.
    ("handoffs.py", "own_halves"): (
        (":, j * 64 :], half)", ":, j * 64 :], out[64 - r * 64 : 128 - r * 64, :])"),
        ("j * 64 :], half)", "j * 64 :], out[r * 32 : r * 32 + 64, :])"),
        ("* 128 + r * 64 :, j", "* 128 + 64 - r * 64 :, j"),
        ("slot.x[r * 64 : (r + 1) * 64", "slot.x[r * 32 : r * 32 + 64"),
    ),
    # What another role has written meanwhile; another fill, step or half.
    ("turns.py", "one_buffer"): (
        ("2.0)\n", "2.0)\n                t.next(w)\n                t.wait(w)\n"),
        (":, n:], (64, 32)) * 2.0", ":, 0:], (64, 32)) * 2.0"),
    ),
    ("turns.py", "each_other_half"): (("if v == w:", "if v == 0:"),),
    ("turns.py", "filled_together"): (
        ("b.z.load(Z[i * 64 :, n:]", "b.z.load(Z[:, n:]"),
    ),
    ("turns.py", "some_steps"): (("Keep[k] > 0", "Keep[k] >= 0"),),
    ("turns.py", "signed_halves"): (("(p >> 4) ^ 8", "(p >> 4) ^ 4"),),
    ("losses.py", "kl_divergence"): (
        *rest(("e * (p - q)", "e * (q - p)")),
        *rest(("d = d * ag.exp(mp - np_)", "d = d * ag.exp(mq - nq)")),
        *rest(("< N, p)", "< N - 1, p)")),
    ),
    ("losses.py", "focal_loss"): (("== t\n", "== t + 1\n"),),
    # The second largest may be at the place of the first; of padding.
    ("losses.py", "top2_gating"): (
        ('b = ag.argmax(y, "E")', 'b = ag.argmax(x, "E")'),
        ("fill=-ag.inf", "fill=-10.0"),
    ),
    ("losses.py", "masked_mean"): (("s / c", "s / N"),),
    ("losses.py", "masked_scores"): (
        ("x, -ag.inf)", "x, -1e30)"),
        ("x, -ag.inf)", "x, ag.inf)"),
    ),
    ("losses.py", "segment_max"): rest(("(BP, BD), fill=-ag.inf)", "(BP, BD))")),
    ("losses.py", "block_sparse"): (
        *rest(("c = Col[i, w]", "c = Col[0, w]")),
        *rest(("Cnt[i]", "Cnt[0]")),
    ),
    ("losses.py", "quantised_groups"): (
        ('ag.max(ag.abs(x), "K")', 'ag.max(x, "K")'),
        *rest(("a / 127.0", "a / 128.0")),
    ),
    ("losses.py", "nearest"): (
        *rest(("Q[m, 2]", "Q[m, 1]")),
        *rest(("(0, M)", "(1, M)")),
        ("d < best", "d <= best"),
        *rest(("best, m, at", "best, m + 1, at")),
        *rest(("ag.inf, f32", "100.0, f32")),
    ),
    ("recurrences.py", "moving_average_first"): (
        ("(BD,))\n    Y[0", "(BD,)) * a\n    Y[0"),
        ("y * (1.0 - a)", "y * a"),
    ),
    ("recurrences.py", "welford_rows"): (
        ("d / (m + 1)", "d / (m + 2)"),
        ("d * (x - mu)", "d * d"),
    ),
    ("recurrences.py", "discounted_returns"): (
        ("t = T - 1 - s", "t = s"),
        ("+ y * g", "+ y * g * g"),
    ),
    # Windows that count what is beside the row, or one element less.
    ("windows.py", "average_pool"): (
        ("(2 * t + 2, L)", "(2 * t + 2, L + 1)"),
        ("2 * t - 1, 0)", "2 * t - 1, -1)"),
    ),
    ("windows.py", "min_pool"): (
        *rest(("2 * q + r % 2", "2 * q + r // 2")),
        ("ag.static_range(4)", "ag.static_range(3)"),
        *rest(("ag.inf, f32", "100.0, f32")),
    ),
    ("windows.py", "pixel_shuffle"): (("+ q % R", "+ p % R"),),
    ("windows.py", "flattened"): (("l % N", "(l + 1) % N"), ("l // N", "l // M")),
    ("windows.py", "dilated"): rest(("* dil,", "* 2,")),
    ("windows.py", "stencil"): rest(("(d, h + o, w)", "(d, h + 2 * o, w)")),
    ("windows.py", "pairs_in_order"): (("ag.join(lo, hi", "ag.join(hi, lo"),),
    # The side of a comparison, what lies between, the sign of what is subtracted.
    ("signs.py", "sign_of"): (("x > 0.0, 1.0", "x >= 0.0, 1.0"),),
    ("signs.py", "scaled_comparison"): (("0.5 * x >= z", "x >= z"),),
    ("signs.py", "soft_threshold"): (
        ("d >= 0.0", "d >= -1.0"),
        ("x > d, x - d", "x > d, x + d"),
    ),
    ("signs.py", "hard_swish"): (("x > 3.0", "x > 4.0"),),
    ("signs.py", "hard_sigmoid"): (("x > 3.0", "x > 2.9999"),),
    ("signs.py", "softplus"): (
        ("-ag.abs(x)", "ag.abs(x)"),
        ("ag.maximum(x, 0.0)", "ag.maximum(x, 0.001)"),
    ),
    ("signs.py", "sigmoid_of_both_signs"): (("x >= 0.0, 1.0", "x >= 1.0, 1.0"),),
    ("signs.py", "binary_cross_entropy"): (("- x * t", "+ x * t"),),
    ("signs.py", "gelu_backward"): (("(c + x * d)", "(c + d)"),),
    ("signs.py", "tanh_of_exponentials"): (("-2.0 * x", "2.0 * x"),),
    ("signs.py", "huber"): (
        *rest(("delta > 0.0", "delta > -1.0")),
        *rest(("d - 0.5 * delta", "d - delta")),
    ),
    # Pieces that do not meet where it does not matter which one is taken.
    ("signs.py", "huber_below"): rest(("d - 0.5 * delta", "d - 0.4 * delta")),
    ("signs.py", "smooth_l1"): (
        ("d - 0.5 * b", "d - 0.25 * b"),
        ("d * d / b", "d * d"),
    ),
    ("signs.py", "elu_pieces"): (("ag.exp(x) - 1.0", "ag.exp(x)"),),
    ("signs.py", "shrunk_rows"): (
        *rest(("x + lam, 0.0", "x + lam, lam")),
        *rest(("x >= lam, x - lam", "x >= lam, x")),
    ),
    ("signs.py", "cut_where_any"): (
        ("ag.abs(x) > 448.0", "x > 448.0"),
        ("ag.any(", "ag.all("),
        *rest(("(x, 448.0), -448.0)", "(x, 448.0), -447.0)")),
    ),
    ("signs.py", "sizes_of_products"): (("ag.abs(x) * ag.abs(z)", "x * ag.abs(z)"),),
    ("signs.py", "within_bounds"): (
        *rest(("(x > -1.0)", "(x >= -1.0)")),
        ("(1.0 - s)", "(1.0 + s)"),
        *rest(("(x > -1.0) & (x", "(x > -1.0) | (x")),
    ),
    ("signs.py", "where_relu_passes"): (("r > 0.0", "r >= 0.0"),),
    ("signs.py", "gelu_by_sigmoid"): (("0.07135481627260025", "0.0714"),),
    ("signs.py", "turned_back"): (("+ z * ag.sin(a)", "- z * ag.sin(a)"),),
    ("transforms.py", "fourier_of_four"): (("bi - dr", "bi + dr"),),
    ("signs.py", "clipped_gradient"): (("ag.minimum", "ag.maximum"),),
    ("signs.py", "mish"): (("ag.maximum(x, 0.0)", "x"),),
    ("choices.py", "sparse_rows"): (("w], (BM,))", "0], (BM,))"), ("(0, W)", "(1, W)")),
    ("windows.py", "channel_shuffle"): (
        ("(c % G) * (C // G) + c // G", "(c // G) * (C // G) + c % G"),
    ),
    ("windows.py", "reflected"): (("t - P", "t - P + 1"), ("L > P", "L >= P")),
    ("choices.py", "first_of_runs"): (
        ("(n == 0) | (a != b)", "a != b"),
        ("i * B - 1 :", "i * B + 1 :"),
    ),
    ("grids.py", "heads_of_groups"): (
        ("(0, R)", "(0, R - 1)"),
        *rest(("S[t, g]", "S[t, ag.min(g, 6)]")),
    ),
    ("grids.py", "four_groups"): (
        ("g * S + S)", "g * S + S - 1)"),
        ("* W[c]", "* W[g]"),
    ),
    ("grids.py", "equal_parts"): (
        *rest(("each = ag.cdiv(T, P)", "each = T // P")),
        ("X[t:last, j", "X[t:, j"),
    ),
    # Powers of a factor of all rounds: coefficients in the other order, one more.
    ("recurrences.py", "horner"): (
        ("C[p, i", "C[P - 1 - p, i"),
        ("y * x +", "(y + 0.0) * x * x +"),
    ),
    ("recurrences.py", "ratio_of_decayed"): (
        *rest(("b * w + e", "b + e")),
        *rest(("= a / b", "= a / (b + e)")),
        *rest(("ag.exp(-ag.load(W", "ag.exp(ag.load(W")),
    ),
    # The factor of the first step, of the other part; no end of what is summed.
    ("factors.py", "gated_sum"): (("ag.load(A[t, j:]", "ag.load(A[0, j:]"),),
    ("factors.py", "min_gru"): (
        *rest(("(1.0 - z) * h + z *", "z * h + (1.0 - z) *")),
        ("z = ag.sigmoid(", "z = ag.tanh("),
    ),
    ("factors.py", "advantages"): rest(("g * lam * live * acc", "g * lam * acc")),
    # Squares of distances instead of their cubes, a distance of the wrong sides.
    ("geometry.py", "gravity"): (
        *rest(("r * r * r", "r * r")),
        *rest(("(o + w) - z", "(o + w) + z")),
    ),
    ("geometry.py", "basis_functions"): rest(("+ dy * dy", "+ dx * dy")),
    ("geometry.py", "dilation"): (("(0, 1))", "(1, 1))"),),
    # What is cut at 0 may be below it, or is another spread.
    ("parts.py", "instance_norm"): (
        *rest(("q / L - mu * mu, 0.0", "q / L - 2.0 * mu * mu, 0.0")),
        *rest(("q / L - mu * mu, 0.0", "q / L - mu * mu, 0.001")),
        ("q / L - mu * mu, 0.0", "q - mu * mu, 0.0"),
        *rest(("mu * mu, 0.0) + 1e-5", "mu, 0.0) + 1e-5")),
    ),
    # A query sees itself, and what its row of the mask shows: not that of another tile.
    ("parts.py", "tree_softmax"): (
        ("m | own", "m & own"),
        ("m | own", "m"),
        *rest(("i * BT + ag.index", "ag.index")),
    ),
    ("parts.py", "quantised_append"): (
        *rest(("Sc[n, h] = s", "Sc[t, h] = s")),
        *rest(("ag.max(ag.abs(x)", "ag.max((x)")),
    ),
    ("parts.py", "padded_batch"): (
        ('"T") < last', '"T") <= last'),
        ("live, x, pad", "live, x, 0.0"),
    ),
    ("parts.py", "ell_rows"): (("Val[m, l:]", "Val[m, 0:]"),),
    # The other order, another threshold, a byte that is left out.
    ("bits.py", "sign_bits"): (
        ("1 << ag.index", "128 >> ag.index"),
        *rest(("x > t, 1, 0", "x >= t, 1, 0")),
        *rest(('1 << ag.index(x, "E")', '1 << (ag.index(x, "E") + 1)')),
    ),
    ("bits.py", "bits_of_bytes"): (("& 1)", "& 3)"), ("n // 8", "(n + 1) // 8")),
    ("bits.py", "bytes_of_words"): (
        ("x & 255", "x & 127"),
        ("1 << (8 * e)", "1 << (4 * e)"),
        ("w * 4 + e", "w * 4 + e + 1"),
    ),
    ("bits.py", "cut_prefix_sums"): (
        (".to(i32)", ".to(i8).to(i32)"),
        ('carry = ag.sum(x, "J") + carry', 'carry = ag.sum(x, "J")'),
    ),
    ("bits.py", "hashed_places"): (
        *rest(("x * 40503", "x * 40502")),
        ("(x * 40503 + 7)", "(x.to(i64) * 40503 + 7)"),
    ),
    # Rows of as many windows as there are columns.
    ("windows.py", "rows_of_windows"): (
        ("p % (W - 2)", "p % (W - 1)"),
        ("p // (W - 2)", "p // W"),
        ("k % 3", "k // 3"),
    ),
    # The other buffer.
    ("handoffs.py", "two_buffers"): (
        ("ag.relu(b1.load())", "ag.relu(b0.load())"),
        ("n * 128 + 64 :], full[1]", "n * 128 :], full[1]"),
    ),
    # What was written a moment ago, the element after, another row.
    ("in_place.py", "exchanged"): (
        ("Z[m, n:] = x", "Z[m, n:] = ag.load(X[m, n:], (BN,))"),
        ("ag.load(Z[m, n:]", "ag.load(Z[m, n + 1 :]"),
    ),
    ("in_place.py", "doubled_rows"): (
        ("fill=-1", "fill=0"),
        ("ag.assume(lambda a, b: a != b, I, pairs=True)\n", "pass\n"),
    ),
    ("in_place.py", "nesterov"): (
        ("(g + mu * v)", "(g + v)"),
        ("= ag.load(W[m", "= ag.load(V[m"),
    ),
    ("in_place.py", "running_rows"): (
        ("ag.range(M)", "ag.range(1, M)"),
        ("ag.load(X[m,", "ag.load(X[ag.max(m - 1, 0),"),
    ),
    # The next tile, one stored twice, the last left out, another loop over all of them.
    ("in_place.py", "fused_add_norm"): (
        ("R[m : m + 1, n:], (1, BN))\n", "R[m : m + 1, n + BN :], (1, BN))\n"),
        ("= r\n", "= r\n        R[m : m + 1, n + BN :] = r\n"),
        (
            "    R[m : m + 1, n:] = r",
            "    if n + BN < N:\n            R[m : m + 1, n:] = r",
        ),
        ("    scale =", f"{DOUBLED_AGAIN.format(1)}    scale ="),
        ("    scale =", f"{DOUBLED_AGAIN.format(0.5)}    scale ="),
    ),
    # The other nibble, the scale of the next group.
    ("products.py", "gemm_w4"): (
        *rest(("(w & 15)", "(w >> 4)")),
        *rest(("S[j * 64 :, g]", "S[j * 64 :, 0]")),
    ),
}


@pytest.mark.parametrize(
    ("file", "name", "old", "new"),
    [
        (file, name, *change)
        for (file, name), changes in MISTAKES.items()
        for change in changes
        if kept(name)
    ],
)
def test_with_a_mistake_it_is_not(file: str, name: str, old: str, new: str) -> None:
    text = (FOLDER / file).read_text()
    begin = text.index(f"def {name}(")
    end = text.index("@ag.reference", begin)
    assert old in text[begin:end]
    changed = text[:begin] + text[begin:end].replace(old, new) + text[end:]
    assert not compared(kernels(file, changed)[name]).equal
