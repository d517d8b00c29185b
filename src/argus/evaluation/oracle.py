"""The oracle: inputs of a case, and the verdict on what a kernel made of them.

    inputs = make_inputs(entry, case, NumpyArrays(seed))
    ...                                     # the kernel writes inputs.arrays in place
    verdict = judge(entry, case, inputs)

`judge` is `expected` and `compared` in one; the judge of untrusted candidates has
tolerances of its own, and takes them one by one. Inputs are normal and fresh for every
seed; outputs are poisoned with NaN, so that what was not written is seen; inputs are
compared afterwards, so that what was overwritten is seen. The reference is computed in
fp64 from the same rounded inputs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from argus.evaluation.arrays import Arrays, NumpyArrays
from argus.evaluation.memory import require_memory
from argus.ir.dtypes import DType
from argus.kernels.library import Argument, Case, LibraryEntry

OUTLIER = 16.0
"""An element may be off by this many tolerances of its row's size. Rounding errors are
about normal, and 16 deviations do not happen; a wrong element is off by about 1."""


@dataclass(frozen=True)
class Inputs:
    """Arrays by parameter name, in order; ``kept`` holds copies of what is read."""

    library: Arrays
    arguments: tuple[Argument, ...]
    arrays: dict[str, Any]
    kept: dict[str, Any]


@dataclass(frozen=True)
class OutputVerdict:
    """One output. ``error`` is norm of the difference over norm of the reference.

    ``worst`` is the index of the worst element where some are ``outliers``.
    """

    name: str
    error: float
    tolerance: float
    unwritten: int
    outliers: int
    elements: int
    worst: tuple[int, ...]
    got: float
    expected: float

    @property
    def ok(self) -> bool:
        """Whether everything was written and is close enough."""
        return (
            math.isfinite(self.error)
            and self.error <= self.tolerance
            and self.unwritten == 0
            and self.outliers == 0
        )

    def why(self) -> str:
        """What is wrong in a sentence; empty if nothing is."""
        if self.ok:
            return ""
        at = f"{self.name}[{', '.join(map(str, self.worst))}]"
        element = f"{at} is {self.got:.6g}, the reference {self.expected:.6g}"
        if self.unwritten:
            return (
                f"{self.unwritten} of {self.elements} elements of {self.name} are not "
                f"written, or NaN; {element}"
            )
        if self.outliers:
            return (
                f"{self.outliers} of {self.elements} elements of {self.name} are "
                f"wrong; {element}"
            )
        return (
            f"the error of {self.name} is {self.error:.2e} of its norm, the tolerance "
            f"{self.tolerance:.0e}"
        )


@dataclass(frozen=True)
class OracleVerdict:
    """All outputs, and the names of inputs that were changed."""

    outputs: tuple[OutputVerdict, ...]
    changed: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the kernel is right for these inputs."""
        return not self.changed and all(o.ok for o in self.outputs)

    @property
    def error(self) -> float:
        """The largest error of an output; NaN if one has NaN."""
        errors = [o.error for o in self.outputs]
        return math.nan if any(math.isnan(e) for e in errors) else max(errors)

    def why(self) -> list[str]:
        """What is wrong, one sentence each; empty if nothing is."""
        found = [o.why() for o in self.outputs if not o.ok]
        return found + [f"the input {name} was overwritten" for name in self.changed]


def make_inputs(entry: LibraryEntry, case: Case, library: Arrays) -> Inputs:
    """Draw the inputs of a case and poison its outputs.

    Raises ArgusError AG0908 for a case that takes more than half of the machine's
    memory.
    """
    arguments = entry.arguments(case)
    if isinstance(library, NumpyArrays):
        require_memory(arguments, case.sizes)
    arrays = {a.name: draw(a, library) for a in arguments}
    if entry.tables is not None:
        entry.tables(library.module, arrays, case)
    kept = {a.name: library.copy(arrays[a.name]) for a in arguments if reads(a)}
    return Inputs(library, arguments, arrays, kept)


def reads(argument: Argument) -> bool:
    """Whether a kernel may not change the argument."""
    return argument.draw != "output"


def draw(argument: Argument, library: Arrays) -> Any:
    """One array as its argument says.

    Raises ValueError for a way of drawing that there is not.
    """
    match argument.draw:
        case "output":
            return library.poisoned(argument.dtype, argument.shape)
        case "index":
            return library.integers(argument.dtype, argument.shape, argument.high)
        case "normal":
            return library.normal(argument.dtype, argument.shape)
        case other:
            raise ValueError(f"{argument.name} is drawn as {other!r}")


def judge(entry: LibraryEntry, case: Case, inputs: Inputs) -> OracleVerdict:
    """Compare the outputs with the reference, and the inputs with their copies."""
    reference = expected(entry, case, inputs)
    types = {a.name: a.dtype for a in inputs.arguments}
    # An integer is right or wrong.
    tolerances = {n: entry.tolerance * types[n].is_float for n in reference}
    return compared(inputs, reference, tolerances)


def exact_inputs(inputs: Inputs) -> dict[str, Any]:
    """All arrays in fp64 (integers as they are), as the kernel was given them.

    Of inputs the copies, not the arrays: a kernel that changed an input is judged by
    what it was given. Outputs are poisoned, whatever the kernel wrote.
    """
    library = inputs.library

    def given(a: Argument) -> Any:
        if reads(a):
            return inputs.kept[a.name]
        return library.poisoned(a.dtype, a.shape)

    return {a.name: library.exact(given(a), a.dtype) for a in inputs.arguments}


def expected(entry: LibraryEntry, case: Case, inputs: Inputs) -> dict[str, Any]:
    """The reference's outputs in fp64, by name."""
    return entry.reference(inputs.library.module, exact_inputs(inputs), case)


def compared(
    inputs: Inputs, reference: Mapping[str, Any], tolerances: Mapping[str, float]
) -> OracleVerdict:
    """What the arrays hold against a reference, and the inputs against their copies."""
    library = inputs.library
    changed = tuple(
        name
        for name, kept in inputs.kept.items()
        if not library.same(kept, inputs.arrays[name])
    )
    types = {a.name: a.dtype for a in inputs.arguments}
    outputs = tuple(
        _output(
            name, inputs.arrays[name], types[name], value, tolerances[name], library
        )
        for name, value in reference.items()
    )
    return OracleVerdict(outputs, changed)


def _output(
    name: str,
    out: Any,
    dtype: DType,
    reference: Any,
    tolerance: float,
    library: Arrays,
) -> OutputVerdict:
    found = library.difference(
        library.exact(out, dtype), reference, OUTLIER * tolerance
    )
    shape = tuple(int(n) for n in out.shape)
    return OutputVerdict(
        name,
        found.error,
        tolerance,
        found.unwritten,
        found.outliers,
        math.prod(shape),
        _index(found.worst, shape),
        found.got,
        found.expected,
    )


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index: list[int] = []
    for extent in reversed(shape):
        index.append(flat % max(extent, 1))
        flat //= max(extent, 1)
    return tuple(reversed(index))
