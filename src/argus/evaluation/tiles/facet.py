"""One way in which a condition of a program can turn out, and what looks for it."""

from __future__ import annotations

from dataclasses import dataclass

from argus.evaluation.tiles.decisions import Probe
from argus.ir import ops as o
from argus.ir.expr import Expr

__all__ = ["Facet", "Pair", "Scope"]

Scope = tuple["o.Let | o.LoadScalar | o.For | tuple[Expr, bool]", ...]
"""What is known at an operation, outermost first; pairs are branches taken."""


@dataclass(frozen=True, eq=False)
class Facet:
    """One way in which something turns out.

    ``text`` says it as a sentence; ``mark`` is the same for the same condition of
    another program; ``shape`` are the extents of the axes in ``when``. ``decides``:
    what is computed may depend on it by a choice of the author; accesses at the end of
    a tensor and iterations of loops do not, whose proofs are others' business.
    """

    op: o.AnyOp
    text: str
    mark: str
    scope: Scope
    when: Expr | None
    shape: tuple[int, ...] = ()
    decides: bool = True
    compares: bool = False
    """A comparison, or a combination of comparisons."""
    places: bool = False
    """A quotient or an extreme of whole numbers: it says which element is meant."""
    drivable: bool = True
    """Whether a run can show it."""
    shares: bool = False
    """An iteration by which a block has its share of what all share out. Runs of few
    blocks look for it; a problem that is launched whole shows it anyhow."""
    required: bool = True
    """Whether nothing is known of a kernel of which no run has shown it. Of two
    conditions that meet it is not known whether they can hold together."""


@dataclass(eq=False)
class Pair:
    """Two facets of one condition, and what looks which of them are there.

    ``stores``: all that its elements reach, each at its own place. Then only those
    count that are stored: others lie beside a tensor. None where that is not so.
    """

    probe: Probe
    facets: tuple[Facet, Facet]
    stores: frozenset[o.AnyOp] | None = None
