"""From a module of torch to the tensor program.

`torch.export` makes a graph of ATen operators without mutation; torch's own
decompositions leave those that `operators.py` knows; `graph_capture.py` walks it.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from argus.diagnostics import ArgusError, fail
from argus.programs.capturing.causal_masks import masks_as_given
from argus.programs.capturing.export_errors import advice, by_elements, why
from argus.programs.capturing.graph_capture import GivenFrom, GraphCapture
from argus.programs.capturing.name_clashes import own_name, without_clashes
from argus.programs.capturing.operators import known
from argus.programs.capturing.put_attributes import PutAttributes
from argus.programs.capturing.shown_memory import ChangedMemory, memory_in
from argus.programs.capturing.traced_module import (
    traced_below_autograd,
    transforms_left,
)
from argus.programs.capturing.written_out import written_out
from argus.programs.operators.derived_gradients import derived_gradients
from argus.programs.operators.list_decompositions import list_decompositions
from argus.programs.operators.own_decompositions import own_decompositions
from argus.programs.operators.recurrence_shapes import shapes_alone
from argus.programs.tensors.tensor_program import TensorProgram
from argus.programs.tensors.torch_calls import IN_PYTHON
from argus.specification.aten.decomposing import decomposed, decompositions_but
from argus.specification.aten.unlogged import unlogged
from argus.verify.collecting import rarely_collected

if TYPE_CHECKING:
    from torch._subclasses import FakeTensorMode
    from torch.export import ExportedProgram
    from torch.nn import Module

    from argus.programs.capturing.torch_file import TorchFile

_WHOLE = frozenset({"aten.embedding_dense_backward.default"})
"""Operators that stay in torch, where they are faster whole than in parts."""
_MUTATING = frozenset({"aten.complex.default", "aten.polar.default"})
"""Operators that torch's decompositions compute by writing into a new tensor."""
_DECOMPOSED = frozenset({"aten.gelu.default"})
"""Operators that torch takes apart, although the specification knows them whole."""


@rarely_collected()
def capture(
    model: Module, inputs: tuple[Any, ...], *, training: bool = False
) -> TensorProgram:
    """The tensor program of a module, for inputs of these shapes.

    In evaluation mode, or as it is in ``training``, without gradients. Raises
    ArgusError AG1041 where torch cannot export it.
    """
    return _Export(*_exported(model, inputs, training)).program()


def capture_shapes(
    file: str | os.PathLike[str], device: str | None = None
) -> TensorProgram:
    """The tensor program of a PyTorch file, whose tensors get no elements.

    Raises like `ShapesFile` and `capture`.
    """
    return ShapesFile.of(file, device).program()


@dataclass(frozen=True)
class ShapesFile:
    """A PyTorch file whose tensors get no elements.

    Those for which the file names no device are on ``device``, or else on that of
    torch. Raises like `load_file`.
    """

    loaded: TorchFile
    mode: FakeTensorMode

    @staticmethod
    def of(
        file: str | os.PathLike[str],
        device: str | None = None,
        *,
        text: str | None = None,
    ) -> ShapesFile:
        """``text``: what the file holds, where that was read already."""
        return _loaded_shapes(file, device, text)

    def program(self, *, training: bool = False) -> TensorProgram:
        """Its tensor program; see `capture`."""
        with self.mode:
            return capture(self.loaded.model, self.loaded.inputs, training=training)


def _loaded_shapes(
    file: str | os.PathLike[str], device: str | None, text: str | None
) -> ShapesFile:
    from argus.programs.capturing.torch_file import load_file, require_torch

    require_torch()
    import torch
    from torch._subclasses import FakeTensorMode

    made_on = nullcontext() if device is None else torch.device(device)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    try:
        with mode, made_on:
            loaded = load_file(file, device=None, text=text)
    except ArgusError as error:
        if error.diagnostics[0].code != "AG1040":
            raise
        # Perhaps it looks at elements while it is made: then it gets them.
        loaded = load_file(file, device=None, text=text)
        with mode:
            loaded = _without_elements(loaded, device)
    return ShapesFile(loaded, mode)


def _without_elements(loaded: TorchFile, device: str | None) -> TorchFile:
    """A file whose parameters, buffers and inputs have lost their elements."""
    import torch
    from torch.utils import _pytree

    def lost(tensor: Any) -> Any:
        if not isinstance(tensor, torch.Tensor):
            return tensor
        made: Any = torch.empty_strided(
            tensor.shape,
            tensor.stride(),
            dtype=tensor.dtype,
            device=tensor.device if device is None else device,
        )
        if isinstance(tensor, torch.nn.Parameter):
            made = torch.nn.Parameter(made, requires_grad=False)
        return made

    for module in loaded.model.modules():
        for name, tensor in module.named_parameters(recurse=False):
            setattr(module, name, lost(tensor))
        for name, tensor in module.named_buffers(recurse=False):
            setattr(module, name, lost(tensor))
    for module, name, _ in tensor_attributes(loaded.model):
        setattr(module, name, lost(getattr(module, name)))
    return replace(loaded, inputs=_pytree.tree_map(lost, loaded.inputs))


def _exported(
    model: Module, inputs: tuple[Any, ...], training: bool
) -> tuple[ExportedProgram, ChangedMemory]:
    import torch
    from torch.export import _remove_effect_tokens_pass
    from torch.utils import _pytree

    without_tokens: Any = vars(_remove_effect_tokens_pass)["_remove_effect_tokens"]

    was = model.training
    inputs = _pytree.tree_map(_no_complex_view, inputs)

    try:
        with (
            warnings.catch_warnings(),
            unlogged(),
            torch.no_grad(),
            shapes_alone(),
            masks_as_given(),
            written_out(),
            _state_followed(model) as (put, shared),
        ):
            warnings.simplefilter("ignore")  # torch's, about itself
            found = without_tokens(_graph_of(model.train(training), inputs))
        state = put.state(model, inputs)
    except (Exception, SystemExit) as error:  # it is the user's program
        raise fail(
            "AG1041",
            None,
            f"the graph of `{type(model).__name__}` cannot be read: {why(error)}",
            help=advice(error),
        ) from error
    finally:
        model.train(was)
    if state is not None:
        raise fail(
            "AG1041",
            None,
            f"`forward` of `{type(model).__name__}` puts a tensor that is made of its "
            f"inputs into `{state}`, which held none of that shape: the next call is "
            "another program",
            help=IN_PYTHON,
        )
    return found, shared


def _graph_of(model: Module, inputs: tuple[Any, ...]) -> Any:
    """The module, exported as it is, or as it is below autograd, and taken apart."""
    import torch
    from torch.utils import _pytree

    def exported(called: Module) -> Any:
        found = torch.export.export(called, inputs, strict=False)
        return decomposed(found, decompositions)

    try:
        with transforms_left():
            return exported(without_clashes(model))
    except Exception as error:
        if by_elements(error):
            raise
        inputs = _pytree.tree_map(_no_view, inputs)
        try:
            with transforms_left():
                traced = traced_below_autograd(model, inputs)
        except Exception:  # noqa: BLE001 - what torch says of the module itself is told
            raise error from None
        return exported(traced)


def _no_complex_view(value: Any) -> Any:
    """For a complex view, with which torch's export fails, a tensor that lies so."""
    import torch

    complex_ = isinstance(value, torch.Tensor) and value.is_complex()
    return _no_view(value) if complex_ else value


def _no_view(value: Any) -> Any:
    """For a view, of which transforms make another graph, a tensor that lies so."""
    import torch

    if not isinstance(value, torch.Tensor) or not value._is_view():
        return value
    return torch.empty_strided(
        value.shape, value.stride(), dtype=value.dtype, device=value.device
    )


def tensor_attributes(model: Module) -> list[tuple[Module, str, str]]:
    """Attributes that are tensors, and neither parameters nor buffers.

    The module that has one, its name there, and its name from ``model`` on.
    """
    import torch

    named = cast("Iterable[tuple[str, Module]]", model.named_modules())
    return [
        (module, name, f"{prefix}.{name}" if prefix else name)
        for prefix, module in named
        for name, value in vars(module).items()
        if isinstance(value, torch.Tensor)
    ]


@contextmanager
def _state_followed(model: Module) -> Generator[tuple[PutAttributes, ChangedMemory]]:
    """Attributes that are tensors are buffers, and a buffer put anew is written to.

    Torch follows what is written to buffers; of others, and of what is put in the place
    of a buffer of an inner module, it loses that. An attribute in the memory of a
    parameter (spectral norm) is a copy: what is put in its place changes no parameter.
    Of another shape none can be written to it: those are told.
    """
    put, shared = PutAttributes(), ChangedMemory()
    found = [(m, n, getattr(m, n)) for m, n, _ in tensor_attributes(model)]

    def memory(tensor: Any) -> int:
        return tensor.untyped_storage()._cdata

    taken = {memory(p) for p in model.parameters()}
    for module, name, tensor in found:
        delattr(module, name)
        held = tensor.detach().clone() if memory(tensor) in taken else tensor
        module.register_buffer(name, held, persistent=False)
    forward = model.forward

    @functools.wraps(forward)
    def followed(*args: Any, **named: Any) -> Any:
        held = [(m, dict(m.named_buffers(recurse=False))) for m in model.modules()]
        with put.followed(model):
            result = forward(*args, **named)
        results = _written_to_buffers(held, result)
        shared.note(model, (args, named), results)
        return results

    patched = "forward" not in vars(model)
    model.forward = followed
    try:
        yield put, shared
    finally:
        if patched:
            del model.forward
        else:
            model.forward = forward
        for module, name, tensor in found:
            delattr(module, name)
            setattr(module, name, tensor)


def _written_to_buffers(
    held: Sequence[tuple[Module, dict[str, Any]]], result: Any
) -> Any:
    """Buffers get what was put in their place; the results, if they keep the old one.

    ``held``: the buffers of each module before the call.
    """
    import torch
    from torch.utils import _pytree

    put: list[tuple[Any, Any]] = []
    for module, buffers in held:
        own: dict[str, Any] = vars(module)["_buffers"]
        for name, buffer in buffers.items():
            if own[name] is not buffer:
                put.append((buffer, own[name]))
                own[name] = buffer
    written = {m for buffer, _ in put for m in memory_in(buffer)}

    def apart(value: Any) -> Any:
        return value.clone() if written.intersection(memory_in(value)) else value

    result = _pytree.tree_map_only(torch.Tensor, apart, result)
    for buffer, value in [(buffer, apart(value)) for buffer, value in put]:
        buffer.copy_(value)
    return result


@functools.cache
def decompositions() -> Any:
    """Torch's own, of operators that have no translation as they are.

    What draws random numbers is not taken apart: its parts would draw others.
    """
    table = decompositions_but(lambda name: name not in _DECOMPOSED and known(name))
    found = {op: how for op, how in table.items() if not _kept(op)}
    own = own_decompositions() | derived_gradients()
    return found | own | list_decompositions()


def _kept(overload: Any) -> bool:
    import torch

    if torch.Tag.nondeterministic_seeded in getattr(overload, "tags", ()):
        return True
    name = str(overload)
    return name in _WHOLE | _MUTATING or (known(name) and name not in _DECOMPOSED)


class _Export:
    """The parts of an exported program."""

    def __init__(self, exported: ExportedProgram, shared: ChangedMemory) -> None:
        self.exported, self.shared = exported, shared
        self.tensors: dict[str, Any] = {}
        self.inputs = 0

    def program(self) -> TensorProgram:
        spec: Any = self.exported.graph_signature
        walk = GraphCapture(self.exported.graph, lambda node: node.meta.get("val"))
        updates = tuple(_updates(spec))
        found = walk.program(
            self._given, self.exported.graph_module, _overwritten(spec)
        )
        tree = self.exported.call_spec.out_spec
        return replace(
            found,
            tensors={**self.tensors, **found.tensors},
            tree=tree,
            updates=updates,
            shown=self.shared.of(updates) if updates else (),
        )

    def _given(self, node: Any) -> GivenFrom:
        spec: Any = self.exported.graph_signature
        held = {
            **spec.inputs_to_parameters,
            **spec.inputs_to_buffers,
            **spec.inputs_to_lifted_tensor_constants,
        }
        if node.name not in held:
            self.inputs += 1
            return GivenFrom("input", self.inputs - 1, node.name)
        target = held[node.name]
        source: dict[str, Any] = {
            **self.exported.constants, **self.exported.state_dict
        }  # fmt: skip
        tensor = source[target]
        number = None
        if node.name in spec.inputs_to_lifted_tensor_constants and not tensor.shape:
            number = _number_of(tensor)
        target = own_name(target)
        self.tensors[target] = tensor
        return GivenFrom("weight", target, target, number)


def _updates(spec: Any) -> Generator[str | int]:
    """What takes the first results: names of buffers, positions of inputs."""
    from torch.export.graph_signature import OutputKind

    inputs = [*spec.user_inputs]
    for output in spec.output_specs:
        match output.kind:
            case OutputKind.BUFFER_MUTATION | OutputKind.PARAMETER_MUTATION:
                yield own_name(output.target)
            case OutputKind.USER_INPUT_MUTATION:
                yield inputs.index(output.target)
            case _:
                return


def _overwritten(spec: Any) -> set[str]:
    """Placeholders of what takes the first results."""
    changed = {*spec.buffers_to_mutate.values(), *spec.parameters_to_mutate.values()}
    held = {**spec.inputs_to_parameters, **spec.inputs_to_buffers}
    found = {name for name, target in held.items() if target in changed}
    return found | {*spec.user_inputs_to_mutate.values()}


def _number_of(tensor: Any) -> float | int | bool | None:
    """The element of a tensor; None where it has none."""
    from torch._subclasses import FakeTensor
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    if isinstance(tensor, FakeTensor):
        return None
    with unset_fake_temporarily():
        return tensor.item()
