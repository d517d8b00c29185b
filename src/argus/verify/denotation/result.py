"""What a denotation hands on: the stores of a program, as terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from argus.diagnostics import Span
from argus.ir.dtypes import DType
from argus.ir.memory import GlobalTensor
from argus.ir.ops import AnyOp
from argus.terms import IndexSet, Integer, Unknown, Value, Variable, World

__all__ = ["Denotation", "Noticed", "Store"]


@dataclass(frozen=True)
class Store:
    """One store, for all blocks, iterations and elements at once.

    At each point of ``where`` (over ``variables``, sizes and data) the element of
    ``tensor`` at ``coords`` becomes ``value``, or ``value`` is added to it where
    ``atomic`` is "add". ``where`` lies inside the tensor, and holds the ranges of
    ``variables``: blocks and loops from outer to inner, then the axes of the tile.
    """

    tensor: GlobalTensor
    coords: tuple[Integer, ...]
    where: IndexSet
    value: Value
    atomic: str | None
    variables: tuple[Variable, ...]
    span: Span


@dataclass(frozen=True)
class Noticed:
    """What numerical safety asks about (`argus.verify.numbers`), at an operation.

    "exponent": an exponential is taken of ``value``, at the points of ``where``.
    "whole": it is the result of arithmetic on whole numbers, of type ``dtype``.
    "sum": a loop adds ``value`` to what it carries as ``name``, of type ``dtype``.
    """

    kind: Literal["exponent", "whole", "sum"]
    op: AnyOp
    value: Value
    where: IndexSet
    dtype: DType
    name: str = ""


@dataclass(frozen=True)
class Denotation:
    """What a tile program computes, for all sizes that a launch admits.

    ``stores`` are in program order, role by role. ``lost`` says of a tensor why what is
    stored to it is not known: its stores are then incomplete. ``notes`` are assumptions
    of the reading itself, to be listed in a report. That fills and drains match, that
    accesses are ordered and that barriers complete is not shown here: a denotation is
    that of the program only if `argus.verify.order` proves its order.
    """

    stores: tuple[Store, ...]
    world: World
    lost: Mapping[str, Unknown]
    notes: tuple[str, ...]
    noticed: tuple[Noticed, ...] = ()

    @property
    def unknown(self) -> Unknown | None:
        """The first reason why the denotation is incomplete; None: it is complete."""
        return next(iter(self.lost.values()), None)
