"""Annotations: what an author says *about* a program. They do nothing.

    Tag      an element carries these components from here on
    Check    a relation between the tags of elements, to be proved
    Assume   a fact about run-time values, taken as true and listed in every report
    Expect   performance facts that are binding for this kernel
    Trust    what is unknown about a statement is accepted, and listed
    Print    values are printed when it runs: the only one that is code

An annotation but the last one reads and defines nothing (:func:`argus.ir.walk.used` of
it is empty): it keeps no value alive, needs no wait, and placing neither moves nor
looks at it. The code generator drops those first (:func:`without_annotations`), so that
the printed kernel is the same with and without them.

An annotation stands in program order, and speaks of values as they are there: a tile is
its single assignment, a shared view is what its bytes hold at that point of its role.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from argus.ir.expr import Expr, Sym
from argus.ir.memory import GlobalTensor, SharedView
from argus.ir.op import Annotation, Inner, Mentioned, Operand

if TYPE_CHECKING:
    from argus.diagnostics import Span
    from argus.ir.ops import Block, Tile
    from argus.ir.program import Program


@dataclass(eq=False)
class Print(Annotation):
    """Each time that it is reached, these values are printed; nothing else happens.

    At most one of them is a tile: then there is a line for each of its elements, else
    one line. Unlike the others it reads its operands, and is code.
    """

    text: str
    values: tuple[Operand[Tile] | Expr, ...]


@dataclass(eq=False)
class Tag(Annotation):
    """From here on, each element of ``target`` has these components in its tag.

    ``components`` pairs a name with an integer expression over uniform symbols and over
    ``axis(i)``, coordinate i of the element in ``target``. A component that the tag
    already has is replaced; the others stay. Tagging a tensor tags what is loaded from
    it *after* this point of the program (in every role: a tag of a tensor stands before
    the roles). A shared tile is tagged as what its bytes hold there: for all who read
    them if this role wrote them, else for this role, until it or a fill overwrites
    them. A tag is a claim of the author's, not an obligation.
    """

    target: Mentioned[Tile | SharedView | GlobalTensor]
    components: Mentioned[tuple[tuple[str, Expr], ...]]

    def is_of_names(self) -> bool:
        """It speaks of components of elements."""
        return True


@dataclass(eq=False)
class Check(Annotation):
    """For each coordinate c of ``shape``, ``cond`` holds: an obligation (AG0314).

    Argument i takes part with its element at ``c[a] for a in axes[i]``: axes with one
    name run together, like those of an element-wise operation; an axis that an argument
    lacks means all combinations. In ``cond``, ``component(i, name)`` is the component
    ``name`` of the tag of argument i's element; other symbols are uniform. An element
    without that component: unknown. Padding (an element outside its tensor) is skipped.
    """

    args: Mentioned[tuple[Tile | SharedView, ...]]
    axes: tuple[tuple[int, ...], ...]
    shape: tuple[int, ...]
    dims: tuple[str | None, ...]
    cond: Mentioned[Expr]

    def is_of_names(self) -> bool:
        """It speaks of components of elements."""
        return True


@dataclass(eq=False)
class Assume(Annotation):
    """``cond`` holds at run time; nobody proves it.

    Without ``tables``, ``cond`` is over uniform symbols, and holds whenever control
    reaches this point. With them it holds for each coordinate i of the tables (they
    have one shape): ``elements[t]`` stands for element i of ``tables[t]``. With
    ``others``, it holds for each pair of different coordinates i and j: ``others[t]``
    stands for element j. ``text`` is the condition as the author wrote it.
    """

    cond: Mentioned[Expr]
    text: str
    tables: tuple[GlobalTensor, ...] = ()
    elements: Inner[tuple[Sym, ...]] = ()
    others: Inner[tuple[Sym, ...]] = ()

    def is_of_pairs(self) -> bool:
        """With others it does."""
        return bool(self.others)


Fact = Literal[
    "bank_conflicts",  # most wavefronts beyond the ideal, of any shared access
    "excess_sectors",  # most 32-byte sectors beyond the ideal, of any global request
    "access_bytes",  # least bytes per thread of any global access
    "occupancy",  # least resident blocks per multiprocessor
    "spills",  # most spilled bytes per thread
    "registers",  # most registers per thread
]
"""What an Expect can bound; the comment says in which direction."""


@dataclass(eq=False)
class Expect(Annotation):
    """Findings of these kinds are binding for the whole kernel (AG0513)."""

    facts: tuple[tuple[Fact, int], ...]


@dataclass(eq=False)
class Trust(Annotation):
    """What is unknown of the statement ``covers`` is accepted because of ``reason``.

    ``covers`` is the statement after the annotation, with what it contains. With
    ``whole`` it covers obligations about the kernel as a whole (at its ``def``), too.
    What is refuted stays so.
    """

    reason: str
    covers: Span
    whole: bool = False


AnyAnnotation = Tag | Check | Assume | Expect | Trust
"""Every annotation that makes no code."""


def component(argument: int, name: str) -> Sym:
    """The symbol of a component of an argument's tag, in the condition of a Check."""
    return Sym(f"{argument}.{name}", "tag", nonneg=False)


def annotations_of(program: Program) -> Iterator[AnyAnnotation]:
    """All annotations of a program, in program order."""
    from argus.ir.walk import walk

    for op in walk(program.body):
        if isinstance(op, AnyAnnotation):
            yield op


def without_annotations(program: Program) -> Program:
    """The program without annotations: itself, if it has none, else a copy.

    The copy has new blocks, loops, branches and roles; every other operation is shared.
    """
    if next(annotations_of(program), None) is None:
        return program
    return replace(program, body=_stripped(program.body))


def _stripped(block: Block) -> Block:
    from argus.ir import ops as o
    from argus.ir.walk import map_blocks

    ops = (op for op in block.ops if not isinstance(op, AnyAnnotation))
    return o.Block([map_blocks(op, _stripped) for op in ops])
