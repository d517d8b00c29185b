"""Products with entries of tables of whole numbers, which no size bounds.

A reference may compute them in 64 bits, so that what wraps in fewer is another number.
So may an entry that is added to itself many times. Each is held against its type for
all entries that are admitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

from argus.ir import ops as o
from argus.ir.expr import Const, Expr
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.ir.walk import used, walk
from argus.terms import IndexSet, Integer, Term, World
from argus.terms.integers import Applied, Atom, Entry, Truncated, Truth
from argus.terms.leaves import Whole
from argus.verify.denotation import Denotation
from argus.verify.denotation.registers import PRODUCTS
from argus.verify.equality.stored import shape_of
from argus.verify.numbers.wholes import Overflow, adds_up, of_data
from argus.verify.tile_bounds import Definitions, definitions_of, fits

__all__ = ["table_products", "unbounded_product"]

_CONSTANT = 1 << 31
"""A constant with which entries of 32 bits have a product of 64 bits."""
_FEW = 16
"""So often an entry may be added to itself: references do so in 32 bits as well."""
_WIDE = ("i32", "i64")


def unbounded_product(found: Denotation, program: Program) -> Overflow | None:
    """The first product with entries of a table of which a result may not fit its type.

    ``program``: the tile program whose terms are ``found``.
    """
    products, definitions = table_products(program), definitions_of(program)
    tables = {p.name: p for p in program.params if isinstance(p, GlobalTensor)}
    for noticed in found.noticed:
        product = noticed.kind == "product"
        multiplied = product and noticed.op in products
        scaled = product and not multiplied and _counts(noticed.op, definitions)
        added = noticed.kind == "whole" and noticed.dtype.name == "i32"
        for where, x in noticed.value.cases if multiplied or scaled or added else ():
            if not multiplied and not (_has_entry(x) if scaled else _many(x)):
                continue
            inside = noticed.where & where & _within(found.world, x, tables)
            made = of_data(found, inside, x, noticed.dtype, noticed.op.span)
            if made is not None:
                return made
    return None


def _has_entry(x: Integer | Term) -> bool:
    """Whether a number depends on data: a scalar may be an entry, too."""
    data = Entry | Truth | Truncated | Applied
    if isinstance(x, Term):
        return x.constant is None and not adds_up(x)  # sums are asked where observed
    return any(isinstance(atom, data) for atom in x.all_atoms())


def _many(x: Integer | Term) -> bool:
    """Whether a sum has so many entries of a table that they are no few."""
    return isinstance(x, Integer) and any(
        abs(coefficient) > _FEW and any(isinstance(atom, Entry) for atom in monomial)
        for monomial, coefficient in x.terms.items()
    )


def _within(
    world: World, x: Integer | Term, tables: Mapping[str, GlobalTensor]
) -> IndexSet:
    """Where the entries that a number is a polynomial in are there.

    Elsewhere a load has filled something in of which nothing is stored: else it would
    be a case of its own.
    """
    found = IndexSet.universe
    for atom in _factors(x):
        if isinstance(atom, Entry) and atom.tensor in tables:
            shape = shape_of(world, tables[atom.tensor])
            for index, extent in zip(atom.indices, shape, strict=True):
                found = found & world.compare(index, ">=", 0)
                found = found & world.compare(index, "<", extent)
    return found


def _factors(x: Integer | Term) -> Iterator[Atom]:
    """The whole numbers that a polynomial has, but for those inside of sums."""
    if isinstance(x, Integer):
        yield from x.atoms()
        return
    for part in x.parts:
        for leaf, _ in part.factors:
            if isinstance(leaf, Whole):
                yield leaf.atom


def table_products(program: Program) -> list[o.Elementwise]:
    """Products with entries of a table, element by element, that no size bounds.

    Those of 64 bits with a constant are left out: they are taken to fit.
    """
    definitions = definitions_of(program)
    data: set[o.Tile] = set()
    before = -1
    while len(data) > before:
        before = len(data)
        for op in walk(program.body):
            _follow(op, data)
    return [
        op
        for op in walk(program.body)
        if isinstance(op, o.Elementwise)
        and op.fn in PRODUCTS
        and op.result in data
        and _counts(op, definitions)
    ]


def _counts(op: o.AnyOp, definitions: Definitions) -> bool:
    """Whether a product may leave its type, for all that its form says."""
    return isinstance(op, o.Elementwise) and not (
        any(_is_unit(a) for a in op.args) or _fits(op) or fits(definitions, op)
    )


def _follow(op: o.AnyOp, data: set[o.Tile]) -> None:
    """Add the tiles of whole numbers that an operation makes of entries of tables."""
    match op:
        case o.LoadGlobal() | o.LoadShared():
            if op.result.dtype.name in _WIDE:
                data.add(op.result)
        case o.RegisterOp():
            if op.result.dtype.name in _WIDE and not data.isdisjoint(used(op)):
                data.add(op.result)
        case o.For():
            for carry in op.tiles:
                if carry.init in data or carry.yielded in data:
                    data.update((carry.arg, carry.result))
        case o.If():
            for merge in op.tiles:
                if merge.then in data or merge.other in data:
                    data.add(merge.result)
        case (
            o.Roles() | o.Binding() | o.Dot() | o.Access() | o.Copy()
            | o.Synchronisation() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            pass  # it makes no tile of whole numbers of tiles
        case _:
            assert_never(op)


def _fits(op: o.Elementwise) -> bool:
    """Whether a product is taken to fit: one of 64 bits with a constant.

    References compute in 64 bits, too, so that what wraps there is the same number.
    """
    return op.result.dtype.name == "i64" and any(
        isinstance(a, Const) and abs(a.value) <= _CONSTANT for a in op.args
    )


def _is_unit(arg: o.Tile | Expr) -> bool:
    return isinstance(arg, Const) and arg.value in (-1, 0, 1)
