"""Operands of ATen's element-wise operators, in the type that torch computes in.

A number, or a tensor without dimensions, gives way to a tensor of its kind: beside
numbers of 8 bits 300 is what these hold of it, 44.
"""

from __future__ import annotations

from typing import Any, cast

from argus.specification.array import SymbolicArray
from argus.specification.aten.table import numpy_type
from argus.specification.casting import converted, lifted
from argus.specification.tracing import Tracing

__all__ = ["promoted"]

_OPERATORS = frozenset(
    f"aten.{name}"
    for name in (
        "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "remainder", "fmod",
        "floor_divide", "div", "clamp", "clamp_min", "clamp_max",
        "bitwise_left_shift", "bitwise_right_shift", "__lshift__", "__rshift__",
    )
)  # fmt: skip
"""Those whose result is another one for operands that are the same modulo 2**n."""


def promoted(
    tracing: Tracing, node: Any, args: list[Any], named: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a node; whole numbers in the type of all operands together."""
    name, _, overload = str(node.target).rpartition(".")
    if name not in _OPERATORS or (name == "aten.div" and not overload.endswith("mode")):
        return args, named
    dtype = _together([*node.args, *node.kwargs.values()])
    if dtype is None:
        return args, named

    def as_one(value: Any) -> Any:
        if isinstance(value, SymbolicArray | int):
            return converted(lifted(tracing, value), numpy_type(dtype))
        return value

    return [as_one(a) for a in args], {k: as_one(v) for k, v in named.items()}


def _together(operands: list[Any]) -> Any:
    """The type of several operands of a node, if it is one of whole numbers."""
    import torch
    from torch import _prims_common

    told = [cast(Any, getattr(o, "meta", {})).get("val", o) for o in operands]
    numbers = [o for o in told if not isinstance(o, str) and o is not None]
    rules: Any = _prims_common
    kind = rules.ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
    dtype = rules.elementwise_dtypes(*numbers, type_promotion_kind=kind)[1]
    whole = not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)
    return dtype if whole else None
