"""Layers of experts on torch tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from argus.diagnostics import fail
from argus.dispatch import (
    Buffer,
    Dispatch,
    GivenScalar,
    GivenTensor,
    LaunchSequence,
    LaunchStep,
    TensorView,
)
from argus.ir.dtypes import FOREIGN, bf16
from argus.kernels.moe.eights import moe_down_eights, moe_quantise, moe_up_eights
from argus.kernels.moe.kernel import moe_down, moe_sum, moe_up
from argus.kernels.moe.plan import ExpertPlan, best_plan
from argus.kernels.moe.routing import moe_place, moe_route, moe_rows
from argus.kernels.tensors import tma_rows

if TYPE_CHECKING:
    from torch import Tensor

    from argus.kernels.tensors import Tensor2, Tensor3

__all__ = ["moe"]

SCORES = ("softmax", "sigmoid")


def moe(
    x: Tensor2,
    logits: Tensor2,
    w_gate_up: Tensor3,
    w_down: Tensor3,
    *,
    top_k: int,
    scores: str = "softmax",
    renormalize: bool = True,
    scale: float = 1.0,
    scale_gate_up: Tensor | None = None,
    scale_down: Tensor | None = None,
    residual: Tensor2 | None = None,
    out: Tensor2 | None = None,
) -> Tensor:
    """A layer of experts with SwiGLU: the weighted sum of those that a token chooses.

    x (T, D); ``logits`` (T, E) of any float; ``w_gate_up`` (E, 2 N, D), first the rows
    of the gate; ``w_down`` (E, D, N); result (T, D). Each token chooses the ``top_k``
    experts with the largest logits, of equal ones the first. They are weighted by the
    softmax of all logits, or by the sigmoid of each (``scores``); ``renormalize``:
    divided by the sum over the chosen ones; times ``scale``. ``residual`` (T, D) is
    added. bf16 or f16, sums in f32, in the same order in each run. A token without a
    finite logit gives NaN.

    Weights may be float8_e4m3fn, with float32 scales: one for each expert, (E,), or for
    each block of 128 x 128, (E, 2 N / 128, D / 128) and (E, D / 128, N / 128). Then
    tokens and hidden values are rounded to e4m3, too, with a scale for every 128 of a
    row, and D and N are multiples of 128.

    Nothing waits for the device: how many tokens an expert has is known there alone.
    D and N: multiples of 8. Raises ArgusError AG0801 for shapes that do not fit, or
    rows that TMA cannot address.
    """
    if out is None:
        out = x.new_empty(x.shape)
    if not x.shape[0]:
        return out
    values = (x, logits, w_gate_up, w_down, out, residual, float(scale))
    _launch((*values, scale_gate_up, scale_down), top_k, scores, int(renormalize))
    return out


def _check(
    x: Tensor,
    logits: Tensor,
    w_gate_up: Tensor,
    w_down: Tensor,
    top_k: int,
    scores: str,
) -> None:
    """Raise AG0801 for what no kernel would refuse in terms of these arguments."""
    if scores not in SCORES:
        known = ", ".join(SCORES)
        raise fail("AG0801", None, f"no scores {scores!r}", help=f"try {known}")
    (t, d), e = x.shape, logits.shape[-1]
    n = w_down.shape[-1]
    wanted = {
        "logits": (logits, (t, e)),
        "w_gate_up": (w_gate_up, (e, 2 * n, d)),
        "w_down": (w_down, (e, d, n)),
    }
    for name, (tensor, shape) in wanted.items():
        if tuple(tensor.shape) != shape:
            raise fail(
                "AG0801", None, f"`{name}` is {tuple(tensor.shape)}, not {shape}"
            )
    if not 0 < top_k <= e:
        raise fail("AG0801", None, f"a token cannot choose {top_k} of {e} experts")
    if not d or not n or d % 8 or n % 8:
        raise fail("AG0801", None, f"rows of {d} and {n} elements are not whole lines")
    for name, tensor in (("x", x), ("w_gate_up", w_gate_up), ("w_down", w_down)):
        if not tma_rows(tensor):
            raise fail("AG0801", None, f"TMA cannot address the rows of `{name}`")


def _choose(
    x: Tensor,
    logits: Tensor,
    w_gate_up: Tensor,
    w_down: Tensor,
    out: Tensor,
    residual: Tensor | None,
    scale: float,
    scale_gate_up: Tensor | None,
    scale_down: Tensor | None,
    top_k: int,
    scores: str,
    renormalize: int,
) -> LaunchSequence:
    _check(x, logits, w_gate_up, w_down, top_k, scores)
    (t, d), e, n = x.shape, logits.shape[1], w_down.shape[2]
    scales = scale_gate_up, scale_down
    plan = best_plan(t, e, top_k, d, n)
    element = FOREIGN.get(str(x.dtype).removeprefix("torch."), bf16).name
    return sequence(
        plan,
        (t, e, top_k, d, n),
        element,
        (w_gate_up.stride(0), w_gate_up.stride(1)),
        residual is not None,
        {"SIGMOID": scores == "sigmoid", "RENORMALISE": bool(renormalize)},
        _eights(x, (w_gate_up, w_down), scales),
    )


def _eights(
    x: Tensor,
    weights: tuple[Tensor, Tensor],
    scales: tuple[Tensor | None, Tensor | None],
) -> Eights | None:
    """What weights of eight bits are scaled by. Raises AG0801 where it does not fit."""
    import torch

    eights = weights[0].dtype == torch.float8_e4m3fn
    if not eights:
        if scales != (None, None):
            raise fail("AG0801", None, "scales are those of weights of float8_e4m3fn")
        return None
    if x.shape[1] % 128 or weights[1].shape[2] % 128:
        raise fail("AG0801", None, "weights of eight bits are blocks of 128 x 128")
    each = [(w.shape[0],) for w in weights]
    blocks = [(e, n // 128, k // 128) for e, n, k in (w.shape for w in weights)]
    found = [None if s is None else tuple(s.shape) for s in scales]
    if found not in (each, blocks):
        raise fail("AG0801", None, f"scales are {found}, not {each} or {blocks}")
    if not all(s is None or s.is_contiguous() for s in scales):
        raise fail("AG0801", None, "scales are contiguous")
    return Eights(x.stride(0), found == blocks)


@dataclass(frozen=True)
class Eights:
    """Weights of eight bits.

    ``step`` between rows of x; ``blocks`` of 128 x 128 have scales, else experts.
    """

    step: int
    blocks: bool


def sequence(
    plan: ExpertPlan,
    sizes: tuple[int, int, int, int, int],
    element: str,
    steps: tuple[int, int],
    residual: bool,
    weights: dict[str, object],
    eights: Eights | None = None,
) -> LaunchSequence:
    """The launches of a layer, for values in the order of `moe`, its scales last.

    ``sizes``: T, E, k, D and N. ``steps`` between the experts and the rows of
    ``w_gate_up``. ``weights``: how `moe_route` weighs.
    """
    t, e, k, d, n = sizes
    blocks, tiles = plan.blocks(t), plan.tiles(t, e, k)
    x, logits, w_gate_up, w_down, out, added = (GivenTensor(i) for i in range(6))
    gate = TensorView(w_gate_up, (e, n, d), (*steps, 1))
    up = TensorView(w_gate_up, (e, n, d), (*steps, 1), n * steps[1])
    pairs = blocks, plan.tokens, k
    ids, rank, position = (Buffer("i32", pairs) for _ in range(3))
    share = Buffer("f32", pairs)
    count = Buffer("i32", (blocks, e))
    # As many tiles for each block of tokens, so that each block makes its own.
    each = -(-tiles // blocks)
    expert = Buffer("i32", (blocks, each))
    positions = blocks * each * plan.rows
    token = Buffer("i32", (blocks, each * plan.rows))
    hidden, result = Buffer(element, (positions, n)), Buffer(element, (positions, d))
    of_tiles = TensorView(expert, (blocks * each,), (1,))
    of_positions = TensorView(token, (positions,), (1,))
    of_pairs = TensorView(position, (t * k,), (1,))
    of_tokens = [TensorView(of, (t, k), (k, 1)) for of in (position, share)]
    if eights is None:
        products = [
            LaunchStep(
                moe_up, (x, gate, up, hidden, of_positions, of_tiles), plan.up(n)
            ),
            LaunchStep(moe_down, (hidden, w_down, result, of_tiles), plan.down(d)),
        ]
    else:
        rows = TensorView(x, (t, d // 128, 128), (eights.step, 128, 1))
        tables = of_positions, of_tiles
        factors = gate, up, hidden, w_down, result
        products = _products_of_eights(plan, sizes, eights, rows, factors, tables)
    return LaunchSequence(
        (
            LaunchStep(
                moe_route,
                (logits, ids, share, rank, count, token, GivenScalar(6)),
                {"TOP": k, **plan.route(e, k), **weights},
            ),
            LaunchStep(
                moe_place,
                (ids, rank, count, position, expert),
                {"TOP": k, "BM": plan.rows, **plan.place(e)},
            ),
            LaunchStep(moe_rows, (of_pairs, of_positions), {"TOP": k}),
            *products,
            LaunchStep(
                moe_sum,
                (result, *of_tokens, out, added if residual else None),
                {"TOP": k, **plan.sum(d)},
            ),
        )
    )


def _products_of_eights(
    plan: ExpertPlan,
    sizes: tuple[int, int, int, int, int],
    eights: Eights,
    rows: TensorView,
    factors: tuple[TensorView, TensorView, Buffer, GivenTensor, Buffer],
    tables: tuple[TensorView, TensorView],
) -> list[LaunchStep]:
    """Both products in e4m3, each after its rows are rounded."""
    t, e, _, d, n = sizes
    gate, up, hidden, w_down, result = factors
    positions, (kd, kn) = hidden.shape[0], (d // 128, n // 128)
    scales, last = GivenTensor(7), GivenTensor(8)
    if eights.blocks:
        steps = (2 * kn * kd, kd, 1)
        of_gate = TensorView(scales, (e, kn, kd), steps)
        of_up = TensorView(scales, (e, kn, kd), steps, kn * kd)
        of_down = TensorView(last, (e, kd, kn), (kd * kn, kn, 1))
    else:
        of_gate = of_up = TensorView(scales, (e, 1, 1), (1, 1, 1))
        of_down = TensorView(last, (e, 1, 1), (1, 1, 1))
    few = Buffer("e4m3", (t, d)), Buffer("f32", (t, kd))
    many = Buffer("e4m3", (positions, n)), Buffer("f32", (positions, kn))
    split = TensorView(few[0], (t, kd, 128), (d, 128, 1))
    parts = [
        TensorView(of, (positions, kn, 128), (n, 128, 1)) for of in (hidden, many[0])
    ]
    statics = {"BLOCKS": eights.blocks, **plan.eights()}
    return [
        LaunchStep(moe_quantise, (rows, split, few[1]), {}),
        LaunchStep(
            moe_up_eights, (*few, gate, up, of_gate, of_up, hidden, *tables), statics
        ),
        LaunchStep(moe_quantise, (*parts, many[1]), {}),
        LaunchStep(
            moe_down_eights, (*many, w_down, of_down, result, tables[1]), statics
        ),
    ]


_launch = Dispatch(_choose)
