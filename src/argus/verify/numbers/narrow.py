"""Sums that are kept in 16 bits: each addition rounds to 8 or 11 bits (AG0333).

From some 256 terms of one size on, a sum in bf16 does not grow any more. A loop that
carries an accumulator on in 16 bits, and blocks that add to a tensor of 16 bits, do
that; one addition (a residual) does not, and neither does a sum inside of one tile,
which is computed in f32.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.ir import ops as o
from argus.ir.dtypes import DType
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.verify.denotation import Denotation
from argus.verify.numbers.finding import NumericalFinding

__all__ = ["narrow_sums"]

RULE = "AG0333"


def narrow_sums(program: Program, found: Denotation) -> Iterator[NumericalFinding]:
    """Accumulators of loops, and tensors that blocks add to."""
    for noticed in found.noticed:
        if noticed.kind == "sum" and isinstance(noticed.op, o.For):
            yield _finding(noticed.name, noticed.dtype, noticed.op, "each turn adds")
    for op in walk(program.body):
        if isinstance(op, o.StoreGlobal) and op.atomic == "add":
            tensor = op.view.tensor
            if _narrow(tensor.dtype):
                yield _finding(tensor.name, tensor.dtype, op, "each block adds")


def _narrow(dtype: DType) -> bool:
    return dtype.is_float and dtype.bits <= 16


def _finding(name: str, dtype: DType | None, op: o.AnyOp, who: str) -> NumericalFinding:
    kind = "16 bits" if dtype is None else dtype.name
    return NumericalFinding(
        RULE,
        f"the sum `{name}` is kept in {kind}",
        op.span,
        f"{who} to it, and rounds",
        help="keep it in f32, and convert the whole sum",
    )
