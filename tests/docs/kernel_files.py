"""Kernels of documentation files: parsed, placed, interpreted, built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from argus.compiler import build
from argus.evaluation.requests import contiguous_facts
from argus.interpret import bf16_to_f32, f32_to_bf16, run
from argus.ir.dtypes import DTYPES, DType
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request, placed_program
from argus.runtime.build import Cubin

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Subject:
    """A kernel of a file with its static parameters, for one target."""

    kernel: Kernel
    statics: Mapping[str, object]
    target: str

    def request(
        self, shapes: Mapping[str, tuple[int, ...]], dtypes: Mapping[str, DType]
    ) -> Request:
        facts = contiguous_facts(self.kernel, shapes)
        return Request(self.kernel, dtypes, self.statics, self.target, facts)

    def interpret(
        self,
        arrays: Mapping[str, np.ndarray],
        outputs: Mapping[str, tuple[int, ...]],
        scalars: Mapping[str, float] | None = None,
        **options: object,
    ) -> dict[str, np.ndarray]:
        """Run on arrays (f32 values are rounded to each tensor's type); all outputs.

        Outputs start as NaN: what is not written stays so.
        """
        dtypes = {t.name: t.dtypes[0] for t in self.kernel.signature.tensors}
        given = {**arrays}
        given |= {n: np.full(s, np.nan, np.float32) for n, s in outputs.items()}
        stored = {n: encode(a, dtypes[n]) for n, a in given.items()}
        shapes = {n: a.shape for n, a in stored.items()}
        program = placed_program(self.request(shapes, dtypes))
        run(program, stored, dict(scalars or {}), **options)
        for name, array in arrays.items():
            assert np.array_equal(stored[name], encode(array, dtypes[name])), name
        return {n: decode(stored[n], dtypes[n]) for n in outputs}

    def build(self) -> Cubin:
        """Machine code for sizes and strides divisible by 16."""
        dtypes = {t.name: t.dtypes[0] for t in self.kernel.signature.tensors}
        return build(Request(self.kernel, dtypes, self.statics, self.target)).cubin


def encode(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Values as the interpreter stores them."""
    if dtype is DTYPES["bf16"]:
        return f32_to_bf16(array)
    names = {"f16": np.float16, "f32": np.float32, "i32": np.int32}
    return array.astype(names[dtype.name])


def decode(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Stored values in fp64."""
    values = bf16_to_f32(array) if dtype is DTYPES["bf16"] else array
    return values.astype(np.float64)


def rounded(array: np.ndarray) -> np.ndarray:
    """The values that a bf16 tensor of them holds, in fp64."""
    return bf16_to_f32(f32_to_bf16(array)).astype(np.float64)


def close(found: np.ndarray, exact: np.ndarray, tolerance: float = 5e-3) -> None:
    """Every element written, and the error small against the whole's size."""
    assert not np.isnan(found).any(), "an element was not written"
    assert found.shape == exact.shape
    error = float(np.linalg.norm(found - exact) / np.linalg.norm(exact))
    assert error < tolerance
    assert np.abs(found - exact).max() < 16 * tolerance * np.abs(exact).max()


def subject(
    path: str, kernel: str, target: str = "sm_90a", **statics: object
) -> Subject:
    """A kernel of a file; the path is relative to the root of the project."""
    return Subject(load_kernels(ROOT / path).kernels[kernel], statics, target)
