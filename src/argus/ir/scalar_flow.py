"""A walk over the scalars of a program, in program order: where each gets its values.

An analysis of scalars (what divides them, where they lie, which are counters) says what
follows from one of these places, and inherits the walk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import assert_never

from argus.ir import ops as o
from argus.ir.dtypes import DType
from argus.ir.expr import Expr, Sym

__all__ = ["ScalarFlow"]


class ScalarFlow(ABC):
    """What is known of scalars, by name; the parts are the transfer functions."""

    def block(self, block: o.Block) -> None:
        """Follow the operations of a block."""
        for op in block.ops:
            match op:
                case o.Let():
                    self.bind(op.sym, (op.value,))
                case o.LoadScalar():
                    self.data(op.sym, op.tensor.dtype)
                case o.Extract():
                    self.data(op.sym, op.src.dtype)
                case o.For():
                    self.loop(op)
                case o.If():
                    self.block(op.then)
                    self.block(op.other)
                    for m in op.scalars:
                        self.bind(m.result, (m.then, m.other))
                case o.Roles():
                    for role in op.roles:
                        self.block(role.body)
                case (
                    o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                    | o.Synchronisation() | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    pass
                case _:
                    assert_never(op)

    @abstractmethod
    def bind(self, sym: Sym, values: tuple[Expr, ...]) -> None:
        """``sym`` is one of the values."""

    @abstractmethod
    def data(self, sym: Sym, dtype: DType) -> None:
        """``sym`` is an element of a tensor or of a tile."""

    @abstractmethod
    def loop(self, op: o.For) -> None:
        """A loop: its variable, what it carries, and its body, as often as needed."""
