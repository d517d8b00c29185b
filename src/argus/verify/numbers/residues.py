"""Whole numbers of which nothing but the last bits matters, and which may wrap.

    y = (x * 1103515245 + 12345) & 2147483647     # the product may leave 32 bits

A number that wraps is the same modulo 2**bits, and stays that under what keeps residues
(`Op.keeps_residues`). A mask that is not negative, and a conversion to a type that does
not hold all of them, make the same number of both (`Op.hides_residues`). So does a
shift to the right of what has moved to the left: terms say what is left of that. What
is stored in 64 bits, with a sign, and not read again is those bits in a reference, too.
So where all that comes of a number goes through one of these, it may leave its type.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set
from dataclasses import replace

from argus.ir import ops as o
from argus.ir.ops.registers import RegisterOp
from argus.ir.program import Program
from argus.ir.tensor_reads import read
from argus.ir.tile_facts import moved_back
from argus.ir.walk import defined, used, walk
from argus.verify.denotation import Denotation

__all__ = ["last_bits", "without_residues"]


def without_residues(found: Denotation, program: Program) -> Denotation:
    """A denotation without the results of arithmetic that may leave their type.

    ``program``: the tile program whose terms are ``found``.
    """
    free = last_bits(program)
    return replace(
        found,
        noticed=tuple(
            noticed
            for noticed in found.noticed
            if noticed.kind not in ("whole", "product")
            or free.isdisjoint(defined(noticed.op))
        ),
    )


def last_bits(program: Program) -> set[o.Tile]:
    """The tiles of whole numbers of which only the last bits of their type matter."""
    users: dict[o.Tile, list[o.AnyOp]] = defaultdict(list)
    for op in walk(program.body):
        for tile in used(op):
            users[tile].append(op)
    seen, back = read(program), moved_back(program)
    found: set[o.Tile] = set()
    for tile in reversed(users):  # users come after what they use
        if tile.dtype.kind == "int" and all(
            op in back or _is_last(op, tile, seen) or _is_unseen(op, tile, found)
            for op in users[tile]
        ):
            found.add(tile)
    return found


def _is_last(op: o.AnyOp, tile: o.Tile, seen: Set[str]) -> bool:
    """Whether an operation stores a tile as a reference says it: in 64 bits."""
    tensor = op.stored_as_it_is(tile)
    return (
        tensor is not None
        and tile.dtype.name == tensor.dtype.name == "i64"
        and tensor.name not in seen
    )


def _is_unseen(op: o.AnyOp, tile: o.Tile, found: set[o.Tile]) -> bool:
    """Whether nothing that comes of a tile by an operation shows more than its bits."""
    if op.hides_residues(tile):
        return True
    return isinstance(op, RegisterOp) and op.keeps_residues(tile) and op.result in found
