"""Tensor maps: what a TMA unit is told about a tensor, encoded by the driver.

A map holds an address, so it is made per call and not per kernel; `plan` remembers
them. Encoding runs on the host alone (CUDA Driver API, "Tensor Map Object Management").
"""

import ctypes
from ctypes import c_uint, c_uint64
from dataclasses import dataclass, replace

from argus.diagnostics import fail
from argus.ir.dtypes import DTYPES
from argus.isa import boxes
from argus.runtime import cuda


@dataclass(frozen=True, slots=True)
class MapRequest:
    """A tensor map to encode: shape, strides (elements) and box outermost first.

    ``swizzle`` in bytes: 0, 32, 64 or 128. ``steps`` between elements of the box.
    """

    tensor: str
    pointer: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    steps: tuple[int, ...]

    def at(self, pointer: int) -> "MapRequest":
        """The same for a tensor at another address."""
        return replace(self, pointer=pointer)


_MAP_TYPES = {
    "UINT8": 0,
    "UINT16": 1,
    "INT32": 3,
    "INT64": 5,
    "FLOAT16": 6,
    "FLOAT32": 7,
    "BFLOAT16": 9,
}
"""``CU_TENSOR_MAP_DATA_TYPE_*`` in the order of `cuda.h`."""

_MAP_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
_L2_PROMOTION_128B = 2
"""``CU_TENSOR_MAP_L2_PROMOTION_L2_128B``. With 256 bytes, products whose rows split
sectors of L2 took 1 to 7 % longer on an H200, others as long."""


def encode_tensor_map(lib: ctypes.CDLL, request: MapRequest) -> bytes:
    """Call ``cuTensorMapEncodeTiled``, which has dimensions innermost first.

    Raises ArgusError AG0806 (address not a multiple of 16), AG0805 (a stride that is
    not, or too large), AG0810 (refused for another reason).
    """
    dtype, rank = DTYPES[request.dtype], len(request.shape)
    element = dtype.tensor_map
    if element is None:
        raise ValueError(f"TMA has no element type {dtype}")
    if request.pointer % boxes.CHUNK != 0:
        raise fail(
            "AG0806",
            None,
            f"the address of `{request.tensor}` is not a multiple of {boxes.CHUNK} "
            "bytes",
            notes=["TMA needs that (CUDA Driver API, cuTensorMapEncodeTiled)"],
        )
    strides = [stride * dtype.bytes for stride in request.strides[:-1]]
    for dim, stride in enumerate(strides):
        if stride % boxes.CHUNK != 0 or not 0 <= stride < boxes.MAX_STRIDE:
            raise fail(
                "AG0805",
                None,
                f"stride {dim} of `{request.tensor}` is {stride} bytes",
                notes=[f"TMA needs multiples of {boxes.CHUNK} bytes, below 2**40"],
            )
    room = ctypes.create_string_buffer(128 + 64)
    at = -(-ctypes.addressof(room) // 64) * 64  # the driver wants 64-byte alignment
    status = lib.cuTensorMapEncodeTiled(
        at,
        _MAP_TYPES[element],
        rank,
        request.pointer,
        (c_uint64 * rank)(*reversed(request.shape)),
        (c_uint64 * max(rank - 1, 1))(*reversed(strides)),
        (c_uint * rank)(*reversed(boxes.traversed(request.box, request.steps))),
        (c_uint * rank)(*reversed(request.steps)),
        0,  # no interleaving
        _MAP_SWIZZLES[request.swizzle],
        _L2_PROMOTION_128B,
        0,  # outside is zero
    )
    if status != 0:
        what = f"encoding a tensor map of `{request.tensor}`"
        raise cuda.refusal(status, what, [str(request)])
    return ctypes.string_at(at, 128)
