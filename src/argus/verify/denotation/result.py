"""What a denotation hands on: the stores of a program, as terms."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from argus.diagnostics import Span
from argus.ir.dtypes import DType
from argus.ir.memory import GlobalTensor
from argus.ir.ops import AnyOp
from argus.terms import AxisNames, IndexSet, Integer, Unknown, Value, Variable, World

__all__ = ["Denotation", "Noticed", "Path", "Store"]

Path = tuple[tuple[int, Variable | None], ...]
"""Where an operation stands: its position in each block around it, from outer to inner,
with the counter of the loop that the position is, if it is one."""


@dataclass(frozen=True)
class Store:
    """One store, for all blocks, iterations and elements at once.

    At each point of ``where`` (over ``variables``, sizes and data) the element of
    ``tensor`` at ``coords`` becomes ``value``, or ``value`` is added to it where
    ``atomic`` is "add", or the larger or less of both for "max" or "min". ``where``
    lies inside the tensor, and holds the ranges of ``variables``: blocks and loops
    from outer to inner, then the ``axes`` of the tile. ``named``: these with the names
    of their dimensions. ``role`` and ``path`` say where it stands.
    """

    tensor: GlobalTensor
    coords: tuple[Integer, ...]
    where: IndexSet
    value: Value
    atomic: str | None
    variables: tuple[Variable, ...]
    span: Span
    role: str = "block"
    path: Path = ()
    axes: tuple[Variable, ...] = ()
    named: AxisNames = ()


NoticedKind = Literal[
    "exponent", "whole", "product", "observed", "in float", "decides", "sum"
]


@dataclass(frozen=True)
class Noticed:
    """What numerical safety asks about (`argus.verify.numbers`), at an operation.

    "exponent": an exponential is taken of ``value``, at the points of ``where``.
    "whole": it is the result of arithmetic on whole numbers, of type ``dtype``.
    "product": likewise, the number that a product of tiles or a power is.
    "observed": it is a whole number of data, of ``dtype``, of which something else is
    made than a sum or product of its type.
    "in float": it is a whole number, or a fraction of one, in a float of ``dtype``.
    "decides": such a number, an operand by which a mask or a whole number is decided.
    "sum": a loop adds ``value`` to what it carries as ``name``, of type ``dtype``.
    """

    kind: NoticedKind
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
    of the reading itself, to be listed in a report. ``sequential`` are tensors of which
    a read finds what was written before in the program: see `in_order`. That fills and
    drains match, that accesses are ordered and that barriers complete is not shown
    here: a denotation is that of the program only if `argus.verify.order` proves its
    order.
    """

    stores: tuple[Store, ...]
    world: World
    lost: Mapping[str, Unknown]
    notes: tuple[str, ...]
    noticed: tuple[Noticed, ...] = ()
    sequential: frozenset[str] = frozenset()
    narrow: Mapping[str, tuple[int, int]] = field(
        default_factory=dict[str, tuple[int, int]]
    )
    """The least and greatest entries of tables of 8 and 16 bits."""
    entries: Mapping[str, tuple[int, int]] = field(
        default_factory=dict[str, tuple[int, int]]
    )
    """Those of all tables of whole numbers."""
    bits: tuple[Integer, ...] = ()
    """How many bits each tensor takes."""

    def in_order(self, tensors: Collection[str]) -> Denotation:
        """The same for a program that accesses these tensors in program order.

        Everything is lost where another one has to be.
        """
        if self.sequential <= set(tensors):
            return self
        name = min(self.sequential - set(tensors))
        why = Unknown(
            f"`{name}` is read after it is written, by threads that nothing orders"
        )
        stored = {*self.lost, *(s.tensor.name for s in self.stores)}
        return replace(self, lost={**dict.fromkeys(stored, why), **self.lost})

    @property
    def unknown(self) -> Unknown | None:
        """The first reason why the denotation is incomplete; None: it is complete."""
        return next(iter(self.lost.values()), None)
