"""What loops carry beside sums, maxima and online softmax: right and wrong forms."""

from __future__ import annotations

import pytest

from few import rest
from verifier.equality.attacking import decided_text

WELFORD = """
@ag.kernel
def k(X: f32["M N"], Mean: f32["M"], Var: f32["M"]):
    M, N = X.shape
    ag.require(N > 0, "columns")
    ag.require({whole}, "whole tiles")
    i = ag.block(ag.cdiv(M, 4))
    mean = ag.full((4,), {mean}, f32, dims="M")
    m2 = ag.full((4,), {m2}, f32, dims="M")
    count = {count}
    for n in ag.range({range}, 128):
        x = ag.load(X[i * 4 :, n:], (4, 128))
        mb = ag.sum(x, "N") / 128
        c = x - mb
        d = mb - mean
        total = count + {more}
        {step}
        count = total
    Mean[i * 4 :] = mean
    Var[i * 4 :] = m2 / {over}


@ag.reference
def ref(X):
    return {{"Mean": X.mean(1), "Var": X.var(1)}}
"""
_SQUARES = 'm2 = m2 + ag.sum(c * c, "N") + d * d * (count * 128 / total)'
_TOO_MANY = _SQUARES.replace("count * 128", "total * 128")
_MEAN = "mean = mean + d * (128 / total)"
RIGHT = {
    "whole": "N % 128 == 0",
    "mean": "0.0",
    "m2": "0.0",
    "count": "0.0",
    "range": "0, N",
    "more": "128",
    "step": f"{_SQUARES}\n        {_MEAN}",
    "over": "N",
}


def test_welford_is_mean_and_variance() -> None:
    found = decided_text(WELFORD.format(**RIGHT))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change",
    [
        {"whole": "N % 64 == 0"},
        *rest({"mean": "1.0", "count": "1.0"}),
        {"count": "128.0"},
        *rest({"more": "127"}),
        {"over": "(N - 1)"},
        *rest({"step": f"{_MEAN}\n        d = mb - mean\n        {_SQUARES}"}),
        *rest({"step": f"{_TOO_MANY}\n        {_MEAN}"}),
    ],
)
def test_wrong_forms_of_welford(change: dict[str, str]) -> None:
    found = decided_text(WELFORD.format(**RIGHT | change))
    assert not found.equal
    assert found.reason


SPLIT = """
@ag.kernel
def k(X: f32["N"], Y: f32["N"], G: i32):
    (N,) = X.shape
    ag.require(G > 0, "groups")
    {more}
    i = ag.block(ag.cdiv(N, 64))
    Y[i * 64 :] = ag.load(X[i * 64 :], (64,))


@ag.reference
def ref(X, G):
    (N,) = X.shape
    return X.reshape({shape}).reshape(N)
"""


@pytest.mark.parametrize(
    ("shape", "more"),
    [
        ("G, N // G", 'ag.require(N % G == 0, "whole groups")'),
        ("N // 4, 4", 'ag.require(N % 4 == 0, "whole groups")'),
        ("(N + 3) // 4, 4", 'ag.require(N % 8 == 0, "whole groups")'),
    ],
)
def test_what_a_reference_needs_of_a_quotient(shape: str, more: str) -> None:
    found = decided_text(SPLIT.format(shape=shape, more=more))
    assert found.equal, found.reason
    found = decided_text(SPLIT.format(shape=shape, more="pass"))
    assert "does not require" in found.reason


AVERAGE = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M"], beta: f32):
    M, N = X.shape
    {more}
    i = ag.block(ag.cdiv(M, 4))
    e = ag.full((4,), {start}, f32, dims="M")
    for n in ag.range({range}):
        x = ag.sum(ag.load(X[i * 4 :, {column}:], (4, 64)), "N")
        e = {step}
    Y[i * 4 :] = e


@ag.reference
def ref(X, beta):
    e = np.{begin}(X.shape[0])
    for n in range(0, X.shape[1], 64):
        e = {said}
    return e
"""
MOVING = {
    "more": "pass",
    "start": "0.0",
    "range": "0, N, 64",
    "column": "n",
    "step": "e * beta + x * (1.0 - beta)",
    "begin": "zeros",
    "said": "e * beta + X[:, n : n + 64].sum(1) * (1 - beta)",
}
STARTED = MOVING | {"start": "1.0", "begin": "ones"}
HORNER = STARTED | {
    "step": "e * 0.75 + x",
    "said": "X[:, n : n + 64].sum(1) + e * 0.75",
}


@pytest.mark.parametrize("right", [MOVING, STARTED, HORNER])
def test_moving_averages(right: dict[str, str]) -> None:
    found = decided_text(AVERAGE.format(**right))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("right", "change"),
    [
        (MOVING, {"start": "1.0"}),
        (MOVING, {"begin": "ones"}),
        (STARTED, {"start": "0.5"}),
        (MOVING, {"range": "64, N, 64"}),
        (MOVING, {"range": "0, N - 64, 64"}),
        *rest((MOVING, {"range": "0, N, 128"})),
        (MOVING, {"range": "0, N + 64, 64"}),
        *rest((MOVING, {"column": "(n // 128 * 128)"})),
        (MOVING, {"column": "((N - 1) // 64 * 64 - n)"}),
        (MOVING, {"step": "(e + x * (1.0 - beta)) * beta"}),
        (MOVING, {"step": "e * (1.0 - beta) + x * beta"}),
        (MOVING, {"step": "e * beta + x"}),
        (MOVING, {"step": "e * beta * beta + x * (1.0 - beta)"}),
        (MOVING, {"step": "ag.where(n == 128, 0.0, e) * beta + x * (1.0 - beta)"}),
        (MOVING, {"said": "e * beta + X[:, n : n + 63].sum(1) * (1 - beta)"}),
        (HORNER, {"step": "e * 0.7500001 + x"}),
        (HORNER, {"step": "-e * 0.75 + x"}),
        (HORNER, {"range": "0, N + 64, 64"}),
    ],
)
def test_wrong_moving_averages(right: dict[str, str], change: dict[str, str]) -> None:
    found = decided_text(AVERAGE.format(**right | change))
    assert not found.equal
    assert found.reason


PLACE = """
@ag.kernel
def k(X: f32["M N"], I: i32["M"], w: i32):
    M, N = X.shape
    ag.require({more}, "columns")
    i = ag.block(ag.cdiv(M, 4))
    best = ag.full((4,), {best}, f32, dims="M")
    at = ag.full((4,), {at}, i32, dims="M")
    for n in ag.range({range}, 64):
        x = ag.load(X[i * 4 :, {column}:], (4, 64), fill={fill})
        m = ag.{extreme}(x, "N")
        better = {better}
        at = {place}
        best = {kept}
    I[i * 4 :] = at


@ag.reference
def ref(X, w):
    return X.arg{extreme}(1)
"""
LARGEST = {
    "more": "N > 0",
    "best": "-ag.inf",
    "at": "0",
    "range": "0, N",
    "column": "n",
    "fill": "-ag.inf",
    "extreme": "max",
    "better": "m > best",
    "place": 'ag.where(better, ag.argmax(x, "N") + n, at)',
    "kept": "ag.maximum(best, m)",
}
SMALLEST = LARGEST | {
    "best": "ag.inf",
    "fill": "ag.inf",
    "extreme": "min",
    "better": "m < best",
    "place": 'ag.where(better, ag.argmin(x, "N") + n, at)',
    "kept": "ag.where(better, m, best)",
}


@pytest.mark.parametrize("right", [LARGEST, LARGEST | {"at": "7"}, SMALLEST])
def test_places_of_extremes(right: dict[str, str]) -> None:
    found = decided_text(PLACE.format(**right))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("right", "change"),
    [
        (LARGEST, {"better": "m >= best"}),
        (LARGEST, {"better": "m < best"}),
        (LARGEST, {"better": "m > best + 1.0"}),
        (LARGEST, {"better": "(m > best) & (n < w)"}),
        (LARGEST, {"best": "0.0"}),
        (LARGEST, {"best": "ag.inf"}),
        (LARGEST, {"fill": "0.0"}),
        (LARGEST, {"range": "64, N"}),
        (LARGEST, {"range": "0, N - 64"}),
        (LARGEST, {"column": "n + 1"}),
        (LARGEST, {"column": "((N - 1) // 64 * 64 - n)"}),
        (LARGEST, {"column": "(n // 128 * 128)"}),
        (LARGEST, {"more": "N >= 0", "at": "1"}),
        (LARGEST, {"kept": "ag.minimum(best, m)"}),
        (LARGEST, {"kept": "m"}),
        (LARGEST, {"kept": "ag.maximum(best, m + 1.0)"}),
        (LARGEST, {"place": 'ag.where(better, ag.argmax(x, "N"), at)'}),
        (LARGEST, {"place": 'ag.where(better, ag.argmax(x, "N") + n + 1, at)'}),
        (LARGEST, {"place": 'ag.where(better, ag.argmax(x, "N") + n, at + 1)'}),
        (LARGEST, {"place": 'ag.where(better, ag.argmax(x, "N") - n, at)'}),
        (LARGEST, {"place": 'ag.where(better, ag.argmin(x, "N") + n, at)'}),
        (LARGEST, {"place": 'ag.where(better, at, ag.argmax(x, "N") + n)'}),
        (SMALLEST, {"better": "m <= best"}),
        (SMALLEST, {"best": "0.0"}),
        (SMALLEST, {"place": 'ag.where(better, ag.argmax(x, "N") + n, at)'}),
    ],
)
def test_wrong_places(right: dict[str, str], change: dict[str, str]) -> None:
    found = decided_text(PLACE.format(**right | change))
    assert not found.equal
    assert found.reason


MASKED = PLACE.replace(
    "        m =",
    """        x = ag.where(ag.index(x, "N") + n < {end}, x * {scale}, {outside})
        m =""",
)
"""Of rows past the end the numbers are other terms than of those inside."""


@pytest.mark.parametrize("right", [LARGEST, *rest(SMALLEST)])
def test_places_of_what_is_computed_of_a_tile(right: dict[str, str]) -> None:
    padded = right | {"fill": "0.0", "end": "N", "outside": right["fill"]}
    for scale, equal in (("1.0", True), ("-1.0", False), ("0.0", False)):
        found = decided_text(MASKED.format(**padded, scale=scale))
        assert found.equal == equal, found.reason
    for change in ({"outside": "0.0"}, {"end": "N - 1"}, {"end": "N + 1"}):
        found = decided_text(MASKED.format(**padded | change, scale="1.0"))
        assert not found.equal


def test_tiles_from_the_last_to_the_first_keep_the_last_of_equal_numbers() -> None:
    backwards = LARGEST | {
        "column": "((N - 1) // 64 * 64 - n)",
        "place": 'ag.where(better, ag.argmax(x, "N") + ((N - 1) // 64 * 64 - n), at)',
    }
    assert not decided_text(PLACE.format(**backwards)).equal


LAGGING = """
@ag.kernel
def k(X: f32["M N"], Z: f32["M N"], Y: f32["M"], scale: f32):
    M, N = X.shape
    ag.require({more}, "columns")
    i = ag.block(ag.cdiv(M, 4))
    m = ag.full((4,), {m}, f32, dims="M")
    l = ag.full((4,), {l}, f32, dims="M")
    o = ag.full((4,), {o}, f32, dims="M")
    for n in ag.range({range}, 64):
        x = ag.load(X[i * 4 :, n:], (4, 64), fill={fill})
        z = ag.load(Z[i * 4 :, n:], (4, 64))
        top = ag.max(x, "N")
        above = ag.where({grown}, top, m)
        p = ag.exp((x - {near}) * scale)
        alpha = ag.exp({shift} * scale)
        l = l * {rescaled} + ag.sum(p, "N")
        o = o * alpha + ag.sum(p * z, "N")
        m = {kept}
    Y[i * 4 :] = {stored}


@ag.reference
def ref(X, Z, scale):
    x = X * scale
    e = np.exp(x - x.max(1, keepdims=True))
    return (e * Z).sum(1) / e.sum(1)
"""
BEHIND = {
    "more": "N > 0",
    "m": "-1e30",
    "l": "0.0",
    "o": "0.0",
    "range": "0, N",
    "fill": "-1e30",
    "grown": "(top - m) * scale > 8.0",
    "near": "above",
    "shift": "(m - above)",
    "rescaled": "alpha",
    "kept": "above",
    "stored": "o / l",
}


@pytest.mark.parametrize(
    "change", [{}, *rest({"m": "0.0"}), {"grown": "top > m + 1.0"}]
)
def test_a_maximum_that_lags_behind(change: dict[str, str]) -> None:
    found = decided_text(LAGGING.format(**BEHIND | change))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change",
    [
        {"more": "N >= 0"},
        {"m": "-ag.inf", "fill": "-ag.inf"},
        {"l": "1.0"},
        {"l": "1.0", "o": "1.0"},
        {"fill": "0.0"},
        {"near": "m"},
        {"shift": "(above - m)"},
        {"rescaled": "1.0"},
        {"stored": "o"},
        {"stored": "m"},
    ],
)
def test_what_is_relative_to_another_maximum(change: dict[str, str]) -> None:
    found = decided_text(LAGGING.format(**BEHIND | change))
    assert not found.equal
    assert found.reason


TWO_LOOPS = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M"]):
    M, N = X.shape
    ag.require(N > 0, "columns")
    i = ag.block(ag.cdiv(M, 4))
    m = ag.zeros((4,), f32, dims="M")
    l = ag.zeros((4,), f32, dims="M")
    for n in ag.range(0, N, 64):
        x = ag.load(X[i * 4 :, n:], (4, 64), fill=-1e30)
        above = ag.where(ag.max(x, "N") > m + 8.0, ag.max(x, "N"), m)
        l = l * ag.exp(m - above) + ag.sum(ag.exp(x - above), "N")
        m = above
    w = ag.zeros((4,), f32, dims="M")
    r = ag.zeros((4,), f32, dims="M")
    for n in ag.range(0, N, 64):
        x = ag.load(X[i * 4 :, n:], (4, 64), fill=-1e30)
        above = ag.where(ag.max(x, "N") > w + 9.0, ag.max(x, "N"), w)
        r = r * ag.exp(w - above) + ag.sum(ag.exp(x - above), "N")
        w = above
    Y[i * 4 :] = {stored}


@ag.reference
def ref(X):
    return 0 * X.sum(1)
"""


def test_numbers_that_data_choose_are_not_the_same_in_two_loops() -> None:
    right = "l * ag.exp(m) - r * ag.exp(w)"
    found = decided_text(TWO_LOOPS.format(stored=right))
    assert found.equal, found.reason
    found = decided_text(TWO_LOOPS.format(stored="m - w"))
    assert "differ" in found.reason


QUOTIENTS = """
@ag.kernel
def k(X: f32["M K N"], W: f32["M K N"], Y: f32["M N"], *, BN: int = 16):
    M, K, N = X.shape
    ag.require(K > 0, "something is compared")
    i, j = ag.block(M, ag.cdiv(N, BN))
    m = ag.full((BN,), {first}, f32, dims="N")
    for k in ag.range(0, K):
        x = ag.load(X[i, k, j * BN :], (BN,))
        w = ag.load(W[i, k, j * BN :], (BN,))
        m = {extreme}(m, x / w)
    Y[i, j * BN :] = m


@ag.reference
def ref(X, W):
    return (X / W).{wanted}(1)
"""
"""Beyond the last column 0 is divided by 0, which no column has to do with."""


@pytest.mark.parametrize(
    ("first", "extreme", "wanted"),
    [("-ag.inf", "ag.maximum", "max"), ("ag.inf", "ag.minimum", "min")],
)
def test_an_extreme_of_quotients_beside_padding(
    first: str, extreme: str, wanted: str
) -> None:
    whole = QUOTIENTS.format(first=first, extreme=extreme, wanted=wanted)
    found = decided_text(whole)
    assert found.equal, found.reason
    assert not decided_text(whole.replace(first, "0.0")).equal
    # The last column is divided by what lies beyond its row.
    shifted = whole.replace("W[i, k, j * BN :]", "W[i, k, j * BN + 1 :]")
    assert not decided_text(shifted).equal


ROWS_OF_QUOTIENTS = """
@ag.kernel
def k(X: f32["M N"], W: f32["M N"], Y: f32["M"], *, BN: int = 16):
    M, N = X.shape
    ag.require(N > 0, "something is compared")
    i = ag.block(M)
    m = ag.full((1,), -ag.inf, f32, dims="M")
    for n in ag.range(0, N, BN):
        x = ag.load(X[i:, n:], (1, BN))
        w = ag.load(W[i:, n:], (1, BN))
        m = ag.maximum(m, ag.max(x / w, "N"))
    Y[i:] = m


@ag.reference
def ref(X, W):
    return (X / W).max(1)
"""


def test_padding_along_what_is_reduced_is_no_number() -> None:
    found = decided_text(ROWS_OF_QUOTIENTS)
    assert not found.equal
    assert "division" in found.reason or "defined" in found.reason, found.reason


LOGARITHMS = """
@ag.kernel
def k(X: f32["M K N"], Y: f32["M N"], *, BN: int = 16):
    M, K, N = X.shape
    ag.require(K > 0, "something is compared")
    i, j = ag.block(M, ag.cdiv(N, BN))
    m = ag.full((BN,), {first}, f32, dims="N")
    for k in ag.range(0, K):
        x = ag.load(X[i, k, j * BN :], (BN,))
        m = {step}
    Y[i, j * BN :] = m


@ag.reference
def ref(X):
    return {wanted}
"""


@pytest.mark.parametrize(
    ("first", "step", "wanted"),
    [
        ("0.0", "m + ag.log(x)", "np.log(X).sum(1)"),
        ("-ag.inf", "ag.maximum(m, ag.log(x * x))", "np.log(X * X).max(1)"),
    ],
)
def test_logarithms_beside_padding(first: str, step: str, wanted: str) -> None:
    whole = LOGARITHMS.format(first=first, step=step, wanted=wanted)
    found = decided_text(whole)
    assert found.equal, found.reason
    assert not decided_text(whole.replace("k, j * BN :]", "k, j * BN + 1 :]")).equal
    assert not decided_text(whole.replace("ag.log(x", "ag.log(0 * x")).equal


MERGED = """
@ag.kernel
def k(Op: f32["P H D"], E: f32["P H"], O: f32["H D"]):
    P, H, D = Op.shape
    ag.require(P > 0, "parts")
    h, j = ag.block(ag.cdiv(H, 4), ag.cdiv(D, 128))
    acc = ag.zeros((4, 128), f32, dims="H D")
    m = ag.full((4,), -1e30, f32, dims="H")
    l = ag.zeros((4,), f32, dims="H")
    for p in ag.range(0, P):
        s = ag.load(E[p, h * 4 :], (4,), fill={fill})
        new = ag.maximum(m, s)
        a, b = ag.exp(m - new), ag.exp(s - new)
        acc = acc * {factor} + ag.load(Op[p, h * 4 :, j * 128 :], (4, 128)) * b
        l = l * {factor} + b
        m = new
    O[h * 4 :, j * 128 :] = acc / l


@ag.reference
def ref(Op, E):
    w = np.exp(E - E.max(0))
    return (w[..., None] * Op).sum(0) / w.sum(0)[:, None]
"""


@pytest.mark.parametrize("fill", ["0.0", "-ag.inf", "1.0"])
def test_rows_beside_a_tensor_are_rescaled_by_themselves(fill: str) -> None:
    found = decided_text(MERGED.format(fill=fill, factor="a"))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "factor",
    [
        "b",
        "1.0",
        "ag.exp(s - m)",
        "ag.where(s > 0.0, a, 1.0)",
        'ag.where(ag.full((4,), p, i32, dims="H") > 2, a, 1.0)',
        'ag.where(ag.index(s, "H") + p < H, a, 1.0)',
        'ag.where(ag.index(s, "H") < 3, a, 1.0)',
    ],
)
def test_rows_that_are_rescaled_by_another_factor(factor: str) -> None:
    assert not decided_text(MERGED.format(fill="0.0", factor=factor)).equal


LANES = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M"]):
    M, N = X.shape
    ag.require(N > 0, "a row has elements")
    i = ag.block(ag.cdiv(M, 4))
    m = ag.full((4, 128), -1e30, f32, dims="M N")
    l = ag.zeros((4, 128), f32, dims="M N")
    for n in ag.range(0, N, 128):
        x = ag.load(X[i * 4 :, n:], (4, 128), fill={fill})
        new = ag.maximum(m, x)
        l = l * ag.exp(m - new) + ag.exp(x - new)
        m = new
    most = ag.max(m, "N")
    Y[i * 4 :] = most + ag.log(ag.sum({left}, "N"))


@ag.reference
def ref(X):
    most = X.max(1)
    return most + np.log(np.exp(X - most[:, None]).sum(1))
"""


@pytest.mark.parametrize("fill", ["-1e30", "-ag.inf"])
def test_each_lane_has_a_maximum_of_its_own(fill: str) -> None:
    """Beside a row nothing is larger: the maximum, and what it rescales, stay."""
    found = decided_text(LANES.format(fill=fill, left="l * ag.exp(m - most)"))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    ("fill", "left"),
    [
        ("0.0", "l * ag.exp(m - most)"),
        ("-1e30", "l"),
        ("-1e30", "l * ag.exp(most - m)"),
    ],
)
def test_lanes_that_are_put_together_otherwise(fill: str, left: str) -> None:
    assert not decided_text(LANES.format(fill=fill, left=left)).equal


DECAYING = """
@ag.kernel
def k(Q: bf16["S D"], K: bf16["S D"], V: bf16["S E"], O: f32["S E"], g: f32 = 0.1,
      *, D: int = 64, E: int = 64):
    S = Q.shape[0]
    state = ag.zeros((D, E), f32)
    for t in ag.range(0, S, 64):
        q = ag.load(Q[t:, :], (64, D))
        k = ag.load(K[t:, :], (64, D)).rename("T D")
        v = ag.load(V[t:, :], (64, E)).rename("T E")
        s = ag.dot(q, k.T)
        i, j = ag.broadcast(ag.index(s, "S"), s), ag.broadcast(ag.index(s, "T"), s)
        s = ag.where(i >= j, s * ag.exp(-g * (i - j).to(f32)), 0.0)
        late = ag.exp(-g * (ag.index(q, "S") + {after}).to(f32))
        early = ag.exp(-g * ({last} - ag.index(k, "T")).to(f32))
        late = (q.to(f32) * ag.broadcast(late, q)).to(bf16)
        early = (k.to(f32) * ag.broadcast(early, k)).to(bf16)
        O[t:, :] = ag.dot(s.to(bf16), v) + ag.dot(late, state.to(bf16))
        decay = ag.exp(ag.full((D, E), -g * {whole}, f32))
        state = ag.dot(early.T, v, state * decay)


@ag.reference
def ref(Q, K, V, g):
    S = Q.shape[0]
    d = np.arange(S)[:, None] - np.arange(S)[None]
    return (np.where(d >= 0, np.exp(-g * d), 0) * (Q @ K.T)) @ V
"""
_DECAY = {"after": "1", "last": "63", "whole": "64.0"}


def test_a_state_that_decays_from_chunk_to_chunk() -> None:
    found = decided_text(DECAYING.format(**_DECAY))
    assert found.equal, found.reason


@pytest.mark.parametrize(
    "change", [{"after": "0"}, {"last": "64"}, {"whole": "63.0"}, {"whole": "0.0"}]
)
def test_a_state_that_decays_otherwise(change: dict[str, str]) -> None:
    assert not decided_text(DECAYING.format(**(_DECAY | change))).equal
