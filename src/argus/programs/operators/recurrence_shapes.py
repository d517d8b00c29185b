"""What torch asks of recurrent layers while it exports: their shapes, not their steps.

Torch's own answer takes a layer apart, step by step, and takes minutes for some
hundred steps.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


def _lstm(
    x: Any, states: Any, weights: Any, biases: bool, layers: int, dropout: float,
    train: bool, both: bool, first: bool,
) -> Any:  # fmt: skip
    return (_result(x, states[0], both), *(s.new_empty(s.shape) for s in states))


def _one_state(
    x: Any, state: Any, weights: Any, biases: bool, layers: int, dropout: float,
    train: bool, both: bool, first: bool,
) -> Any:  # fmt: skip
    return _result(x, state, both), state.new_empty(state.shape)


def _result(x: Any, state: Any, both: bool) -> Any:
    return x.new_empty((*x.shape[:2], state.shape[2] * (2 if both else 1)))


@contextmanager
def shapes_alone() -> Generator[None]:
    """Within it, torch's graphs are made without looking into recurrent layers.

    Only for exporting: what is computed within it has no elements.
    """
    import torch
    from torch import _decomp

    table: dict[Any, Any] = vars(_decomp)["decomposition_table"]
    aten = torch.ops.aten
    made: dict[Any, Any] = {
        aten.lstm.input: _lstm,
        aten.gru.input: _one_state,
        aten.rnn_tanh.input: _one_state,
        aten.rnn_relu.input: _one_state,
    }
    kept = {op: dict(op.py_kernels) for op in made}
    whole = {op: table[op] for op in made if op in table}
    try:
        table.update((op, made[op]) for op in whole)
        for op, shapes in made.items():
            for key in op.py_kernels:
                op.py_kernels[key] = shapes
            op._dispatch_cache.clear()
        yield
    finally:
        table.update(whole)
        for op, kernels in kept.items():
            op.py_kernels.clear()
            op.py_kernels.update(kernels)
            op._dispatch_cache.clear()
