"""Conditions of branches as questions about numbers of iterations.

    if k + 64 < K:          in a loop over range(0, K, 64): whether n > iteration + 1
    if steps % 2 == 1:      beside a loop over range(0, steps // 2): which n it is
    if t > 0:               whether this is a later iteration than the first
    if Valid[t] > 0:        a number of its own, the same for all roles

A condition is a tree of ``form > 0``. A form is a function of the number of a loop
around the branch and of that loop's iteration, or of a number that belongs to the same
iterations as the branch; what is neither is a number of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar, assert_never, cast

from argus.ir.expr import Binary, Const, Expr, Select, Sym, binary
from argus.verify.decide.normal import Normal
from argus.verify.decide.polynomial import Poly, constant
from argus.verify.order.loop_counts import TripCount

__all__ = ["BranchTest", "Either", "Positive", "Tests", "parts", "tree"]


Leaf = TypeVar("Leaf")
Other = TypeVar("Other")


@dataclass(frozen=True)
class Positive:
    """``form > 0``, or that it is not."""

    form: Poly
    inverted: bool = False


@dataclass(frozen=True)
class BranchTest:
    """Whether ``count(n) + by * iteration > 0``; ``inverted``: whether it is not.

    ``kind``: of n; None where there is none, and ``count`` is constant. ``level``: the
    loop around the branch whose number and iteration these are; None for a number of
    the iterations that the branch is in.
    """

    kind: int | None
    count: TripCount
    by: int = 0
    level: int | None = None
    inverted: bool = False

    @property
    def later(self) -> int:
        """Without a number: the iteration from which on it stays as it is."""
        return abs(self.count.constant) // abs(self.by) + 2 if self.by else 0


@dataclass(frozen=True)
class Either(Generic[Leaf]):
    """Both, or one of them."""

    both: bool
    left: Leaf | Either[Leaf]
    right: Leaf | Either[Leaf]

    def map(self, of: Callable[[Leaf], Other]) -> Either[Other]:
        """The same tree of something else."""

        def one(x: Leaf | Either[Leaf]) -> Other | Either[Other]:
            if isinstance(x, Either):
                return cast("Either[Leaf]", x).map(of)
            return of(x)

        return Either(self.both, one(self.left), one(self.right))


Tests = BranchTest | Either[BranchTest]
"""What a branch asks."""


def parts(found: Leaf | Either[Leaf]) -> Iterator[Leaf]:
    """The leaves of a tree."""
    if isinstance(found, Either):
        several = cast("Either[Leaf]", found)
        yield from parts(several.left)
        yield from parts(several.right)
    else:
        yield found


def tree(context: Normal, cond: Expr) -> Positive | Either[Positive]:
    """A condition as a tree. Raises Unmodelled."""
    match cond:
        case Binary(op="and" | "or"):
            left, right = tree(context, cond.left), tree(context, cond.right)
            return Either(cond.op == "and", left, right)
        case Binary(op="<" | "<="):
            more = context.of(binary("-", cond.right, cond.left))
            return Positive(more + constant(cond.op == "<="))
        case Binary(op=">" | ">="):
            more = context.of(binary("-", cond.left, cond.right))
            return Positive(more + constant(cond.op == ">="))
        case Binary(op="==" | "!="):
            apart = context.of(binary("-", cond.left, cond.right))
            least = Positive(apart + constant(1), inverted=cond.op == "!=")
            most = Positive(apart, inverted=cond.op == "==")
            return Either(cond.op == "==", least, most)
        case Const() | Sym() | Binary() | Select():
            return Either(
                False, Positive(context.of(cond)), Positive(-context.of(cond))
            )
        case _:
            assert_never(cond)
