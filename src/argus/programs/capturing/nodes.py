"""Questions about single nodes of a graph, and what no tensor program has."""

from __future__ import annotations

import operator
from typing import Any

from argus.diagnostics import fail
from argus.programs.tensors.torch_calls import IN_PYTHON, is_node, leaves_of

__all__ = ["is_mutable", "memory_of", "orders_calls", "require_numbers"]


def orders_calls(node: Any) -> bool:
    """Whether a node is a token, by which torch orders calls with effects."""
    return any(
        str(user.target) == "with_effects" and user.args[0] is node
        for user in node.users
    )


def is_mutable(target: Any) -> bool:
    """Whether a call changes what it is given; not known of what is no operator."""
    schema = getattr(target, "_schema", None)
    return schema is None or bool(schema.is_mutable)


def memory_of(node: Any) -> Any:
    """The node whose memory a node shows: itself, unless it is a view.

    Each of several results of a call has its own: the node that takes it out first.
    """
    while node.op == "call_function":
        taken = None
        if node.target is operator.getitem:
            taken, node = node, node.args[0]
        if not _shows_another(node):
            return node if taken is None else _taken_first(taken)
        node = next(a for a in node.args if is_node(a))
    return node


def _shows_another(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    returned = schema.returns if schema is not None else ()
    return bool(returned) and returned[0].alias_info is not None


def _taken_first(taken: Any) -> Any:
    users = taken.args[0].users
    return next(
        u for u in users if u.target is operator.getitem and u.args[1] == taken.args[1]
    )


def require_numbers(node: Any, said: Any) -> None:
    """Raises ArgusError AG1041 for sizes that torch learns from elements.

    And for tensors that do not store all of their elements, or not as numbers.
    """
    kinds = (a for a in node.args if str(a).startswith(("torch.qint", "torch.quint")))
    for kind in kinds:  # of the result: torch says another one
        raise fail("AG1041", None, f"{node.target} makes elements of type {kind}")
    for one in leaves_of(said):
        shape: Any = getattr(one, "shape", ())
        layout = str(getattr(one, "layout", "torch.strided"))
        if layout != "torch.strided":
            raise fail("AG1041", None, f"{node.target} has elements that are sparse")
        if not all(isinstance(n, int) for n in shape):
            raise fail(
                "AG1041",
                None,
                f"the size of {node.target} depends on elements",
                help=IN_PYTHON,
            )
