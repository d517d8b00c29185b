"""What a caller passes, described: torch tensors, DLPack, CUDA array interface, numpy.

Describes and does not judge: whether a tensor fits a kernel is `binding`'s business.
torch is never imported here; its tensors are known by their type's module.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from argus.diagnostics import ArgusError, fail
from argus.ir.dtypes import FOREIGN
from argus.runtime import dlpack


def _named(foreign: str) -> str:
    """The name of an element type elsewhere as ours; one that we lack keeps its own."""
    return FOREIGN[foreign].name if foreign in FOREIGN else foreign


HOST = "cpu"
"""The kind of device whose tensors lie in the memory of the host."""


@dataclass(frozen=True, slots=True)
class TensorArg:
    """A tensor in memory. ``shape`` and ``strides`` in elements, outermost first.

    ``dtype`` is one of ours ("bf16") or, where we have none, the foreign name
    ("float64"). ``device`` is a kind as torch names it ("cuda", "cpu") and an index.
    ``owner`` keeps the memory alive.
    """

    pointer: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: tuple[str, int]
    readonly: bool = False
    owner: object = None


class TorchTensor(Protocol):
    """The part of ``torch.Tensor`` that is used."""

    @property
    def shape(self) -> Sequence[int]:
        """Extents."""
        ...

    @property
    def dtype(self) -> object:
        """A ``torch.dtype``."""
        ...

    @property
    def device(self) -> TorchDevice:
        """Where it is."""
        ...

    @property
    def layout(self) -> object:
        """``torch.strided``, or what cannot be used."""
        ...

    def data_ptr(self) -> int:
        """Address of the first element."""
        ...

    def stride(self) -> tuple[int, ...]:
        """In elements."""
        ...

    def is_neg(self) -> bool:
        """Whether what is in memory is what the tensor is but for its sign."""
        ...


class TorchDevice(Protocol):
    """The part of ``torch.device`` that is used."""

    @property
    def type(self) -> str:
        """Such as "cuda"."""
        ...

    @property
    def index(self) -> int | None:
        """None for the CPU."""
        ...


_torch_types: dict[type, bool] = {}
"""Types seen so far, and whether they are torch tensors."""


def is_torch(value: object) -> bool:
    """Whether ``value`` is a torch tensor (a parameter and other subclasses too)."""
    kind = type(value)
    known = _torch_types.get(kind)
    if known is None:
        torch = sys.modules.get("torch")
        tensor = getattr(torch, "Tensor", None)
        known = isinstance(tensor, type) and issubclass(kind, tensor)
        if torch is not None:  # without torch, an answer might change
            _torch_types[kind] = known
    return known


def describe(name: str, value: object, stream: int = 0) -> TensorArg:
    """The tensor that ``value`` is; ``name`` is the parameter, for messages.

    ``stream`` is where the kernel will run: producers other than torch are told.
    Steps between elements that there are not mean nothing, and producers fill them with
    anything: those of an empty tensor are told as if it were contiguous.
    Raises ArgusError AG0812 for what is not a strided tensor.
    """
    found = _described(name, value, stream)
    if 0 in found.shape:
        return replace(found, strides=dlpack.contiguous(found.shape))
    return found


def _described(name: str, value: object, stream: int) -> TensorArg:
    if is_torch(value):
        return _from_torch(name, cast("TorchTensor", value))
    if isinstance(value, np.ndarray):
        return _from_numpy(name, cast("NDArray[np.generic]", value))
    if isinstance(value, dlpack.Exporter):
        return _from_dlpack(name, value, stream)
    interface = getattr(value, "__cuda_array_interface__", None)
    if isinstance(interface, Mapping):
        return _from_interface(name, cast("Mapping[str, object]", interface), value)
    raise _not_a_tensor(name, f"a {type(value).__name__}")


def _not_a_tensor(name: str, given: str, *notes: str) -> ArgusError:
    return fail(
        "AG0812",
        None,
        f"`{name}` takes a tensor, given {given}",
        notes=notes,
        help="pass a torch tensor, a numpy array, or an object with DLPack or a CUDA "
        "array interface",
    )


def _from_torch(name: str, tensor: TorchTensor) -> TensorArg:
    if str(tensor.layout) != "torch.strided":
        raise _not_a_tensor(name, f"a tensor of layout {tensor.layout}")
    try:
        pointer = tensor.data_ptr()
    except RuntimeError as error:  # a functional or fake tensor has no memory
        raise _not_a_tensor(name, "a tensor without memory", str(error)) from error
    if tensor.is_neg():
        raise _not_a_tensor(name, "a view whose numbers are in memory with other signs")
    device = tensor.device
    foreign = str(tensor.dtype).removeprefix("torch.")
    return TensorArg(
        pointer,
        _named(foreign),
        tuple(tensor.shape),
        tuple(tensor.stride()),
        (device.type, device.index or 0),
        owner=tensor,
    )


def _from_numpy(name: str, array: NDArray[np.generic]) -> TensorArg:
    if isinstance(array, np.ma.MaskedArray):
        raise _not_a_tensor(name, "a masked array, whose mask no kernel sees")
    foreign = array.dtype.name
    _require_native(name, array.dtype)
    return TensorArg(
        array.ctypes.data,
        _named(foreign),
        array.shape,
        _in_elements(name, array.strides, array.itemsize),
        (HOST, 0),
        readonly=not array.flags.writeable,
        owner=array,
    )


def _require_native(name: str, dtype: np.dtype[np.generic]) -> None:
    """Raise ArgusError AG0802 for numbers whose bytes are in the other order."""
    if not dtype.isnative:
        raise fail(
            "AG0802",
            None,
            f"`{name}` has the bytes of its elements in the other order than here",
            help=f"`{name}.astype({name}.dtype.newbyteorder('='))`",
        )


def _in_elements(name: str, steps: Sequence[int], size: int) -> tuple[int, ...]:
    """Strides of so many bytes in elements. Raises AG0805 for parts of elements."""
    if any(step % size for step in steps):
        raise fail(
            "AG0805",
            None,
            f"the strides of `{name}` are {tuple(steps)} bytes, and its elements have "
            f"{size}",
            notes=["it is a field of records, or a view of other bytes"],
            help=f"`numpy.ascontiguousarray({name})` is a copy without gaps",
        )
    return tuple(step // size for step in steps)


_DEVICE_KINDS = {
    dlpack.CPU: HOST,
    dlpack.CUDA: "cuda",
    dlpack.CUDA_HOST: "cuda_host",
    dlpack.CUDA_MANAGED: "cuda",
}


def _from_dlpack(name: str, value: dlpack.Exporter, stream: int) -> TensorArg:
    kind, index = value.__dlpack_device__()
    try:
        if kind == dlpack.CUDA:
            # DLPack calls the legacy default stream 1; 0 is not allowed.
            capsule = value.__dlpack__(stream=stream or 1)
        else:
            capsule = value.__dlpack__()
        exported = dlpack.read(capsule)
    except (BufferError, ValueError) as error:
        raise _not_a_tensor(
            name, "an object that cannot be exported", str(error)
        ) from (error)
    foreign = exported.dtype
    return TensorArg(
        exported.pointer,
        _named(foreign),
        exported.shape,
        exported.strides,
        (_DEVICE_KINDS.get(kind, f"DLPack device {kind}"), index),
        exported.readonly,
        exported.capsule,
    )


def _from_interface(
    name: str, interface: Mapping[str, object], owner: object
) -> TensorArg:
    """Read version 3 (Numba documentation, "CUDA Array Interface").

    The object's stream is not waited for: if it is not the launch's, the caller
    synchronises them.
    """
    try:
        dtype = np.dtype(cast("str", interface["typestr"]))
        pointer, readonly = cast("tuple[int, bool]", interface["data"])
        shape = cast("tuple[int, ...]", interface["shape"])
        given = cast("tuple[int, ...] | None", interface.get("strides"))
    except (KeyError, TypeError, ValueError) as error:
        raise _not_a_tensor(name, "a malformed CUDA array interface", str(error)) from (
            error
        )
    if given is None:
        strides = dlpack.contiguous(shape)
    else:
        strides = _in_elements(name, given, dtype.itemsize)
    _require_native(name, dtype)
    # The interface names no device: the driver knows it by the address.
    return TensorArg(
        pointer,
        _named(dtype.name),
        shape,
        strides,
        ("cuda", -1),
        readonly,
        owner,
    )
