"""What a family says of graphs of PyTorch: which parts its kernels compute, and how.

A family's `pattern.py` exports ``PATTERNS``. Looking through a graph, and putting the
kernels in place of what was found, is done elsewhere, for all families alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from argus.kernels.graph import dtype
from argus.runs.records import LibraryProblem

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import Node

    Operands = dict[str, Tensor]
    """Tensors by the names of the kernel's parameters; outputs are written in place."""

    Runner = Callable[[LibraryProblem, Operands, Mapping[str, float]], None]
    """Computes a problem's outputs from its operands and scalars."""


class Computation(ABC):
    """What a part of a graph computes, in the words of a family."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[Node, ...]:
        """The nodes whose tensors it takes, in the order of ``run``."""

    @abstractmethod
    def run(
        self, problem: LibraryProblem, runner: Runner, tensors: tuple[Tensor, ...]
    ) -> Tensor:
        """Lay out the tensors as the kernel takes them, run it, give its result."""


@dataclass(frozen=True)
class Match:
    """Nodes that one kernel computes; the result of ``root`` is that of the kernel.

    ``count``: launches of the kernel. ``notes``: what is not quite the same: casts,
    copies, constants that the library's own reference has otherwise.
    """

    root: Node
    nodes: tuple[Node, ...]
    problem: LibraryProblem
    computation: Computation
    count: int = 1
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """Why a node that looks like a kernel's work is none."""

    node: Node
    why: str


@dataclass(frozen=True)
class Pattern:
    """``find(node, target)``: the part of a graph that ends (a product: begins) there.

    Patterns of lower ``rank`` are looked for first: those that hold what others match.
    """

    rank: int
    find: Callable[[Node, str], Match | Refusal | None]


def cast_notes(*operands: Any) -> list[str]:
    """What is said of operands that are not bf16."""
    kinds = sorted({dtype(x) for x in operands} - {"bf16"})
    return [f"computed in bf16 instead of {', '.join(kinds)}"] if kinds else []
