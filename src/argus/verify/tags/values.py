"""Abstract values: what the elements of a register tile or of a shared stage are.

    A[bm * 128 + i, k + j] after a load     M: bm*128 + [i]     K: k + [j]

A component of a tag is a uniform expression plus one concrete integer per element
(:class:`Coord`), or an element of an index table at such coordinates
(:class:`Loaded`), or not known, with the reason (:class:`Vague`). Arrays have one entry
per element of the space a value lives in: [threads, registers] for a tile, [slots] for
one stage of shared memory. Data are moved by indexing these arrays, exactly as the
hardware moves elements.

Besides its tag a value knows which of its elements may lie outside their tensor
(:class:`Hole`), which coordinates it is a sum over (:class:`CoordinateRange`), and what
integer or condition it holds where the program computes with indices.

Nothing here decides anything; expressions are compared in `scope.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from argus.ir.expr import Expr, Sym, binary
from argus.ir.quickly_made import quickly_made
from argus.verify.evidence import Step

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Shape = tuple[int, ...]
Mover = Callable[[Ints], Ints]
"""How an operation moves elements: from an array of one space to one of another."""


@quickly_made
@dataclass(frozen=True, eq=False, slots=True)
class Coord:
    """``base`` + ``offs[element]``."""

    base: Expr
    offs: Ints


@quickly_made
@dataclass(frozen=True, eq=False, slots=True)
class Loaded:
    """The element of integer table ``table`` at these coordinates, plus ``shift``."""

    table: str
    at: tuple[Tag, ...]
    shift: int = 0


@dataclass(frozen=True)
class Vague:
    """Not known; the reason completes "unknown because ..."."""

    reason: str
    first: Coord | None = None
    """What it is where ``when`` holds: enough to refute, not to prove."""
    when: Expr | None = None


Tag = Coord | Loaded | Vague

Kind = float | Literal["data", "junk"]
"""What a group of elements holds: one known number, data, or arbitrary bits."""

UNNAMED = -1
"""In `AbstractValue.loose`: the axis along which a coordinate runs has no name now."""
MASKED = 1e29
"""Magnitude from which a number stands for infinity in masks (-1e30 before exp)."""


@quickly_made
@dataclass(frozen=True, eq=False, slots=True)
class Hole:
    """Elements with ``where`` outside [0, ``extent``) do not exist in their tensor.

    They hold ``kind`` instead of data. ``name`` is the component, ``what`` says
    of which tensor and dimension.
    """

    where: Tag
    extent: Expr
    kind: Kind
    name: str
    what: str


@dataclass(frozen=True, eq=False)
class Compare:
    """``left op right`` for each element, one of the conditions of a mask."""

    op: str
    left: Tag
    right: Tag


@quickly_made
@dataclass(frozen=True, slots=True)
class CoordinateRange:
    """Coordinates [lo, lo + size), once each, for all values of the ``loops``.

    ``loops`` pairs an iteration symbol with its number of iterations. Those from ``hi``
    on are left out: a slice ends there.
    """

    lo: Expr
    size: int
    loops: tuple[tuple[Sym, Expr], ...] = ()
    hi: Expr | None = None


@dataclass(frozen=True)
class Prior:
    """What the accumulator of a loop had seen when the iteration began."""

    loop: int


@dataclass(frozen=True)
class Flaw:
    """Why the parts of a sum do not make the whole, however many follow.

    ``certain``: what is stored is wrong; else it is not known.
    """

    text: str
    certain: bool


@dataclass(frozen=True)
class ReducedDimension:
    """The coordinates of one dimension that a sum, or another reduction, has seen.

    ``terms`` are disjoint where the sum is right; ``extent`` is that of the dimension.
    A maximum may see a coordinate more than once (not ``once``).
    """

    extent: Expr
    terms: tuple[CoordinateRange | Prior, ...]
    fn: str = "sum"
    once: bool = True
    flaw: Flaw | None = None


@quickly_made
@dataclass(frozen=True, eq=False, slots=True)
class Sets:
    """A partly reduced dimension: element e has seen ``lo + table[ids[e]]``.

    For the ``lo`` of every term; terms have size 1.
    """

    ids: Ints
    table: Ints
    terms: tuple[CoordinateRange | Prior, ...]
    once: bool = True
    flaw: Flaw | None = None


@quickly_made
@dataclass(frozen=True, eq=False, slots=True)
class Lane:
    """A sum per element: element e has seen ``lo + offs[e]`` of every term.

    This is what ``acc = acc + x`` makes of tiles further and further on. Terms have
    size 1.
    """

    offs: Ints
    terms: tuple[CoordinateRange | Prior, ...]
    fn: str = "sum"
    once: bool = True
    flaw: Flaw | None = None


@dataclass(frozen=True)
class RowStatistic:
    """A number per row that depends on only a part of a dimension: a partial maximum.

    It is what operation ``op`` computes in the iterations ``at`` of the loops around
    it. ``dims`` are the components of its rows, ``over`` what it has seen. An ``exact``
    one is a maximum or minimum, others are computed from such.
    """

    op: int
    at: tuple[Expr, ...]
    dims: frozenset[str] = frozenset()
    over: tuple[tuple[str, tuple[ReducedDimension, ...]], ...] = ()
    exact: bool = True


@dataclass(frozen=True)
class RowTerm:
    """``times`` * ``row`` * factors to their powers; factors are uniform scalars."""

    row: RowStatistic
    factors: tuple[tuple[str, int], ...]
    times: float


@dataclass(frozen=True)
class Shift:
    """How a value depends on numbers that belong to parts of a row.

    The value is rest + terms, or rest * exp(terms) if ``exp``; the rest depends on none
    of them. It is 0 (or 1) where the value is ``pure``. ``lost`` says why the way in
    which it depends is not known.
    """

    terms: tuple[RowTerm, ...] = ()
    exp: bool = False
    pure: bool = False
    lost: str = ""


@quickly_made
@dataclass(frozen=True, eq=False, slots=True)
class AbstractValue:
    """What is known of every element of a tile or stage.

    ``kind`` describes the elements that exist. ``number`` is the value of an integer
    element; ``mask`` the conjunction that a boolean element is (None: not known).
    ``written`` is None where every element is.
    """

    shape: Shape
    tags: dict[str, Tag] = field(default_factory=dict[str, Tag])
    holes: tuple[Hole, ...] = ()
    kind: Kind = "data"
    number: Tag | None = None
    mask: tuple[Compare, ...] | None = None
    sums: dict[str, tuple[ReducedDimension, ...]] = field(
        default_factory=dict[str, tuple[ReducedDimension, ...]]
    )
    sets: dict[str, Sets] = field(default_factory=dict[str, Sets])
    lanes: dict[str, Lane] = field(default_factory=dict[str, Lane])
    extents: dict[str, Expr] = field(default_factory=dict[str, Expr])
    """Extent of the dimension behind each component."""
    loose: dict[str, int] = field(default_factory=dict[str, int])
    """Renamed components: known up to a multiple of this size."""
    limits: dict[str, Expr] = field(default_factory=dict[str, Expr])
    """Coordinates from here on are masked out by the author, for every element."""
    ends: dict[str, Expr] = field(default_factory=dict[str, Expr])
    """Coordinates from here on were not loaded: the author's slice ends there."""
    row: RowStatistic | None = None
    """Set where the value itself is a maximum or minimum, as ``sums`` says of what."""
    shift: Shift | None = None
    chain: tuple[Step, ...] = ()
    written: Bools | None = None

    def with_step(self, text: str, span: Any) -> AbstractValue:
        """The same with one more link of its chain."""
        return replace(self, chain=(*self.chain, Step(text, span)))


def uniform(base: Expr, shape: Shape) -> Coord:
    """The same coordinate for all elements."""
    return Coord(base, np.broadcast_to(np.int64(0), shape))


def known_number(value: float | int | bool) -> float | int:
    """What padding of a number holds; floats do not tell large whole numbers apart."""
    return value if type(value) is int else float(value)


def constant(value: float, shape: Shape) -> AbstractValue:
    """Every element is one number, which belongs to no coordinate."""
    return AbstractValue(shape, kind=value)


def least_limits(values: Iterable[AbstractValue]) -> dict[str, Expr]:
    """The limits of several values together."""
    return _least(v.limits for v in values)


def least_ends(values: Iterable[AbstractValue]) -> dict[str, Expr]:
    """The ends of slices of several values together."""
    return _least(v.ends for v in values)


def _least(several: Iterable[dict[str, Expr]]) -> dict[str, Expr]:
    found: dict[str, Expr] = {}
    for bounds in several:
        for name, e in bounds.items():
            known = found.get(name, e)
            found[name] = e if known == e else binary("min", known, e)
    return found
