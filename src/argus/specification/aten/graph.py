"""The nodes of an exported graph, in order: each is an array, a size, or several.

What a node is has the element type that torch says; its shape has as many dimensions.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from argus.specification.array import SymbolicArray
from argus.specification.aten import (
    complex_pairs,
    indexing,
    layers,
    pointwise,
    reducing,
    windows,
)
from argus.specification.aten.promoting import promoted
from argus.specification.aten.shapes import CREATING
from argus.specification.aten.table import IN_REALS, OPERATORS, numpy_type
from argus.specification.casting import converted, lifted
from argus.specification.in_floats import hold
from argus.specification.tracing import Tracing
from argus.terms import Unknown

TRACED = (complex_pairs, indexing, layers, pointwise, reducing, windows)
"""Modules that fill the table of operators when they are imported."""

_NUMBERS = (
    "sym_max", "sym_min", "sym_not", "sym_float", "sym_int", "sym_sqrt", "_sym_sqrt",
)  # fmt: skip


def traced(name: str) -> bool:
    """Whether an operator of that name is traced."""
    return name in OPERATORS or name in IN_REALS or name in CREATING


def walked(tracing: Tracing, graph: Any, given: Mapping[str, Any]) -> list[Any]:
    """The outputs of a graph. ``given``: what its placeholders are, by name.

    Raises Unknown for operators that are not traced, by name.
    """
    values: dict[str, Any] = {}
    for node in graph.nodes:
        match node.op:
            case "placeholder":
                values[node.name] = given[node.name]
            case "call_function":
                values[node.name] = _called(tracing, node, values)
            case "output":
                return list(_mapped(node.args[0], values))
            case other:
                raise Unknown(f"the graph has a node {node.name} of kind {other}")
    raise Unknown("the graph has no output")


def _mapped(value: Any, values: Mapping[str, Any]) -> Any:
    """Arguments of a node, with nodes replaced by what they are."""
    if isinstance(value, list | tuple):
        return [_mapped(v, values) for v in cast(list[Any], value)]
    if isinstance(value, slice):
        parts = cast(Any, value)
        bounds = (parts.start, parts.stop, parts.step)
        return slice(*(_mapped(v, values) for v in bounds))
    name = getattr(value, "name", None)
    if hasattr(value, "op") and isinstance(name, str):
        return values[name]
    return value


def _with_its_sign(node: Any) -> Any:
    """What a node is the sign of, times its absolute value: that x; else None.

    As torch writes pools by powers, of which roots are taken next: as a choice by
    data it would be two roots.
    """

    def operand(one: Any, *names: str) -> Any:
        name = str(getattr(one, "target", "")).removesuffix(".default")
        return one.args[0] if name in names else None

    if str(node.target) != "aten.mul.Tensor":
        return None
    for sign, size in (node.args, node.args[::-1]):
        size = operand(size, "aten.relu") or size
        x = operand(sign, "aten.sign", "aten.sgn")
        if x is not None and operand(size, "aten.abs") is x:
            return x
    return None


def _called(tracing: Tracing, node: Any, values: Mapping[str, Any]) -> Any:
    signed = _with_its_sign(node)
    if signed is not None:
        return values[signed.name]
    args = [_mapped(a, values) for a in node.args]
    named = {k: _mapped(v, values) for k, v in node.kwargs.items()}
    name = str(node.target)
    if name.startswith(("aten._assert_tensor_metadata", "aten.sym_constrain")):
        return None
    if name.startswith("aten._assert_scalar"):
        needed(tracing, args[0], "the exported graph")
        return None
    if name.startswith("aten._assert_async"):
        said = args[1] if len(args) > 1 else "what it asserts of elements holds"
        tracing.assume(f"the reference: {said}")
        return None
    if name.startswith("aten._local_scalar_dense"):
        return args[0].item()
    if name in CREATING:
        return _as_said(CREATING[name](tracing, *args, **named), node)
    function = IN_REALS.get(name) or OPERATORS.get(name)
    if function is not None:
        args, named = promoted(tracing, node, args, named)
        function = complex_pairs.by_parts(function, args, named)
        return _as_said(function(*args, **named), node)
    if getattr(operator, node.target.__name__, None) is node.target:
        return node.target(*args, **named)
    if node.target.__name__ in _NUMBERS:
        return _number(node.target.__name__, args)
    raise Unknown(f"the graph has {name}, which is not traced")


def _number(name: str, args: list[Any]) -> Any:
    match name:
        case "sym_max":
            return np.maximum(*args)
        case "sym_min":
            return np.minimum(*args)
        case "sym_not":
            return np.logical_not(*args)
        case "sym_sqrt" | "_sym_sqrt":
            return np.sqrt(*args)
        case "sym_int":
            return (
                args[0].astype(int) if isinstance(args[0], SymbolicArray) else args[0]
            )
        case _:
            return args[0]


def needed(tracing: Tracing, condition: Any, of: str) -> None:
    """A condition on sizes under which the graph was made.

    ``of``: who says so. Raises Unknown where it never holds.
    """
    if isinstance(condition, SymbolicArray):
        where = condition.at(()).where
        tracing.need(where, f"{where} ({of})")
    elif not condition:
        raise Unknown("the graph fails at every size")


def _as_said(result: Any, node: Any) -> Any:
    """The result, in the type that torch says; sizes and None as they are."""
    said: Any = node.meta.get("val")
    if isinstance(result, list | tuple):
        parts = list(cast(Any, result))
        each = list(cast(Any, said)) if isinstance(said, list | tuple) else []
        each += [None] * (len(parts) - len(each))
        return [_typed(r, s, node) for r, s in zip(parts, each, strict=False)]
    return _typed(result, said, node)


def _typed(result: Any, said: Any, node: Any) -> Any:
    dtype = getattr(said, "dtype", None)
    if dtype is None or not isinstance(result, SymbolicArray):
        return result
    if len(said.shape) != result.ndim:
        raise Unknown(f"{node.name} has {len(said.shape)} dimensions in the graph")
    if dtype.is_floating_point:
        hold(result, str(dtype).removeprefix("torch."))
    return converted(result, numpy_type(dtype))


def constant(tracing: Tracing, tensor: Any) -> SymbolicArray:
    """A tensor of numbers that the graph holds."""
    array = tensor.detach().cpu()
    kind = "float64" if array.is_floating_point() else None
    return lifted(tracing, array.double().numpy() if kind else array.numpy())
