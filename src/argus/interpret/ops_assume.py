"""What a program assumes about run-time values, held against the values of a run.

An assumption that does not hold is a fault of the arguments, not of the program; it is
reported, since nothing that was proved applies to such a run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.interpret.machine import ThreadGroup
from argus.ir import ops as o
from argus.ir.expr import evaluate

__all__ = ["run"]

_PAIRS = 1 << 12
"""Most elements of a table whose pairs are compared."""


def run(group: ThreadGroup, op: o.Assume) -> None:
    """Evaluate the condition; a fault of kind "assumption" where it is false.

    Of tables with more than 4096 elements, pairs are compared of the first 4096 only.
    """
    env = dict(group.env)
    arrays = [
        group.cluster.arrays[t.name].array.reshape(-1).astype(np.int64)
        for t in op.tables
    ]
    if op.others:
        arrays = [a[:_PAIRS] for a in arrays]
        for sym, other, array in zip(op.elements, op.others, arrays, strict=True):
            env[sym.name], env[other.name] = array[:, None], array[None, :]
    else:
        for sym, array in zip(op.elements, arrays, strict=True):
            env[sym.name] = array
    holds: Any = np.asarray(evaluate(op.cond, env), dtype=bool)
    if op.others and arrays:
        holds = holds | np.eye(len(arrays[0]), dtype=bool)
    if holds.all():
        return
    where = ""
    if op.tables:
        first = np.argwhere(np.broadcast_to(~holds, holds.shape))[0]
        position = ", ".join(str(int(i)) for i in first)
        where = f" at position {position} of {', '.join(t.name for t in op.tables)}"
    group.cluster.faults.add(
        "assumption", group, f"`{op.text}` is assumed, and false{where}", op=op
    )
