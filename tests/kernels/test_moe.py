"""Layers of experts are what plain torch composes, however tokens choose. No GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from argus.diagnostics import ArgusError  # noqa: E402
from argus.evaluation.proving import proved_all  # noqa: E402
from argus.ir.dtypes import bf16, e4m3, f32  # noqa: E402
from argus.kernels.moe.op import Eights, moe, sequence  # noqa: E402
from argus.kernels.moe.plan import ExpertPlan, best_plan  # noqa: E402
from argus.kernels.moe.routing import moe_place  # noqa: E402
from argus.specialisations import SpecialisationSpace  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from kernels.launching import execute  # noqa: E402

Tensor = Any


def composed(
    x: Tensor,
    logits: Tensor,
    up: Tensor,
    down: Tensor,
    k: int,
    scores: str,
    share: bool,
) -> Tensor:
    """The layer in fp64, one expert after the other."""
    x, logits, up, down = (v.double() for v in (x, logits, up, down))
    every = logits.sigmoid() if scores == "sigmoid" else logits.softmax(-1)
    weights, ids = every.topk(k, -1)
    if share:
        weights = weights / weights.sum(-1, keepdim=True)
    out, n = torch.zeros_like(x), down.shape[-1]
    for e in range(up.shape[0]):
        token, place = (ids == e).nonzero(as_tuple=True)
        hidden = x[token] @ up[e].T
        hidden = torch.nn.functional.silu(hidden[:, :n]) * hidden[:, n:]
        out.index_add_(0, token, hidden @ down[e].T * weights[token, place, None])
    return out


def bits(tensor: Tensor) -> np.ndarray:
    return tensor.contiguous().view(torch.int16).numpy().view(np.uint16).copy()


@pytest.mark.parametrize(
    ("sizes", "plan", "one", "scores", "share", "residual"),
    [
        ((1, 4, 2, 64, 64), ExpertPlan(64, 4), None, "softmax", True, False),
        ((20, 40, 1, 72, 96), ExpertPlan(64, 4), None, "softmax", False, True),
        ((70, 5, 3, 64, 136), ExpertPlan(64, 16), 2, "sigmoid", True, False),
        ((150, 3, 2, 64, 64), ExpertPlan(128, 16), 0, "softmax", False, True),
        ((9, 2, 2, 136, 72), ExpertPlan(128, 4), None, "sigmoid", False, False),
    ],
    ids=["one token", "few of many", "skewed", "two tiles", "every expert"],
)
def test_a_layer_is_what_torch_composes(
    sizes: tuple[int, int, int, int, int],
    plan: ExpertPlan,
    one: int | None,
    scores: str,
    share: bool,
    residual: bool,
) -> None:
    """``one``: an expert that every token chooses."""
    torch.manual_seed(0)
    t, e, k, d, n = sizes
    x = torch.randn(t, d).bfloat16()
    up = (torch.randn(e, 2 * n, d) / d**0.5).bfloat16()
    down = (torch.randn(e, d, n) / n**0.5).bfloat16()
    logits = torch.randn(t, e)
    if one is not None:
        logits[:, one] += 20
    scale = 1.5
    want = scale * composed(x, logits, up, down, k, scores, share)
    added = torch.randn(t, d).bfloat16()
    want = want + added.double() if residual else want
    out = np.zeros((t, d), np.uint16)
    weights = {"SIGMOID": scores == "sigmoid", "RENORMALISE": share}
    launches = sequence(plan, sizes, "bf16", (2 * n * d, d), residual, weights)
    tensors = (bits(x), logits.numpy(), bits(up), bits(down), out)
    execute(launches, (*tensors, bits(added) if residual else None, scale))
    got = torch.from_numpy(out.view(np.int16)).view(torch.bfloat16).double()
    assert (got - want).norm() / want.norm() < 5e-3


@pytest.mark.parametrize("rows", [64, 128])
@pytest.mark.parametrize("t", [1, 5, 1000])
def test_all_choices_have_tiles(rows: int, t: int) -> None:
    """The most that experts can need: each but one has a tile with one token."""
    plan = ExpertPlan(rows)
    for e, k in ((1, 1), (8, 2), (128, 8)):
        rest = max(0, t * k - (e - 1))
        needed = min(e - 1, t * k) + -(-rest // rows)
        assert plan.tiles(t, e, k) >= needed


def test_few_tokens_have_low_tiles() -> None:
    assert best_plan(16, 128, 8, 2048, 768).rows == 64
    assert best_plan(8192, 8, 2, 4096, 14336).rows == 128


def test_where_pairs_belong_is_proved_for_every_call() -> None:
    space = SpecialisationSpace.of(moe_place.signature)
    found = proved_all(moe_place, {"TOP": 2}, "sm_90a", space, fresh=True)
    assert found.report.verdict >= Verdict.PROVED


@pytest.mark.parametrize("blocks", [True, False])
def test_weights_of_eight_bits(blocks: bool) -> None:
    """Beside the composition of the same weights: what is rounded is tokens."""
    torch.manual_seed(0)
    t, e, k, d, n = 20, 3, 2, 256, 128
    x, logits = torch.randn(t, d).bfloat16(), torch.randn(t, e)
    shapes = (e, 2 * n, d), (e, d, n)
    weights = [torch.randn(s).to(torch.float8_e4m3fn) for s in shapes]
    scales = [
        (torch.rand((e, s[1] // 128, s[2] // 128) if blocks else (e,)) + 0.5)
        / s[2] ** 0.5
        for s in shapes
    ]
    up, down = (
        w.double() * (s.repeat_interleave(128, 1).repeat_interleave(128, 2).double())
        if blocks
        else w.double() * s.double()[:, None, None]
        for w, s in zip(weights, scales, strict=True)
    )
    want = composed(x, logits, up, down, k, "softmax", True)
    out = np.zeros((t, d), np.uint16)
    launches = sequence(
        ExpertPlan(64, 4),
        (t, e, k, d, n),
        "bf16",
        (2 * n * d, d),
        False,
        {"SIGMOID": False, "RENORMALISE": True},
        Eights(d, blocks),
    )
    eights = (w.view(torch.uint8).numpy().copy() for w in weights)
    tables = (s.numpy().copy() for s in scales)
    values = (bits(x), logits.numpy(), *eights, out, None, 1.0, *tables)
    types = (bf16, f32, e4m3, e4m3, bf16, None, None, f32, f32)
    execute(launches, values, types)
    got = torch.from_numpy(out.view(np.int16)).view(torch.bfloat16).double()
    assert (got - want).norm() / want.norm() < 0.05


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"scores": "tanh"}, "no scores 'tanh'"),
        ({"scale_down": torch.ones(4)}, "scales are those of weights"),
        ({"top_k": 5}, "cannot choose 5 of 4 experts"),
        ({"w_down": torch.ones(4, 72, 64).bfloat16()}, "`w_down` is"),
    ],
)
def test_what_does_not_fit_is_said(changed: dict[str, object], said: str) -> None:
    given: dict[str, Any] = {
        "x": torch.ones(3, 64).bfloat16(),
        "logits": torch.ones(3, 4),
        "w_gate_up": torch.ones(4, 128, 64).bfloat16(),
        "w_down": torch.ones(4, 64, 64).bfloat16(),
        "top_k": 2,
    }
    with pytest.raises(ArgusError, match=said):
        moe(**{**given, **changed})
