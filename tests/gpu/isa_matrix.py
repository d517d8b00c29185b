"""Forms of the matrix instructions: wgmma, mma, ldmatrix, stmatrix.

Values are small integers, so that sums are exact and the comparison is bit for bit; of
whole numbers they are all that there are, and sums wrap. Bits that an instruction
ignores are random. Shared memory around the operands is NaN: an element read from a
wrong byte shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from isa_device import (
    I32,
    POISON,
    SMEM,
    U32,
    Device,
    Form,
    differences,
    generator,
)

from argus.ir.codec import numbers, rounded, storage
from argus.isa import ldmatrix, mma, wgmma
from argus.isa.matrix import ELEMENTS, WORD, MatrixElement
from argus.isa.register_product import RegisterProduct
from argus.layout import (
    wgmma_a_operand,
    wgmma_accumulator,
)

SWIZZLES = (0, 32, 64, 128)


BY_NAME = {e.dtype.name: e for e in ELEMENTS}
LARGEST = {"e4m3": 8, "e5m2": 8}
"""Of floats with few bits: they hold every integer up to here; 32 for the others."""


def wgmma_kernel(name: str, function: str, n: int, rs: bool, of: MatrixElement) -> str:
    operand = "a" if rs else "desc_a"
    ctype = of.accumulator.register
    return f"""
extern "C" __global__ void __launch_bounds__(128) {name}(
    const u32* image, int words, const {ctype}* acc, const u32* a_registers,
    {ctype}* out,
    u32 a_start, u32 a_leading, u32 a_stride, u32 a_swizzle,
    u32 b_start, u32 b_leading, u32 b_stride, u32 b_swizzle, int scale_d) {{
{SMEM}
  for (int i = tid; i < words; i += 128) ((u32*)smem)[i] = image[i];
  {ctype} d[{n // 2}];
  for (int r = 0; r < {n // 2}; ++r) d[r] = acc[tid * {n // 2} + r];
  u32 a[4];
  for (int r = 0; r < 4; ++r) a[r] = a_registers[tid * 4 + r];
  u64 desc_a = argus_desc(base + a_start, a_leading, a_stride, a_swizzle);
  u64 desc_b = argus_desc(base + b_start, b_leading, b_stride, b_swizzle);
  argus_fence_proxy_async();
  __syncthreads();
  argus_wgmma_fence();
  {function}(d, {operand}, desc_b, scale_d);
  argus_wgmma_commit();
  argus_wgmma_wait<0>();
  argus_wgmma_tie<{n // 2}>(d);
  for (int r = 0; r < {n // 2}; ++r) out[tid * {n // 2} + r] = d[r];
}}
"""


def place(
    rng: np.random.Generator, rows: int, mn_major: bool, swizzle: int
) -> tuple[int, int, int]:
    """A random way to lay out an operand: (start, leading, stride) in bytes."""
    wide = int(rng.integers(1, 3))
    if swizzle == 0:
        # Core matrices of 128 bytes: pairs along K next to each other, or far apart.
        start = 16 * int(rng.integers(0, 8))
        if rng.integers(2):
            return start, 128 * wide, 256 * wide
        return start, 128 * wide * (rows // 8), 128 * wide
    period = 8 * swizzle
    if not mn_major:
        return 32 * int(rng.integers(0, swizzle // 32)), 16, period * wide
    count = -(-rows * 2 // swizzle)
    slack = (count * swizzle - rows * 2) // 16 if count == 1 else 0
    start = 16 * int(rng.integers(0, slack + 1)) + period * int(rng.integers(0, 2))
    if rng.integers(2):
        return start, period * 2 * wide, period
    return start, period * wide, period * wide * count


def scatter(
    image: np.ndarray, at: int, values: np.ndarray, spot: Any, of: MatrixElement
) -> None:
    """Write elements [rows, K] to the bytes that the descriptor names."""
    start, leading, stride, swizzle, mn_major = spot
    size = of.dtype.bytes
    addresses = wgmma.operand_addresses(
        at + start, leading, stride, swizzle, mn_major, values.shape[0], of.depth, size
    )
    index = addresses // size
    assert np.unique(index).size == index.size, f"operand overlaps itself: {spot}"
    image.view(f"u{size}")[index] = values.view(f"u{size}")


def extent(rows: int, spot: Any, of: MatrixElement) -> int:
    size = of.dtype.bytes
    return int(wgmma.operand_addresses(*spot, rows, of.depth, size).max()) + size


def elements(
    rng: np.random.Generator, shape: tuple[int, ...], of: MatrixElement
) -> np.ndarray:
    """Stored elements: integers, with random bits where they are ignored."""
    kind = storage(of.dtype)
    if not of.dtype.is_float:
        limits = np.iinfo(kind)
        return rng.integers(limits.min, int(limits.max) + 1, shape).astype(kind)
    most = LARGEST.get(of.dtype.name, 32)
    stored = rounded(rng.integers(-most, most + 1, shape), of.dtype)
    if of.ignored:
        junk = rng.integers(0, 1 << of.ignored, shape).astype(np.uint32)
        stored = (stored.view(np.uint32) | junk).view(kind)
    return stored


def accumulators(
    rng: np.random.Generator, shape: tuple[int, ...], of: MatrixElement
) -> np.ndarray:
    if of.accumulator.is_float:
        return rng.integers(-32, 33, shape).astype(storage(of.accumulator))
    return rng.integers(-(1 << 31), 1 << 31, shape).astype(np.int32)


def wgmma_case(
    device: Device,
    kernel: Any,
    rng: np.random.Generator,
    n: int,
    of: MatrixElement,
    a_spot: tuple[int, int, int, int, bool] | None,
    b_spot: tuple[int, int, int, int, bool],
    scale_d: int,
) -> list[str]:
    a, b = elements(rng, (64, of.depth), of), elements(rng, (n, of.depth), of)
    acc = accumulators(rng, (64, n), of)
    b_at = 0 if a_spot is None else -(-extent(64, a_spot, of) // 1024) * 1024
    size = -(-(b_at + extent(n, b_spot, of)) // 1024) * 1024
    image = np.full(size // 2, POISON & 0xFFFF, dtype=np.uint16)
    if a_spot is not None:
        scatter(image, 0, a, a_spot, of)
    scatter(image, b_at, b, b_spot, of)
    table = wgmma_accumulator(64, n).table()
    fragment = acc[table[..., 0], table[..., 1]]
    if scale_d == 0:
        fragment = np.full(fragment.shape, POISON, np.uint32)
    a_table = wgmma_a_operand(64, of.depth, 1, of.dtype.bytes).table()
    a_registers = a[a_table[..., 0], a_table[..., 1]]
    if a_spot is not None:
        a_registers = np.full((128, 4), POISON, np.uint32)
    out = device.poisoned(128 * n // 2)
    a_fields = (0, 16, 16, 0) if a_spot is None else a_spot[:4]
    b_fields = (b_at + b_spot[0], *b_spot[1:4])
    device.launch(
        kernel,
        [
            device.upload(image),
            I32(size // 4),
            device.upload(fragment),
            device.upload(a_registers),
            out,
            *map(U32, a_fields),
            *map(U32, b_fields),
            I32(scale_d),
        ],
        shared=size,
    )
    got = device.download(out, (128, n // 2), acc.dtype)
    a, b = numbers(a, of.dtype), numbers(b, of.dtype)
    want = wgmma.apply(of, a, b, acc if scale_d else None)
    device.free()
    what = f"a={a_spot} b={b_spot} (start, leading, stride, swizzle, mn) x{scale_d}"
    return differences(what, got, want[table[..., 0], table[..., 1]])


def wgmma_form(n: int, of: MatrixElement, rs: bool, ta: int, tb: int) -> Form:
    function = wgmma.function_name(n, of.dtype.name, rs, ta, tb)

    def check(device: Device, kernel: Any) -> list[str]:
        rng = generator(function)
        errors: list[str] = []
        for a_swizzle in (None,) if rs else SWIZZLES:
            for b_swizzle in SWIZZLES:
                for scale_d in (0, 1) if rs else (int(rng.integers(2)),):
                    a_spot = None
                    if a_swizzle is not None:
                        where = place(rng, 64, bool(ta), a_swizzle)
                        a_spot = (*where, a_swizzle, bool(ta))
                    b_spot = (*place(rng, n, bool(tb), b_swizzle), b_swizzle, bool(tb))
                    errors += wgmma_case(
                        device, kernel, rng, n, of, a_spot, b_spot, scale_d
                    )
        return errors

    name = function.replace("argus_", "test_")
    helpers = (
        "argus_desc",
        "argus_fence_proxy_async",
        "argus_wgmma_fence",
        "argus_wgmma_commit",
        "argus_wgmma_wait",
        "argus_wgmma_tie",
    )
    text = wgmma_kernel(name, function, n, rs, of)
    return Form(function, (function, *helpers), name, text, check)


def wgmma_forms(dtype: str, rs: bool) -> list[Form]:
    of = BY_NAME[dtype]
    either = (0, 1) if of.mn_major else (0,)
    return [
        wgmma_form(n, of, rs, ta, tb)
        for n in wgmma.columns(of)
        for tb in either
        for ta in ((0,) if rs else either)
    ]


def mma_form(one: RegisterProduct) -> Form:
    """Elements of less or more than 16 bits are held as placing has them."""
    function, of = one.function, one.element
    name = f"test_mma_m{one.rows}_{of.dtype}"
    ctype, held = of.accumulator.register, of.dtype.register
    a_size, b_size, d_size = (x.num_regs for x in (one.a, one.b, one.d))
    per = 2 if of.dtype.packed else 1
    functions, words = (function,), ""
    if not of.dtype.packed and of.dtype.bytes <= WORD:
        functions = (function, "argus_words")
        words = "u32 wa[4], wb[2]; argus_words<4>(wa, a); argus_words<2>(wb, b);"
    a, b = ("wa", "wb") if words else ("a", "b")
    text = f"""
extern "C" __global__ void {name}(
    const {held}* a_in, const {held}* b_in, const {ctype}* acc, {ctype}* out) {{
  {held} a[{a_size // per}], b[{b_size // per}];
  {ctype} d[{d_size}];
  for (int r = 0; r < {a_size // per}; ++r)
    a[r] = a_in[threadIdx.x * {a_size // per} + r];
  for (int r = 0; r < {b_size // per}; ++r)
    b[r] = b_in[threadIdx.x * {b_size // per} + r];
  for (int r = 0; r < {d_size}; ++r) d[r] = acc[threadIdx.x * {d_size} + r];
  {words}
  {function}(d, {a}, {b});
  for (int r = 0; r < {d_size}; ++r) out[threadIdx.x * {d_size} + r] = d[r];
}}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        rng = generator(function)
        a = elements(rng, (one.rows, one.depth), of)
        b = elements(rng, (one.columns, one.depth), of)
        acc = accumulators(rng, (one.rows, one.columns), of)
        tables = [x.table() for x in (one.a, one.b, one.d)]
        a_frag, b_frag, acc_frag = (
            values[t[..., 0], t[..., 1]]
            for values, t in zip((a, b, acc), tables, strict=True)
        )
        out = device.poisoned(32 * d_size * acc.itemsize // WORD)
        device.launch(
            kernel,
            [
                device.upload(a_frag),
                device.upload(b_frag),
                device.upload(acc_frag),
                out,
            ],
            block=32,
        )
        got = device.download(out, (32, d_size), acc.dtype)
        want = mma.apply(of, numbers(a, of.dtype), numbers(b, of.dtype), acc)
        t = tables[2]
        return differences("D", got, want[t[..., 0], t[..., 1]])

    return Form(function, functions, name, text, check)


def ldmatrix_form(count: int, trans: bool, load: bool) -> Form:
    verb = "ldmatrix" if load else "stmatrix"
    function = f"argus_{verb}_x{count}" + ("_trans" if trans else "")
    name = function.replace("argus_", "test_")
    call = f"{function}(r, address)" if load else f"{function}(address, r)"
    text = f"""
extern "C" __global__ void {name}(
    const u32* image, const u32* addresses, const u32* in, u32* out, u32* dump) {{
{SMEM}
  for (int i = tid; i < 1024; i += 32) ((u32*)smem)[i] = image[i];
  u32 r[{count}];
  for (int i = 0; i < {count}; ++i) r[i] = in[tid * {count} + i];
  __syncwarp();
  u32 address = base + addresses[tid];
  {call};
  __syncwarp();
  for (int i = 0; i < {count}; ++i) out[tid * {count} + i] = r[i];
  for (int i = tid; i < 1024; i += 32) dump[i] = ((u32*)smem)[i];
}}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        rng = generator(function)
        image = rng.integers(0, 1 << 16, 2048).astype(np.uint16)
        registers = rng.integers(0, 1 << 16, (32, count, 2)).astype(np.uint16)
        addresses = rng.permutation(256)[:32].astype(np.uint32) * 16
        out, dump = device.poisoned(32 * count), device.poisoned(1024)
        device.launch(
            kernel,
            [
                device.upload(image),
                device.upload(addresses),
                device.upload(registers),
                out,
                dump,
            ],
            block=32,
            shared=4096,
        )
        matrix, row, column = np.moveaxis(ldmatrix.fragment(count, trans), -1, 0)
        lanes = ldmatrix.address_lane(matrix, row)
        index = addresses[lanes] // 2 + column
        want_out, want_dump = registers.copy(), image.copy()
        if load:
            want_out = image[index]
        else:
            want_dump[index] = registers
        return differences(
            "registers", device.download(out, (32, count, 2), np.uint16), want_out
        ) + differences("memory", device.download(dump, (2048,), np.uint16), want_dump)

    return Form(function, (function,), name, text, check)


def forms() -> Iterator[Form]:
    """mma, ldmatrix and stmatrix."""
    yield from map(mma_form, mma.PRODUCTS)
    for load in (True, False):
        for count in ldmatrix.COUNTS:
            for trans in (False, True):
                yield ldmatrix_form(count, trans, load)
