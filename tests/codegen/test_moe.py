"""Printed routing of tokens does what the interpreter does, with all tails."""

from __future__ import annotations

import emulator
import numpy as np
import pytest

from argus.codegen import emit
from argus.interpret import run
from argus.ir.dtypes import bf16, f32, i32
from argus.kernels.moe.kernel import moe_sum
from argus.kernels.moe.routing import moe_place, moe_route, moe_rows
from argus.lang.kernel import Kernel
from argus.requests import Request, placed_program
from argus.specialisations import divisor, facts_of, specialisation, stride_divisors
from few import rest

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not emulator.available(), reason="needs g++"),
]

T, E, TOP, BT, BM, C = 11, 40, 3, 4, 64, 33
B = -(-T // BT)
TYPES = {"f": f32, "i": i32, "u": bf16}
Arrays = dict[str, np.ndarray]


def both(kernel: Kernel, arrays: Arrays, statics: dict[str, object]) -> Arrays:
    """What the interpreter leaves in the arrays, once it is what the text leaves."""
    dtypes = {name: TYPES[a.dtype.kind] for name, a in arrays.items()}
    chosen = specialisation(
        kernel.signature,
        {
            name: (
                dtypes[name],
                tuple(divisor(n) for n in a.shape),
                stride_divisors(a.shape, [s // a.itemsize for s in a.strides]),
            )
            for name, a in arrays.items()
        },
    )
    facts = facts_of(kernel.signature, chosen)
    program = placed_program(Request(kernel, chosen.form, statics, "sm_90a", facts))
    sizes: dict[str, int | float] = {}
    for tensor in kernel.signature.tensors:
        if tensor.name in arrays:
            shape = arrays[tensor.name].shape
            sizes.update(zip(map(str, tensor.dims), shape, strict=True))
    scalars = {"scale": 1.5} if kernel is moe_route else {}
    printed = {name: a.copy() for name, a in arrays.items()}
    run(program, arrays, scalars)
    emulator.launch(emit(program), {**sizes, **scalars}, printed)
    for name, array in arrays.items():
        if array.dtype == np.float32:
            assert np.allclose(array, printed[name], rtol=1e-6, atol=0), name
        else:
            assert np.array_equal(array, printed[name]), name
    return arrays


@pytest.mark.parametrize("sigmoid", [*rest(False), True])
def test_routing_and_sums_as_text(sigmoid: bool) -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(T, E)).astype(np.float32)
    logits[:, 7] += 9.0
    logits[2] = 0.0
    pairs = (B, BT, TOP)
    routed = both(
        moe_route,
        {
            "Logits": logits,
            "Ids": np.full(pairs, -9, np.int32),
            "Weights": np.full(pairs, np.nan, np.float32),
            "Rank": np.full(pairs, -9, np.int32),
            "Count": np.full((B, E), -9, np.int32),
            "Rows": np.zeros((B, C // B * BM), np.int32),
        },
        {"TOP": TOP, "PAIRS": 4, "BT": BT, "BE": 64, "WARPS": 4, "SIGMOID": sigmoid},
    )
    ids = routed["Ids"].reshape(-1, TOP)[:T]
    assert np.array_equal(ids, np.argsort(-logits, 1, kind="stable")[:, :TOP])
    assert routed["Count"].sum() == T * TOP
    placed = both(
        moe_place,
        {
            **{name: routed[name] for name in ("Ids", "Rank", "Count")},
            "Position": np.full(pairs, -9, np.int32),
            "Expert": np.full((B, C // B), -9, np.int32),
        },
        {"TOP": TOP, "BM": BM, "BT": BT, "BE": 64},
    )
    position = placed["Position"].reshape(-1, TOP)[:T]
    assert len(set(position.flat)) == T * TOP
    assert np.array_equal(placed["Expert"].reshape(-1)[position // BM], ids)
    rows = both(
        moe_rows,
        {"Position": position.reshape(-1).copy(), "Rows": routed["Rows"].reshape(-1)},
        {"TOP": TOP},
    )["Rows"]
    assert np.array_equal(rows[position], np.repeat(np.arange(T)[:, None], TOP, 1))
    assert (rows >= 0).sum() == T * TOP
    weights = routed["Weights"].reshape(-1, TOP)[:T].copy()
    y = emulator.to_bf16(rng.normal(size=(len(rows), 72)).astype(np.float32))
    out = both(
        moe_sum,
        {"Y": y, "Position": position.copy(), "Weights": weights,
         "Out": np.zeros((T, 72), np.uint16)},
        {"TOP": TOP, "BT": 4, "BD": 64},
    )["Out"]  # fmt: skip
    want = (emulator.from_bf16(y)[position] * weights[..., None]).sum(1)
    assert np.allclose(emulator.from_bf16(out), want, rtol=1e-2, atol=1e-2)
