"""What must be true of the addresses of a call: alignment, and outputs apart.

Everything that depends on shapes and strides alone is worked out once, for all calls
that differ in nothing but addresses.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from argus.diagnostics import fail
from argus.ir.dtypes import DTYPES
from argus.ir.launch import LaunchSpec
from argus.runtime.arguments import TensorArg
from argus.runtime.binding import CallBinding


class ArgumentWarning(UserWarning):
    """Arguments that are accepted, and probably not what was meant (AG0809)."""


@dataclass(frozen=True, slots=True)
class _Extent:
    """Where the elements of a tensor lie: ``size`` and ``length`` in bytes."""

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int
    length: int


class AddressChecks:
    """The checks of a call's addresses. Shapes and strides are those of ``binding``."""

    def __init__(
        self, spec: LaunchSpec, tensors: Sequence[TensorArg], binding: CallBinding
    ) -> None:
        extents: list[_Extent] = []
        for declared, given, strides in zip(
            spec.tensors, tensors, binding.strides, strict=True
        ):
            size = DTYPES[given.dtype].bytes
            last = sum(s * (e - 1) for s, e in zip(strides, given.shape, strict=True))
            length = 0 if 0 in given.shape else (last + 1) * size
            extents.append(_Extent(declared.name, given.shape, strides, size, length))
        position = {t.name: i for i, t in enumerate(spec.tensors)}
        self._aligned = [(position[a.tensor], a) for a in spec.alignments]
        self._apart: list[tuple[int, int, _Extent, _Extent]] = []
        for output in spec.outputs:
            for other, there in position.items():
                if other == output or (other in spec.outputs and other < output):
                    continue
                here = position[output]
                if extents[here].length and extents[there].length:
                    pair = (here, there, extents[here], extents[there])
                    self._apart.append(pair)

    @property
    def alignments(self) -> Sequence[tuple[int, int]]:
        """Numbers of tensors, and bytes that their addresses are multiples of."""
        return [(index, a.bytes) for index, a in self._aligned]

    def check(self, pointers: Sequence[int]) -> None:
        """Look at the addresses of the tensors, in the order of the spec.

        Raises ArgusError AG0806 for one that is not aligned. Warns (ArgumentWarning) of
        an output that shares memory with another tensor.
        """
        for index, alignment in self._aligned:
            if pointers[index] % alignment.bytes != 0:
                raise fail(
                    "AG0806",
                    None,
                    f"the address of `{alignment.tensor}` is {pointers[index]:#x}, "
                    f"expected a multiple of {alignment.bytes} bytes",
                    help="a fresh tensor is aligned; a slice that starts inside may "
                    "not be",
                )
        for a, b, x, y in self._apart:
            apart = pointers[b] - pointers[a]
            if -y.length < apart < x.length and _overlap(apart, x, y):
                warnings.warn(
                    f"AG0809: output `{x.name}` overlaps `{y.name}`; the kernel was "
                    "verified for tensors that do not share memory",
                    ArgumentWarning,
                    stacklevel=3,
                )


def _overlap(apart: int, x: _Extent, y: _Extent) -> bool:
    """Whether tensors whose ranges meet may share bytes; exact for equal strides.

    ``y`` begins ``apart`` bytes after ``x``.
    """
    if x.strides != y.strides or x.size != y.size or apart % x.size != 0:
        return True
    steps = sorted(zip(x.strides, x.shape, y.shape, strict=True), reverse=True)
    return _reachable(apart // x.size, steps)


def _reachable(apart: int, steps: Sequence[tuple[int, int, int]]) -> bool:
    """Whether sum(j * stride) == apart for -extent_b < j < extent_a per dimension."""
    if not steps:
        return apart == 0
    (stride, ours, theirs), rest = steps[0], steps[1:]
    if stride == 0:
        return _reachable(apart, rest)
    # What the smaller strides can add decides which j are worth trying.
    down = sum(s * (e - 1) for s, _, e in rest)
    up = sum(s * (e - 1) for s, e, _ in rest)
    low = max(-(theirs - 1), -(-(apart - up) // stride))
    high = min(ours - 1, (apart + down) // stride)
    return any(_reachable(apart - j * stride, rest) for j in range(low, high + 1))
