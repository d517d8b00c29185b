"""Small modules of torch, by family: what they are, and inputs of small sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional


class Formula(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class Scaled(nn.Module):
    """A weight and a bias per channel, and what depends on weights alone."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.rand(6) + 0.5)
        self.shift = nn.Parameter(torch.randn(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.exp(self.scale)
        return torch.relu(x * scale[:, None, None] + self.shift[:, None, None])


def random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def _norm(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(torch.mean(x * x, 1, keepdim=True) + 1e-6)


class Norms(nn.Module):
    """Norms of one tensor, in evaluation."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LayerNorm((3, 9))
        self.instance = nn.InstanceNorm2d(4)
        self.group = nn.GroupNorm(2, 4)
        self.batch = nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self.layer(x), self.instance(x), self.group(x), self.batch(x), _norm(x)


def _activations(x: torch.Tensor) -> torch.Tensor:
    first = functional.gelu(x) * torch.sigmoid(x) - functional.selu(x)
    return first + functional.softplus(x) / functional.hardsigmoid(x + 4.0)


def _transposed(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return functional.leaky_relu(x.permute(0, 2, 1) + b)


def _maps(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    later = torch.arange(24) > torch.arange(4)[:, None]
    return (
        torch.where(later, x, -x),
        (x > y) & (x < 1),
        x[:, 1::3] * x[:, :1] + x[1:2, 2::3],
        x.bfloat16() * 2 + 1,
        x.reshape(4, 3, 8)[:, :, 1:5] * y.reshape(4, 3, 8)[:, 1:2, 2:6],
    )


def _reductions(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        x.sum((0, 2)), x.mean(1), x.max(2)[0], x.argmin(2), x.prod(2), (x > 1).any(2),
        x.reshape(3, 10, 4).var(1),
    )  # fmt: skip


def _softmaxes(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return x.softmax(2), x.softmax(1), (2 * x).log_softmax(2)


def _pools(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return functional.max_pool2d(x, 3, 2), functional.avg_pool2d(x, (2, 4), (1, 2))


def _borders(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        functional.pad(torch.exp(x), (1, 2, 0, 1), value=1.5),
        x.flip(1, 3) + torch.roll(x, (2, -3), (2, 3)),
        torch.cat([x, x[:, :1]], 1) * 2,
        functional.pad(x, (1, 2, 3, 0), mode="reflect"),
        functional.pad(x, (1, 2, 3, 0), mode="replicate"),
        functional.interpolate(x, scale_factor=2),
    )


def _bordered_pools(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        functional.max_pool2d(x, 3, 2, 1),
        functional.max_pool1d(x[0], 3, 2, 1, 2, ceil_mode=True),
        functional.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
        functional.avg_pool3d(x, 3, 2, 1),
        functional.adaptive_avg_pool2d(x, (3, 1)),
    )


def _convolved(
    x: torch.Tensor, w: torch.Tensor, g: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    return (
        functional.conv2d(x, w, None, 2, (1, 2), (2, 1)),
        functional.conv2d(x, g, None, 1, 1, 1, 2),
        functional.conv1d(x[:, :, 0], w[:, :, 0], None, 1, 1),
        functional.conv3d(x.unsqueeze(1), g.unsqueeze(1)[:, :, :1], padding=1),
        functional.conv_transpose2d(x, w.swapaxes(0, 1), None, 2, 1, 1),
        functional.conv_transpose2d(x, g, None, (3, 1), 1, (1, 0), 2),
        functional.conv_transpose1d(y, g[:, :, 0], None, 2, 1, 0, 1, 2),
    )


def _scans(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        x.cumsum(1) * 2,
        torch.relu(x).cumsum(0),
        torch.cumsum(x.flip(1), 1),
        torch.cumsum(functional.pad(x, (1, 0))[:, :-1], 1),
        torch.cumsum(x * (x > 0), 1),
        (x * 2).flip(1).cumsum(1).flip(1) + 1,
        functional.pad(torch.relu(x).cumsum(1)[:, :-1], (1, 0)),
        x.flip(0).cumprod(0).flip(0),
    )


def _places(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return *x.max(1), *(x.half() / 3).min(1), y.argmax(1)


def _one_walk(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return x.softmax(1), (y + 1).log_softmax(1)


def _picks(x: torch.Tensor, t: torch.Tensor) -> tuple[torch.Tensor, ...]:
    wide = x.expand(3, 1100).cumsum(1)
    return functional.cross_entropy(x[:, :9], t), (wide * wide).argmin(1)


_X, _Y = random(4, 24), random(24, 4).T.contiguous()

MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[Any, ...], int]] = {
    "activations": (lambda: Formula(_activations), (random(5, 130),), 1),
    "per channel": (Scaled, (random(2, 6, 5, 7),), 1),
    "transposed": (
        lambda: Formula(_transposed),
        (random(2, 40, 9), random(40)),
        1,
    ),
    "maps": (lambda: Formula(_maps), (_X, _Y), 3),
    "reductions": (lambda: Formula(_reductions), (random(3, 4, 10),), 4),
    "to one number": (
        lambda: Formula(functional.huber_loss),
        (random(64, 128), random(64, 128)),
        2,
    ),
    "softmax": (lambda: Formula(_softmaxes), (random(2, 7, 40),), 2),
    "norms": (Norms, (random(2, 4, 3, 9),), 4),
    "borders": (lambda: Formula(_borders), (random(2, 3, 5, 6),), 5),
    "pools with borders": (lambda: Formula(_bordered_pools), (random(2, 4, 6, 7),), 5),
    "convolutions": (
        lambda: Formula(_convolved),
        (
            random(2, 4, 5, 6),
            random(3, 4, 3, 3),
            random(4, 2, 2, 3),
            random(1, 4, 7),
        ),
        9,
    ),
    "places": (lambda: Formula(_places), (random(2, 40, 33), random(1030, 1100)), 2),
    "one walk": (
        lambda: Formula(_one_walk),
        (random(133, 10240), random(133, 8704)),
        2,
    ),
    "scans": (lambda: Formula(_scans), (random(3, 41),), 8),
    "scans of few rows": (
        lambda: Formula(lambda x, y: (x.cumsum(1), y.cumprod(0))),
        (torch.arange(60000).reshape(3, -1) % 11, torch.sign(random(20000, 2))),
        6,
    ),
    "running products": (
        lambda: Formula(lambda x: x.cumprod(1)),
        (random(2, 1070),),
        1,
    ),
    "picks": (lambda: Formula(_picks), (random(3, 1100), torch.tensor([8, 0, 3])), 4),
    "pools": (lambda: Formula(_pools), (random(2, 9, 11),), 2),
}
"""Module, inputs, and how many kernels it becomes, by a name."""
