"""Inputs on which rounding shows: equal, huge, far from 0, and as masks leave them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["HARD", "hard"]

Array = np.ndarray


def _columns(x: Array, value: float, first: bool = False) -> Array:
    half = x.shape[-1] // 2
    made = x.copy()
    made[..., slice(half) if first else slice(half, None)] = value
    return made


def _rows(x: Array, value: float) -> Array:
    made = x.copy()
    made[::2] = value
    return made


def _one(x: Array, value: float) -> Array:
    made = x.copy()
    made.flat[:: x.shape[-1] + 1] = value
    return made


HARD: dict[str, Callable[[Array], Array]] = {
    "zeros": np.zeros_like,
    "equal": lambda x: np.full_like(x, 1.7),
    "large and equal": lambda x: np.full_like(x, 2.3e4),
    "huge and equal": lambda x: np.full_like(x, 1.3e30),
    "far from 0": lambda x: 3e3 + x / 64,
    "low rows": lambda x: _rows(x, -1e30),
    "low columns": lambda x: _columns(x, -1e30, True),
    "lowest columns": lambda x: _columns(x, float(np.finfo(np.float32).min)),
    "all low": lambda x: np.full_like(x, -1e30),
    "one is huge": lambda x: _one(x, 1e30),
    "small": lambda x: x * 1e-30,
}


def hard(name: str, values: Array, most: float) -> Array:
    """Values of a manner in f32, none beyond what a type holds."""
    with np.errstate(over="ignore"):
        made = HARD[name](values.astype(np.float32))
    return np.clip(made, -most, most)
