"""What stays in torch: calls of its operators, and values without a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from argus.programs.lowering import offsets_through
from argus.programs.plan import TorchStep
from argus.programs.tensor_program import (
    ContractPrimitive,
    FilledPrimitive,
    MapPrimitive,
    PositionPrimitive,
    ProgramValue,
    ReducePrimitive,
    TorchPrimitive,
    ViewedValue,
)
from argus.programs.views import LinearView

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class ProgramBuffers:
    """Dense tensors of torch by value."""

    tensors: dict[ProgramValue, Tensor]

    def operand(self, operand: ViewedValue) -> Tensor:
        """A value seen through its views: without a copy, where it has strides."""
        tensor = self.tensors[operand.value]
        found = offsets_through(operand)
        if found is not None and all(s >= 0 for s in found[0]):
            return tensor.as_strided(operand.shape, *found)
        for view in operand.views:
            if isinstance(view, LinearView):
                tensor = _seen(tensor, view)
            else:
                tensor = tensor.reshape(view.shape)
        return tensor


def _seen(tensor: Tensor, view: LinearView) -> Tensor:
    """A linear view of any tensor, by indices."""
    import torch

    index: list[Tensor] = []
    for pairs, start in zip(view.factors, view.starts, strict=True):
        at = torch.full((1,) * len(view.shape), start, device=tensor.device)
        for dim, factor in pairs:
            shape = [1] * len(view.shape)
            shape[dim] = view.shape[dim]
            line = torch.arange(view.shape[dim], device=tensor.device)
            at = at + factor * line.reshape(shape)
        index.append(at)
    found = tensor[tuple(index)] if index else tensor
    return found.expand(view.shape)


def in_torch(step: TorchStep, buffers: ProgramBuffers) -> None:
    """Compute a step with torch, from values that are stored."""
    if step.call is None:
        (value,) = step.results
        buffers.tensors[value] = _evaluated(value, buffers)
        return

    def mapped(value: Any) -> Any:
        if isinstance(value, list):
            return [mapped(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
        return buffers.operand(value) if isinstance(value, ViewedValue) else value

    call = step.call
    made = call.target(
        *(mapped(a) for a in call.arguments),
        **{k: mapped(v) for k, v in call.named.items()},
    )
    for value in step.results:
        assert isinstance(value.made, TorchPrimitive)
        several = isinstance(made, tuple | list)
        one: Any = cast("Any", made)[value.made.index] if several else made
        buffers.tensors[value] = one.contiguous()


def _evaluated(value: ProgramValue, buffers: ProgramBuffers) -> Tensor:
    """One value in torch, from values that are stored."""
    import torch

    dtype = getattr(torch, value.dtype.foreign)
    match value.made:
        case ContractPrimitive(left=left, right=right):
            made = value.made
            text = f"{made.left_letters},{made.right_letters}->{made.result}"
            return torch.einsum(
                text, buffers.operand(left), buffers.operand(right)
            ).contiguous()
        case ReducePrimitive(function=function, operand=operand, dims=dims):
            x = buffers.operand(operand)
            match function:
                case "sum":
                    return x.sum(dims)
                case "max":
                    return x.amax(dims)
                case "min":
                    return x.amin(dims)
                case "argmax" | "argmin":
                    flat = x.movedim(dims, tuple(range(-len(dims), 0)))
                    return getattr(flat.flatten(-len(dims)), function)(-1)
                case _:
                    flat = x.movedim(dims, tuple(range(-len(dims), 0)))
                    return flat.flatten(-len(dims)).prod(-1)
        case MapPrimitive(function=function, operands=operands):
            parts = [
                buffers.operand(p) if isinstance(p, ViewedValue) else p
                for p in operands
            ]
            return _mapped(function, parts, dtype).contiguous()
        case FilledPrimitive(value=number):
            return torch.full(value.shape, number, dtype=dtype)
        case PositionPrimitive(dim=dim, start=start, step=step):
            shape = [1] * len(value.shape)
            shape[dim] = value.shape[dim]
            line = torch.arange(value.shape[dim]) * step + start
            return line.to(dtype).reshape(shape).expand(value.shape).contiguous()
        case _:
            raise AssertionError(value)


_TORCH = {
    "and": "logical_and", "or": "logical_or", "xor": "logical_xor",
    "not": "logical_not", "mod": "remainder", "floordiv": "floor_divide",
}  # fmt: skip


def _mapped(function: str, parts: list[Any], dtype: Any) -> Tensor:
    import torch

    if function == "cast":
        return parts[0].to(dtype)
    device = next(p.device for p in parts if isinstance(p, torch.Tensor))
    tensors = [
        p if isinstance(p, torch.Tensor) else torch.tensor(p, device=device)
        for p in parts
    ]
    name = _TORCH.get(function, function)
    return getattr(torch, name)(*tensors).to(dtype)
