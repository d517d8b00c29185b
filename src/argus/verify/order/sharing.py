"""Programs whose order is the same, looked at once.

Specialisations of a kernel often differ only in what the order of events does not
depend on: widths of global accesses, what is computed in registers, tensors that are
only touched so, what else is known to divide sizes. `essence` is a program without all
that. What is proved of it holds for every program with that essence, of which no less
is known:

    shared = SharedOrder()
    shared.proved(program, prove)    what `prove` says of the essence, once

Only proofs are shared. What is not proved has to be looked at in the program itself,
where a counterexample names all sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from argus.ir import ops as o
from argus.ir.divisors import fact_requirements, given_of
from argus.ir.expr import Expr, symbols
from argus.ir.fingerprint import fingerprint
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program, ScalarParam
from argus.ir.walk import expressions, map_blocks, plan_expressions, walk
from argus.verify.order.slicing import registers_in_flight, touches
from argus.verify.verdict import Obligation, Verdict

__all__ = ["SharedOrder", "essence"]

_Shown = tuple[Obligation, ...]


@dataclass
class SharedOrder:
    """What was proved of the order of programs, by their essence."""

    _proofs: dict[str, list[tuple[Mapping[str, int], _Shown]]] = field(
        default_factory=dict[str, list[tuple[Mapping[str, int], _Shown]]]
    )

    _open: set[str] = field(default_factory=set[str])
    """Essences that were not proved."""

    def proved(
        self, program: Program, prove: Callable[[Program], Iterable[Obligation]]
    ) -> _Shown | None:
        """The obligations of a program's order, all proved; None where one is not."""
        least = essence(program)
        given = given_of(least)
        mark = fingerprint(least, fact_requirements(least))
        if mark in self._open:
            return None
        kept = self._proofs.setdefault(mark, [])
        for known, shown in kept:
            # It was proved for more sizes, or for the same.
            if all(given.get(name, 1) % n == 0 for name, n in known.items()):
                return shown
        shown = tuple(prove(least))
        if any(one.verdict is not Verdict.PROVED for one in shown):
            self._open.add(mark)
            return None
        kept.append((given, shown))
        return shown


def essence(program: Program) -> Program:
    """The program without what the order of its events does not depend on.

    Left out: operations on registers and accesses to global memory, but for those that
    touch registers of a matrix instruction in flight; annotations; tensors that nothing
    else mentions, and what is known of them; how tensors have to be aligned.
    """
    held = registers_in_flight(program)

    def left(block: o.Block) -> o.Block:
        kept = (op for op in block.ops if not _passes(op) or touches(op, held))
        return o.Block([map_blocks(op, left) for op in kept])

    body = left(program.body)
    repeated = fact_requirements(program)
    own = [r for r in program.requirements if r not in repeated]
    params = _mentioned(program, body, [program.grid, *(r.cond for r in own)])
    least = replace(
        program, body=body, params=params, requirements=own, statics={},
        tensor_maps=[], alignments=[], outputs=[],
    )  # fmt: skip
    least.requirements += fact_requirements(least)
    return least


def _passes(op: o.AnyOp) -> bool:
    """Whether an operation has no place in the order of events."""
    match op:
        case o.RegisterOp() | o.LoadGlobal() | o.StoreGlobal() | o.Annotation():
            return True
        case (
            o.Structure() | o.Binding() | o.Dot() | o.LoadShared() | o.StoreShared()
            | o.Copy() | o.Synchronisation() | o.RingOp()
        ):  # fmt: skip
            return False
        case _:
            assert_never(op)


def _mentioned(
    program: Program, body: o.Block, others: list[Expr]
) -> list[GlobalTensor | ScalarParam]:
    """Parameters that the body mentions, or that say what a size is that it needs."""
    needed = {s.name for e in others for s in symbols(e)}
    tensors: set[str] = set()
    for op in walk(body):
        for e in (*expressions(op), *plan_expressions(op)):
            needed.update(s.name for s in symbols(e))
        tensor = _tensor(op)
        if tensor is not None:
            tensors.add(tensor.name)
    for mentioned in (True, False):
        for p in program.params:
            if not isinstance(p, GlobalTensor) or (p.name in tensors) != mentioned:
                continue
            mine = {s.name for e in (*p.shape, *p.strides) for s in symbols(e)}
            if mentioned or mine & needed:
                tensors.add(p.name)
                needed -= mine
    return [
        p for p in program.params
        if not isinstance(p, GlobalTensor) or p.name in tensors
    ]  # fmt: skip


def _tensor(op: o.AnyOp) -> GlobalTensor | None:
    """The tensor in global memory that an operation accesses."""
    match op:
        case o.LoadScalar():
            return op.tensor
        case o.CopyAsync():
            return op.src.tensor
        case o.CopyOut():
            return op.dst.tensor
        case o.LoadGlobal() | o.StoreGlobal():
            return op.view.tensor
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Dot() | o.LoadShared()
            | o.StoreShared() | o.Synchronisation() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return None
        case _:
            assert_never(op)
