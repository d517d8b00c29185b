"""Operators of lists of tensors (optimizers' steps): one of each tensor of the list.

`aten._foreach_NAME` is what `torch.NAME` gives for each tensor, with its own part of
what else is a list. Torch traces those in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

_AHEAD = "aten::_foreach_"
_OTHERS = frozenset({"powsum"})
"""Operators that have no counterpart of one tensor; nor have numbers in a tensor,
which torch cannot trace."""


def list_decompositions() -> dict[Any, Callable[..., Any]]:
    """What is traced, by the operator; those that write into what they are given lack.

    Torch writes after what it traces.
    """
    import torch

    found: dict[Any, Callable[..., Any]] = {}
    for full in vars(torch)["_C"]._dispatch_get_all_op_names():
        if not full.startswith(_AHEAD):
            continue
        packet, _, overload = full.removeprefix("aten::").partition(".")
        name = packet.removeprefix("_foreach_")
        operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
        given = {a.name: str(a.type) for a in operator._schema.arguments}
        if name in _OTHERS or given.get("scalars") == "Tensor":
            continue
        if not operator._schema.is_mutable:
            found[operator] = partial(_each, _function(name))
    return found


def _function(name: str) -> Callable[..., Any]:
    """What is computed of one tensor."""
    import torch

    every: Any = torch
    own: dict[str, Callable[..., Any]] = {
        "addcmul": partial(_added, every.addcmul),
        "addcdiv": partial(_added, every.addcdiv),
        "maximum": partial(_extreme, every.maximum, every.clamp_min),
        "minimum": partial(_extreme, every.minimum, every.clamp_max),
        "norm": partial(_norm, every.linalg.vector_norm),
        "copy": every.ops.aten.copy,
        "zero": every.zeros_like,
    }
    return own.get(name) or getattr(every, name)


def _added(function: Any, x: Any, one: Any, other: Any, factor: Any = 1) -> Any:
    return function(x, one, other, value=factor)


def _norm(function: Any, x: Any, order: Any = 2, dtype: Any = None) -> Any:
    return function(x, order, dtype=dtype)


def _each(function: Callable[..., Any], *args: Any, **named: Any) -> list[Any]:
    """Of each tensor; all lists have one length."""
    lists: list[list[Any]] = [a for a in args if isinstance(a, list)]
    count = len(lists[0])
    parts: list[list[Any]] = [a if isinstance(a, list) else [a] * count for a in args]
    return [function(*one, **named) for one in zip(*parts, strict=True)]


def _extreme(
    of_tensors: Callable[..., Any], of_a_number: Callable[..., Any], x: Any, other: Any
) -> Any:
    return (of_tensors if hasattr(other, "dtype") else of_a_number)(x, other)
