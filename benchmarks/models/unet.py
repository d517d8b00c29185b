"""A UNet as diffusion has it: residual blocks told a time, attention, two sizes."""

import math

import torch
from torch.nn import functional

BATCH, IMAGE, IN = 4, 32, 4
CHANNELS, GROUPS, HEADS, TIME = 256, 16, 8, 256
SMALL = {"BATCH": 1, "IMAGE": 4, "CHANNELS": 8, "GROUPS": 2, "HEADS": 2, "TIME": 8}


def embedded(times: torch.Tensor) -> torch.Tensor:
    """Times as sines and cosines."""
    half = CHANNELS // 2
    rates = torch.exp(torch.arange(half, device=times.device) * (-math.log(1e4) / half))
    angles = times[:, None].float() * rates[None]
    return torch.cat([angles.cos(), angles.sin()], -1)


class Residual(torch.nn.Module):
    """Two convolutions; the time is added between them."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.first = torch.nn.GroupNorm(GROUPS, inner)
        self.into = torch.nn.Conv2d(inner, outer, 3, padding=1)
        self.time = torch.nn.Linear(TIME, outer)
        self.second = torch.nn.GroupNorm(GROUPS, outer)
        self.out = torch.nn.Conv2d(outer, outer, 3, padding=1)
        self.around = (
            torch.nn.Conv2d(inner, outer, 1) if inner != outer else torch.nn.Identity()
        )

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        h = self.into(functional.silu(self.first(x)))
        h = h + self.time(functional.silu(time))[:, :, None, None]
        return self.around(x) + self.out(functional.silu(self.second(h)))


class Attention(torch.nn.Module):
    """All pixels of an image see each other."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = torch.nn.GroupNorm(GROUPS, channels)
        self.into = torch.nn.Linear(channels, 3 * channels)
        self.out = torch.nn.Linear(channels, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, channels, rows, columns = x.shape
        pixels = self.norm(x).flatten(2).transpose(1, 2)
        parts = self.into(pixels).reshape(n, rows * columns, 3, HEADS, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(q, k, v)
        seen = seen.transpose(1, 2).reshape(n, rows * columns, channels)
        return x + self.out(seen).transpose(1, 2).reshape(x.shape)


class UNet(torch.nn.Module):
    """Down one size, attention, and up again with what was there before."""

    def __init__(self) -> None:
        super().__init__()
        self.time = torch.nn.Sequential(
            torch.nn.Linear(CHANNELS, TIME),
            torch.nn.SiLU(),
            torch.nn.Linear(TIME, TIME),
        )
        self.into = torch.nn.Conv2d(IN, CHANNELS, 3, padding=1)
        self.high = Residual(CHANNELS, CHANNELS)
        self.down = torch.nn.Conv2d(CHANNELS, CHANNELS, 3, stride=2, padding=1)
        self.low = Residual(CHANNELS, 2 * CHANNELS)
        self.attention = Attention(2 * CHANNELS)
        self.last = Residual(2 * CHANNELS, 2 * CHANNELS)
        self.up = torch.nn.Conv2d(2 * CHANNELS, CHANNELS, 3, padding=1)
        self.joined = Residual(2 * CHANNELS, CHANNELS)
        self.norm = torch.nn.GroupNorm(GROUPS, CHANNELS)
        self.out = torch.nn.Conv2d(CHANNELS, IN, 3, padding=1)

    def forward(self, x: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
        time = self.time(embedded(times).to(x.dtype))
        high = self.high(self.into(x), time)
        low = self.attention(self.low(self.down(high), time))
        low = self.last(low, time)
        up = self.up(functional.interpolate(low, scale_factor=2.0, mode="nearest"))
        joined = self.joined(torch.cat([up, high], 1), time)
        return self.out(functional.silu(self.norm(joined)))


class Model(UNet):
    """The noise in an image."""

    def __init__(self) -> None:
        super().__init__()
        self.to(torch.bfloat16)


def get_inputs() -> list[torch.Tensor]:
    x = torch.randn(BATCH, IN, IMAGE, IMAGE, dtype=torch.bfloat16)
    return [x, torch.randint(0, 1000, (BATCH,))]


def get_init_inputs() -> list[int]:
    return []
