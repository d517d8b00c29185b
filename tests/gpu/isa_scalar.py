"""Forms of what each thread or warp does by itself: arithmetic, shuffles, memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from isa_device import I32, Device, Form, bits16, differences, generator

from argus.ir import philox
from argus.ir.dtypes import DTYPES
from argus.isa import memory, registers

COUNT = 1 << 16
Inputs = Callable[[np.random.Generator], list[np.ndarray]]
Check = Callable[[list[np.ndarray], np.ndarray], list[str]]
CTYPES = {
    "float32": "float",
    "float64": "double",
    "int32": "int",
    "int64": "long long",
    "uint32": "u32",
    "uint64": "u64",
    "uint16": "u16",
}


def map_form(
    title: str,
    function: str,
    expression: str,
    inputs: Inputs,
    result: type[np.generic],
    compare: Check,
) -> Form:
    """out[i] = expression of x[i], y[i], for each i of a grid."""
    kinds = [CTYPES[a.dtype.name] for a in inputs(generator(title))]
    name = "test_" + "".join(c if c.isalnum() else "_" for c in title)
    names = ("x", "y")[: len(kinds)]
    pairs = list(zip(kinds, names, strict=True))
    parameters = ", ".join(f"const {kind}* {n}_in" for kind, n in pairs)
    loads = " ".join(f"{kind} {n} = {n}_in[i];" for kind, n in pairs)
    kind = CTYPES[np.dtype(result).name]
    text = f"""
extern "C" __global__ void {name}({parameters}, {kind}* out, int count) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  {loads}
  out[i] = {expression};
}}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        arrays = inputs(generator(title))
        count = arrays[0].size
        out = device.poisoned(count * 2)
        device.launch(
            kernel,
            [*map(device.upload, arrays), out, I32(count)],
            grid=-(-count // 128),
        )
        got = device.download(out, count, result)
        device.free()
        return compare(arrays, got)

    return Form(title, (function,), name, text, check)


def exactly(meaning: Callable[..., np.ndarray]) -> Check:
    def compare(arrays: list[np.ndarray], got: np.ndarray) -> list[str]:
        return differences("result", got, meaning(*arrays))

    return compare


def floats(rng: np.random.Generator) -> np.ndarray:
    """Normal numbers of all magnitudes, ties between 16-bit floats, special values."""
    random = rng.integers(0, 1 << 32, COUNT, dtype=np.uint32).view(np.float32)
    near = rng.standard_normal(COUNT // 4).astype(np.float32)
    ties = (near.view(np.uint32) & 0xFFFF_0000 | 0x8000).view(np.float32)
    special = np.array(
        [0.0, -0.0, np.inf, -np.inf, 65504, 65520, 1e-8, 3.4e38], dtype=np.float32
    )
    both = np.concatenate([random[~np.isnan(random)][: COUNT // 2], near, ties])
    return np.concatenate([special, both])


def to_bf16(x: np.ndarray) -> np.ndarray:
    """Round f32 (no NaN) to nearest even bf16 bits."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def to_f16(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return x.astype(np.float16).view(np.uint16)


def from_bf16(v: np.ndarray) -> np.ndarray:
    return (v.astype(np.uint32) << 16).view(np.float32)


def from_f16(v: np.ndarray) -> np.ndarray:
    return v.astype(np.uint16).view(np.float16).astype(np.float32)


def no_nan_patterns(widen: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    every = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    return np.where(np.isnan(widen(every)), np.uint16(0), every)


def conversions(dtype: str) -> Iterator[Form]:
    narrow, widen = (to_bf16, from_bf16) if dtype == "bf16" else (to_f16, from_f16)

    def words(rng: np.random.Generator) -> list[np.ndarray]:
        patterns = no_nan_patterns(widen).astype(np.uint32)
        return [patterns | rng.permutation(patterns) << 16]

    pack = f"argus_pack_{dtype}"
    yield map_form(
        pack,
        pack,
        f"{pack}(x, y)",
        lambda rng: [x := floats(rng), rng.permutation(x)],
        np.uint32,
        exactly(
            lambda x, y: narrow(x).astype(np.uint32) | narrow(y).astype(np.uint32) << 16
        ),
    )
    for half, shift in (("lo", 0), ("hi", 16)):
        name = f"argus_unpack_{half}_{dtype}"
        yield map_form(
            name,
            name,
            f"{name}(x)",
            words,
            np.float32,
            exactly(lambda x, s=shift: widen((x >> s & 0xFFFF).astype(np.uint16))),
        )
    to, back = f"argus_to_{dtype}", f"argus_from_{dtype}"
    yield map_form(
        to, to, f"{to}(x)", lambda rng: [floats(rng)], np.uint16, exactly(narrow)
    )
    yield map_form(
        back,
        back,
        f"{back}(x)",
        lambda _: [no_nan_patterns(widen)],
        np.float32,
        exactly(widen),
    )


def extremes() -> Iterator[Form]:
    def nan_floats(rng: np.random.Generator) -> list[np.ndarray]:
        x = floats(rng)
        y = rng.permutation(x)
        x[::7], y[::11] = np.nan, np.nan
        return [x, y]

    def same(meaning: Callable[..., np.ndarray]) -> Check:
        def compare(arrays: list[np.ndarray], got: np.ndarray) -> list[str]:
            want = meaning(*arrays)
            if np.array_equal(got, want, equal_nan=True):
                return []
            bad = int(np.argmax(~((got == want) | (np.isnan(got) & np.isnan(want)))))
            return [f"{arrays[0][bad]}, {arrays[1][bad]}: {got[bad]}, not {want[bad]}"]

        return compare

    table: list[tuple[str, Callable[..., np.ndarray]]] = [
        ("min", np.minimum),
        ("max", np.maximum),
    ]
    for name, meaning in table:
        call = f"argus_{name}(x, y)"
        yield map_form(
            f"argus_{name} float",
            f"argus_{name}",
            call,
            nan_floats,
            np.float32,
            same(meaning),
        )
        for kind in (np.int32, np.int64):
            yield map_form(
                f"argus_{name} {kind.__name__}",
                f"argus_{name}",
                call,
                signed_pairs(kind),
                kind,
                exactly(meaning),
            )
    yield map_form(
        "argus_abs float",
        "argus_abs",
        "argus_abs(x)",
        lambda rng: [floats(rng)],
        np.float32,
        exactly(np.abs),
    )
    for kind in (np.int32, np.int64):
        yield map_form(
            f"argus_abs {kind.__name__}",
            "argus_abs",
            "argus_abs(x)",
            lambda rng, k=kind: signed_pairs(k)(rng)[:1],
            kind,
            exactly(np.abs),
        )


def signed_pairs(kind: type[np.signedinteger]) -> Inputs:
    """Dividends of all sizes; divisors small and large, of both signs, never 0."""

    def inputs(rng: np.random.Generator) -> list[np.ndarray]:
        limit = np.iinfo(kind).max
        x = rng.integers(-limit, limit, COUNT)
        y = np.where(
            rng.integers(2, size=COUNT) == 1,
            rng.integers(-100, 100, COUNT),
            rng.integers(-limit, limit, COUNT),
        )
        return [x.astype(kind), np.where(y == 0, 1, y).astype(kind)]

    return inputs


def divisions() -> Iterator[Form]:
    table: list[tuple[str, Callable[..., np.ndarray]]] = [
        ("floordiv", np.floor_divide),
        ("mod", np.mod),
    ]
    for name, meaning in table:
        for kind in (np.int32, np.int64):
            yield map_form(
                f"argus_{name} {kind.__name__}",
                f"argus_{name}",
                f"argus_{name}(x, y)",
                signed_pairs(kind),
                kind,
                exactly(meaning),
            )


def ends() -> Iterator[Form]:
    """What a loop counts to, and coordinates that do not fit 32 bits."""
    step = 1_000_003

    def following(k: np.ndarray, stop: np.ndarray) -> np.ndarray:
        exact = k.astype(object)
        return np.array([min(a + step, b) for a, b in zip(exact, stop, strict=True)])

    def below(kind: type[np.signedinteger]) -> Inputs:
        def inputs(rng: np.random.Generator) -> list[np.ndarray]:
            x, y = signed_pairs(kind)(rng)
            least = np.iinfo(kind).min
            x[:3], y[:3] = least, (least + 1, least + step, np.iinfo(kind).max)
            k, stop = np.minimum(x, y), np.maximum(x, y)
            return [np.where(k == stop, k - 1, k).astype(kind), stop]

        return inputs

    for kind in (np.int32, np.int64):
        yield map_form(
            f"argus_next {kind.__name__}",
            "argus_next",
            f"argus_next(x, ({CTYPES[kind.__name__]}){step}, y)",
            below(kind),
            kind,
            exactly(following),
        )
    yield map_form(
        "argus_coordinate",
        "argus_coordinate",
        "argus_coordinate(x)",
        lambda rng: signed_pairs(np.int64)(rng)[:1],
        np.int32,
        exactly(lambda x: np.clip(x, -(2**31) + 1, 2**31 - 1)),
    )


def shuffles() -> Iterator[Form]:
    for mode, name in (("bfly", "xor"), ("up", "up"), ("down", "down"), ("idx", "idx")):
        function = f"argus_shfl_{name}"
        text = f"""
extern "C" __global__ void test_{function}(
    const float* f, const int* n, const double* d, const long long* w,
    float* f_out, int* n_out, u32* u_out, double* d_out, long long* w_out) {{
  int lane = threadIdx.x;
  for (int operand = 0; operand < 32; ++operand) {{
    f_out[operand * 32 + lane] = {function}(f[lane], operand);
    n_out[operand * 32 + lane] = {function}(n[lane], operand);
    u_out[operand * 32 + lane] = {function}((u32)n[lane], operand);
    d_out[operand * 32 + lane] = {function}(d[lane], operand);
    w_out[operand * 32 + lane] = {function}(w[lane], operand);
  }}
}}
"""

        def check(device: Device, kernel: Any, mode: str = mode) -> list[str]:
            rng = generator(mode)
            f = rng.standard_normal(32).astype(np.float32)
            n = rng.integers(-(1 << 31), 1 << 31, 32).astype(np.int32)
            d = rng.standard_normal(32)
            w = rng.integers(-(1 << 63), 1 << 63, 32, np.int64)
            given = [f, n, n.view(np.uint32), d, w]
            outs = [device.poisoned(256 * x.itemsize) for x in given]
            uploaded = [device.upload(x) for x in (f, n, d, w)]
            device.launch(kernel, [*uploaded, *outs], block=32)
            source = np.array(
                [
                    [
                        registers.shuffle_source(mode, lane, operand)
                        for lane in range(32)
                    ]
                    for operand in range(32)
                ]
            )
            errors: list[str] = []
            for out, values in zip(outs, given, strict=True):
                got = device.download(out, (32, 32), values.dtype)
                errors += differences(str(values.dtype), got, values[source])
            return errors

        yield Form(function, (function,), f"test_{function}", text, check)


def streams() -> Iterator[Form]:
    text = """
extern "C" __global__ void test_stream(const int4* in, int4* out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) argus_stg_stream_16(out + i, argus_ldg_stream_16(in + i));
}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        data = generator("stream").integers(0, 1 << 32, 4 * 1000, dtype=np.uint32)
        out = device.poisoned(4 * 1000)
        device.launch(kernel, [device.upload(data), out, I32(1000)], grid=8)
        return differences("copy", device.download(out, 4000, np.uint32), data)

    functions = ("argus_ldg_stream_16", "argus_stg_stream_16")
    yield Form(", ".join(functions), functions, "test_stream", text, check)
    # Plain C++ vector accesses have no function; the generated code relies on them.
    plain = """
extern "C" __global__ void test_vectors(const u16* in, u16* out) {
  int t = threadIdx.x;
  out[t] = in[t];
  *(u32*)(out + 128 + 2 * t) = *(const u32*)(in + 128 + 2 * t);
  *(uint2*)(out + 384 + 4 * t) = *(const uint2*)(in + 384 + 4 * t);
  *(uint4*)(out + 896 + 8 * t) = *(const uint4*)(in + 896 + 8 * t);
}
"""

    def check_plain(device: Device, kernel: Any) -> list[str]:
        data = generator("vectors").integers(0, 1 << 16, 1920).astype(np.uint16)
        out = device.poisoned(960)
        device.launch(kernel, [device.upload(data), out])
        return differences("copy", device.download(out, 1920, np.uint16), data)

    yield Form("vector loads and stores", (), "test_vectors", plain, check_plain)


def reductions() -> Iterator[Form]:
    """Each of 64 addresses receives 512 additions of small integers: exact sums."""
    adders = 512
    for suffix, kind in (
        ("f32", "float"),
        ("f64", "double"),
        ("i32", "int"),
        ("bf16x2", "u32"),
        ("f16x2", "u32"),
    ):
        function = f"argus_red_add_{suffix}"
        pointer = "out" if kind == "u32" else f"({kind}*)out"
        text = f"""
extern "C" __global__ void test_{function}(const {kind}* in, u32* out) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  {function}({pointer} + i % 64, in[i]);
}}
"""

        def check(device: Device, kernel: Any, suffix: str = suffix) -> list[str]:
            rng = generator(suffix)
            lanes = 2 if suffix.endswith("x2") else 1
            # The running sum stays below 256, which bf16 holds exactly.
            low, high = (0, 2) if lanes == 2 else (-1000, 1000)
            values = rng.integers(low, high, (adders, 64, lanes)).astype(np.float32)
            if lanes == 2:
                values[256:] = 0
            start = np.zeros((64, lanes), dtype=np.float32)
            total = values.sum(axis=0)

            def encode(v: np.ndarray) -> np.ndarray:
                match suffix:
                    case "f32":
                        return v
                    case "i32":
                        return v.astype(np.int32)
                    case "f64":
                        return v.astype(np.float64)
                    case _:
                        return bits16(v, suffix.removesuffix("x2"))

            out = device.upload(encode(start))
            device.launch(
                kernel, [device.upload(encode(values)), out], grid=adders * 64 // 128
            )
            want = encode(total)
            return differences(
                "sums", device.download(out, want.shape, want.dtype), want
            )

        yield Form(function, (function,), f"test_{function}", text, check)


def extremes_in_memory() -> Iterator[Form]:
    """Each of 64 addresses receives 512 numbers, of which the extreme stays."""
    adders = 512
    for fn, kind in itertools.product(("max", "min"), ("f32", "i32")):
        function = f"argus_red_{fn}_{kind}"
        ctype = {"f32": "float", "i32": "int"}[kind]
        text = f"""
extern "C" __global__ void test_{function}(const {ctype}* in, {ctype}* out) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  {function}(out + i % 64, in[i]);
}}
"""

        def check(
            device: Device, kernel: Any, fn: str = fn, kind: str = kind
        ) -> list[str]:
            rng = generator(f"{fn} {kind}")
            numpy_type = np.float32 if kind == "f32" else np.int32
            values = rng.integers(-1000, 1000, (adders, 64)).astype(numpy_type)
            if kind == "f32":
                values[7, 3] = np.nan
            start = np.zeros(64, numpy_type)
            out = device.upload(start)
            device.launch(kernel, [device.upload(values), out], grid=adders // 2)
            pick = np.maximum if fn == "max" else np.minimum
            want = pick(start, pick.reduce(values, axis=0))
            got = device.download(out, want.shape, numpy_type)
            if kind == "f32":
                got[np.isnan(got)] = np.nan  # of NaN the bits do not matter
            return differences(fn, got, want)

        yield Form(function, (function,), f"test_{function}", text, check)


def old_values() -> Iterator[Form]:
    """Each of 64 addresses is changed by 512 threads, which all say what was there."""
    changers = 512
    for atom in memory.ATOMS:
        fn, kind = atom.fn, atom.dtype.name
        function, ctype = atom.function, atom.ctype
        given = "0, in[i]" if fn == "cas" else "in[i]"
        text = f"""
extern "C" __global__ void test_{function}(const {ctype}* in, {ctype}* out,
                                           {ctype}* old) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  old[i] = {function}(out + i % 64, {given});
}}
"""

        def check(
            device: Device, kernel: Any, fn: str = fn, kind: str = kind
        ) -> list[str]:
            numpy_type = np.dtype(DTYPES[kind].numpy)
            rng = generator(f"old {fn} {kind}")
            # All different at one address; a sum of ones, which are tickets.
            values = rng.permuted(np.tile(np.arange(1, changers + 1), (64, 1)), axis=1)
            values = (np.ones_like(values) if fn == "add" else values).T
            values = np.ascontiguousarray(values).astype(numpy_type)
            start = np.full(64, 300 if fn in ("max", "min") else 0, numpy_type)
            out, old = device.upload(start), device.upload(np.zeros_like(values))
            device.launch(kernel, [device.upload(values), out, old], grid=changers // 2)
            left = device.download(out, start.shape, numpy_type)
            seen = device.download(old, values.shape, numpy_type)
            wrong = [
                f"address {i}"
                for i in range(64)
                if not _one_after_another(
                    fn, start[i], values[:, i], left[i], seen[:, i]
                )
            ]
            return wrong[:4]

        yield Form(f"{fn} {kind} old", (function,), f"test_{function}", text, check)


def _one_after_another(
    fn: str, start: Any, values: np.ndarray, left: Any, seen: np.ndarray
) -> bool:
    """Whether some order of the changes explains what was left, and seen."""
    every = np.append(values, start)
    match fn:
        case "add":
            return left == values.sum() and set(seen) == set(range(len(values)))
        case "exchange":
            return sorted(np.append(seen, left)) == sorted(every)
        case "cas":
            winner = seen == start
            won = winner.sum() == 1 and left == values[winner][0]
            return bool(won and (seen[~winner] == left).all())
        case _:
            pick = np.maximum if fn == "max" else np.minimum
            steps = set(pick(seen, values)) | {start}
            known = left == pick.reduce(every) and start in seen
            return bool(known and set(seen) <= steps)


def random_numbers() -> Iterator[Form]:
    """Words of Philox by seed and offset, each of the four in turn."""

    def check(inputs: list[np.ndarray], got: np.ndarray) -> list[str]:
        seed, offset = inputs
        wanted = philox.word(seed, offset, np.arange(seed.size))
        return differences("philox", got, wanted)

    yield map_form(
        "philox",
        "argus_philox",
        "argus_philox(x, y, (long long)i)",
        signed_pairs(np.int64),
        np.int64,
        check,
    )


def forms() -> Iterator[Form]:
    """All forms of this file."""
    yield from random_numbers()
    yield from extremes_in_memory()
    for dtype in ("bf16", "f16"):
        yield from conversions(dtype)
    yield from extremes()
    yield from divisions()
    yield from ends()
    yield from shuffles()
    yield from streams()
    yield from reductions()
    yield from old_values()
