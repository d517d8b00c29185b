"""Kernels with inputs, of which two ways of running them are compared.

Each case is a kernel with several outputs, which packs many operations into one
compilation. `differ` compares what two ways of running it left: bit by bit, but for
NaN, which is NaN, and for functions that are approximate by definition.

Cases are made by `operation_cases.py` and `scalar_cases.py`; nothing here runs a kernel
but the interpreter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from argus.interpret import run
from argus.interpret.numbers import storage
from argus.ir import codec
from argus.ir.dtypes import DTYPES
from argus.ir.program import Program
from argus.lang.kernel import load_kernels
from argus.requests import Request
from argus.specialisations import divisor

Array = np.ndarray
Bound = tuple[float, float]
"""Relative and absolute error that an output may have, in f32."""

EXACT: Bound = (0.0, 0.0)


@dataclass(frozen=True)
class Output:
    """What a kernel writes: type, shape, and the error that it may have."""

    dtype: str
    shape: tuple[int, ...]
    bound: Bound = EXACT


@dataclass
class Case:
    """A kernel, its arguments by name, and what it writes."""

    name: str
    body: list[str]
    inputs: dict[str, tuple[str, str, Array]]
    """Type, dimension names and stored elements by tensor."""
    outputs: dict[str, tuple[str, Output]] = field(
        default_factory=dict[str, tuple[str, Output]]
    )
    """Dimension names and what is written by tensor."""
    scalars: dict[str, tuple[str, float | int]] = field(
        default_factory=dict[str, tuple[str, float | int]]
    )
    prelude: str = ""
    """Functions before the kernel."""
    warps: int = 1
    target: str = "sm_90a"

    def write(self, value: str, dims: str, output: Output, at: str = "") -> None:
        """One more output: a tile that the kernel computes."""
        name = f"O{len(self.outputs)}"
        place = at or ", ".join("0:" for _ in output.shape)
        self.outputs[name] = (dims, output)
        self.body.append(f"{name}[{place}] = {value}")

    @property
    def text(self) -> str:
        """The file."""
        given = [
            f'{n}: ag.{author_type(d)}["{dims}"]'
            for n, (d, dims, _) in self.inputs.items()
        ]
        given += [
            f'{n}: ag.{author_type(x.dtype)}["{dims}"]'
            for n, (dims, x) in self.outputs.items()
        ]
        given += [f"{n}: ag.{d}" for n, (d, _) in self.scalars.items()]
        lines = ["import argus as ag", "", self.prelude, "", "@ag.kernel"]
        lines += [f"def {self.name}(", *(f"    {g}," for g in given), "):"]
        sizes = self.sizes().items()
        body = [
            f"ag.launch(warps={self.warps})",
            *(
                f'ag.require(ag.dim("{dim}") == {size}, "one block does it all")'
                for dim, size in sizes
                if dim not in self.scalars
            ),
            "_ = ag.block(1)",
            *self.body,
        ]
        return "\n".join([*lines, *(f"    {line}" for line in body)]) + "\n"

    def request(self, folder: Path) -> Request:
        """What to compile; the file is written into a folder."""
        path = folder / f"{self.name}.py"
        path.write_text(self.text)
        kernel = load_kernels(path).kernels[self.name]
        types = {n: DTYPES[d] for n, (d, _, _) in self.inputs.items()}
        types |= {n: DTYPES[x.dtype] for n, (_, x) in self.outputs.items()}
        return Request(kernel, types, {}, self.target, self._facts())

    def _facts(self) -> dict[str, int]:
        """What divides extents and strides, as a call would find it."""
        return {name: divisor(value) for name, value in self.values().items()}

    def values(self) -> dict[str, int]:
        """Extents and strides by name."""
        given = {n: (dims, a.shape) for n, (_, dims, a) in self.inputs.items()}
        given |= {n: (dims, x.shape) for n, (dims, x) in self.outputs.items()}
        found: dict[str, int] = {}
        for name, (dims, shape) in given.items():
            for axis, (dim, extent) in enumerate(zip(dims.split(), shape, strict=True)):
                found[dim] = extent
                stride = int(np.prod(shape[axis + 1 :], dtype=np.int64))
                found[f"{name}_s{axis}"] = stride
        return found

    def arrays(self) -> dict[str, Array]:
        """Stored elements of all tensors, the outputs filled with a pattern."""
        found = {n: values.copy() for n, (_, _, values) in self.inputs.items()}
        for n, (_, x) in self.outputs.items():
            kind = storage(DTYPES[x.dtype])
            found[n] = np.full(x.shape, 1 if kind == np.bool_ else 77).astype(kind)
        return found

    def sizes(self) -> dict[str, int | float]:
        """Values of dims and scalars."""
        found: dict[str, int | float] = {n: v for n, (_, v) in self.scalars.items()}
        shapes = {n: (dims, a.shape) for n, (_, dims, a) in self.inputs.items()}
        shapes |= {n: (dims, x.shape) for n, (dims, x) in self.outputs.items()}
        for dims, shape in shapes.values():
            found.update(zip(dims.split(), shape, strict=True))
        return found

    def interpreted(self, program: Program) -> dict[str, Array]:
        """The arrays after the interpreter has run."""
        arrays = self.arrays()
        run(program, arrays, {n: v for n, (_, v) in self.scalars.items()})
        return arrays

    def differ(self, left: dict[str, Array], right: dict[str, Array]) -> list[str]:
        """What two runs do not agree on, in words."""
        found: list[str] = []
        for name, (_, output) in self.outputs.items():
            wrong = _unequal(left[name], right[name], output)
            if not wrong.any():
                continue
            first = tuple(int(x) for x in np.argwhere(wrong)[0])
            values = [numbers(a[name], output.dtype)[first] for a in (left, right)]
            line = next(x for x in self.body if f"{name}[" in x)
            found.append(
                f"{self.name}: {line}: {int(wrong.sum())} of {wrong.size} differ, "
                f"first {first}: {values[0]} and {values[1]}"
            )
        return found


def numbers(stored: Array, dtype: str) -> Array:
    """Stored elements as numbers."""
    values = codec.numbers(stored, DTYPES[dtype])
    return values


def _unequal(left: Array, right: Array, output: Output) -> Array:
    a, b = numbers(left, output.dtype), numbers(right, output.dtype)
    if not DTYPES[output.dtype].is_float:
        return a != b
    both = np.isnan(a) & np.isnan(b)
    relative, absolute = output.bound
    if output.bound == EXACT:
        return ~(both | ((a == b) & (np.signbit(a) == np.signbit(b))))
    # A rounding to fewer bits may go the other way.
    kind = DTYPES[output.dtype]
    relative += 2 * kind.roundoff if kind.encoded else 0.0
    absolute += {"f16": 2.0**-24, "e4m3": 2.0**-9, "e5m2": 2.0**-16}.get(kind.name, 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(a.astype(np.float64) - b) <= absolute + relative * np.abs(b)
    return ~(both | (a == b) | near)


def author_type(dtype: str) -> str:
    return "boolean" if dtype == "bool" else dtype
