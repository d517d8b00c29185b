"""Calls that torch makes, as a plan holds them: operands in the place of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

from argus.programs.tensors.complex_tensor import ComplexTensor
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import CallOperand, TorchCall, ViewedValue

IN_PYTHON = (
    '`torch.compile(model, backend="argus")` leaves such a part to Python, and has '
    "kernels for the others"
)
"""What helps where a graph would have to look at elements."""


def call_of(
    target: Any,
    args: list[Any],
    named: Any,
    why: str,
    strides: Sequence[tuple[int, ...]] = (),
) -> TorchCall:
    """A call of torch, with operands in the place of tensors."""
    operands: list[ViewedValue] = []

    def noted(value: Any) -> Any:
        if isinstance(value, list | tuple):
            kind: Any = tuple if isinstance(value, tuple) else list
            return kind(noted(v) for v in cast("list[Any]", value))
        if isinstance(value, dict):
            items = cast("dict[Any, Any]", value)
            return {k: noted(v) for k, v in items.items()}
        pairs = value.paired().pairs if isinstance(value, ComplexTensor) else None
        array = value if pairs is None else pairs
        if isinstance(array, TensorArray):
            operands.append(array.operand)
            at = len(operands) - 1
            laid = strides[at] if strides else ()
            return CallOperand(at, laid, pairs is not None)
        return value

    arguments = tuple(noted(a) for a in args)
    keywords = {k: noted(v) for k, v in named.items()}
    return TorchCall(str(target), target, arguments, keywords, tuple(operands), why)


def as_given(value: Any, given: Any) -> Any:
    """A value in which what is a tuple in ``given`` is one, too, and no list."""
    if is_node(given):
        return value
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value)
        return {k: as_given(v, given[k]) for k, v in items.items()}
    if not isinstance(value, list):
        return value
    parts = zip(cast("list[Any]", value), given, strict=True)
    kind: Any = tuple if isinstance(given, tuple) else list
    return kind(as_given(v, g) for v, g in parts)


def nodes_of(value: Any) -> list[Any]:
    """The nodes in the arguments of a call, in order."""
    if isinstance(value, dict):
        value = list(cast("dict[Any, Any]", value).values())
    if isinstance(value, list | tuple):
        return [n for v in cast("list[Any]", value) for n in nodes_of(v)]
    return [value] if is_node(value) else []


def is_node(value: Any) -> bool:
    """Whether an argument is a node of a graph."""
    from torch.fx import Node

    return isinstance(value, Node)


def leaves_of(value: Any) -> list[Any]:
    """What an operator gives, or what torch says of it: one after the other.

    Lists in it (``Tensor[]`` beside other results) are taken apart, too.
    """
    if isinstance(value, list | tuple):
        return [x for v in cast("list[Any]", value) for x in leaves_of(v)]
    return [value]


def arrays_of(value: Any) -> list[TensorArray]:
    """The tensors in the arguments of a call, in order."""
    if isinstance(value, TensorArray):
        return [value]
    if isinstance(value, ComplexTensor):
        return [value.real, value.imag]
    if isinstance(value, dict):
        value = list(cast("dict[Any, Any]", value).values())
    if isinstance(value, list):
        return [a for v in cast("list[Any]", value) for a in arrays_of(v)]
    return []


def complex_in(value: Any) -> list[ComplexTensor]:
    """The complex tensors in the arguments of a call."""
    if isinstance(value, dict):
        value = list(cast("dict[Any, Any]", value).values())
    if isinstance(value, list):
        return [c for v in cast("list[Any]", value) for c in complex_in(v)]
    return [value] if isinstance(value, ComplexTensor) else []


def dense_strides(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a tensor that holds each element once, side by side; else ()."""
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], -shape[d]))
    laid = [shape[d] for d in order]
    dense = all(
        shape[d] == 1 or strides[d] == prod(laid[place + 1 :])
        for place, d in enumerate(order)
    )
    return strides if dense else ()
