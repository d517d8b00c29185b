"""What torch takes for granted of sizes, as sets of them.

    "4*A*(B // 4) == A*B"       # a reshape: B mod 4 is 0
    "1 < A*B"                   # not both are 1

No tensor is empty, so that each size is at least 1: what all terms of a comparison
are multiplied by is left out, and a product of sizes is 1 where all of them are. Sets,
to which a product is one more number, know nothing of either.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from argus.specification.tracing import Tracing
from argus.terms import IndexSet, Integer, Unknown, World
from argus.terms.integers import Atom, Comparison, Monomial, without_factors
from argus.terms.sets import intersection, union

__all__ = ["require_guard"]

_COMPARISONS: dict[type[ast.cmpop], Comparison] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=",
}  # fmt: skip

_TURNED: dict[Comparison, Comparison] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def require_guard(
    tracing: Tracing, guard: str, sizes: Mapping[str, Integer], of: str
) -> None:
    """A condition in Python on sizes, each of at least 1, as needs.

    ``of``: who says so. Raises Unknown for what sets of sizes cannot say, and where it
    never holds.
    """
    try:
        read = ast.parse(guard.strip(), mode="eval").body
    except SyntaxError as error:
        raise Unknown(f"what {of} says of sizes: {guard}") from error
    guards = _Guards(tracing.world, sizes)
    for part in _conjuncts(read):
        divided = guards.divided(part)
        if divided is not None:
            tracing.need_divides(*divided)
            continue
        where = guards.where(part)
        tracing.need(where, f"{where} ({of})", shape=True)


def _conjuncts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for part in node.values:
            yield from _conjuncts(part)
    else:
        yield node


class _Guards:
    """Conditions of one graph. ``sizes``: what its names stand for."""

    def __init__(self, world: World, sizes: Mapping[str, Integer]) -> None:
        self.world, self.sizes = world, sizes
        self.atoms = {size.single for size in sizes.values()}

    def divided(self, node: ast.expr) -> tuple[Integer, Integer] | None:
        """A positive number and what it divides, if that is all a condition says."""
        match node:
            case ast.Compare(
                left=ast.BinOp(left=whole, op=ast.Mod(), right=ast.Constant(value=by)),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=0)],
            ) if isinstance(by, int) and by > 0:
                return Integer.of(by), self.integer(whole)
            case _:
                return None

    def where(self, node: ast.expr) -> IndexSet:
        """Where a condition holds. Raises Unknown for what is none of those here."""
        match node:
            case ast.BoolOp(op=ast.And(), values=parts):
                return intersection(map(self.where, parts))
            case ast.BoolOp(op=ast.Or(), values=parts):
                return union(map(self.where, parts))
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return ~self.where(part)
            case ast.Compare(
                left=left, ops=[ast.GtE()], comparators=[ast.Constant(value=0)]
            ) if self.is_natural(left):
                return IndexSet.universe
            case ast.Compare(left=left, ops=ops, comparators=others):
                found, before = IndexSet.universe, self.integer(left)
                for op, other in zip(ops, others, strict=True):
                    after = self.integer(other)
                    if type(op) not in _COMPARISONS:
                        raise Unknown(f"the guard {ast.unparse(node)}")
                    found &= self._compared(before - after, _COMPARISONS[type(op)])
                    before = after
                return found
            case _:
                raise Unknown(f"the guard {ast.unparse(node)}")

    def is_natural(self, node: ast.expr) -> bool:
        """Whether a number, also a float, is made of those that are at least 0."""
        match node:
            case ast.Name(id=name):
                return name in self.sizes
            case ast.Constant(value=int(value) | float(value)):
                return value >= 0
            case ast.BinOp(
                left=left,
                op=ast.Add() | ast.Mult() | ast.Div() | ast.Pow(),
                right=right,
            ):
                return self.is_natural(left) and self.is_natural(right)
            case ast.Call(func=ast.Attribute(attr="sym_float"), args=[part]):
                return self.is_natural(part)
            case _:
                return False

    def integer(self, node: ast.expr) -> Integer:
        """A number in a condition. Raises Unknown for what is none of those here."""
        match node:
            case ast.Name(id=name) if name in self.sizes:
                return self.sizes[name]
            case ast.Constant(value=int(value)):
                return Integer.of(value)
            case ast.UnaryOp(op=ast.USub(), operand=part):
                return -self.integer(part)
            case ast.BinOp(left=left, op=op, right=right):
                return self._operated(self.integer(left), op, self.integer(right))
            case ast.Call(func=ast.Name(id="Max" | "max"), args=args):
                return reduce(self.world.maximum, map(self.integer, args))
            case ast.Call(func=ast.Name(id="Min" | "min"), args=args):
                return reduce(self.world.minimum, map(self.integer, args))
            case _:
                raise Unknown(f"the guard of {ast.unparse(node)}")

    def _operated(self, left: Integer, op: ast.operator, right: Integer) -> Integer:
        match op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.FloorDiv():
                return self.world.quotient(left, right)
            case ast.Mod():
                return self.world.remainder(left, right)
            case _:
                raise Unknown(f"a guard with {type(op).__name__}")

    def _compared(self, difference: Integer, op: Comparison) -> IndexSet:
        """Where a difference is ``op`` 0, for sizes of at least 1."""
        compare = self.world.compare
        common = self._common(list(difference.terms))
        left: dict[Monomial, int] = {}
        for monomial, factor in difference.terms.items():
            rest = without_factors(monomial, common)
            assert rest is not None
            left[rest] = factor
        difference = Integer(left)
        product = next((m for m in left if m), ())
        if len(product) > 1 and difference == Integer({product: 1, (): -1}):
            sizes = [Integer.atom(a) for a in product]
        elif len(product) > 1 and difference == Integer({product: -1, (): 1}):
            sizes = [Integer.atom(a) for a in product]
            op = _TURNED.get(op, op)
        else:
            return compare(difference, op, 0)
        if not self._are_sizes(product):
            return compare(difference, op, 0)
        match op:
            case "<":
                return IndexSet.nothing
            case ">=":
                return IndexSet.universe
            case "==" | "<=":
                return intersection(compare(n, "==", 1) for n in sizes)
            case _:
                return union(compare(n, ">", 1) for n in sizes)

    def _common(self, monomials: Sequence[Monomial]) -> Monomial:
        """The sizes that all terms are multiplied by."""
        left, *others = monomials or [()]
        found: list[Atom] = []
        for atom in left:
            if self._are_sizes((atom,)) and all(
                m.count(atom) > found.count(atom) for m in others
            ):
                found.append(atom)
        return tuple(found)

    def _are_sizes(self, monomial: Monomial) -> bool:
        return all(a in self.atoms for a in monomial)
