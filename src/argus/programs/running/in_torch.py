"""Values without a kernel, which torch computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from argus.programs.tensors.offsets import offsets_through
from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    FilledPrimitive,
    GatherPrimitive,
    MapPrimitive,
    PositionPrimitive,
    ProgramValue,
    ReducePrimitive,
    ScanPrimitive,
    ViewedValue,
    operands_of,
)
from argus.programs.tensors.views import BorderedView, LinearView, OperandView

if TYPE_CHECKING:
    import torch
    from torch import Tensor


Strides = tuple[tuple[int, ...], int] | None
"""Strides of an operand and its first element; None: its views have none."""


@dataclass
class ProgramBuffers:
    """Dense tensors of torch by value, and the device on which new ones are made.

    ``known``: strides of operands, which calls share.
    """

    tensors: Mapping[ProgramValue, Tensor]
    device: torch.device
    known: dict[ViewedValue, Strides] = field(
        default_factory=dict[ViewedValue, Strides]
    )

    def operand(self, operand: ViewedValue) -> Tensor:
        """A value seen through its views: without a copy, where it has strides."""
        tensor = self.tensors[operand.value]
        if operand not in self.known:
            self.known[operand] = strides_of(operand)
        found = self.known[operand]
        if found is not None:
            strides, start = found
            return tensor.as_strided(
                operand.shape, strides, tensor.storage_offset() + start
            )
        return seen_through(operand.views, tensor)


def seen_through(views: Sequence[OperandView], tensor: Tensor) -> Tensor:
    """A tensor through views, one after the other."""
    for view in views:
        if isinstance(view, LinearView):
            tensor = _seen(tensor, view)
        elif isinstance(view, BorderedView):
            tensor = _with_border(tensor, view)
        else:
            tensor = tensor.reshape(view.shape)
    return tensor


def strides_of(operand: ViewedValue) -> Strides:
    """The strides with which torch can show an operand: none is negative."""
    found = offsets_through(operand)
    return found if found is not None and all(s >= 0 for s in found[0]) else None


def _seen(tensor: Tensor, view: LinearView) -> Tensor:
    """A linear view of any tensor: strides of its strides.

    Only what is walked backwards is copied.
    """
    strides = [0] * len(view.shape)
    offset = tensor.storage_offset()
    for pairs, start, step in zip(
        view.factors, view.starts, tensor.stride(), strict=True
    ):
        offset += start * step
        for dim, factor in pairs:
            strides[dim] += factor * step
    if 0 in view.shape:
        return tensor.new_empty(view.shape)
    turned = [d for d, s in enumerate(strides) if s < 0]
    offset += sum(strides[d] * (view.shape[d] - 1) for d in turned)
    found = tensor.as_strided(view.shape, [abs(s) for s in strides], offset)
    return found.flip(turned) if turned else found


def _with_border(tensor: Tensor, view: BorderedView) -> Tensor:
    import torch

    pads: list[int] = []  # torch has the last dimension first
    for before, n, size in zip(view.before, tensor.shape, view.shape, strict=True):
        pads[:0] = before, size - before - n
    return torch.constant_pad_nd(tensor, pads, view.fill)


def computed_in_torch(
    value: ProgramValue, buffers: ProgramBuffers
) -> dict[ProgramValue, Tensor]:
    """A value without a kernel: a dense tensor in memory of its own."""
    given = [buffers.operand(o) for o in operands_of(value)]
    return apart({value: _evaluated(value, buffers)}, given)


def apart(
    found: Mapping[ProgramValue, Tensor], given: Sequence[Tensor]
) -> dict[ProgramValue, Tensor]:
    """Dense tensors, none of which shares memory with another or what was given."""
    taken = {_memory(tensor) for tensor in given}
    own: dict[ProgramValue, Tensor] = {}
    for value, tensor in found.items():
        dense = tensor.contiguous()
        own[value] = dense.clone() if _memory(dense) in taken else dense
        taken.add(_memory(own[value]))
    return own


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _evaluated(value: ProgramValue, buffers: ProgramBuffers) -> Tensor:
    """One value in torch, from values that are stored."""
    import torch

    dtype = getattr(torch, value.dtype.foreign)
    match value.made:
        case ContractPrimitive(left=left, right=right):
            made = value.made
            text = f"{made.left_letters},{made.right_letters}->{made.result}"
            # The types of operands meet in that of the result.
            a, b = (buffers.operand(x).to(dtype) for x in (left, right))
            if made.between:
                line = torch.arange(a.shape[0], device=a.device)
                low, high = (buffers.operand(t)[:, None] for t in made.between)
                own = ((line >= low) & (line < high)).to(dtype)
                group = f"{made.result[0]}{made.left_letters[0]},"
                return torch.einsum(group + text, own, a, b)
            if not made.terms:
                return torch.einsum(text, a, b)
            each = [torch.einsum(text, a[i : i + 1], b[j : j + 1])
                    for i, j in made.terms]  # fmt: skip
            return torch.stack(each).sum(0)
        case ReducePrimitive(function=function, operand=operand, dims=dims):
            return _reduced(function, buffers.operand(operand), dims).to(dtype)
        case ScanPrimitive(operand=operand, dim=dim, function=function):
            x = buffers.operand(operand)
            match function:
                case "sum":
                    return x.cumsum(dim, dtype=dtype)
                case "prod":
                    return x.cumprod(dim, dtype=dtype)
                case _:  # with their places
                    return getattr(x, f"cum{function}")(dim)[0]
        case GatherPrimitive(operand=operand, table=table):
            at = buffers.operand(table).long().unsqueeze(-1)
            return buffers.operand(operand).gather(-1, at).squeeze(-1)
        case MapPrimitive(function=function, operands=operands):
            parts = [
                buffers.operand(p) if isinstance(p, ViewedValue) else p
                for p in operands
            ]
            return _mapped(function, parts, dtype)
        case FilledPrimitive(value=number):
            return torch.full(value.shape, number, dtype=dtype, device=buffers.device)
        case PositionPrimitive(dim=dim, start=start, step=step):
            shape = [1] * len(value.shape)
            shape[dim] = value.shape[dim]
            line = torch.arange(value.shape[dim], device=buffers.device) * step + start
            return line.to(dtype).reshape(shape).expand(value.shape)
        case _:
            raise AssertionError(value)


def _reduced(function: str, x: Tensor, dims: tuple[int, ...]) -> Tensor:
    match function:
        case "sum":
            return x.sum(dims)
        case "max":
            return x.amax(dims)
        case "min":
            return x.amin(dims)
        case _:
            flat = x.movedim(dims, tuple(range(-len(dims), 0))).flatten(-len(dims))
            return getattr(flat, function)(-1)


_TORCH = {
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "shl": "bitwise_left_shift", "shr": "bitwise_right_shift",
    "not": "logical_not", "mod": "remainder", "floordiv": "floor_divide",
}  # fmt: skip


def _mapped(function: str, parts: list[Any], dtype: Any) -> Tensor:
    import torch

    if function == "cast":
        return parts[0].to(dtype)
    if function == "nearest_tf32":
        bits = parts[0].float().view(torch.int32)
        near = ((bits + 0x1000) & ~0x1FFF).view(torch.float32)
        return torch.where(parts[0].isnan(), parts[0], near)
    device = next(p.device for p in parts if isinstance(p, torch.Tensor))
    tensors = [
        p if isinstance(p, torch.Tensor) else torch.tensor(p, device=device)
        for p in parts
    ]
    if function == "fma":
        return torch.addcmul(tensors[2], tensors[0], tensors[1]).to(dtype)
    name = _TORCH.get(function, function)
    return getattr(torch, name)(*tensors).to(dtype)
