"""Calls of torch between kernels: what can be known of one before is known once.

    run = prepared_call(step, planned, device)
    run(memory)         # what the call gives, by value

The device waits for what a call does on the host beside the operator itself: how its
operands lie in the tensors of the program, and which arguments they are, is decided
when the program is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

from argus.diagnostics import fail
from argus.programs.planning.plan import TorchStep
from argus.programs.running.bases import PlannedMemory, torch_type
from argus.programs.running.given import as_pairs, of_pairs, relaid, told_so
from argus.programs.running.in_torch import apart, seen_through, strides_of
from argus.programs.tensors.tensor_program import (
    CallOperand,
    ProgramValue,
    TorchCall,
    TorchPrimitive,
    ViewedValue,
)
from argus.programs.tensors.torch_calls import leaves_of

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Shown = Callable[[Sequence["Tensor"]], "Tensor"]
"""An operand, in the tensors of a call by the number of their base."""
Filled = Callable[[Sequence["Tensor"]], Any]
"""An argument, by the operands. It holds no tensor, which would keep its memory."""


def prepared_call(
    step: TorchStep, planned: PlannedMemory, device: torch.device
) -> Callable[[Sequence[Tensor]], dict[ProgramValue, Tensor]]:
    """What makes a call, and gives dense tensors in memory of their own.

    They have the element types that torch said before. Raises ArgusError AG1051 for
    other shapes.
    """
    import torch

    call = step.call
    assert call is not None
    shown = [_shown_in(planned, o) for o in call.operands]
    arguments, named = _filled(list(call.arguments)), _filled(call.named)
    results = [_taken(value, call) for value in step.results]

    def run(memory: Sequence[Tensor]) -> dict[ProgramValue, Tensor]:
        given = [show(memory) for show in shown]
        made = call.target(
            *(arguments(given) if arguments else call.arguments),
            **(named(given) if named else call.named),
        )
        if made is None:  # a check, which has found nothing wrong
            return {v: torch.empty(v.shape, dtype=torch.bool, device=device)
                    for v in step.results}  # fmt: skip
        each = leaves_of(made)
        found = [take(each) for take in results]
        return apart(dict(zip(step.results, found, strict=True)), given)

    return run


def _shown_in(planned: PlannedMemory, operand: ViewedValue) -> Shown:
    """What shows an operand in the tensors of a call."""
    value, found = operand.value, strides_of(operand)
    base, offset = planned.place(value)
    if found is None:
        whole_of, views = _shown_in(planned, ViewedValue(value)), operand.views
        return lambda memory: seen_through(views, whole_of(memory))
    shape, (strides, start) = operand.shape, found
    if base != planned.workspace:

        def shown(memory: Sequence[Tensor]) -> Tensor:
            whole = memory[base]
            return whole.as_strided(shape, strides, whole.storage_offset() + start)

        return shown
    kind, first = torch_type(value), offset // value.dtype.bytes + start

    def part(memory: Sequence[Tensor]) -> Tensor:
        whole = memory[base].view(kind)
        return whole.as_strided(shape, strides, whole.storage_offset() + first)

    return part


def _filled(value: Any) -> Filled | None:
    """What fills an argument with tensors in the places of operands; None: none is."""
    if isinstance(value, CallOperand):
        return _operand(value)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value)
        names, values = list(items), _filled(list(items.values()))
        if values is None:
            return None
        return lambda given: dict(zip(names, values(given), strict=True))
    if not isinstance(value, list | tuple):
        return None
    kind: Any = tuple if isinstance(value, tuple) else list
    parts = [(v, _filled(v)) for v in cast("list[Any]", value)]
    if not any(fill for _, fill in parts):
        return None
    return lambda given: kind([v if fill is None else fill(given) for v, fill in parts])


def _operand(said: CallOperand) -> Filled:
    """The tensor, with the strides that torch's operator may count on."""
    index, strides, pairs = said.index, said.strides, said.pairs
    if not strides and not pairs:
        return itemgetter(index)

    def lying(given: Sequence[Tensor]) -> Tensor:
        tensor = of_pairs(given[index]) if pairs else given[index]
        own = tensor.stride()
        if not strides or own == strides or told_so(tensor.shape, own, strides):
            return tensor
        return relaid(tensor, strides)

    return lying


def _taken(value: ProgramValue, call: TorchCall) -> Callable[[list[Any]], Tensor]:
    """A value among what the operator gave, in the element type that torch said."""
    made = value.made
    assert isinstance(made, TorchPrimitive)
    kind, shape = torch_type(value), value.shape

    def take(each: list[Any]) -> Tensor:
        one = each[made.index]
        if made.pairs:
            one = as_pairs(one)
        if made.order:
            one = one.permute(made.order)
        if one.shape != shape:
            raise fail(
                "AG1051",
                None,
                f"{call.name} gave the shape {tuple(one.shape)}, and torch said "
                f"{shape} before",
            )
        return one if one.dtype is kind else one.to(kind)

    return take
