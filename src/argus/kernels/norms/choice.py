"""Which launches a norm over rows is: rows held, walked over, or cut into parts.

What was among the fastest on an H200 for softmax, root-mean-square and layer norm of 16
and 32 bits (`benchmarks/row_forms.py`): mostly within 4 % of the fastest. Comments say
where it is more; rmsnorm of 2048 rows of 40 000 and 50 260 is 11 and 26 % from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from argus.dispatch import (
    Buffer,
    GivenScalar,
    GivenTensor,
    LaunchSequence,
    LaunchStep,
)
from argus.lang.kernel import Kernel

__all__ = [
    "COLUMNS",
    "RowForms",
    "row_statics",
    "softmax_backward_statics",
    "walk_statics",
]

COLUMNS = (
    *(8, 16, 32, 64, 128, 256, 512, 768, 1024, 1536, 2048, 2560, 3072, 4096, 5120),
    *(6144, 7168, 8192, 10240, 12288, 14336, 16384, 20480, 24576, 32768),
)
"""What is searched. The last are the most of a row that is held beside weights."""

_WARP, _MOST_WARPS = 32, 16
_EACH = 32
"""Elements of a thread: as many loads are in flight as registers allow."""
_VECTOR = 8
"""Columns that rows are a multiple of where they are loaded 16 bytes at a time."""
_LEAST_VECTOR = 4
"""Columns that they are a multiple of where 16 bits are not loaded one by one."""
_MOST_ROWS = 32
_LARGEST = 16384
"""Columns that two blocks of 16 warps hold; of more there is one block."""
_PART, _WIDE_PART = 2048, 4096
"""Columns of the parts of rows that blocks share, for few rows (up to 10 % from the
fastest for 8), and for many."""


def row_statics(n: int, bits: int = 16) -> dict[str, object]:
    """Static parameters of a kernel that holds rows of ``n`` elements of so many bits.

    768 resident threads have 80 registers each, with which none spills where 1024 do;
    1024 are enough for 16 bits, loaded 16 bytes at a time.
    """
    columns = max(8, 1 << (n - 1).bit_length())
    warps = min(_MOST_WARPS, max(1, columns // (_WARP * _EACH)))
    rows = min(_MOST_ROWS, max(1, _WARP * _EACH * warps // columns))
    if columns >= _LARGEST:
        blocks = max(1, 2 * _LARGEST // columns)
    else:
        roomy = columns >= _LARGEST // 2 and bits == 16 and n % _VECTOR == 0
        blocks = (1024 if roomy else 768) // (_WARP * warps)
    return {"BN": columns, "WARPS": warps, "MIN_BLOCKS": blocks, "ROWS": rows}


def walk_statics(n: int, bits: int = 16) -> dict[str, object]:
    """Those of a kernel that walks over rows; about 5 % from the fastest."""
    if bits > 16:
        columns, warps, blocks = 8192, 16, 2
    elif n % _LEAST_VECTOR:
        columns, warps, blocks = 4096, 8, 4
    elif n <= COLUMNS[-1]:
        columns, warps, blocks = 8192, 8, 4
    else:
        columns, warps, blocks = 16384, 16, 2
    return {"BN": columns, "WARPS": warps, "MIN_BLOCKS": blocks, "ROWS": 1}


def softmax_backward_statics(n: int) -> dict[str, object]:
    """Those of `softmax_backward`, which has two tiles of a row; none was searched."""
    if n > _LARGEST:
        return {"BN": _LARGEST // 2, "WARPS": _MOST_WARPS, "ROWS": 1, "HELD": False}
    columns = max(8, 1 << (n - 1).bit_length())
    warps = min(_MOST_WARPS, max(4, columns // (_WARP * _EACH // 2)))
    rows = min(_MOST_ROWS, max(1, _WARP * _EACH // 2 * warps // columns))
    return {"BN": columns, "WARPS": warps, "ROWS": rows, "HELD": True}


@dataclass(frozen=True)
class RowForms:
    """The kernels of a norm from X (M, N) to Y (M, N), with weights (N,) between them.

    ``held`` holds whole rows, ``passes`` walks over long ones, with the further static
    parameters ``fixed``. ``parts`` keeps of each part of a row what is between X and
    the weights in ``apply``, of f32 (parts, M).
    """

    held: Kernel
    passes: Kernel
    parts: Kernel
    apply: Kernel
    fixed: Mapping[str, object] = field(default_factory=dict[str, object])

    def single(self, n: int, bits: int = 16) -> tuple[Kernel, dict[str, object]]:
        """The kernel for rows of ``n`` elements of so many bits, and its statics."""
        # Of more columns than half of what holds them, too many threads do nothing.
        wasteful = _LARGEST < n <= COLUMNS[-1] * 7 // 8 and bits == 16
        if n <= COLUMNS[-1] and not wasteful:
            return self.held, row_statics(n, bits)
        return self.passes, {**walk_statics(n, bits), **self.fixed}

    def choose(
        self, m: int, n: int, bits: int, multiprocessors: int
    ) -> tuple[Kernel, dict[str, object]] | LaunchSequence:
        """What is launched for ``m`` rows of ``n`` elements of so many bits.

        Values are those of ``held``: tensors, then numbers. Long rows of 32 bits, or
        that are loaded element by element, were faster shared, however many they are.
        """
        few, slow = m <= multiprocessors, bits > 16 or n % _LEAST_VECTOR != 0
        if n > COLUMNS[-1] and m > 0 and (few or slow):
            return self.shared(m, n, _PART if few else _WIDE_PART)
        return self.single(n, bits)

    def shared(self, m: int, n: int, columns: int = _PART) -> LaunchSequence:
        """Two launches, in which blocks share rows of ``n`` elements."""
        signature = self.held.signature
        count = len(signature.tensors)
        x, *rest = (GivenTensor(i) for i in range(count))
        numbers = (GivenScalar(i) for i in range(count, len(signature.params)))
        statics = {"BN": columns, "WARPS": 4}
        parts = -(-n // columns)
        kept = [Buffer("f32", (parts, m)) for _ in self.parts.signature.tensors[1:]]
        return LaunchSequence(
            (
                LaunchStep(self.parts, (x, *kept), statics),
                LaunchStep(self.apply, (x, *kept, *rest, *numbers), statics),
            )
        )
