"""Questions about the nodes of an exported graph. No pattern stands here."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from argus.ir.dtypes import FOREIGN

if TYPE_CHECKING:
    from torch.fx import Node

FREE = {
    *("aten.view", "aten.reshape", "aten._unsafe_view", "aten.transpose", "aten.t"),
    *("aten.permute", "aten.expand", "aten.contiguous", "aten.clone", "aten.detach"),
    *("aten.alias", "aten.unsqueeze", "aten.squeeze", "aten.select", "aten.slice"),
    *("aten.split", "aten.chunk", "aten.unbind", "aten.flatten", "aten.unflatten"),
    *("aten.to", "aten._to_copy", "aten.dropout", "aten.feature_dropout"),
    *("aten._assert_tensor_metadata", "aten.ones", "aten.zeros", "aten.full"),
    *("aten.arange", "aten.ones_like", "aten.zeros_like", "aten.lift_fresh_copy"),
    *("aten.expand_as", "aten.view_as", "aten.type_as", "aten.numpy_T", "aten.mT"),
    *("aten.split_with_sizes", "aten.movedim", "aten.identity", "aten.scalar_tensor"),
}
"""Operators that compute nothing: other views of the same numbers, casts, constants.
Dropout is among them, since models are evaluated."""

PRODUCTS = ("aten.linear", "aten.matmul", "aten.mm", "aten.addmm", "aten.bmm")
"""Operators that are matrix products."""

_SAME = {
    *("aten.contiguous", "aten.clone", "aten.detach", "aten.alias", "aten.to"),
    *("aten._to_copy", "aten.dropout", "aten.type_as"),
}
"""Those of them that keep every element where it is."""


def op(node: Node) -> str:
    """The operator without its overload ("aten.add"); "" for what is none."""
    if node.op != "call_function":
        return ""
    return ".".join(str(node.target).split(".")[:2])


def arg(node: Node, index: int, name: str, default: Any = None) -> Any:
    """An argument by position or by name."""
    if len(node.args) > index:
        return node.args[index]
    return node.kwargs.get(name, default)


def is_node(value: object) -> bool:
    """Whether an argument is the result of another node."""
    from torch.fx import Node

    return isinstance(value, Node)


def shape(value: object) -> tuple[int, ...] | None:
    """The sizes of a tensor; None for what is none, or has no fixed size."""
    found: Any = getattr(value, "meta", {}).get("val")
    sizes: Any = getattr(found, "shape", None)
    if sizes is None or not all(isinstance(n, int) for n in sizes):
        return None
    return tuple(int(n) for n in sizes)


def dtype(value: object) -> str:
    """The element type of a node's tensor in Argus' words; "" for what is none."""
    found: Any = getattr(value, "meta", {}).get("val")
    kind = str(getattr(found, "dtype", "")).removeprefix("torch.")
    return FOREIGN[kind].name if kind in FOREIGN else kind


def elements(value: object) -> int:
    """Number of elements; 0 for what is no tensor."""
    sizes = shape(value)
    return 0 if sizes is None else prod(sizes)


def users(node: Node) -> list[Node]:
    """The nodes that use a result; checks of metadata do not count."""
    return [u for u in node.users if op(u) != "aten._assert_tensor_metadata"]


def through(value: Any) -> Any:
    """The node behind casts and copies that keep every element where it is."""
    while is_node(value) and op(value) in _SAME:
        value = value.args[0]
    return value


def keeps(node: Node) -> bool:
    """Whether a node is such a cast or copy."""
    return op(node) in _SAME


def number(value: Any) -> float | None:
    """A constant argument as a number; None for a node."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def last(dim: Any, rank: int) -> bool:
    """Whether a dimension (or a list of one) is the last."""
    if isinstance(dim, list | tuple):
        dims: list[Any] = list(dim)  # pyright: ignore[reportUnknownArgumentType]
        return len(dims) == 1 and last(dims[0], rank)
    return dim in (-1, rank - 1)


def transposed(value: Any) -> Any:
    """What a node is the transpose of in its last two axes; None if it is not."""
    node = through(value)
    if not is_node(node):
        return None
    sizes = shape(node)
    rank = 0 if sizes is None else len(sizes)
    if op(node) in ("aten.t", "aten.numpy_T") and rank == 2:
        return node.args[0]
    if op(node) == "aten.mT":
        return node.args[0]
    if op(node) == "aten.transpose":
        axes = {a % rank for a in node.args[1:3]}
        return node.args[0] if axes == {rank - 1, rank - 2} else None
    if op(node) == "aten.permute":
        order = [a % rank for a in node.args[1]]
        wanted = [*range(rank - 2), rank - 1, rank - 2]
        return node.args[0] if order == wanted else None
    return None
