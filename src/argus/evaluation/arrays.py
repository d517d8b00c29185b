"""Arrays for evaluating kernels: drawn at random, poisoned, compared; numpy or torch.

Both kinds do the same, so that the oracle is written once. bf16 in numpy is a uint16
bit pattern, as the interpreter takes it. Nothing here knows a kernel.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from argus.interpret.numbers import compute, rounded, storage
from argus.ir.dtypes import DTYPES, FOREIGN, DType


@dataclass(frozen=True)
class Deviation:
    """How far an output is from its reference; all computed in fp64.

    ``error`` is the norm of the difference over the norm of the reference (0 where both
    are 0), NaN if some element is NaN that should not be. ``unwritten`` counts such
    elements: outputs are poisoned with NaN. ``outliers`` counts elements that are off
    by more than ``bound`` times the root mean square of their row plus their own size;
    where rows have few elements, a row is all of the axis before, too. ``worst`` is the
    flat index of the largest such excess.
    """

    error: float
    unwritten: int
    outliers: int
    worst: int
    got: float
    expected: float


@dataclass(frozen=True)
class Statistics:
    """Of the elements of an array that are written (not NaN)."""

    elements: int
    unwritten: int
    minimum: float
    maximum: float
    mean: float
    rms: float


class Arrays(Protocol):
    """What evaluation needs of an array library. A generator per seed is inside."""

    @property
    def module(self) -> Any:
        """Numpy or torch, for references and tables."""
        ...

    def normal(self, dtype: DType, shape: tuple[int, ...]) -> Any:
        """Standard normal values, rounded to ``dtype``."""
        ...

    def integers(self, dtype: DType, shape: tuple[int, ...], high: int) -> Any:
        """Uniform integers in [0, high), or zeros if ``high`` is 0."""
        ...

    def poisoned(self, dtype: DType, shape: tuple[int, ...]) -> Any:
        """NaN for floating point, the least value for integers, false for bool."""
        ...

    def littered(self, dtype: DType, shape: tuple[int, ...]) -> Any:
        """Finite numbers of many sizes, others each time; 0 or 1 for integers."""
        ...

    def rounded(self, values: Any, dtype: DType) -> Any:
        """Floating point values (fp32, fp64) rounded to nearest in ``dtype``."""
        ...

    def copy(self, array: Any) -> Any:
        """An independent copy."""
        ...

    def exact(self, array: Any, dtype: DType) -> Any:
        """A fp64 copy of floating point values; integers as they are."""
        ...

    def same(self, left: Any, right: Any) -> bool:
        """Whether two arrays of one type and shape hold the same."""
        ...

    def difference(self, out: Any, reference: Any, bound: float) -> Deviation:
        """Compare what :meth:`exact` gave of an output with the reference."""
        ...

    def statistics(self, array: Any, dtype: DType) -> Statistics:
        """What the values are like."""
        ...


class NumpyArrays:
    """numpy arrays, as the interpreter takes them."""

    def __init__(self, seed: int) -> None:
        self.module: Any = np
        self._random = np.random.default_rng(seed)

    def normal(self, dtype: DType, shape: tuple[int, ...]) -> Any:
        """See :class:`Arrays`."""
        values = self._random.standard_normal(shape, dtype=np.float32)
        return rounded(values, dtype)

    def integers(self, dtype: DType, shape: tuple[int, ...], high: int) -> Any:
        """See :class:`Arrays`."""
        return self._random.integers(0, max(high, 1), shape).astype(storage(dtype))

    def poisoned(self, dtype: DType, shape: tuple[int, ...]) -> Any:
        """See :class:`Arrays`."""
        if dtype.is_float:
            return rounded(np.full(shape, np.nan), dtype)
        kind = storage(dtype)
        return np.full(shape, 0 if dtype.kind == "bool" else np.iinfo(kind).min, kind)

    def littered(self, dtype: DType, shape: tuple[int, ...]) -> Any:
        """See :class:`Arrays`."""
        return _littered(self, dtype, shape)

    def rounded(self, values: Any, dtype: DType) -> Any:
        """See :class:`Arrays`."""
        return rounded(values, dtype)

    def copy(self, array: Any) -> Any:
        """See :class:`Arrays`."""
        return array.copy()

    def exact(self, array: Any, dtype: DType) -> Any:
        """See :class:`Arrays`."""
        if not dtype.is_float:
            return array.copy()
        return compute(array, dtype).astype(np.float64)

    def same(self, left: Any, right: Any) -> bool:
        """See :class:`Arrays`."""
        return bool(np.array_equal(left, right))

    def difference(self, out: Any, reference: Any, bound: float) -> Deviation:
        """See :class:`Arrays`."""
        return _difference(np, out.astype(np.float64), reference, bound)

    def statistics(self, array: Any, dtype: DType) -> Statistics:
        """See :class:`Arrays`."""
        return _statistics(np, self.exact(array, dtype).astype(np.float64))


class TorchArrays:
    """torch tensors on ``device`` ("cuda", "cpu"). Imports torch when made.

    Raises ImportError where there is no torch; `device.torch_module` says it better.
    """

    def __init__(self, seed: int, device: str = "cuda") -> None:
        self.module: Any = importlib.import_module("torch")
        self.device = device
        self.generator = self.module.Generator(device=device)
        self.generator.manual_seed(seed)

    def _type(self, dtype: DType) -> Any:
        return getattr(self.module, dtype.foreign)

    def normal(self, dtype: DType, shape: tuple[int, ...]) -> Any:
        """See :class:`Arrays`."""
        # Drawn in the element type: a fp32 copy of a large operand is not needed.
        wide = dtype.is_float and dtype.bits >= 16  # torch draws none that are narrower
        drawn = self._type(dtype if wide else DTYPES["f32"])
        made = self.module.randn(
            shape, generator=self.generator, device=self.device, dtype=drawn
        )
        return self.rounded(made, dtype)

    def integers(self, dtype: DType, shape: tuple[int, ...], high: int) -> Any:
        """See :class:`Arrays`."""
        # torch converts to wide types without sign, and does little else with them.
        made = self.module.randint(
            0,
            max(high, 1),
            shape,
            generator=self.generator,
            device=self.device,
            dtype=self._type(DTYPES["i64"] if _unsigned(dtype) else dtype),
        )
        return made.to(self._type(dtype))

    def poisoned(self, dtype: DType, shape: tuple[int, ...]) -> Any:
        """See :class:`Arrays`."""
        kind = self._type(dtype)
        if dtype.is_float:
            value: float | int | bool = float("nan")
        elif dtype.kind == "bool":
            value = False
        else:
            value = int(self.module.iinfo(kind).min)
        return self.module.full(shape, value, dtype=kind, device=self.device)

    def littered(self, dtype: DType, shape: tuple[int, ...]) -> Any:
        """See :class:`Arrays`."""
        return _littered(self, dtype, shape)

    def rounded(self, values: Any, dtype: DType) -> Any:
        """See :class:`Arrays`."""
        kind = self._type(dtype)
        if dtype.finite:
            values = values.clamp(
                -self.module.finfo(kind).max, self.module.finfo(kind).max
            )
        return values.to(kind)

    def copy(self, array: Any) -> Any:
        """See :class:`Arrays`."""
        return array.clone()

    def exact(self, array: Any, dtype: DType) -> Any:
        """See :class:`Arrays`."""
        return array.double() if dtype.is_float else array.clone()

    def same(self, left: Any, right: Any) -> bool:
        """See :class:`Arrays`."""
        name = str(left.dtype).removeprefix("torch.")
        if (dtype := FOREIGN.get(name)) is not None and _unsigned(dtype):
            signed = getattr(self.module, name.removeprefix("u"))
            left, right = left.view(signed), right.view(signed)
        return bool(self.module.equal(left, right))

    def difference(self, out: Any, reference: Any, bound: float) -> Deviation:
        """See :class:`Arrays`."""
        return _difference(self.module, out.double(), reference.double(), bound)

    def statistics(self, array: Any, dtype: DType) -> Statistics:
        """See :class:`Arrays`."""
        return _statistics(self.module, self.exact(array, dtype).double())


def _unsigned(dtype: DType) -> bool:
    """Whether torch knows the type, and has few functions of it."""
    return dtype.kind == "int" and not dtype.signed and dtype.bits > 8


def _littered(library: Arrays, dtype: DType, shape: tuple[int, ...]) -> Any:
    """The same for both libraries: as likely to be near a result as far from it."""
    if not dtype.is_float:
        return library.integers(dtype, shape, 2)
    single = DTYPES["f32"]
    power = library.exact(library.integers(DTYPES["i32"], shape, 6), single)
    values = library.exact(library.normal(single, shape), single)
    return library.rounded(values * 10.0 ** (1.0 - power), dtype)


def _difference(xp: Any, out: Any, reference: Any, bound: float) -> Deviation:
    """The same for both libraries; `out` and `reference` are fp64 of one shape."""
    count = 1
    for extent in reference.shape:
        count *= int(extent)
    if count == 0:
        return Deviation(0.0, 0, 0, 0, 0.0, 0.0)
    unwritten = int((xp.isnan(out) & ~xp.isnan(reference)).sum())
    delta = abs(out - reference)
    norm = float((reference * reference).sum()) ** 0.5
    off = float((delta * delta).sum()) ** 0.5
    error = off / norm if norm > 0 else off
    square = reference * reference
    square = xp.where(xp.isnan(square), xp.zeros_like(square), square)
    along = _row_axes(reference.shape)
    row = square.mean(axis=along, keepdims=True) ** 0.5 if along else square**0.5
    # Rows of a causal softmax differ by orders of magnitude: each has its own scale.
    # The last term lets a row of zeros have rounding errors of the whole's size.
    allowed = bound * (row + abs(reference) + 1e-3 * norm / count**0.5)
    excess = delta - allowed
    excess = xp.where(xp.isnan(excess), xp.full_like(excess, xp.inf), excess)
    worst = int(excess.reshape(-1).argmax())
    return Deviation(
        error,
        unwritten,
        int((excess > 0).sum()),
        worst,
        float(out.reshape(-1)[worst]),
        float(reference.reshape(-1)[worst]),
    )


_ROW = 16
"""Elements of a row whose root mean square is a scale: one may be 0 by chance."""


def _row_axes(shape: Sequence[int]) -> tuple[int, ...]:
    """The last axis, and those before it while a row has few elements."""
    count, axes = 1, list[int]()
    for axis in reversed(range(len(shape))):
        if count >= _ROW:
            break
        axes.append(axis)
        count *= int(shape[axis])
    return tuple(axes)


def _statistics(xp: Any, values: Any) -> Statistics:
    flat = values.reshape(-1)
    written = flat[~xp.isnan(flat)]
    total, count = int(flat.shape[0]), int(written.shape[0])
    if count == 0:
        return Statistics(total, total, 0.0, 0.0, 0.0, 0.0)
    with np.errstate(invalid="ignore", over="ignore"):  # infinities of both signs
        return Statistics(
            total,
            total - count,
            float(written.min()),
            float(written.max()),
            float(written.mean()),
            float((written * written).mean()) ** 0.5,
        )
