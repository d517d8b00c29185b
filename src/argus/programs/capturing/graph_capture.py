"""From a graph of ATen operators to the tensor program.

The graph changes nothing in place. What has no translation stays a call of torch, with
the reason; so does what is not on the device of the program, and what has elements
of a type that kernels lack. Complex tensors are their parts (`complex_tensor.py`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, cast

from argus.diagnostics import ArgusError, fail
from argus.ir.dtypes import DTYPES, boolean, f64
from argus.programs.capturing.graph_results import GraphResults
from argus.programs.capturing.nodes import is_mutable, orders_calls, require_numbers
from argus.programs.capturing.open_numbers import OpenNumbers, is_open
from argus.programs.capturing.operators import operator_named
from argus.programs.capturing.strides import contiguous, same_places, spanned
from argus.programs.operators.complex_operators import as_complex, complex_operator
from argus.programs.operators.strided_operators import (
    WALKING,
    WRITING,
    walked_by_strides,
    written_by_strides,
)
from argus.programs.tensors.complex_tensor import (
    ComplexTensor,
    part_type,
    stored_shape,
)
from argus.programs.tensors.operator_table import element_type
from argus.programs.tensors.recorder import ProgramRecorder
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import (
    GivenPrimitive,
    ProgramValue,
    TensorProgram,
    TorchCall,
    TorchPrimitive,
    UntranslatedError,
    ViewedValue,
    constant_of,
    stored_type,
)
from argus.programs.tensors.torch_calls import (
    IN_PYTHON,
    arrays_of,
    as_given,
    call_of,
    complex_in,
    dense_strides,
    is_node,
    leaves_of,
    nodes_of,
)
from argus.programs.tensors.views import LinearView, permuted
from argus.terms import Unknown

_TOLD = frozenset({"aten._assert_tensor_metadata.default"})
"""Checks of element type, device and the like, which the program is for."""


@dataclass(frozen=True)
class GivenFrom:
    """Where a placeholder of a graph comes from; see `GivenPrimitive`.

    ``number``: what it always is, for one that is a constant without dimensions.
    """

    kind: str
    source: int | str
    name: str
    number: float | int | bool | None = None


class GraphCapture:
    """The walk through a graph.

    ``said`` gives what torch says that a node is: a tensor with shape, strides, element
    type and device, whose sizes are numbers; several; or a number.
    """

    def __init__(self, graph: Any, said: Callable[[Any], Any]) -> None:
        self.graph, self.said = graph, said
        self.recorder = ProgramRecorder(follows=True)
        self.values: dict[Any, Any] = {}
        self.tensors: dict[str, Any] = {}
        self.fixed: dict[int, Any] = {}
        self.foreign: set[ProgramValue] = set()
        """Values that no kernel may read: on another device, or of another type."""
        self.device = self._device()
        self.open = OpenNumbers.of(graph.nodes, said)
        self.recorder.open_sizes = any(map(is_open, graph.nodes))

    def program(
        self,
        given: Callable[[Any], GivenFrom],
        owner: Any,
        overwritten: AbstractSet[str] = frozenset(),
    ) -> TensorProgram:
        """The tensor program. ``owner`` has the attributes that the graph names.

        ``overwritten``: see `GraphResults`.
        Raises ArgusError AG1041 for a graph that cannot be one.
        """
        made = GraphResults(
            self.recorder, self.values, self.foreign, self.said, overwritten
        )
        results: tuple[Any, ...] = ()
        told: tuple[Any, ...] = ()
        pairs: frozenset[int] = frozenset()
        for node in self.graph.nodes:
            require_numbers(node, self.said(node))
            match node.op:
                case "placeholder":
                    self.values[node] = self._given(node, given(node))
                case "get_attr":
                    self.values[node] = self._held(node, owner)
                case "call_function":
                    self.values[node] = self._called(node)
                case "output":
                    nodes: list[Any] = list(node.args[0])
                    results = tuple(made.result(n) for n in nodes)
                    told = tuple(made.told(n) for n in nodes)
                    pairs = frozenset(
                        i for i, n in enumerate(nodes)
                        if is_node(n) and isinstance(self.values[n], ComplexTensor)
                    )  # fmt: skip
                case _:
                    raise fail("AG1041", None, f"the graph has a {node.op}")
        return TensorProgram(
            tuple(self.recorder.values),
            results,
            self.tensors,
            fixed=self.fixed,
            told=told,
            device=self.device,
            pairs=pairs,
        )

    def _device(self) -> str:
        """The device of the program: of its first tensor on a GPU, else of any."""
        devices = [
            str(s.device)
            for s in map(self.said, self.graph.nodes)
            if hasattr(s, "device")
        ]
        gpus = [d for d in devices if d.startswith("cuda")]
        return next(iter([*gpus, *devices]), "cpu")

    # -- what is given

    def _given(self, node: Any, at: GivenFrom) -> Any:
        said = self.said(node)
        if orders_calls(node):  # torch gives nothing for it
            said = None
        if said is None or not hasattr(said, "shape"):
            # The graph is that of this number.
            if said is not None and not isinstance(said, bool | int | float | str):
                kind = type(said).__name__
                raise fail("AG1041", None, f"`{at.name}` is no tensor: a {kind}")
            self.fixed[int(at.source)] = said
            return said
        returned = any(user.op == "output" for user in node.users)
        kind = stored_type(str(said.dtype))
        if at.number is not None and not returned and kind.name in DTYPES:
            made = self.recorder.filled((), at.number, kind)
            return TensorArray(self.recorder, made)
        return self._tensor(said, at)

    def _held(self, node: Any, owner: Any) -> Any:
        """An attribute of the graph's module: a tensor is a constant."""
        found = operator.attrgetter(node.target)(owner)
        if not hasattr(found, "shape"):
            return found
        self.tensors[node.target] = found
        return self._tensor(found, GivenFrom("constant", node.target, node.target))

    def _tensor(self, said: Any, at: GivenFrom) -> Any:
        """A tensor from outside. With gaps or in another order: a line, seen so."""
        part = part_type(said)
        shape, strides = stored_shape(said)
        dense = same_places(shape, strides, contiguous(shape))
        extent = shape if dense else (spanned(shape, strides),)
        device, pairs = str(said.device), part is not None
        made = GivenPrimitive(at.kind, at.source, shape, strides, device, pairs)
        kind = stored_type(str(said.dtype)) if part is None else part
        operand = self.recorder.given(_short(at.name), extent, kind, made)
        self._note(operand.value, said)
        if not dense:
            steps = tuple((d, s) for d, s in enumerate(strides) if s)
            operand = operand.through(LinearView(shape, (steps,), (0,)))
        return self._seen(operand, pairs)

    def _seen(self, operand: ViewedValue, pairs: bool) -> Any:
        """An operand as an array; ``pairs``: as a complex one."""
        array = TensorArray(self.recorder, operand)
        return ComplexTensor.of_pairs(array) if pairs else array

    # -- operators

    def _mapped(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self._mapped(v) for v in cast("list[Any]", value)]
        if isinstance(value, dict):
            items = cast("dict[Any, Any]", value)
            return {k: self._mapped(v) for k, v in items.items()}
        return self.values[value] if is_node(value) else value

    def _called(self, node: Any) -> Any:
        args = [self._mapped(a) for a in node.args]
        if node.target is operator.getitem:
            return args[0][args[1]]
        named = {k: self._mapped(v) for k, v in node.kwargs.items()}
        if str(node.target) == "with_effects":
            return self._ordered(node, args, named)
        said = self.said(node)
        arrays = arrays_of([args, named])
        if said is None or isinstance(said, bool | int | float):
            return self._number(node, args, named, arrays, said)
        try:
            made = self._operator(node, [args, named], said)
            if made is None:
                raise UntranslatedError(_no_translation(node.target))
            self._here(arrays, said)
            if hasattr(said, "shape") and 0 in said.shape:
                return self._empty(said)
            place = self.open.place(node)
            if place is not None:
                return self._as_said(self._moved(node, made, place, args), node)
            return self._as_said(made(*args, **named), node)
        except (UntranslatedError, Unknown) as error:
            return self._outside(node, args, named, str(error))
        except ArgusError:
            raise
        except Exception as error:  # noqa: BLE001 - what is not foreseen is torch's
            why = f"its translation fails: {type(error).__name__}: {error}"
            return self._outside(node, args, named, why)

    def _moved(
        self, node: Any, made: Callable[..., Any], place: int, args: list[Any]
    ) -> Any:
        """Positions, moved by a number that is a tensor (`open_numbers.py`)."""
        import torch

        by = torch.tensor(args[place], dtype=torch.int64, device=self.device)
        name = f"number_{node.name}"
        self.tensors[name] = by
        number = self._tensor(by, GivenFrom("constant", name, name))
        if place:
            return made(args[0], number)
        count = _sizes(self.said(node).shape)[0]
        return self._steps(count, args[2] if len(args) > 2 else 1) + number

    def _steps(self, count: int, step: int) -> TensorArray:
        return TensorArray(self.recorder, self.recorder.positions((count,), 0, 0, step))

    def _operator(self, node: Any, given: Any, said: Any) -> Callable[..., Any] | None:
        """What translates a node. ``given``: its arguments."""
        name = str(node.target)
        parts = [p for s in leaves_of(said) if (p := part_type(s)) is not None]
        inside = complex_in(given)
        if parts or inside:
            part = parts[0] if parts else inside[0].real.element
            real = partial(operator_named, recorder=self.recorder)
            shape = _sizes(getattr(said, "shape", ()))
            return complex_operator(name, real, self.recorder, shape, part)
        if name in WALKING | WRITING:
            made = walked_by_strides if name in WALKING else written_by_strides
            return partial(_by_strides, made, self.said(node.args[0]))
        return operator_named(name, self.recorder)

    def _number(
        self, node: Any, args: list[Any], named: Any, arrays: list[Any], said: Any
    ) -> Any:
        """What is no tensor: a size or a number, and checks of them."""
        name = str(node.target)
        if name in _TOLD or (said is not None and name.startswith("aten.sym_")):
            return said
        if arrays and said is None and not is_mutable(node.target):
            self._check(node.target, args, named)
            return None
        if arrays:
            raise fail(
                "AG1041", None, f"{node.target} gives a number, or nothing, of a tensor"
            )
        return node.target(*args, **named)

    def _ordered(self, node: Any, args: list[Any], named: Any) -> Any:
        """A check that torch orders by a token, which it gives back.

        Raises ArgusError AG1041 for calls with other effects.
        """
        token, target, *rest = args
        if target._schema.returns or target._schema.is_mutable:
            raise fail("AG1041", None, f"{target} has an effect, which is ordered")
        self._check(target, rest, named)
        return [token]

    def _check(self, target: Any, args: list[Any], named: Any) -> None:
        """A call that gives nothing: torch looks at elements, and raises an error."""
        why = "it gives nothing, and may raise an error"
        call = call_of(target, args, named, why)
        self.recorder.made("check", (0,), boolean, TorchPrimitive(call, 0))

    def _here(self, arrays: list[TensorArray], said: Any) -> None:
        """Raises UntranslatedError for what is not on the device of the program.

        And for elements of a type that kernels lack.
        """
        tensors = leaves_of(said)
        if arrays and all(_is_number(a) for a in arrays):
            return  # torch has numbers on the CPU
        for one in tensors:
            if hasattr(one, "device") and str(one.device) != self.device:
                raise UntranslatedError(f"its result is on {one.device}")
        for one in tensors:
            if hasattr(one, "dtype") and part_type(one) is None:
                element_type(one.dtype)
        for array in arrays:
            value = array.operand.value
            if value in self.foreign:
                element_type(value.dtype.foreign)
                raise UntranslatedError("it reads a tensor of another device")

    def _note(self, value: ProgramValue, said: Any) -> None:
        """Note a value that no kernel may read."""
        if str(said.device) != self.device or value.dtype.name not in DTYPES:
            self.foreign.add(value)

    def _empty(self, said: Any) -> Any:
        """A tensor without elements, which no kernel writes."""
        part, (shape, _) = part_type(said), stored_shape(said)
        kind = element_type(said.dtype) if part is None else part
        return self._seen(self.recorder.filled(shape, 0, kind), part is not None)

    def _as_said(self, result: Any, node: Any) -> Any:
        """The result, in the shapes and types that torch says."""
        said: Any = self.said(node)
        if isinstance(result, list | tuple):
            parts = list(cast("list[Any]", result))
            used = {u.args[1] for u in node.users if u.target is operator.getitem}
            for i, one in enumerate(said[: len(parts)]):
                if hasattr(one, "shape") and 0 in one.shape:
                    parts[i] = self._empty(one)
            if any(i >= len(parts) or parts[i] is None for i in used):
                raise UntranslatedError("not all of its results have a translation")
            return [self._typed(r, s) for r, s in zip(parts, said, strict=False)]
        return self._typed(result, said)

    def _typed(self, result: Any, said: Any) -> Any:
        if not isinstance(result, TensorArray | ComplexTensor) or said is None:
            return result
        shape, part = _sizes(said.shape), part_type(said)
        if part is not None and isinstance(result, TensorArray):
            result = as_complex(result, part)
        if result.shape != shape:
            raise UntranslatedError(
                f"its result has the shape {shape}, not {result.shape}"
            )
        if isinstance(result, ComplexTensor):
            if part is None:
                raise UntranslatedError("its result is complex, and torch's is not")
            return result.cast(part)
        wanted = element_type(said.dtype)
        if wanted == f64 and result.element.is_float and result.element != f64:
            raise UntranslatedError("its translation computes in fewer bits than f64")
        return result.cast(wanted)

    def _outside(self, node: Any, args: list[Any], named: Any, why: str) -> Any:
        """A call that torch makes, of which tuples are tuples again."""
        args = [as_given(a, n) for a, n in zip(args, node.args, strict=True)]
        named = as_given(named, node.kwargs)
        call = call_of(node.target, args, named, why, self._strides(node))
        return self._each_made(call, count(), self.said(node))

    def _each_made(self, call: TorchCall, numbers: Iterator[int], said: Any) -> Any:
        """What a call gives, nested as torch says, counted through (`leaves_of`)."""
        if isinstance(said, list | tuple):
            each = cast("list[Any]", said)
            return [self._each_made(call, numbers, s) for s in each]
        return self._made(call, next(numbers), said)

    def _strides(self, node: Any) -> list[tuple[int, ...]]:
        """How torch says that the tensors in a call lie, in the order of operands."""
        return [
            dense_strides(_sizes(said.shape), _sizes(said.stride()))
            for n in nodes_of([list(node.args), node.kwargs])
            if isinstance(self.values[n], TensorArray | ComplexTensor)
            for said in (self.said(n),)
        ]

    def _made(self, call: TorchCall, index: int, said: Any) -> Any:
        if said is None or isinstance(said, int | float):
            return said  # torch says a number without elements: it is the same always
        if not hasattr(said, "shape"):
            raise fail(
                "AG1041",
                None,
                f"{call.name} gives a number that depends on elements",
                help=IN_PYTHON,
            )
        parts = call.name.split(".")
        wish = _short(parts[1] if len(parts) > 1 else call.name)
        part, (shape, strides) = part_type(said), stored_shape(said)
        order = tuple(sorted(range(len(shape)), key=lambda d: (-strides[d], d)))
        laid = tuple(shape[d] for d in order)
        dense = same_places(laid, tuple(strides[d] for d in order), contiguous(laid))
        if not dense or order == tuple(range(len(shape))):
            order, laid = (), shape
        made = TorchPrimitive(call, index, order, part is not None)
        kind = stored_type(str(said.dtype)) if part is None else part
        found = self.recorder.made(wish, laid, kind, made)
        self._note(found.value, said)
        if order:
            back = [order.index(d) for d in range(len(shape))]
            found = found.through(permuted(laid, back))
        return self._seen(found, part is not None)


def _by_strides(made: Any, said: Any, x: TensorArray, *args: Any) -> TensorArray:
    return made(x, said, *args)


def _is_number(array: TensorArray) -> bool:
    """Whether an array is one number that is known."""
    return not array.shape and constant_of(array.operand) is not None


def _sizes(numbers: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in numbers)


def _short(name: str) -> str:
    """A name for a value: letters, digits and underscores."""
    made = "".join(c if c.isalnum() else "_" for c in name).strip("_")
    return made if made and not made[0].isdigit() else f"v_{made}"


def _no_translation(target: Any) -> str:
    """Why an operator that is not known stays in torch."""
    import torch

    if torch.Tag.nondeterministic_seeded in getattr(target, "tags", ()):
        return "it draws random numbers"
    if str(target).startswith("aten._fft_"):
        return "cuFFT transforms faster than products of matrices would"
    return "it has no translation"
