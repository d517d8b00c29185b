"""Recurrent layers of ATen: LSTM, GRU and RNN, over all steps of time.

Products with the inputs do not depend on time, and are one product for all steps of a
layer. What a step computes of it and of the state before is a program of its own, which
is planned once; its kernels are launched for each step (`recurrences.py`). States of
all steps are one value, which is the result of the layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argus.programs.tensors.numpy_functions import contracted, product_precision
from argus.programs.tensors.operator_table import own
from argus.programs.tensors.recorder import ProgramRecorder
from argus.programs.tensors.recurrent_calls import RecurrentCall
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import (
    GivenPrimitive,
    TensorProgram,
    TorchPrimitive,
    UntranslatedError,
    ViewedValue,
)

_FEW_ROWS = 32
"""Sequences up to which a step sums products in each block, from the L2 cache."""

Cell = Callable[..., tuple[TensorArray, ...]]
"""New states, of the product with the input, states, products, and the bias."""


@dataclass(frozen=True)
class _Kind:
    """A layer: ``gates`` rows of weights for each unit, so many ``states``.

    ``whole``: both biases are added to the product with the inputs.
    """

    name: str
    gates: int
    states: int
    cell: Cell
    whole: bool = True


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def _lstm_cell(
    x: Any, states: Sequence[TensorArray], products: Sequence[Any], bias: Any
) -> tuple[Any, ...]:
    gate = [x[:, i] + product for i, product in enumerate(products)]
    c = _sigmoid(gate[1]) * states[1] + _sigmoid(gate[0]) * np.tanh(gate[2])
    return _sigmoid(gate[3]) * np.tanh(c), c


def _gru_cell(
    x: Any, states: Sequence[Any], products: Sequence[Any], bias: Any
) -> tuple[Any, ...]:
    if bias is not None:
        products = [p + bias[i] for i, p in enumerate(products)]
    reset = _sigmoid(x[:, 0] + products[0])
    update = _sigmoid(x[:, 1] + products[1])
    new: Any = np.tanh(x[:, 2] + reset * products[2])
    return (new + update * (states[0] - new),)


def _tanh_cell(
    x: Any, states: Sequence[Any], products: Sequence[Any], bias: Any
) -> tuple[Any, ...]:
    return (np.tanh(x[:, 0] + products[0]),)


def _relu_cell(
    x: Any, states: Sequence[Any], products: Sequence[Any], bias: Any
) -> tuple[Any, ...]:
    return (np.maximum(x[:, 0] + products[0], 0.0),)


_LSTM = _Kind("lstm", 4, 2, _lstm_cell)
_GRU = _Kind("gru", 3, 1, _gru_cell, whole=False)
_TANH = _Kind("rnn", 1, 1, _tanh_cell)
_RELU = _Kind("rnn", 1, 1, _relu_cell)


@own("lstm.input")
def lstm(
    x: TensorArray, states: Sequence[TensorArray], weights: Sequence[TensorArray],
    biases: bool, layers: int, dropout: float, train: bool, both: bool, first: bool,
) -> list[TensorArray]:  # fmt: skip
    """The last layer's states, and the last ones of each layer, of both kinds."""
    if states[0].shape != states[1].shape:
        raise UntranslatedError("an LSTM with projections")
    dropped = dropout if train else 0.0
    return _layers(_LSTM, x, states, weights, biases, layers, dropped, both, first)


def _of_one_state(kind: _Kind) -> Callable[..., list[TensorArray]]:
    def made(
        x: TensorArray, state: TensorArray, weights: Sequence[TensorArray],
        biases: bool, layers: int, dropout: float, train: bool, both: bool, first: bool,
    ) -> list[TensorArray]:  # fmt: skip
        dropped = dropout if train else 0.0
        return _layers(kind, x, [state], weights, biases, layers, dropped, both, first)

    return made


own("gru.input")(_of_one_state(_GRU))
own("rnn_tanh.input")(_of_one_state(_TANH))
own("rnn_relu.input")(_of_one_state(_RELU))


def _layers(
    kind: _Kind, x: TensorArray, states: Sequence[TensorArray],
    weights: Sequence[TensorArray], biases: bool, layers: int, dropout: float,
    both: bool, first: bool,
) -> list[TensorArray]:  # fmt: skip
    """The result of the last layer, and for each state the last one of each layer."""
    if dropout:
        raise UntranslatedError("dropout between layers")
    if not x.size or not states[0].size:
        raise UntranslatedError("a recurrence without elements")
    in_time: Any = np.swapaxes(x, 0, 1) if first else x
    sequence: TensorArray = in_time
    ways, each = 2 if both else 1, 4 if biases else 2
    if len(weights) != layers * ways * each:
        raise UntranslatedError("weights of another number")
    last: list[list[TensorArray]] = [[] for _ in states]
    for layer in range(layers):
        found: list[TensorArray] = []
        for way in range(ways):
            at = layer * ways + way
            own_weights = list(weights[at * each : (at + 1) * each])
            start = [s[at] for s in states]
            made = _recurrent(kind, sequence, start, own_weights, bool(way))
            found.append(made[0])
            for one, values in zip(last, made, strict=True):
                one.append(values[0 if way else -1])
        wide: Any = np.concatenate(found, -1) if both else found[0]
        sequence = wide
    result: Any = np.swapaxes(sequence, 0, 1) if first else sequence
    ends: Any = [np.stack(one) for one in last]
    return [result, *ends]


def _recurrent(
    kind: _Kind, x: TensorArray, start: Sequence[TensorArray],
    weights: Sequence[TensorArray], reverse: bool,
) -> list[TensorArray]:  # fmt: skip
    """All states of a layer in one direction, each (T, B, H)."""
    recorder = x.recorder
    into, across, *bias = weights
    steps, rows, _ = x.shape
    units = start[0].shape[-1]
    product = contracted(
        recorder, x.operand, into.operand, "tbk", "nk", "tbn",
        dtype=x.element, precision=product_precision(),
    )  # fmt: skip
    total: Any = TensorArray(recorder, product)
    if bias:
        total = total + bias[0]
    if bias and kind.whole:
        total = total + bias[1]
    more = bias[1:] if bias and not kind.whole else []
    given = [total.cast(x.element), *start, across, *more]
    operands = tuple(_stored(a) for a in given)
    body = _body(kind, operands, rows, units)
    call = RecurrentCall(
        f"aten.{kind.name}", None, (), {}, operands, "it has no kernel",
        body=body, steps=steps, states=kind.states, reverse=reverse,
    )  # fmt: skip
    shape = (steps, rows, units)
    return [
        TensorArray(
            recorder,
            recorder.made(kind.name, shape, x.element, TorchPrimitive(call, i)),
        )
        for i in range(kind.states)
    ]


def _stored(array: TensorArray) -> ViewedValue:
    """As a dense value that is there."""
    operand = array.operand
    return array.recorder.copied(operand) if operand.views else operand


def _body(
    kind: _Kind, operands: Sequence[ViewedValue], rows: int, units: int
) -> TensorProgram:
    """What one step computes: given are the operands, of the first that of the step."""
    recorder = ProgramRecorder()
    names = ["x", *("h", "c")[: kind.states], "weight", "bias"]
    given: list[TensorArray] = []
    for number, (name, operand) in enumerate(zip(names, operands, strict=False)):
        shape = operand.shape[1:] if not number else operand.shape
        constant = number > kind.states
        made = GivenPrimitive("weight" if constant else "input", name, shape, ())
        given.append(
            TensorArray(
                recorder, recorder.given(name, shape, operand.value.dtype, made)
            )
        )
    x, states = given[0], given[1 : 1 + kind.states]
    weight, *bias = given[1 + kind.states :]
    gates = x.reshape(rows, kind.gates, units)
    products = _products(states[0], weight, kind.gates, rows)
    shared = bias[0].reshape(kind.gates, units) if bias else None
    new = kind.cell(gates, states, products, shared)
    results = tuple(n.cast(s.element).operand for n, s in zip(new, states, strict=True))
    assert all(not r.views for r in results)
    return TensorProgram(tuple(recorder.values), results)


def _products(
    h: TensorArray, weight: TensorArray, gates: int, rows: int
) -> list[TensorArray]:
    """For each gate the products of all units with the state, (B, H)."""
    recorder, units = h.recorder, h.shape[-1]
    if rows > _FEW_ROWS:
        product = contracted(
            recorder, h.operand, weight.operand, "bk", "nk", "bn",
            dtype=h.element, precision=product_precision(),
        )  # fmt: skip
        whole = TensorArray(recorder, product).reshape(rows, gates, units)
        return [whole[:, g] for g in range(gates)]
    parts = weight.reshape(gates, units, units)
    found: list[Any] = [
        np.sum(h[:, None, :] * parts[g][None], -1) for g in range(gates)
    ]
    return found
