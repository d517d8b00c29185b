"""The tensors that a call of a program is given, in the order of its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from argus.diagnostics import fail
from argus.programs.running.bases import torch_type
from argus.programs.tensors.tensor_program import GivenPrimitive, TensorProgram

if TYPE_CHECKING:
    from torch import Tensor


class GivenTensors:
    """What a program is given, and how it has to be."""

    def __init__(self, program: TensorProgram) -> None:
        import torch

        self._fixed = program.fixed
        self._each = [
            (v.name, v.made, torch_type(v), torch.device(v.made.device))
            for v in program.values
            if isinstance(v.made, GivenPrimitive)
        ]
        of_calls = sum(made.kind == "input" for _, made, _, _ in self._each)
        self._count = len(program.fixed) + of_calls

    def __call__(
        self, inputs: Sequence[Any], weights: Mapping[str, Any]
    ) -> list[Tensor]:
        """The tensors of a call: inputs by position, weights by name.

        Inputs that are nested are taken in torch's order. Those that lie in memory
        otherwise than those of the program are copied. Raises ArgusError AG0801 for
        other numbers, shapes, element types and devices, and another count.
        """
        import torch
        from torch.utils import _pytree

        if not all(isinstance(x, torch.Tensor) for x in inputs):
            inputs = _pytree.tree_leaves([*inputs])
        if self._count != len(inputs):
            raise fail(
                "AG0801",
                None,
                f"there are {len(inputs)} inputs; the plan is for {self._count}",
            )
        for place, value in self._fixed.items():
            if inputs[place] != value:
                raise fail(
                    "AG0801",
                    None,
                    f"input {place} is {inputs[place]!r}; the plan is for {value!r}",
                )
        found: list[Tensor] = []
        for name, made, dtype, device in self._each:
            tensor: Tensor = (
                inputs[int(made.source)]
                if made.kind == "input"
                else weights[str(made.source)]
            )
            if made.pairs and tensor.dtype.is_complex:
                tensor = as_pairs(tensor)
            if (
                tensor.shape != made.shape
                or tensor.dtype != dtype
                or tensor.device != device
            ):
                raise fail(
                    "AG0801",
                    None,
                    f"`{name}` is {tuple(tensor.shape)} of {tensor.dtype} on "
                    f"{tensor.device}; the plan is for {made.shape} of {dtype} on "
                    f"{device}",
                )
            strides = tensor.stride()
            if strides != made.strides and not told_so(
                made.shape, strides, made.strides
            ):
                tensor = relaid(tensor, made.strides)
            found.append(tensor)
        return found


def as_pairs(tensor: Tensor) -> Tensor:
    """A complex tensor as the pairs of floats that it consists of."""
    import torch

    return torch.view_as_real(tensor.resolve_conj().resolve_neg())


def of_pairs(tensor: Tensor) -> Tensor:
    """The complex tensor of (..., 2) floats, without a copy where they lie so."""
    import torch

    even = tensor.storage_offset() % 2 == 0
    side_by_side = tensor.stride(-1) == 1 and all(
        n == 1 or s % 2 == 0
        for n, s in zip(tensor.shape[:-1], tensor.stride(), strict=False)
    )
    return torch.view_as_complex(
        tensor if even and side_by_side else tensor.clone().contiguous()
    )


def relaid(tensor: Tensor, strides: tuple[int, ...]) -> Tensor:
    """A copy of a tensor that lies in memory with these strides."""
    import torch

    copy = torch.empty_strided(
        tensor.shape, strides, dtype=tensor.dtype, device=tensor.device
    )
    return copy.copy_(tensor)


def told_so(shape: Sequence[int], strides: Sequence[int], told: Sequence[int]) -> bool:
    """Whether strides are those that were told, where they mean something."""
    triples = zip(shape, strides, told, strict=True)
    return 0 in shape or all(n == 1 or s == t for n, s, t in triples)
