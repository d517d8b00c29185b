"""Forms of what is done to two elements of 16 bits in one register."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from isa_device import Form, differences
from isa_scalar import COUNT, Check, exactly, map_form

from argus.codegen.bounds import small_floats
from argus.ir.codec import numbers, rounded
from argus.ir.dtypes import DTYPES, DType
from argus.ir.functions import FUNCTIONS

Arrays = list[np.ndarray]
HALVES = (DTYPES["bf16"], DTYPES["f16"])
WORDS = (DTYPES["i16"], DTYPES["u16"])


def words(rng: np.random.Generator) -> Arrays:
    """Any bits: subnormal floats, infinities and NaN among them."""
    return [rng.integers(0, 1 << 32, COUNT, dtype=np.uint32) for _ in range(2)]


def one_word(rng: np.random.Generator) -> Arrays:
    return words(rng)[:1]


def pairs_of_integers(rng: np.random.Generator) -> Arrays:
    return [x.view(np.int32) for x in words(rng)]


def halves(x: np.ndarray) -> np.ndarray:
    """The lower and the upper 16 bits of each word."""
    return x.view(np.uint16).reshape(-1, 2)


def floats_of(x: np.ndarray, dtype: DType) -> np.ndarray:
    stored = halves(x).view(np.dtype(dtype.numpy))
    return numbers(stored, dtype).astype(np.float32)


def of_floats(values: np.ndarray, dtype: DType) -> np.ndarray:
    stored = np.ascontiguousarray(rounded(values, dtype))
    return stored.view(np.uint16).reshape(-1).view(np.uint32)


def but_for_nan(dtype: DType, meaning: Callable[..., np.ndarray]) -> Check:
    """Bit by bit, but for NaN, which is NaN; ``meaning`` of floats in f32."""

    def compare(arrays: Arrays, got: np.ndarray) -> list[str]:
        with np.errstate(all="ignore"):
            want = of_floats(meaning(*(floats_of(a, dtype) for a in arrays)), dtype)
        same = [
            np.where(np.isnan(floats_of(x, dtype)), 0x7E00, halves(x))
            for x in (got, want)
        ]
        return differences("result", *same)

    return compare


def sums(dtype: DType) -> Iterator[Form]:
    name = f"argus_fma2_{dtype.name}"
    one, minus = (
        f"0x{int(of_floats(np.array([x, x]), dtype)[0]):08x}u" for x in (1.0, -1.0)
    )
    table: list[tuple[str, str, Callable[..., np.ndarray]]] = [
        ("sum", f"x, {one}, y", lambda x, y: x + y),
        ("difference", f"y, {minus}, x", lambda x, y: x - y),
        ("product", "x, y, 0x80008000u", lambda x, y: x * y),
    ]
    for title, given, meaning in table:
        check = but_for_nan(dtype, meaning)
        call = f"{name}({given})"
        yield map_form(f"{name} {title}", name, call, words, np.uint32, check)


def small_numbers(dtype: DType) -> Iterator[Form]:
    name = f"argus_small_{dtype.name}"
    for least, more in ((0, 0), (0, -8), (-8, 0), (3, 5)):
        how = small_floats(dtype, (least, least + 15), more)
        assert how is not None
        lo, hi = (f"(int)({n} & 15) + {least}" for n in "xy")
        call = f"{name}({lo}, {hi}, {least}, {how.one:#x}u, {how.back:#x}u)"

        def meaning(x: np.ndarray, y: np.ndarray, by: int = least + more) -> np.ndarray:
            both = np.stack([x & 15, y & 15], axis=1).astype(np.int64) + by
            return of_floats(both.astype(np.float32), dtype)

        title = f"{name} from {least} and {more}"
        yield map_form(title, name, call, words, np.uint32, exactly(meaning))


def signed_bytes() -> Iterator[Form]:
    name = "argus_signed_bytes_bf16"

    def meaning(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        both = np.stack([x, y], axis=1).astype(np.uint8).view(np.int8)
        return of_floats(both.astype(np.float32), HALVES[0])

    call = f"{name}((int)(signed char)x, (int)(signed char)y)"
    yield map_form(name, name, call, words, np.uint32, exactly(meaning))


def mx_numbers(dtype: DType) -> Iterator[Form]:
    name = f"argus_e2m1_{dtype.name}"

    def meaning(x: np.ndarray) -> np.ndarray:
        codes = halves(x).astype(np.int32)
        made = FUNCTIONS["twice_e2m1"].numpy(codes).astype(np.float32)
        return of_floats(made, dtype)

    yield map_form(name, name, f"{name}(x)", one_word, np.uint32, exactly(meaning))


def integers(dtype: DType) -> Iterator[Form]:
    name, kind = dtype.name, np.dtype(dtype.foreign)

    def packed(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        low, high = (v.astype(np.uint16).astype(np.uint32) for v in (x, y))
        return low | high << np.uint32(16)

    pack = f"argus_pack_{name}"
    yield map_form(
        pack, pack, f"{pack}(x, y)", pairs_of_integers, np.uint32, exactly(packed)
    )
    for at, side in enumerate(("lo", "hi")):
        unpack = f"argus_unpack_{side}_{name}"

        def unpacked(x: np.ndarray, at: int = at) -> np.ndarray:
            return halves(x)[:, at].view(kind).astype(np.int32)

        call = f"{unpack}(x)"
        yield map_form(unpack, unpack, call, one_word, np.int32, exactly(unpacked))

    def narrowed(x: np.ndarray) -> np.ndarray:
        return halves(x)[:, 0].astype(np.uint32)

    def widened(x: np.ndarray) -> np.ndarray:
        return halves(x)[:, 0].view(kind).astype(np.int32)

    to, back = f"argus_to_{name}", f"argus_from_{name}"
    yield map_form(to, to, f"{to}((int)x)", one_word, np.uint32, exactly(narrowed))
    yield map_form(back, back, f"{back}((u16)x)", one_word, np.int32, exactly(widened))


def forms() -> Iterator[Form]:
    for dtype in HALVES:
        yield from sums(dtype)
        yield from small_numbers(dtype)
        yield from mx_numbers(dtype)
    yield from signed_bytes()
    for dtype in WORDS:
        yield from integers(dtype)
    yield map_form(
        "argus_twice_e2m1",
        "argus_twice_e2m1",
        "argus_twice_e2m1(x)",
        lambda rng: pairs_of_integers(rng)[:1],
        np.int32,
        exactly(FUNCTIONS["twice_e2m1"].numpy),
    )
