"""Forms of functions of f32: how far from the exact result, and what ends give."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from isa_device import Form
from isa_scalar import Check, Inputs, exactly, map_form

from argus.ir.functions import FUNCTIONS
from argus.isa import math

COUNT = 1 << 20
Meaning = Callable[..., np.ndarray]


def within(function: str, meaning: Meaning) -> Check:
    """Relative error within the bound, where the exact result is a normal f32."""

    def compare(arrays: list[np.ndarray], got: np.ndarray) -> list[str]:
        exact = meaning(*(a.astype(np.float64) for a in arrays))
        normal = (np.abs(exact) >= 2.0**-126) & (np.abs(exact) < 2.0**127)
        error = np.abs(got.astype(np.float64) - exact) / np.abs(exact)
        error = np.where(normal, error, 0.0)
        worst = int(np.argmax(error))
        bound = math.ERROR_BOUNDS[function]
        if error[worst] <= bound:
            return []
        at = [a[worst] for a in arrays]
        return [f"error {error[worst]:.3g} > {bound:.3g} at {at}"]

    return compare


def numbers(wanted: list[float]) -> Check:
    """These numbers; of NaN any."""

    def compare(arrays: list[np.ndarray], got: np.ndarray) -> list[str]:
        if np.array_equal(got, np.array(wanted, np.float32), equal_nan=True):
            return []
        return [f"{got}, not {wanted} of {arrays}"]

    return compare


def uniform(low: float, high: float) -> Inputs:
    """Numbers between two."""
    return lambda rng: [rng.uniform(low, high, COUNT).astype(np.float32)]


def magnitudes(arrays: int, least: float, most: float) -> Inputs:
    """Numbers of both signs, whose logarithms to base 2 are between two."""

    def inputs(rng: np.random.Generator) -> list[np.ndarray]:
        return [
            (np.exp2(rng.uniform(least, most, COUNT)) * rng.choice([-1, 1], COUNT))
            .astype(np.float32)
            for _ in range(arrays)
        ]  # fmt: skip

    return inputs


def above_minus_one(rng: np.random.Generator) -> list[np.ndarray]:
    """Numbers of all sizes, and those from -1 to 1."""
    (x,) = magnitudes(1, -60, 120)(rng)
    near = rng.uniform(-1, 1, COUNT).astype(np.float32)
    x = np.where(x < -0.999999, near, x)
    return [np.concatenate([x, near[near > -1]])]


def products(rng: np.random.Generator) -> list[np.ndarray]:
    """Numbers, and divisors, of which each quotient is a number of f32."""
    quotient = rng.integers(-4096, 4096, COUNT).astype(np.float32)
    divisor = rng.integers(1, 4096, COUNT).astype(np.float32)
    scale = np.exp2(rng.integers(-60, 60, COUNT)).astype(np.float32)
    return [quotient * divisor * scale, divisor]


def functions() -> Iterator[Form]:
    """Errors of functions with one operand, and of quotients."""
    table: list[tuple[str, Inputs, Meaning]] = [
        ("argus_exp2", uniform(-126, 127), np.exp2),
        ("argus_rcp", magnitudes(1, -125, 125), lambda x: 1 / x),
        ("argus_tanh", uniform(-9, 9), np.tanh),
        ("argus_log1p", above_minus_one, np.log1p),
        ("argus_div", magnitudes(2, -60, 60), np.divide),
    ]
    for name, inputs, meaning in table:
        call = f"{name}(x, y)" if name == "argus_div" else f"{name}(x)"
        yield map_form(name, name, call, inputs, np.float32, within(name, meaning))


def exact() -> Iterator[Form]:
    """What is one number, ends among them."""
    inf, nan, huge = np.inf, np.nan, 2.0**127
    table: list[tuple[str, str, list[list[float]], list[float]]] = [
        (
            "argus_exp2", "argus_exp2(x)", [[-inf, -1000.0, 0.0, inf]],
            [0.0, 0.0, 1.0, inf],
        ),
        (
            "argus_log1p", "argus_log1p(x)", [[-inf, -2.0, -1.0, 0.0, inf, nan]],
            [nan, nan, -inf, 0.0, inf, nan],
        ),
        (
            "argus_div", "argus_div(x, y)",
            [
                [1.0, -1.0, 0.0, inf, 1.0, inf, 3e38, nan, 3e38, 6.0, huge],
                [0.0, 0.0, 0.0, inf, inf, 2.0, 1e-3, 1.0, 3e38, 3.0, -huge],
            ],
            [inf, -inf, nan, nan, 0.0, inf, inf, nan, 1.0, 2.0, -1.0],
        ),
    ]  # fmt: skip
    for name, call, given, wanted in table:
        yield map_form(
            f"{name} at its limits",
            name,
            call,
            lambda _, given=given: [np.array(x, np.float32) for x in given],
            np.float32,
            numbers(wanted),
        )
    yield map_form(
        "argus_div of products",
        "argus_div",
        "argus_div(x, y)",
        products,
        np.float32,
        exactly(np.divide),
    )
    yield map_form(
        "argus_nearest_tf32",
        "argus_nearest_tf32",
        "argus_nearest_tf32(x)",
        magnitudes(1, -125, 125),
        np.float32,
        exactly(FUNCTIONS["nearest_tf32"].numpy),
    )


def forms() -> Iterator[Form]:
    """All forms of this file."""
    yield from functions()
    yield from exact()
