"""Numbers that torch leaves open, as tensors: where the next token of a text stands.

A plan is for numbers. One that is added to positions would be in the text of each
kernel behind it, so that each step of a generation had kernels of its own. Here it is a
constant of the plan, a tensor of one element, which kernels read.

That is done where the position of one token is made so. Masks of several tokens are
known by their positions, of which attention makes use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

from argus.programs.tensors.torch_calls import is_node

_MOVING = {"aten.add.Tensor": 1, "aten.sub.Tensor": 1, "aten.arange.start_step": 0}
"""Operators that move positions, and which of their arguments says how far."""


@dataclass(frozen=True)
class OpenNumbers:
    """Nodes that move positions by a number that torch leaves open."""

    nodes: frozenset[Any]

    @staticmethod
    def of(nodes: Iterable[Any], said: Callable[[Any], Any]) -> OpenNumbers:
        """Those of a graph; none where no position of one token is made."""
        found = frozenset(n for n in nodes if _moves(n, said(n)))
        alone = any(prod(said(n).shape) == 1 for n in found)
        return OpenNumbers(found if alone else frozenset())

    def place(self, node: Any) -> int | None:
        """Which argument of a node is such a number."""
        return _MOVING[str(node.target)] if node in self.nodes else None


def is_open(node: Any) -> bool:
    """Whether a node is a whole number that torch leaves open."""
    import torch

    return isinstance(node.meta.get("val"), torch.SymInt)


def _moves(node: Any, said: Any) -> bool:
    place = _MOVING.get(str(node.target))
    if place is None or len(node.args) <= place:
        return False
    by = node.args[place]
    return (
        is_node(by)
        and is_open(by)
        and not set(node.kwargs) & {"alpha"}
        and not said.dtype.is_floating_point
        and not said.dtype.is_complex
    )
