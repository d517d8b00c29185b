"""Forms of the matrix instructions: wgmma, mma, ldmatrix, stmatrix.

Values are small integers, so that sums are exact and the comparison is bit for bit.
Shared memory around the operands is NaN: an element read from a wrong byte shows.
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
    bits16,
    differences,
    generator,
)

from argus.isa import ldmatrix, mma, wgmma
from argus.layout import (
    mma_a_operand,
    mma_accumulator,
    mma_b_operand,
    wgmma_a_operand,
    wgmma_accumulator,
)

SWIZZLES = (0, 32, 64, 128)


def wgmma_kernel(name: str, function: str, n: int, rs: bool) -> str:
    operand = "a" if rs else "desc_a"
    return f"""
extern "C" __global__ void __launch_bounds__(128) {name}(
    const u32* image, int words, const float* acc, const u32* a_registers, float* out,
    u32 a_start, u32 a_leading, u32 a_stride, u32 a_swizzle,
    u32 b_start, u32 b_leading, u32 b_stride, u32 b_swizzle, int scale_d) {{
{SMEM}
  for (int i = tid; i < words; i += 128) ((u32*)smem)[i] = image[i];
  float d[{n // 2}];
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
    image: np.ndarray, at: int, values: np.ndarray, spot: Any, dtype: str
) -> None:
    """Write 16-bit values [rows, 16] to the bytes that the descriptor names."""
    start, leading, stride, swizzle, mn_major = spot
    addresses = wgmma.operand_addresses(
        at + start, leading, stride, swizzle, mn_major, values.shape[0]
    )
    index = addresses // 2
    assert np.unique(index).size == index.size, f"operand overlaps itself: {spot}"
    image[index] = bits16(values, dtype)


def extent(rows: int, spot: Any) -> int:
    return int(wgmma.operand_addresses(*spot, rows).max()) + 2


def integers(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(-32, 33, shape).astype(np.float32)


def wgmma_case(
    device: Device,
    kernel: Any,
    rng: np.random.Generator,
    n: int,
    dtype: str,
    a_spot: tuple[int, int, int, int, bool] | None,
    b_spot: tuple[int, int, int, int, bool],
    scale_d: int,
) -> list[str]:
    a, b = integers(rng, (64, 16)), integers(rng, (n, 16))
    acc = integers(rng, (64, n))
    b_at = 0 if a_spot is None else -(-extent(64, a_spot) // 1024) * 1024
    size = -(-(b_at + extent(n, b_spot)) // 1024) * 1024
    image = np.full(size // 2, POISON & 0xFFFF, dtype=np.uint16)
    if a_spot is not None:
        scatter(image, 0, a, a_spot, dtype)
    scatter(image, b_at, b, b_spot, dtype)
    table = wgmma_accumulator(64, n).table()
    fragment = acc[table[..., 0], table[..., 1]]
    if scale_d == 0:
        fragment = np.full_like(fragment, np.nan)
    a_table = wgmma_a_operand(64, 16).table()
    a_registers = bits16(a[a_table[..., 0], a_table[..., 1]], dtype)
    if a_spot is not None:
        a_registers = np.full_like(a_registers, POISON & 0xFFFF)
    out = device.poisoned(128 * n // 2)
    a_fields = (0, 16, 16, 0) if a_spot is None else a_spot[:4]
    b_fields = (b_at + b_spot[0], *b_spot[1:4])
    device.launch(
        kernel,
        [
            device.upload(image),
            I32(size // 4),
            device.upload(fragment.astype(np.float32)),
            device.upload(a_registers),
            out,
            *map(U32, a_fields),
            *map(U32, b_fields),
            I32(scale_d),
        ],
        shared=size,
    )
    got = device.download(out, (128, n // 2), np.float32)
    want = wgmma.apply(a, b, acc if scale_d else None)
    device.free()
    what = f"a={a_spot} b={b_spot} (start, leading, stride, swizzle, mn) x{scale_d}"
    return differences(what, got, want[table[..., 0], table[..., 1]])


def wgmma_form(n: int, dtype: str, rs: bool, ta: int, tb: int) -> Form:
    function = wgmma.function_name(n, dtype, rs, ta, tb)

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
                        device, kernel, rng, n, dtype, a_spot, b_spot, scale_d
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
    text = wgmma_kernel(name, function, n, rs)
    return Form(function, (function, *helpers), name, text, check)


def wgmma_forms(dtype: str, rs: bool) -> list[Form]:
    majors = (
        [(0, tb) for tb in (0, 1)] if rs else [(i, j) for i in (0, 1) for j in (0, 1)]
    )
    return [
        wgmma_form(n, dtype, rs, ta, tb) for n in range(8, 257, 8) for ta, tb in majors
    ]


def mma_form(dtype: str) -> Form:
    function = f"argus_mma_m16n8k16_{dtype}"
    name = f"test_mma_{dtype}"
    text = f"""
extern "C" __global__ void {name}(
    const u32* a_in, const u32* b_in, const float* acc, float* out) {{
  u32 a[4], b[2];
  float d[4];
  for (int r = 0; r < 4; ++r) a[r] = a_in[threadIdx.x * 4 + r];
  for (int r = 0; r < 2; ++r) b[r] = b_in[threadIdx.x * 2 + r];
  for (int r = 0; r < 4; ++r) d[r] = acc[threadIdx.x * 4 + r];
  {function}(d, a, b);
  for (int r = 0; r < 4; ++r) out[threadIdx.x * 4 + r] = d[r];
}}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        rng = generator(function)
        a, b = integers(rng, (16, 16)), integers(rng, (8, 16))
        acc = integers(rng, (16, 8))
        tables = [
            mma_a_operand(16, 16).table(),
            mma_b_operand(8, 16).table(),
            mma_accumulator(16, 8).table(),
        ]
        a_frag, b_frag, acc_frag = (
            values[t[..., 0], t[..., 1]]
            for values, t in zip((a, b, acc), tables, strict=True)
        )
        out = device.poisoned(32 * 4)
        device.launch(
            kernel,
            [
                device.upload(bits16(a_frag, dtype)),
                device.upload(bits16(b_frag, dtype)),
                device.upload(acc_frag),
                out,
            ],
            block=32,
        )
        got = device.download(out, (32, 4), np.float32)
        want = mma.apply(a, b, acc)
        t = tables[2]
        return differences("D", got, want[t[..., 0], t[..., 1]])

    return Form(function, (function,), name, text, check)


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
    yield from map(mma_form, ("bf16", "f16"))
    for load in (True, False):
        for count in ldmatrix.COUNTS:
            for trans in (False, True):
                yield ldmatrix_form(count, trans, load)
