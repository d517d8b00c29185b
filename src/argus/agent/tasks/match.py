"""What a part of a graph computes, in the words of the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from argus.runs.records import LibraryProblem

if TYPE_CHECKING:
    from torch.fx import Node


@dataclass(frozen=True)
class Product:
    """activation(a @ b.T + bias) + residual, ``batch`` times.

    ``a`` has shape (..., M, K). ``b`` has shape (N, K), or (K, N) if ``turn``: then a
    transposed copy is made. With more than one in the batch both have it in front.
    """

    a: Node
    b: Node
    turn: bool
    bias: Node | None
    relu: bool
    residual: Node | None
    batch: int


@dataclass(frozen=True)
class Rows:
    """Softmax or root-mean-square norm over the last dimension of ``x``."""

    x: Node
    weight: Node | None
    eps: float | None


@dataclass(frozen=True)
class Heads:
    """Attention: ``q`` (B, H, S, D), ``k`` and ``v`` (B, G, T, D)."""

    q: Node
    k: Node
    v: Node
    scale: float


Computation: TypeAlias = Product | Rows | Heads


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
