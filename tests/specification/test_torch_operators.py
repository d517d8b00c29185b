"""Operators of torch that references have, one by one: each is what torch computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from agreement import parts_of
from test_torch import agree, drawn

torch = pytest.importorskip("torch")
F = torch.nn.functional

Case = tuple[Callable[..., Any], dict[str, str], dict[str, str], dict[str, int]]
PLANE = {"x": "2 4 M N"}
POOLED = {"y": "2 4 P Q"}
EVEN, ODD = {"M": 7, "N": 6}, {"M": 5, "N": 8}
MATRIX, SMALL = {"x": "M N"}, {"M": 3, "N": 4}
TWO = {"x": "M N", "z": "M N"}

WINDOWS: dict[str, Case] = {
    "means without the border": (
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        PLANE, POOLED, EVEN,
    ),
    "means, some end outside": (
        lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), PLANE, POOLED, EVEN,
    ),
    "means of what is inside": (
        lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
        PLANE, POOLED, ODD,
    ),
    "means over a number": (
        lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=5), PLANE, POOLED, EVEN,
    ),
    "extremes, some end outside": (
        lambda x: F.max_pool2d(x, 2, 3, 1, ceil_mode=True), PLANE, POOLED, ODD,
    ),
    "transposed": (
        lambda x, w: F.conv_transpose1d(x, w, stride=2, padding=1),
        {"x": "2 3 N", "w": "3 5 4"}, {"y": "2 5 P"}, {"N": 5},
    ),
    "transposed, with more at the end": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
        {"x": "2 3 M N", "w": "3 5 3 3"}, {"y": "2 5 P Q"}, {"M": 3, "N": 5},
    ),
    "transposed, in groups, dilated": (
        lambda x, w: F.conv_transpose1d(x, w, stride=3, padding=1, groups=2,
                                        dilation=2),
        {"x": "2 4 N", "w": "4 3 3"}, {"y": "2 6 P"}, {"N": 5},
    ),
    "transposed, a wide border": (
        lambda x, w: F.conv_transpose1d(x, w, stride=2, padding=4),
        {"x": "2 3 N", "w": "3 5 4"}, {"y": "2 5 P"}, {"N": 7},
    ),
    "unfolded": (
        lambda x: x.unfold(1, 3, 2), MATRIX, {"y": "M P 3"}, {"M": 3, "N": 8},
    ),
    "a border around": (
        lambda x: F.pad(x, (2, 1), mode="circular"), {"x": "1 M N"},
        {"y": "1 M P"}, SMALL,
    ),
    "larger by the nearest": (
        lambda x: F.interpolate(x, scale_factor=2), PLANE, POOLED, SMALL,
    ),
}  # fmt: skip
OTHERS: dict[str, Case] = {
    "batch norm in training": (
        lambda x, w: F.batch_norm(x, None, None, w, training=True),
        {"x": "M N", "w": "N"}, {"y": "M N"}, SMALL,
    ),
    "instance norm": (F.instance_norm, {"input": "2 4 N"}, {"y": "2 4 N"}, {"N": 5}),
    "distances": (
        lambda x, z: torch.cdist(x, z), {"x": "M N", "z": "K N"}, {"y": "M K"},
        {**SMALL, "K": 2},
    ),
    "divergence": (
        lambda x, z: F.kl_div(x.log_softmax(-1), z.softmax(-1), reduction="batchmean"),
        TWO, {"y": ""}, SMALL,
    ),
    "log of two sums": (
        lambda x, z: torch.logaddexp(x, z), TWO, {"y": "M N"}, SMALL,
    ),
    "largest so far": (
        lambda x: (torch.cummax(x, 1)[0], torch.cummin(x, 0)[0]), MATRIX,
        {"y": "M N", "z": "M N"}, SMALL,
    ),
    "logs of sums so far": (
        lambda x: torch.logcumsumexp(x, 1), MATRIX, {"y": "M N"}, SMALL,
    ),
    "a norm of cubes": (
        lambda x: torch.linalg.vector_norm(x, 3, 1), MATRIX, {"y": "M"}, SMALL,
    ),
    "one of several": (
        lambda i: F.one_hot(i, 2), {"i": "M:i64"}, {"y": "M 2:i64"}, {"M": 3},
    ),
    "largest of what is sent": (
        lambda x, i, s: x.scatter_reduce(0, i, s, "amax"),
        {"x": "2", "i": "M:i64", "s": "M"}, {"y": "2"}, {"M": 3},
    ),
    "means of what is sent": (
        lambda x, i, s: x.scatter_reduce(0, i, s, "mean"),
        {"x": "2", "i": "M:i64", "s": "M"}, {"y": "2"}, {"M": 3},
    ),
    "attention of groups": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        {"q": "2 4 M 8", "k": "2 2 N 8", "v": "2 2 N 8"}, {"y": "2 4 M 8"}, SMALL,
    ),
    "attention, masked": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, scale=0.5),
        {"q": "2 2 M 8", "k": "2 2 N 8", "v": "2 2 N 8", "m": "M N"},
        {"y": "2 2 M 8"}, SMALL,
    ),
    "causal attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        {"q": "2 2 M 8", "k": "2 2 N 8", "v": "2 2 N 8"}, {"y": "2 2 M 8"}, SMALL,
    ),
    "products of three": (
        lambda x, z, w: F.bilinear(x, z, w),
        {"x": "M 3", "z": "M 4", "w": "5 3 4"}, {"y": "M 5"}, {"M": 3},
    ),
    "pairs as complex numbers": (
        lambda x, f: torch.view_as_real(
            torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
            * torch.view_as_complex(f)[None]
        ).flatten(2),
        {"x": "M N 4", "f": "N 2 2"}, {"y": "M N 4"}, SMALL,
    ),
    "complex numbers that are moved": (
        lambda x, z: torch.cat([torch.complex(x, z), torch.polar(x, z).conj()], 1)
        .flip(1).abs(),
        TWO, {"y": "M P"}, SMALL,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [*WINDOWS, *OTHERS])
def test_it_is_what_torch_computes(name: str) -> None:
    function, shapes, outputs, sizes = {**WINDOWS, **OTHERS}[name]
    given = {n: torch.from_numpy(a) for n, a in drawn(shapes, sizes).items()}
    found = function(**given)
    results = found if isinstance(found, tuple) else (found,)
    point = dict(sizes)
    for text, result in zip(outputs.values(), results, strict=True):
        for symbol, size in zip(parts_of(text)[0], result.shape, strict=True):
            if not symbol.isdigit():
                point.setdefault(symbol, size)
    agree(function, shapes, outputs, point)
