"""Forms of whole numbers that wrap, and of conversions: what C++ leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from isa_device import Form, differences
from isa_scalar import COUNT, CTYPES, Check, Inputs, exactly, floats, map_form

from argus.interpret.numbers import convert
from argus.ir.codec import numbers, rounded
from argus.ir.dtypes import DTYPES, f32, f64
from argus.ir.functions import FUNCTIONS

CTYPES["uint8"] = "unsigned char"
WHOLE = (np.int32, np.int64, np.uint32, np.uint64)


def ends(kind: type[np.integer]) -> Inputs:
    """Numbers of all sizes and the ends of the type, in pairs, zero among them."""

    def inputs(rng: np.random.Generator) -> list[np.ndarray]:
        info = np.iinfo(kind)
        x = rng.integers(info.min, info.max, COUNT, dtype=kind, endpoint=True)
        near = -1 if info.min else info.max - 1
        special = np.array([info.min, info.max, near, 0, 1], kind)
        x[: special.size**2] = np.repeat(special, special.size)
        y = rng.permutation(x)
        y[: special.size**2] = np.tile(special, special.size)
        return [x, y]

    return inputs


def wrapping() -> Iterator[Form]:
    table: list[tuple[str, Callable[..., np.ndarray]]] = [
        ("add", np.add), ("sub", np.subtract), ("mul", np.multiply),
    ]  # fmt: skip
    for kind in WHOLE:
        for name, meaning in table:
            yield map_form(
                f"argus_{name} {kind.__name__}",
                f"argus_{name}",
                f"argus_{name}(x, y)",
                ends(kind),
                kind,
                exactly(meaning),
            )
        yield map_form(
            f"argus_neg {kind.__name__}",
            "argus_neg",
            "argus_neg(x)",
            lambda rng, k=kind: ends(k)(rng)[:1],
            kind,
            exactly(np.negative),
        )
        for name, meaning in (("floordiv", np.floor_divide), ("mod", np.mod)):

            def divided(
                x: np.ndarray, y: np.ndarray, m: Callable[..., np.ndarray] = meaning
            ) -> np.ndarray:
                # By zero it is 0; the smallest number by -1 wraps.
                with np.errstate(all="ignore"):
                    return np.where(y == 0, 0, m(x, np.where(y == 0, 1, y)))

            yield map_form(
                f"argus_{name} {kind.__name__} at its ends",
                f"argus_{name}",
                f"argus_{name}(x, y)",
                ends(kind),
                kind,
                exactly(divided),
            )


def with_nan(rng: np.random.Generator) -> list[np.ndarray]:
    x = floats(rng)
    x[::13] = np.nan
    near = rng.uniform(-300, 300, COUNT).astype(np.float32)
    return [np.concatenate([x, near])]


def amounts(kind: type[np.integer]) -> Inputs:
    """Numbers of all sizes, shifted by amounts inside and outside of the width."""

    def inputs(rng: np.random.Generator) -> list[np.ndarray]:
        x, _ = ends(kind)(rng)
        least = -3 if np.iinfo(kind).min else 0
        return [x, rng.integers(least, np.iinfo(kind).bits + 4, x.size).astype(kind)]

    return inputs


def bits() -> Iterator[Form]:
    """Shifts, halves of products, and what counts bits."""
    for kind in WHOLE:
        for name, draw in (("shl", amounts), ("shr", amounts), ("mulhi", ends)):
            yield map_form(
                f"argus_{name} {kind.__name__}",
                f"argus_{name}",
                f"argus_{name}(x, y)",
                draw(kind),
                kind,
                exactly(FUNCTIONS[name].numpy),
            )
        yield map_form(
            f"argus_popcount {kind.__name__}",
            "argus_popcount",
            "argus_popcount(x)",
            lambda rng, k=kind: ends(k)(rng)[:1],
            kind,
            exactly(FUNCTIONS["popcount"].numpy),
        )


def with_wide_nan(rng: np.random.Generator) -> list[np.ndarray]:
    (x,) = with_nan(rng)
    between = np.float64(2.0) ** rng.integers(28, 66, x.size) * rng.uniform(
        -1, 1, x.size
    )
    return [np.concatenate([x.astype(np.float64), between])]


def whole() -> Iterator[Form]:
    for name in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"):
        dtype = DTYPES[name]
        kind = np.dtype(dtype.numpy if dtype.bits >= 32 else "int32").type
        function = f"argus_whole_{name}"
        yield map_form(
            function,
            function,
            f"{function}(x)",
            with_nan,
            kind,
            exactly(lambda x, d=dtype, k=kind: convert(x, f32, d).astype(k)),
        )
        yield map_form(
            f"{function} f64",
            function,
            f"{function}(x)",
            with_wide_nan,
            kind,
            exactly(lambda x, d=dtype, k=kind: convert(x, f64, d).astype(k)),
        )


def wide_floats() -> Iterator[Form]:
    """Functions of f64 that are plain C++ or the library's, where PTX has none."""

    def special(rng: np.random.Generator) -> list[np.ndarray]:
        given = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 5e-324, 1e300]
        x = rng.standard_normal(COUNT)
        x[: len(given) ** 2] = np.repeat(given, len(given))
        y = rng.permutation(x)
        y[: len(given) ** 2] = np.tile(given, len(given))
        return [x, y]

    def one_nan(meaning: Callable[..., np.ndarray]) -> Check:
        """Bit by bit, but for NaN, which is NaN."""

        def compare(arrays: list[np.ndarray], got: np.ndarray) -> list[str]:
            want = meaning(*arrays)
            same = [np.where(np.isnan(x), np.nan, x) for x in (got, want)]
            return differences("result", *same)

        return compare

    for name in ("max", "min"):
        meaning = FUNCTIONS["maximum" if name == "max" else "minimum"].numpy
        yield map_form(
            f"argus_{name} f64",
            f"argus_{name}",
            f"argus_{name}(x, y)",
            special,
            np.float64,
            one_nan(meaning),
        )
    yield map_form(
        "argus_abs f64",
        "argus_abs",
        "argus_abs(x)",
        lambda rng: special(rng)[:1],
        np.float64,
        one_nan(np.abs),
    )


def eight_bits(name: str) -> Iterator[Form]:
    dtype = DTYPES[name]
    every = np.arange(256, dtype=np.uint8)
    kept = np.where(np.isnan(numbers(every, dtype)), np.uint8(0), every)
    largest = float(numbers(rounded(np.array([1e9], np.float32), dtype), dtype)[0])

    def magnitudes(rng: np.random.Generator) -> list[np.ndarray]:
        x = rng.standard_normal(COUNT) * np.exp2(rng.integers(-19, 19, COUNT))
        edge = [largest, largest * 1.03, -largest * 1.2]
        special = [0.0, -0.0, *edge, np.inf, -np.inf, 2.0**-10, 2.0**-17]
        return [np.concatenate([special, x]).astype(np.float32)]

    to, back = f"argus_to_{name}", f"argus_from_{name}"
    yield map_form(
        to, to, f"{to}(x)", magnitudes, np.uint8, exactly(lambda x: rounded(x, dtype))
    )
    yield map_form(
        *(back, back, f"{back}(x)"),
        lambda _: [kept],
        np.float32,
        exactly(lambda x: numbers(x, dtype)),
    )


def forms() -> Iterator[Form]:
    """All forms of this file."""
    yield from wrapping()
    yield from bits()
    yield from whole()
    yield from wide_floats()
    yield from eight_bits("e4m3")
    yield from eight_bits("e5m2")
