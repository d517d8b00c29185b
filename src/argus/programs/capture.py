"""From a module of torch to the tensor program.

`torch.export` makes a graph of ATen operators without mutation; torch's own
decompositions leave those that `operators.py` knows. What has no translation stays a
call of torch, with the reason.
"""

from __future__ import annotations

import functools
import operator
import os
import warnings
from typing import TYPE_CHECKING, Any, cast

from argus.diagnostics import fail
from argus.ir.dtypes import DType
from argus.programs.operators import element_type, known, operator_named
from argus.programs.recorder import ProgramRecorder
from argus.programs.tensor_array import TensorArray
from argus.programs.tensor_program import (
    GivenPrimitive,
    TensorProgram,
    TorchCall,
    TorchPrimitive,
    UntranslatedError,
    ViewedValue,
)
from argus.terms import Unknown

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.nn import Module

_DECOMPOSED = frozenset({"aten.gelu.default"})
"""Operators that torch takes apart, although the specification knows them whole."""


def capture(model: Module, inputs: tuple[Any, ...]) -> TensorProgram:
    """The tensor program of a module in evaluation mode, for inputs of these shapes.

    Raises ArgusError AG1041 where torch cannot export it.
    """
    exported = _exported(model, inputs)
    return _Capture(exported).program()


def capture_shapes(file: str | os.PathLike[str]) -> TensorProgram:
    """The tensor program of a PyTorch file, whose tensors get no elements.

    Raises like `load_file` and `capture`.
    """
    from argus.programs.torch_file import load_file, require_torch

    require_torch()
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode(allow_non_fake_inputs=True):
        loaded = load_file(file, device=None)
        return capture(loaded.model, loaded.inputs)


def _exported(model: Module, inputs: tuple[Any, ...]) -> ExportedProgram:
    import torch

    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # torch's, about itself
            exported: Any = torch.export.export(model.eval(), inputs, strict=False)
            return exported.run_decompositions(_decompositions())
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise fail(
            "AG1041",
            None,
            f"the graph of `{type(model).__name__}` cannot be read: "
            f"{type(error).__name__}: {first}",
        ) from error


@functools.cache
def _decompositions() -> Any:
    """Torch's own, of operators that have no translation as they are."""
    import torch
    from torch import _decomp

    own: dict[Any, Any] = vars(_decomp)["decomposition_table"]
    table: dict[Any, Any] = dict(torch.export.default_decompositions())
    for overload, made in own.items():
        name = str(overload)
        if name in _DECOMPOSED or not known(name):
            table.setdefault(overload, made)
    return {op: how for op, how in table.items() if not _kept(str(op))}


def _kept(name: str) -> bool:
    return known(name) and name not in _DECOMPOSED


class _Capture:
    """The walk through an exported graph."""

    def __init__(self, exported: ExportedProgram) -> None:
        self.exported = exported
        self.recorder = ProgramRecorder()
        self.values: dict[str, Any] = {}
        self.tensors: dict[str, Any] = {}
        self.fixed: dict[int, Any] = {}
        self.inputs = 0

    def program(self) -> TensorProgram:
        results: tuple[Any, ...] = ()
        for node in self.exported.graph.nodes:
            match node.op:
                case "placeholder":
                    self.values[node.name] = self._given(node)
                case "call_function":
                    self.values[node.name] = self._called(node)
                case _:
                    results = tuple(_unwrapped(self._mapped(node.args[0])))
        spec: Any = self.exported.graph_signature
        users = set(spec.user_outputs)
        if spec.buffers_to_mutate or spec.user_inputs_to_mutate:
            raise fail("AG1041", None, "the model changes its inputs or buffers")
        assert len(users) <= len(results), users
        return TensorProgram(
            tuple(self.recorder.values),
            results,
            self.tensors,
            self.exported.call_spec.out_spec,
            self.fixed,
        )

    def _given(self, node: Any) -> Any:
        spec: Any = self.exported.graph_signature
        held = {
            **spec.inputs_to_parameters,
            **spec.inputs_to_buffers,
            **spec.inputs_to_lifted_tensor_constants,
        }
        said = node.meta.get("val")
        if node.name in held:
            target = held[node.name]
            source: dict[str, Any] = {
                **self.exported.constants, **self.exported.state_dict
            }  # fmt: skip
            self.tensors[target] = source[target]
            kind: tuple[str, int | str] = ("weight", target)
        else:
            kind = ("input", self.inputs)
            self.inputs += 1
        if not hasattr(said, "shape"):
            # torch.export makes the program for this number.
            self.fixed[self.inputs - 1] = said
            return said
        return TensorArray(
            self.recorder,
            self.recorder.given(
                _short(str(kind[1]) if kind[0] == "weight" else node.name),
                [int(n) for n in said.shape],
                _type_of(said),
                GivenPrimitive(*kind),
            ),
        )

    def _mapped(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self._mapped(v) for v in cast("list[Any]", value)]
        if hasattr(value, "op") and hasattr(value, "meta"):
            return self.values[value.name]
        return value

    def _called(self, node: Any) -> Any:
        name = str(node.target)
        if node.target is operator.getitem:
            return self.values[node.args[0].name][node.args[1]]
        args = [self._mapped(a) for a in node.args]
        named = {k: self._mapped(v) for k, v in node.kwargs.items()}
        try:
            made = operator_named(name, self.recorder)
            if made is None:
                raise UntranslatedError("it has no translation")
            return self._as_said(made(*args, **named), node)
        except (UntranslatedError, Unknown) as error:
            return self._outside(node, args, named, str(error))

    def _as_said(self, result: Any, node: Any) -> Any:
        """The result, in the shapes and types that torch says."""
        said: Any = node.meta.get("val")
        if isinstance(result, list | tuple):
            parts = list(cast("list[Any]", result))
            used = {u.args[1] for u in node.users if u.target is operator.getitem}
            if any(i >= len(parts) or parts[i] is None for i in used):
                raise UntranslatedError("not all of its results have a translation")
            return [self._typed(r, s) for r, s in zip(parts, said, strict=False)]
        return self._typed(result, said)

    def _typed(self, result: Any, said: Any) -> Any:
        if not isinstance(result, TensorArray) or said is None:
            return result
        shape = tuple(int(n) for n in said.shape)
        if result.shape != shape:
            raise UntranslatedError(
                f"its result has the shape {shape}, not {result.shape}"
            )
        return result.cast(_type_of(said))

    def _outside(self, node: Any, args: list[Any], named: Any, why: str) -> Any:
        """A call that torch makes."""
        operands: list[ViewedValue] = []

        def noted(value: Any) -> Any:
            if isinstance(value, list):
                return [noted(v) for v in cast("list[Any]", value)]
            if isinstance(value, TensorArray):
                operands.append(value.operand)
                return value.operand
            return value

        arguments = tuple(noted(a) for a in args)
        keywords = {k: noted(v) for k, v in named.items()}
        call = TorchCall(
            str(node.target), node.target, arguments, keywords, tuple(operands), why
        )
        said = node.meta.get("val")
        if isinstance(said, list | tuple):
            each = cast("list[Any]", said)
            return [self._result(call, i, s) for i, s in enumerate(each)]
        return self._result(call, 0, said)

    def _result(self, call: TorchCall, index: int, said: Any) -> Any:
        if not hasattr(said, "shape"):
            return said
        wish = _short(call.name.split(".")[1])
        made = TorchPrimitive(call, index)
        shape = [int(n) for n in said.shape]
        return TensorArray(
            self.recorder, self.recorder.made(wish, shape, _type_of(said), made)
        )


def _unwrapped(values: list[Any]) -> list[Any]:
    return [v.operand if isinstance(v, TensorArray) else v for v in values]


def _type_of(said: Any) -> DType:
    try:
        return element_type(said.dtype)
    except UntranslatedError as error:
        raise fail(
            "AG1041", None, f"the model has {error}, which Argus lacks"
        ) from None


def _short(name: str) -> str:
    """A name for a value: letters, digits and underscores."""
    made = "".join(c if c.isalnum() else "_" for c in name).strip("_")
    return made if made and not made[0].isdigit() else f"v_{made}"
