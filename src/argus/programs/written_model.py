"""What a written model runs: its plans, bound to a module and a device.

    program = WrittenProgram(Model.forward, plans, kernels, constants)
    program(module, inputs, {})

The file says everything: kernels, launches, and what torch computes. Nothing is
exported, grouped or searched when it runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from inspect import signature
from itertools import chain
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from argus.diagnostics import fail
from argus.programs.compiled import called
from argus.programs.planning.plan import ProgramPlan
from argus.programs.planning.program_data import Data, constants_of_data, plan_of_data
from argus.programs.running.execution import returned
from argus.programs.running.given import GivenTensors
from argus.programs.running.module_weights import ModuleWeights

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


class _BoundCall:
    """A plan on a device, for one module: its prepared launches and kept values."""

    def __init__(self, plan: ProgramPlan, constants: Mapping[str, Tensor]) -> None:
        self._program = plan.program
        self._constants = constants
        self._given = GivenTensors(plan.program)
        self._call = called(plan)
        names = [n for n in self._given.weights if n not in constants]
        self._weights = ModuleWeights(names)

    def __call__(self, module: Module, inputs: Any) -> Any:
        weights = {**self._weights(module), **self._constants}
        results = self._call(*self._given(inputs, weights))
        return returned(self._program, results, inputs, weights)


class WrittenProgram:
    """The plans of a written model. Safe to use from several threads.

    ``forward`` is that of the model itself, for the names of its parameters.
    ``plans`` by mode, "evaluation" and "training": data of `plan_data`, or a text that
    says why there is none. ``kernels``: kernel files by the name of their kernel;
    ``constants``: tensors that are in no module, data of `constants_data`.
    """

    def __init__(
        self,
        forward: Callable[..., Any],
        plans: Mapping[str, Data | str],
        kernels: Mapping[str, str],
        constants: Data,
    ) -> None:
        self._forward = forward
        self._plans, self._kernels, self._constants = plans, kernels, constants
        self._calls: WeakKeyDictionary[Module, dict[Any, _BoundCall]] = (
            WeakKeyDictionary()
        )
        self._lock = threading.Lock()

    def __call__(
        self, module: Module, inputs: tuple[Any, ...], named: Mapping[str, Any]
    ) -> Any:
        """What the module returns, without gradients.

        ``named`` are inputs by the names of the model's own ``forward``.
        On a GPU kernels are launched on the current stream, and built in the first
        call; tensors of the CPU are computed in the interpreter: slow, for small ones.
        Raises ArgusError AG0801 for inputs of other shapes, types or devices, AG1049
        in a mode that the file has no plan for, and what building kernels raises.
        """
        import torch

        if named:
            inputs = _in_order(self._forward, module, inputs, named)
        mode = "training" if module.training else "evaluation"
        said = self._plans.get(mode, self._plans["evaluation"])
        if isinstance(said, str):
            raise fail(
                "AG1049",
                None,
                f"the file has no program for {mode}: {said}",
                help="`.eval()` of the module brings it into evaluation mode"
                if module.training
                else None,
            )
        device = _device(module, inputs)
        with torch.no_grad(), self._lock:
            calls = self._calls.setdefault(module, {})
            call = calls.get((id(said), device))
            if call is None:
                plan = plan_of_data(said, self._kernels, device)
                constants = constants_of_data(self._constants, device)
                call = calls[id(said), device] = _BoundCall(plan, constants)
        with torch.no_grad():
            return call(module, inputs)


def _in_order(
    forward: Callable[..., Any],
    module: Module,
    inputs: tuple[Any, ...],
    named: Mapping[str, Any],
) -> tuple[Any, ...]:
    """Inputs by position. Raises TypeError for those that ``forward`` does not take."""
    found = signature(forward).bind(module, *inputs, **named)
    return (*found.args[1:], *found.kwargs.values())


def _device(module: Module, inputs: tuple[Any, ...]) -> str:
    """The device of a call: of its first tensor on a GPU, else of any.

    A module has hundreds of tensors, which are not looked at where an input decides.
    """
    import torch
    from torch.utils import _pytree

    tensors = (t for t in _pytree.tree_leaves(inputs) if isinstance(t, torch.Tensor))
    first: Any = None
    for tensor in chain(tensors, module.parameters(), module.buffers()):
        if tensor.device.type == "cuda":
            return str(tensor.device)
        first = tensor if first is None else first
    return "cpu" if first is None else str(first.device)
