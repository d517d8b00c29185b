"""The tensors that a call of a program is given, in the order of its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from argus.diagnostics import fail
from argus.programs.running.bases import torch_type
from argus.programs.tensors.tensor_program import GivenPrimitive, TensorProgram

if TYPE_CHECKING:
    from torch import Tensor


class GivenTensors:
    """What a program is given, and how it has to be. Safe to use from several threads.

    Weights are compared with the program where one lies elsewhere, or otherwise, than
    in the last call: there are hundreds of them in each call of a network. Meanwhile
    their memory is held, so that nothing else comes to lie at its address.
    """

    def __init__(self, program: TensorProgram) -> None:
        import torch

        self._fixed = program.fixed
        self._inputs: list[tuple[int, int, _Given]] = []
        self._weights: list[tuple[int, str, _Given]] = []
        made = [v for v in program.values if isinstance(v.made, GivenPrimitive)]
        for n, value in enumerate(made):
            how = value.made
            assert isinstance(how, GivenPrimitive)
            one = _Given(value.name, how, torch_type(value), torch.device(how.device))
            if how.kind == "input":
                self._inputs.append((n, int(how.source), one))
            else:
                self._weights.append((n, str(how.source), one))
        self.weights = [name for _, name, _ in self._weights]
        """Their names, in order."""
        self._none: list[Any] = [None] * len(made)
        self._count = len(program.fixed) + len(self._inputs)
        self._last: _Weights | None = None

    def __call__(
        self, inputs: Sequence[Any], weights: Mapping[str, Any]
    ) -> tuple[list[Tensor], list[int]]:
        """The tensors of a call, and their addresses.

        Inputs are given by position, weights by name. Inputs that are nested are taken
        in torch's order; those that lie in memory otherwise than those of the program
        are copied. Raises ArgusError AG0801 for other numbers, shapes, element types
        and devices, and another count.
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
        last = self._weighed(weights)
        tensors, places = last.found.copy(), last.found_places.copy()
        for n, place, one in self._inputs:
            tensors[n] = laid = one.laid(inputs[place])
            places[n] = laid.data_ptr()
        return tensors, places

    def _weighed(self, weights: Mapping[str, Any]) -> _Weights:
        tensors = [weights[name] for name in self.weights]
        places = addresses(tensors)
        last = self._last
        if last is None or places != last.places or not last.alike(*tensors):
            found = [*self._none]
            kept = True
            for (n, _, one), tensor in zip(self._weights, tensors, strict=True):
                laid = one.laid(tensor)
                # A copy does not see what is changed in place.
                kept &= laid.data_ptr() == tensor.data_ptr()
                # Not the tensor itself, whose `data` may become another one's.
                found[n] = laid.detach()
            last = _Weights(places, _guard(tensors), found)
            self._last = last if kept else None
        return last


class _Weights:
    """Weights that were compared: where they lay, what they were, and what they gave.

    ``found``: the tensors of a call, None for its inputs, with their addresses.
    """

    def __init__(
        self, places: list[int], alike: Callable[..., bool], found: list[Any]
    ) -> None:
        self.places, self.alike, self.found = places, alike, found
        self.found_places = [0 if t is None else t.data_ptr() for t in found]


def _guard(tensors: Sequence[Tensor]) -> Callable[..., bool]:
    """Whether tensors have the shapes, strides, types and devices of these.

    `torch.compile` looks at them with it, in a twentieth of a microsecond for each.
    """
    from torch._C._dynamo.guards import TensorGuards

    if not tensors:
        return lambda: True
    sizes: Any = [[*t.shape] for t in tensors]
    strides: Any = [[*t.stride()] for t in tensors]
    made = TensorGuards(
        *tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides
    )
    return made.check


@dataclass(frozen=True)
class _Given:
    """One of the tensors that a program is given, by its name in the program."""

    name: str
    made: GivenPrimitive
    dtype: Any
    device: Any

    def laid(self, tensor: Tensor) -> Tensor:
        """The tensor in memory as the program has it. Raises ArgusError AG0801."""
        made = self.made
        if made.pairs and tensor.dtype.is_complex:
            tensor = as_pairs(tensor)
        tensor = tensor.resolve_neg()  # of what is imaginary in a conjugate
        if (
            tensor.shape != made.shape
            or tensor.dtype != self.dtype
            or tensor.device != self.device
        ):
            raise fail(
                "AG0801",
                None,
                f"`{self.name}` is {tuple(tensor.shape)} of {tensor.dtype} on "
                f"{tensor.device}; the plan is for {made.shape} of {self.dtype} on "
                f"{self.device}",
            )
        strides = tensor.stride()
        if strides != made.strides and not told_so(made.shape, strides, made.strides):
            return relaid(tensor, made.strides)
        return tensor


def addresses(tensors: Sequence[Tensor]) -> list[int]:
    """Where the first elements of tensors are."""
    from torch import Tensor

    return list(map(Tensor.data_ptr, tensors))  # two thirds of the time of a loop


def as_pairs(tensor: Tensor) -> Tensor:
    """A complex tensor as the pairs of floats that it consists of."""
    import torch

    return torch.view_as_real(tensor.resolve_conj().resolve_neg())


def of_pairs(tensor: Tensor) -> Tensor:
    """The complex tensor of (..., 2) floats, without a copy where they lie so."""
    import torch

    try:
        return torch.view_as_complex(tensor)
    except RuntimeError:  # they do not lie side by side, or begin between two
        return torch.view_as_complex(tensor.clone().contiguous())


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
