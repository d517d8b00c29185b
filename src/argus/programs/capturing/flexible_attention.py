"""Attention whose scores and masks are functions of positions (`flex_attention`).

Torch's graph has the functions as graphs of one score and its positions; here they are
computed of all scores together, which one kernel of attention does on the way. Only the
result is given: what gradients need besides stays in torch, with its operator.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, cast

import numpy

from argus.ir.dtypes import DTYPES
from argus.programs.operators.attention_operators import (
    attended_by,
    repeated_heads,
    scores_of,
)
from argus.programs.tensors.operator_table import OWN
from argus.programs.tensors.recorder import ProgramRecorder
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import (
    UntranslatedError,
    constant_of,
    stored_type,
)

np: Any = numpy
"""Functions of numpy, which arrays of a program record."""


def flexible_attention(
    q: TensorArray,
    k: TensorArray,
    v: TensorArray,
    scored: Any,
    blocks: Sequence[Any],
    scale: float,
    _: Any,
    scores_given: Sequence[Any] = (),
    masks_given: Sequence[Any] = (),
) -> list[Any]:
    """Values by the softmax of ``scored(score, batch, head, query, key)``, where seen.

    The last of ``blocks`` says which scores are seen; blocks that it leaves out whole
    are known from it. Raises UntranslatedError where a function has no translation.
    """
    k, v = (repeated_heads(x, q.shape[-3]) for x in (k, v))
    if k.shape[0] != q.shape[0]:
        k, v = (np.broadcast_to(x, (q.shape[0], *x.shape[1:])) for x in (k, v))
    scores: Any = scores_of(q, k, None, False, scale)
    recorder, rank = q.recorder, scores.ndim
    at = [
        TensorArray(
            recorder,
            recorder.positions([n if i == d else 1 for i in range(rank)], d),
        )
        for d, n in enumerate(scores.shape)
    ]
    found = _computed(scored, recorder, [scores, *at, *scores_given])
    seen = _computed(blocks[-1], recorder, [*at, *masks_given])
    if constant_of(seen.operand) is not True:
        found = np.where(seen, found, -numpy.inf)
    found = np.broadcast_to(found, scores.shape)
    return [attended_by(found, v, q.element, masked=True)[0], None, None]


def _computed(module: Any, recorder: ProgramRecorder, given: Sequence[Any]) -> Any:
    """The result of a graph of functions of elements. Raises UntranslatedError."""
    from argus.programs.capturing.operators import operator_named

    if not hasattr(module, "graph"):
        raise UntranslatedError("attention with a function that has no graph")
    values: dict[Any, Any] = {}
    waiting = list(given)

    def mapped(part: Any) -> Any:
        if isinstance(part, list | tuple):
            return [mapped(p) for p in cast("list[Any]", part)]
        return values[part] if _is_node(part) else part

    for node in module.graph.nodes:
        match node.op:
            case "placeholder":
                values[node] = waiting.pop(0)
            case "get_attr":
                values[node] = _number(getattr(module, node.target), recorder)
            case "output":
                (result,) = node.args
                return mapped(result[0] if isinstance(result, tuple) else result)
            case _:
                args = [mapped(a) for a in node.args]
                if node.target is operator.getitem:
                    values[node] = args[0][args[1]]
                    continue
                made = operator_named(str(node.target), recorder)
                if made is None:
                    raise UntranslatedError(f"attention with scores by {node.target}")
                named = {n: mapped(a) for n, a in node.kwargs.items()}
                values[node] = _of_kind(made(*args, **named), node)
    raise AssertionError("a graph without a result")


def _of_kind(value: Any, node: Any) -> Any:
    """A number of the kind that torch says: floats as they are computed."""
    said = node.meta.get("val")
    if not isinstance(value, TensorArray) or not hasattr(said, "dtype"):
        return value
    kind = stored_type(str(said.dtype))
    if kind.name not in DTYPES:
        raise UntranslatedError(f"attention with scores of type {kind.foreign}")
    return value if kind.kind == value.element.kind else value.cast(kind)


def _number(tensor: Any, recorder: ProgramRecorder) -> TensorArray:
    if tensor.numel() != 1:
        raise UntranslatedError("attention with a tensor inside of a function")
    made = recorder.filled((), tensor.item(), stored_type(str(tensor.dtype)))
    return TensorArray(recorder, made)


def _is_node(value: Any) -> bool:
    from torch.fx import Node

    return isinstance(value, Node)


OWN["flex_attention"] = flexible_attention
