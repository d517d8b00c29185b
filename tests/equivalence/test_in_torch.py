"""References in PyTorch: given tensors, traced through exported graphs."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from argus.equivalence.in_torch import is_in_torch
from argus.equivalence.references import Failed, load, reference_of
from argus.equivalence.traced import decided
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request
from few import rest

pytest.importorskip("torch")

HEAD = "import argus as ag\nfrom argus import bf16, f32, i32\n\n\n"
ROWS = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    M, N = X.shape
    ag.require(N <= BN, "a row is held in registers")
    i = ag.block(M)
    x = ag.load(X[i, 0:], (BN,), fill=-ag.inf)
    e = ag.exp(x - ag.max(x, "N"))
    Y[i, 0:] = e / ag.sum(e, "N")


@ag.reference
def ref(X):
    import torch

    return torch.softmax(X, -1)
"""
SCALED = """@ag.kernel
def k(X: f32["M N"], W: f32["N"], Y: f32["M N"], R: f32["M"], e: f32, *, BN: int = 64):
    M, N = X.shape
    ag.require((N <= BN) & (N > 0), "a row is held in registers")
    i = ag.block(M)
    x = ag.load(X[i, 0:], (BN,))
    r = ag.rsqrt(ag.sum(x * x, "N") / N + e)
    Y[i, 0:] = x * r * ag.load(W[0:], (BN,))
    R[i] = r


@ag.reference
def ref(X, W, e, N, BN, **sizes):
    import torch

    assert sizes["M"] == X.shape[0] and BN == 64
    r = torch.rsqrt((X * X).sum(-1) / N + e)
    return {"Y": X * r[:, None] * W, "R": r}
"""
"""Two outputs by name; a scalar, sizes and a static parameter."""
ATTENTION = """@ag.kernel
def k(Q: bf16["B S D"], K: bf16["B T D"], V: bf16["B T D"], O: bf16["B S D"]):
    B, S, D = Q.shape
    T = K.shape[1]
    ag.require((D == 64) & (T > 0), "one tile of a head")
    b, i = ag.block(B, ag.cdiv(S, 64))
    q = ag.load(Q[b, i * 64 :, 0:], (64, 64))
    m, l = ag.full((64,), -ag.inf, f32), ag.zeros((64,), f32)
    o = ag.zeros((64, 64), f32)
    for t in ag.range(0, T, 64):
        s = ag.dot(q, ag.load(K[b, t:, 0:], (64, 64)).T) * 0.125
        s = ag.where(ag.index(s, 1) + t < T, s, -ag.inf)
        n = ag.maximum(m, ag.max(s, 1))
        p, c = ag.exp(s - n), ag.exp(m - n)
        l = l * c + ag.sum(p, 1)
        o = ag.dot(p.to(bf16), ag.load(V[b, t:, 0:], (64, 64)), o * c)
        m = n
    O[b, i * 64 :, 0:] = (o / l).to(bf16)


@ag.reference
def ref(Q, K, V):
    import torch.nn.functional as F

    return F.scaled_dot_product_attention(Q, K, V)
"""
GROUPS = """@ag.kernel
def k(Q: bf16["B H S 64"], K: bf16["B G T 64"], V: bf16["B G T 64"],
      O: bf16["B H S 64"]):
    B, H, S = Q.shape[0], Q.shape[1], Q.shape[2]
    G, T = K.shape[1], K.shape[2]
    ag.require(H % G == 0, "heads in groups")
    ag.require(T > 0, "keys")
    b, h, i = ag.block(B, H, ag.cdiv(S, 64))
    g = h // (H // G)
    q = ag.load(Q[b, h, i * 64 :, 0:64], (64, 64))
    m, l = ag.full((64,), -ag.inf, f32), ag.zeros((64,), f32)
    o = ag.zeros((64, 64), f32)
    for t in ag.range(0, T, 64):
        s = ag.dot(q, ag.load(K[b, g, t:, 0:64], (64, 64)).T) * 0.125
        s = ag.where(ag.index(s, 1) + t < T, s, -ag.inf)
        n = ag.maximum(m, ag.max(s, 1))
        p, c = ag.exp(s - n), ag.exp(m - n)
        l = l * c + ag.sum(p, 1)
        o = ag.dot(p.to(bf16), ag.load(V[b, g, t:, 0:64], (64, 64)), o * c)
        m = n
    O[b, h, i * 64 :, 0:64] = (o / l).to(bf16)


@ag.reference
def ref(Q, K, V):
    import torch.nn.functional as F

    return F.scaled_dot_product_attention(Q, K, V, enable_gqa=True)
"""
SPELLED = (
    GROUPS.partition("    import torch.nn")[0]
    + """    import torch

    n = Q.shape[1] // K.shape[1]
    k, v = K.repeat_interleave(n, 1), V.repeat_interleave(n, 1)
    return torch.softmax(Q @ k.transpose(-1, -2) / 8, -1) @ v
"""
)
"""Torch asks whether sizes are 1: where H is, G is, too."""
POOL = """@ag.kernel
def k(X: f32["B H W C"], Y: f32["B P Q C"]):
    B, H, W, C = X.shape
    P, Q = Y.shape[1], Y.shape[2]
    ag.require((P == (H - 1) // 2 + 1) & (Q == (W - 1) // 2 + 1), "windows")
    b, p, q, c = ag.block(B, P, ag.cdiv(Q, 4), ag.cdiv(C, 64))
    acc = ag.zeros((4, 64), f32, dims="Q C")
    for r in ag.static_range(3):
        for s in ag.static_range(3):
            y = p * 2 + r - 1
            x = X.view("Q C", shape=(Q, C), at=lambda w, c: (b, y, w * 2 + s - 1, c))
            acc = acc + ag.load(x[q * 4 :, c * 64 :], (4, 64))
    first = (ag.index(acc, "Q") + q * 4) * 2 - 1
    n = ag.minimum(first + 3, W) - ag.maximum(first, 0)
    rows = ag.min(p * 2 + 2, H) - ag.max(p * 2 - 1, 0)
    Y[b, p, q * 4 :, c * 64 :] = acc / (n.to(f32) * rows)


@ag.reference
def ref(X):
    import torch.nn.functional as F

    x = X.permute(0, 3, 1, 2)
    return F.avg_pool2d(x, 3, 2, 1, count_include_pad=False).permute(0, 2, 3, 1)
"""
"""What is divided by is a product, and not 0; where H is 1, so are its rows."""
OPTIONAL = """@ag.kernel
def k(X: f32["M N"], B: f32["N"] | None, Y: f32["M N"]):
    i, j = ag.block(ag.cdiv(X.shape[0], 16), ag.cdiv(X.shape[1], 64))
    x = ag.load(X[i * 16 :, j * 64 :], (16, 64))
    if B is not None:
        x = x + ag.load(B[j * 64 :], (64,))
    Y[i * 16 :, j * 64 :] = ag.maximum(x, 0.0)


@ag.reference
def ref(X, B):
    import torch

    return torch.relu(X if B is None else X + B)
"""


def kernel_of(text: str) -> Kernel:
    return load_kernels("in_torch.py", HEAD + text).kernels["k"]


def request_of(text: str, *absent: str) -> Request:
    kernel = kernel_of(text)
    dtypes = default_dtypes(kernel, {})
    return Request(kernel, {n: d for n, d in dtypes.items() if n not in absent})


def reason_of(text: str) -> str:
    request = request_of(text)
    declared = reference_of(request.kernel)
    assert declared is not None
    made = decided(request, declared)
    return "equal" if made.equal else made.reason


GRADIENT = """@ag.kernel
def k(X: f32["N"], G: f32["N"], Y: f32["N"]):
    i = ag.block(ag.cdiv(X.shape[0], 128))
    x = ag.load(X[i * 128 :], (128,))
    share = 1.0 / (1.0 + ag.exp(-x))
    g = ag.load(G[i * 128 :], (128,))
    Y[i * 128 :] = g * share * (1.0 + x * (1.0 - share))


@ag.reference
def ref(X, G):
    import torch

    x = X.clone().requires_grad_()
    (found,) = torch.autograd.grad(torch.nn.functional.silu(x), x, G)
    return found
"""
"""Torch has a kernel for what the gradient is composed of, too."""


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (GRADIENT, "silu(x), x, G", "silu(x), x, 2 * G"),
        (ROWS, "softmax(X, -1)", "softmax(X, 0)"),
        (SCALED, "sum(-1) / N", "sum(-1) / (N + 1)"),
        (ATTENTION, "attention(Q, K, V)", "attention(Q, K, V, is_causal=True)"),
        (GROUPS, "h // (H // G)", "h % G"),
        *rest((SPELLED, "g = h // (H // G)", "g = (h + 1) % G")),
        *rest((POOL, "count_include_pad=False", "count_include_pad=True")),
    ],
    ids=["gradient", "rows", "scaled", "attention", "groups", *rest("spelled", "pool")],
)
def test_a_kernel_is_its_reference_or_not(text: str, right: str, wrong: str) -> None:
    assert reason_of(text) == "equal"
    assert right in text
    assert reason_of(text.replace(right, wrong)) != "equal"


OPTION = """@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], a: f32, *, BN: int = 64):
    M, N = X.shape
    ag.require((N <= BN) & (N > 0) & (M > 0), "a row is held in registers")
    i = ag.block(M)
    x = ag.load(X[i, 0:], (BN,))
    Y[i, 0:] = VALUE


@ag.reference
def ref(X, a):
    from torch.nn import functional as F

    return CALL
"""
NORMED = """@ag.kernel
def k(X: f32["M N"], W: f32["N"], Y: f32["M N"], a: f32, *, BN: int = 64):
    M, N = X.shape
    ag.require((N <= BN) & (N > 0), "a row is held in registers")
    i = ag.block(M)
    x = ag.load(X[i, 0:], (BN,))
    d = ag.where(ag.index(x, "N") < N, x - ag.sum(x, "N") / N, 0.0)
    r = ag.rsqrt(ag.sum(d * d, "N") / N + a)
    Y[i, 0:] = d * r * ag.load(W[0:], (BN,))


@ag.reference
def ref(X, W, a):
    from torch.nn import functional as F

    return F.layer_norm(X, (X.shape[1],), W, None, a)
"""


def option(value: str, call: str) -> str:
    """A kernel of a scalar that the reference hands on as an option."""
    return OPTION.replace("VALUE", value).replace("CALL", call)


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (NORMED, "W, None, a)", "W, None, 2 * a)"),
        (
            option("ag.where(x > 0, x, a * x)", "F.leaky_relu(X, a)"),
            "_relu(X, a)",
            "_relu(X, -a)",
        ),
        (
            option("ag.where(x > 0, x, a * (ag.exp(x) - 1))", "F.elu(X, a)"),
            "elu(X, a)",
            "elu(X)",
        ),
        (option("ag.where(x > a, x, 0.5)", "F.threshold(X, a, 0.5)"), "0.5)", "0.25)"),
        (
            option("x + a * X[0, 0]", "X + a * X[:1, :1].item()"),
            "[:1, :1]",
            "[:1, 1:2]",
        ),
    ],
    ids=["layer norm", "leaky relu", "elu", "threshold", "item"],
)
def test_options_of_torch_may_be_scalars(text: str, right: str, wrong: str) -> None:
    """Torch's functions in C++ ask which number an eps is."""
    assert reason_of(text) == "equal"
    at = text.rindex(right)
    other = text[:at] + wrong + text[at + len(right) :]
    assert reason_of(other) != "equal"


def test_a_function_that_asks_which_number_a_scalar_is_is_named() -> None:
    text = option("x * a", "F.rms_norm(X, (X.shape[1],), None, a)")
    assert "`rms_norm` asks which number a scalar is" in reason_of(text)


def test_it_is_called_with_tensors_and_gives_arrays() -> None:
    declared = reference_of(kernel_of(ROWS))
    assert declared is not None
    made = load(declared).called({"X": np.ones((2, 3)), "N": 3}, ("Y",))["Y"]
    assert made.dtype == np.float64 and np.allclose(made, 1 / 3)


@pytest.mark.parametrize("absent", [(), ("B",)])
def test_a_tensor_that_is_left_out_is_none(absent: tuple[str, ...]) -> None:
    request = request_of(OPTIONAL, *absent)
    declared = reference_of(request.kernel)
    assert declared is not None
    assert decided(request, declared).equal


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("torch.softmax(X.squeeze(), -1)", "it squeezes an axis"),
        ("torch.sort(X, -1)[0]", "sort"),
        ("X if X.sum() > 0 else -X", r"torch.export fails"),
    ],
)
def test_what_has_no_terms_is_open(
    text: str, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert why in reason_of(ROWS.replace("torch.softmax(X, -1)", text))
    assert capfd.readouterr() == ("", "")  # torch says much of what it cannot export


@pytest.mark.parametrize("condition", ["X.shape[0] > 1", "X.shape[0] != 1", "N != 1"])
def test_a_reference_may_be_another_one_where_a_size_is_1(condition: str) -> None:
    text = ROWS.replace("ref(X)", "ref(X, N)")
    same = f"torch.softmax(X, -1) if {condition} else torch.softmax(X, 1)"
    assert reason_of(text.replace("torch.softmax(X, -1)", same)) == "equal"
    other = same.replace("X, 1)", "X, 1) + 1")
    assert "differ" in reason_of(text.replace("torch.softmax(X, -1)", other))


def test_without_torch_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert reason_of(ROWS) == "torch, which it is in, is not installed"


def test_who_is_given_tensors() -> None:
    def function(text: str) -> bool:
        names: dict[str, object] = {"np": np}
        exec(text, names)
        found = names["f"]
        assert callable(found)
        return is_in_torch(found)

    assert function("def f(x):\n    import torch\n    return torch.exp(x)")
    assert function("def f(x):\n    from torch.nn import functional as F\n    return x")
    assert function("import torch\ndef f(x):\n    return x.softmax(-1)")
    assert function("import torch\ndef f(x):\n    return torch.tensor(np.pi) * x")
    assert not function("import torch\ndef f(x):\n    return np.exp(x)")
    assert not function("def f(x):\n    return np.exp(x)")


def test_a_reference_that_fails_says_so() -> None:
    declared = reference_of(kernel_of(ROWS.replace("softmax(X, -1)", "from_numpy(X)")))
    assert declared is not None
    with pytest.raises(Failed, match="failed: TypeError"):
        load(declared).called({"X": np.ones((2, 3))}, ("Y",))


@pytest.mark.parametrize(
    "condition",
    ["X.shape[0] / 2 > 3.4", "int(X.shape[0] / 2) == 5", "X.shape[0] ** 0.5 > 9"],
)
def test_sizes_of_another_graph_are_not_left_out(condition: str) -> None:
    """Torch says of floats which sizes a graph is for: what is not read is open."""
    right = "torch.softmax(X, -1)"
    assert right in ROWS
    for wrong in (f"{right} if {condition} else X", f"X if {condition} else {right}"):
        assert "guard" in reason_of(ROWS.replace(right, wrong))


FILTERS = """@ag.kernel
def k(X: f32["B L"], F: f32["R"], Y: f32["B L"], *, BL: int = 64):
    B, L = X.shape
    ag.require((F.shape[0] == 3) & (L > 0), "three numbers")
    b, i = ag.block(B, ag.cdiv(L, BL))
    acc = ag.zeros((BL,), f32, dims="L")
    for r in ag.static_range(3):
        view = X.view("B L", shape=(B, L), at=lambda b, j: (b, j + r - 1))
        acc = acc + ag.load(view[b, i * BL :], (BL,)) * F[r]
    Y[b, i * BL :] = acc


@ag.reference
def ref(X, F):
    import torch

    return torch.nn.functional.conv1d(X[:, None], F[None, None], padding=1)[:, 0]
"""


def test_a_size_that_is_required_to_be_a_number_is_one_for_torch() -> None:
    assert reason_of(FILTERS) == "equal"
    other = FILTERS.replace("F[r]", "F[2 - r]")
    assert reason_of(other) != "equal"
    five = FILTERS.replace("== 3) &", "<= 3) &")
    assert reason_of(five) != "equal"


def test_a_parameter_that_a_kernel_does_not_have_is_named() -> None:
    declared = reference_of(kernel_of(ROWS.replace("def ref(X):", "def ref(X, Z):")))
    assert declared is not None
    with pytest.raises(Failed, match="takes `Z`, which is no tensor, size, scalar"):
        load(declared).called({"X": np.ones((2, 3)), "N": 3}, ("Y",))
