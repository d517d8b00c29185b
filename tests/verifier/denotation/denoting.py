"""Kernels from source to their denotation, and to a run in the interpreter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from argus.evaluation.requests import default_dtypes
from argus.interpret import run
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program, ScalarParam
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program, tile_program
from argus.terms import World
from argus.verify.denotation import Denotation, denote
from verifier.denotation.evaluating import Checked, Evaluation

HEAD = (
    "import argus as ag\nfrom argus import bf16, boolean, f16, f32, i8, i32, u8\n\n\n"
)


def request(
    source: str,
    tmp_path: Path,
    sizes: Mapping[str, int] | None = None,
    **statics: object,
) -> Request:
    """The request for the only kernel of a source, of what divides the sizes."""
    file = tmp_path / "kernel.py"
    file.write_text(HEAD + source)
    (kernel,) = load_kernels(str(file)).kernels.values()
    facts: dict[str, int] = {}
    for tensor in kernel.signature.tensors if sizes is not None else ():
        step = 1
        for i, dim in reversed(list(enumerate(tensor.dims))):
            facts[f"{tensor.name}_s{i}"] = math.gcd(step, 16)
            if isinstance(dim, int):
                step *= dim
            elif sizes is not None:
                facts[dim] = math.gcd(sizes[dim], 16)
                step *= sizes[dim]
    return Request(kernel, default_dtypes(kernel, {}), statics, "sm_90a", facts)


def denoted(source: str, tmp_path: Path, **statics: object) -> Denotation:
    """The denotation of a kernel."""
    return denote(tile_program(request(source, tmp_path, None, **statics)), World())


def lost(source: str, tmp_path: Path, **statics: object) -> str:
    """Why a kernel's denotation is incomplete."""
    found = denoted(source, tmp_path, **statics)
    assert found.unknown is not None, [str(s.value) for s in found.stores]
    return found.unknown.reason


def agrees(
    source: str,
    tmp_path: Path,
    sizes: Mapping[str, int],
    *,
    scalars: Mapping[str, float] | None = None,
    given: Mapping[str, Any] | None = None,
    count: int = 25,
    tolerance: float = 2e-3,
    **statics: object,
) -> Denotation:
    """Check a denotation at random elements against a run of the placed program.

    ``given`` are arrays that are not drawn. Returns the denotation.
    """
    asked = request(source, tmp_path, sizes, **statics)
    program = placed_program(asked)
    found = denote(tile_program(asked), World())
    assert found.unknown is None, found.unknown.reason
    arrays = drawn(program, sizes, given or {})
    before = {name: a.copy() for name, a in arrays.items()}
    run(program, arrays, dict(scalars or {}), sm_count=2)
    numbers = Evaluation(sizes, before, dict(scalars or {}))
    checked = Checked(found, numbers)
    seen = 0
    for store in found.stores:
        after = arrays[store.tensor.name]
        for at, value in checked.elements(store, count):
            if store.atomic is None:
                np.testing.assert_allclose(
                    float(after[at]), value, rtol=tolerance, atol=tolerance
                )
            seen += 1
    assert seen > 0
    return found


def drawn(
    program: Program, sizes: Mapping[str, int], given: Mapping[str, Any]
) -> dict[str, np.ndarray[Any, Any]]:
    """Arrays of small numbers for all tensors of a program."""
    rng = np.random.default_rng(5)
    made: dict[str, np.ndarray[Any, Any]] = {}
    for param in program.params:
        if isinstance(param, ScalarParam):
            continue
        assert isinstance(param, GlobalTensor)
        shape = tuple(
            int(str(e)) if str(e).isdigit() else sizes[str(e)] for e in param.shape
        )
        kind = np.dtype(param.dtype.numpy)
        if param.name in given:
            made[param.name] = np.asarray(given[param.name], kind).reshape(shape)
        elif kind.kind in "iu":
            made[param.name] = rng.integers(0, 4, shape).astype(kind)
        elif kind.kind == "b":
            made[param.name] = rng.integers(0, 2, shape).astype(kind)
        else:
            made[param.name] = rng.integers(-4, 5, shape).astype(kind) / 4
    return made
