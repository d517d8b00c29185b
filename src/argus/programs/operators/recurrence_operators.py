"""Recurrent layers of ATen: LSTM, GRU and RNN, over all steps of time.

Products with the inputs do not depend on time, and are one product for all steps of a
layer. What a step computes of it and of the state before is a program of its own, which
is planned once; its kernels are launched for each step (`recurrences.py`). States of
all steps are one value, which is the result of the layer.

A launch of few sequences takes as long as it takes to begin. So what does not depend on
each other is one: both directions of a layer, and of layers above each other each at
the time at which those below have come as far: layer l is l steps behind the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from argus.programs.tensors.numpy_functions import (
    contracted,
    flip,
    product_precision,
)
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

_STACKED = 32 << 20
"""Bytes of weights of all layers, up to which they stay in the L2 cache."""

Kept = Callable[[int, Any], Any]
"""A new state, or the one before where it is not to change: number, what is new."""
Cell = Callable[..., tuple[Any, ...]]
"""New states, of each gate's product with the input and with the state before, of
states, of each gate's bias, and of `Kept`."""


@dataclass(frozen=True)
class _Kind:
    """A layer: ``gates`` rows of weights for each unit, so many ``states``.

    ``whole``: both biases are added to the product with the inputs. ``apart``: gates
    that are no sum of that and the product with a state.
    """

    name: str
    gates: int
    states: int
    cell: Cell
    whole: bool = True
    apart: tuple[int, ...] = ()


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def _lstm_cell(
    x: Sequence[Any],
    products: Sequence[Any],
    states: Sequence[Any],
    bias: Any,
    kept: Kept,
) -> tuple[Any, ...]:
    gate = [own + product for own, product in zip(x, products, strict=True)]
    c = kept(1, _sigmoid(gate[1]) * states[1] + _sigmoid(gate[0]) * np.tanh(gate[2]))
    return kept(0, _sigmoid(gate[3]) * np.tanh(c)), c


def _gru_cell(
    x: Sequence[Any],
    products: Sequence[Any],
    states: Sequence[Any],
    bias: Any,
    kept: Kept,
) -> tuple[Any, ...]:
    if bias is not None:
        products = [p + b for p, b in zip(products, bias, strict=True)]
    reset = _sigmoid(x[0] + products[0])
    update = _sigmoid(x[1] + products[1])
    new: Any = np.tanh(x[2] + reset * products[2])
    return (kept(0, new + update * (states[0] - new)),)


def _tanh_cell(
    x: Sequence[Any],
    products: Sequence[Any],
    states: Sequence[Any],
    bias: Any,
    kept: Kept,
) -> tuple[Any, ...]:
    return (kept(0, np.tanh(x[0] + products[0])),)


def _relu_cell(
    x: Sequence[Any],
    products: Sequence[Any],
    states: Sequence[Any],
    bias: Any,
    kept: Kept,
) -> tuple[Any, ...]:
    return (kept(0, np.maximum(x[0] + products[0], 0.0)),)


_LSTM = _Kind("lstm", 4, 2, _lstm_cell)
_GRU = _Kind("gru", 3, 1, _gru_cell, whole=False, apart=(2,))
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
    own_weights = [list(weights[at : at + each]) for at in range(0, len(weights), each)]
    deep = [own_weights[0][1].shape, *(w.shape for w in own_weights[-1][:2])]
    if layers > 1 and not both and _worth_stacking(sequence, deep, layers):
        sequence, *ends = _stacked_layers(kind, sequence, states, own_weights)
    else:
        ends: list[list[TensorArray]] = [[] for _ in states]
        for at in range(0, len(own_weights), ways):
            start = [s[at : at + ways] for s in states]
            made = _layer(kind, sequence, start, own_weights[at : at + ways])
            for one, values in zip(ends, made, strict=True):
                one += [values[-1, way] for way in range(ways)]
            sequence = made[0][:, 0]
            if both:
                found = [sequence, flip(made[0][:, 1], 0)]
                sequence = np.concatenate(found, -1)  # type: ignore[call-overload]
    result: Any = np.swapaxes(sequence, 0, 1) if first else sequence
    return [result, *(np.stack(one) for one in ends)]  # type: ignore[call-overload]


def _worth_stacking(
    x: TensorArray, shapes: Sequence[tuple[int, ...]], layers: int
) -> bool:
    """Whether launches of one layer would have little to do, and weights stay near."""
    bytes_ = 2 * layers * prod(shapes[0]) * x.element.bytes
    return x.shape[1] <= _FEW_ROWS and len(set(shapes)) == 1 and bytes_ <= _STACKED


def _layer(
    kind: _Kind, x: TensorArray, start: Sequence[TensorArray],
    weights: Sequence[Sequence[TensorArray]],
) -> list[TensorArray]:  # fmt: skip
    """All states of a layer, each (T, ways, B, H); the second way from behind.

    ``start``: each (ways, B, H).
    """
    inputs: list[Any] = [x, *([flip(x, 0)] if len(weights) > 1 else [])]
    totals: list[Any] = [
        _with_inputs(kind, own, given)
        for own, given in zip(inputs, weights, strict=True)
    ]
    across: Any = np.stack([w[1] for w in weights])  # type: ignore[call-overload]
    parts: Any = np.stack(totals, 1)
    body = _Body(kind, len(weights))
    return _repeated(kind, [parts], start, [across, *body.own_bias(weights)], body)


def _stacked_layers(
    kind: _Kind, x: TensorArray, states: Sequence[TensorArray],
    weights: Sequence[Sequence[TensorArray]],
) -> list[Any]:  # fmt: skip
    """The last layer's states in time, and of each kind of state each layer's last.

    In step s layer l is at time s - l; before that its states are those given.
    """
    r, layers, steps = x.recorder, len(weights), len(x)
    behind = layers - 1
    first = _with_inputs(kind, x, weights[0])
    wide: Any = np.pad(first, [(0, behind), (0, 0), (0, 0)])  # type: ignore[call-overload]
    shape = (steps + behind, layers)
    begun = r.map("ge", r.positions(shape, 0), r.positions(shape, 1))
    across: Any = np.stack([w[1] for w in weights])  # type: ignore[call-overload]
    # The first layer's products with its input are in `first`, and so are its biases.
    into: Any = np.stack([_zeros(weights[1][0]), *(w[0] for w in weights[1:])])  # type: ignore[call-overload]
    constants = [across, into]
    body = _Body(kind, layers, deep=True)
    constants += body.own_bias(weights)
    if len(weights[0]) > 2:
        added = [w[2] + w[3] if kind.whole else w[2] for w in weights[1:]]
        added = [_zeros(added[0]), *added]
        constants.append(np.stack(added))  # type: ignore[call-overload]
    parts = [wide, TensorArray(r, begun)]
    made = _repeated(kind, parts, states, constants, body)
    ends = [[one[steps - 1 + n, n] for n in range(layers)] for one in made]
    return [made[0][behind:, behind], *ends]


def _zeros(like: TensorArray) -> TensorArray:
    r = like.recorder
    return TensorArray(r, r.filled(like.shape, 0, like.element))


def _with_inputs(
    kind: _Kind, x: TensorArray, weights: Sequence[TensorArray]
) -> TensorArray:
    """The products (T, B, gates * H) with the inputs, and biases that are added."""
    product = contracted(
        x.recorder, x.operand, weights[0].operand, "tbk", "nk", "tbn",
        dtype=x.element, precision=product_precision(),
    )  # fmt: skip
    total: Any = TensorArray(x.recorder, product)
    if len(weights) > 2:
        total = total + weights[2]
        total = total + weights[3] if kind.whole else total
    return total.cast(x.element)


def _repeated(
    kind: _Kind, parts: Sequence[TensorArray], start: Sequence[TensorArray],
    constants: Sequence[TensorArray], body: _Body,
) -> list[TensorArray]:  # fmt: skip
    """All states (T, several, B, H) of recurrences that are stepped together."""
    recorder, steps = parts[0].recorder, len(parts[0])
    operands = tuple(_stored(a) for a in (*parts, *start, *constants))
    call = RecurrentCall(
        f"aten.{kind.name}", None, (), {}, operands, "it has no kernel",
        body=body.program(operands), steps=steps, parts=len(parts), states=kind.states,
    )  # fmt: skip
    element = start[0].element
    shape = (steps, *start[0].shape)
    return [
        TensorArray(
            recorder, recorder.made(kind.name, shape, element, TorchPrimitive(call, i))
        )
        for i in range(kind.states)
    ]


def _stored(array: TensorArray) -> ViewedValue:
    """As a dense value that is there."""
    operand = array.operand
    return array.recorder.copied(operand) if operand.views else operand


@dataclass(frozen=True)
class _Body:
    """What a step of ``several`` recurrences computes.

    ``deep``: each reads the states of the one before it, the first one the input; and
    those that have not begun keep their states.
    """

    kind: _Kind
    several: int
    deep: bool = False

    def own_bias(self, weights: Sequence[Sequence[TensorArray]]) -> list[Any]:
        """The biases of products with states, where they are added to these alone."""
        if self.kind.whole or len(weights[0]) < 4:
            return []
        return [np.stack([w[3] for w in weights])]  # type: ignore[call-overload]

    def program(self, operands: Sequence[ViewedValue]) -> TensorProgram:
        """Given are the operands, of what has parts in time that of the step."""
        recorder, kind = ProgramRecorder(), self.kind
        parts = 2 if self.deep else 1
        names = ["x", *(["begun"] if self.deep else []), *("h", "c")[: kind.states]]
        changing = len(names)
        names += ["weight", *(["into"] if self.deep else [])]
        biases = len(operands) - len(names)
        names += [*([] if kind.whole else ["bias"]), "added"][:biases]
        given: dict[str, TensorArray] = {}
        for number, (name, operand) in enumerate(zip(names, operands, strict=True)):
            shape = operand.shape[1:] if number < parts else operand.shape
            constant = number >= changing
            made = GivenPrimitive("weight" if constant else "input", name, shape, ())
            value = recorder.given(name, shape, operand.value.dtype, made)
            given[name] = TensorArray(recorder, value)
        states = [given[name] for name in ("h", "c")[: kind.states]]
        bias = self._gates(given["bias"][:, None]) if "bias" in given else None
        begun: Any = given["begun"][:, None, None] if self.deep else None

        def kept(number: int, new: Any) -> Any:
            return np.where(begun, new, states[number]) if self.deep else new  # type: ignore[call-overload]

        new = kind.cell(*self._sums(given), states, bias, kept)
        results = tuple(
            n.cast(s.element).operand for n, s in zip(new, states, strict=True)
        )
        assert all(not r.views for r in results)
        return TensorProgram(tuple(recorder.values), results)

    def _sums(self, given: dict[str, TensorArray]) -> tuple[list[Any], list[Any]]:
        """Of each gate what its input adds, and its products with the state before.

        Each (several, B, H). Where a gate is the sum of both, products with the states
        of the one before are among the latter: one sum takes less time than two.
        """
        state, gates = given["h"], range(self.kind.gates)
        across = self._gates(given["weight"], 1)
        if not self.deep:
            return self._gates(given["x"]), [_products(state, a) for a in across]
        only_first: Any = np.pad(
            given["x"][None], [(0, self.several - 1), (0, 0), (0, 0)]
        )  # type: ignore[call-overload]
        inputs = self._gates(only_first)
        if "added" in given:
            added = self._gates(given["added"][:, None])
            inputs = [x + a for x, a in zip(inputs, added, strict=True)]
        below: Any = np.pad(state[:-1], _BEHIND)  # type: ignore[call-overload]
        into = self._gates(given["into"], 1)
        products: list[Any] = []
        for gate in gates:
            if gate in self.kind.apart:
                inputs[gate] = inputs[gate] + _products(below, into[gate])
                products.append(_products(state, across[gate]))
            else:
                both = _terms(state, across[gate]) + _terms(below, into[gate])
                products.append(np.sum(both, -1))
        return inputs, products

    def _gates(self, x: Any, dim: int = -1) -> list[Any]:
        """The part of each gate of a dimension of all."""
        units = x.shape[dim] // self.kind.gates
        rest = (slice(None),) * (x.ndim - 1 - dim % x.ndim)
        return [
            x[(..., slice(g * units, (g + 1) * units), *rest)]
            for g in range(self.kind.gates)
        ]


_BEHIND = ((1, 0), (0, 0), (0, 0))
"""Nothing for the first of several."""


def _terms(h: Any, weight: Any) -> Any:
    """What is summed of states (several, B, H) and weights (several, units, H)."""
    return h[:, :, None, :] * weight[:, None]


def _products(h: TensorArray, weight: TensorArray) -> Any:
    """The products of all units with states, (several, B, units)."""
    if h.shape[1] <= _FEW_ROWS:
        return np.sum(_terms(h, weight), -1)
    product = contracted(
        h.recorder, h.operand, weight.operand, "gbk", "gnk", "gbn",
        dtype=h.element, precision=product_precision(),
    )  # fmt: skip
    return TensorArray(h.recorder, product)
