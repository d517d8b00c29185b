"""Runs what was generated: request, inputs, reference, interpreter, comparison.

    request = request_of(generated)
    for sizes in generated.sizes:
        arrays = inputs_of(generated, sizes, seed)
        expected = reference_of(generated, sizes, arrays)
        interpret.run(program, arrays, generated.scalars)
        wrong = compared(generated, arrays, expected)      # [] if it is right

Arrays are as the interpreter takes them (bf16: bit patterns); outputs begin poisoned,
and an output that holds NaN where the reference has none is wrong.
"""

from __future__ import annotations

import ast
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from argus.evaluation.requests import contiguous_facts
from argus.interpret import run
from argus.interpret.numbers import bf16_to_f32, f32_to_bf16, storage
from argus.ir.dtypes import DTYPES
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from generate.draft import FLOATS, Generated, Tensor

Arrays = dict[str, np.ndarray]


def request_of(g: Generated, target: str = "sm_90a") -> Request:
    """The specialisation that all launches of ``g.sizes`` share."""
    kernel = load_kernels(f"random-{g.seed}.py", g.source).kernels[g.kernel]
    facts: dict[str, int] = {}
    for sizes in g.sizes:
        shapes = {t.name: shape_of(t, sizes) for t in g.tensors if t.present}
        for name, value in contiguous_facts(kernel, shapes).items():
            facts[name] = min(value, facts.get(name, 16))
    dtypes = {t.name: DTYPES[t.dtype] for t in g.tensors if t.present}
    return Request(kernel, dtypes, dict(g.statics), target, facts)


def shape_of(t: Tensor, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a tensor at these sizes."""
    return tuple(x if isinstance(x, int) else sizes[x] for x in t.dims)


def launched_sizes(g: Generated) -> list[dict[str, int]]:
    """Sizes that a launch takes: not those of an empty input and a full output.

    A launch refuses these (AG0814), and a proof is of sizes of 1 or more.
    """

    def refused(sizes: Mapping[str, int]) -> bool:
        present = [t for t in g.tensors if t.present]
        empty = [0 in shape_of(t, sizes) for t in present]
        outputs = [e for t, e in zip(present, empty, strict=True) if t.kind != "input"]
        return any(empty) and not all(outputs)

    return [dict(sizes) for sizes in g.sizes if not refused(sizes)]


def inputs_of(g: Generated, sizes: Mapping[str, int], seed: int) -> Arrays:
    """Arrays of all tensors that are passed; what is written begins poisoned."""
    made: Arrays = {}
    for t in g.tensors:
        if t.present:
            rng = np.random.default_rng([g.seed, seed, zlib.crc32(t.name.encode())])
            made[t.name] = _drawn(t, shape_of(t, sizes), sizes, rng)
    return made


def _drawn(t: Tensor, shape, sizes, rng: np.random.Generator) -> np.ndarray:
    kind = storage(DTYPES[t.dtype])
    high = sizes[t.high] if isinstance(t.high, str) else t.high
    if t.kind == "output":
        return _poison(t.dtype, shape, kind)
    match t.draw:
        case "zeros":
            return np.zeros(shape, kind)
        case "ints":
            values = rng.integers(t.low, high, shape)
        case "table":
            low, top = (-2, high + 2) if t.wild else (0, max(high, 1))
            values = rng.integers(low, top, shape)
        case "ends":
            values = _near_ends(DTYPES[t.dtype].bits, shape, rng)
        case "distinct":
            values = rng.permutation(high)[: shape[0]]
        case _:
            values = rng.standard_normal(shape)
    if t.dtype == "bf16":
        return f32_to_bf16(np.asarray(values, np.float32))
    return np.asarray(values).astype(kind)


def _near_ends(bits: int, shape, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers near the ends of a signed type, near its half, and near zero."""
    top = 2 ** (bits - 1)
    near = [-top, top - 1, 2 ** (bits // 2), -(2 ** (bits // 2)), 0]
    drawn = rng.choice(near, shape).astype(np.int64) + rng.integers(-3, 4, shape)
    return np.where(rng.random(shape) < 0.2, rng.integers(-top, top, shape), drawn)


def _poison(dtype: str, shape, kind) -> np.ndarray:
    if dtype == "bf16":
        return np.full(shape, 0x7FFF, np.uint16)
    if dtype in FLOATS:
        return np.full(shape, np.nan, kind)
    return np.full(shape, 0 if dtype == "boolean" else np.iinfo(kind).max - 3, kind)


def exact(dtype: str, array: np.ndarray) -> np.ndarray:
    """As fp64, int64 or bool."""
    if dtype == "bf16":
        return bf16_to_f32(array).astype(np.float64)
    if dtype in FLOATS:
        return array.astype(np.float64)
    return array if array.dtype == np.bool_ else array.astype(np.int64)


def reference_of(g: Generated, sizes: Mapping[str, int], arrays: Arrays) -> Arrays:
    """What the outputs should hold, by name; from arrays before the kernel ran."""
    tree = ast.parse(g.source)
    found = [
        n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == g.reference
    ]
    found[0].decorator_list = []
    names: dict[str, Any] = {}
    code = compile(ast.Module([*found], []), "<reference>", "exec")
    exec(code, names)
    given = {t.name: exact(t.dtype, arrays[t.name]) for t in g.tensors if t.present}
    with np.errstate(all="ignore"):
        results = names[g.reference](**given, **g.scalars, **sizes)
    return dict(zip(g.outputs, results, strict=True))


def interpreted(g: Generated, sizes: Mapping[str, int], arrays: Arrays) -> Arrays:
    """What the interpreter leaves in the outputs, by name, as exact numbers."""
    program = placed_program(request_of(g))
    copies = {name: array.copy() for name, array in arrays.items()}
    with np.errstate(all="ignore"):
        run(program, copies, g.scalars)
    types = {t.name: t.dtype for t in g.tensors}
    return {name: exact(types[name], copies[name]) for name in g.outputs}


def compared(g: Generated, got: Arrays, expected: Arrays) -> list[str]:
    """A sentence for each output that is wrong."""
    types = {t.name: t.dtype for t in g.tensors}
    said = [
        difference(name, exact(types[name], got[name]), want, g.tolerances[name])
        for name, want in expected.items()
    ]
    return [text for text in said if text]


def difference(
    name: str, out: np.ndarray, want: np.ndarray, tolerance: float
) -> str | None:
    """What is wrong with an output, or None. NaN is wrong unless it is wanted."""
    want = np.asarray(want)
    if out.shape != want.shape:
        return f"{name}: shape {out.shape}, not {want.shape}"
    if out.size == 0:
        return None
    if tolerance == 0:
        off = out != want
    else:
        with np.errstate(all="ignore"):
            finite = want[np.isfinite(want)]
            scale = math.sqrt(float((finite * finite).mean())) if finite.size else 0.0
            close = np.abs(out - want) <= tolerance * (np.abs(want) + scale + 1e-3)
        same = (out == want) | (np.isnan(out) & np.isnan(want))
        off = ~(close | same)
    if not off.any():
        return None
    at = tuple(int(i) for i in np.argwhere(off)[0])
    return (
        f"{name}: {int(off.sum())} of {off.size} elements; {name}{list(at)} is "
        f"{out[at]!s}, not {want[at]!s}"
    )
