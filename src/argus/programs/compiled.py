"""A module of torch as a program of kernels that is called like the module.

faster = argus.compile(model, (x,))
y = faster(x)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from argus.diagnostics import fail
from argus.programs.capturing.capture import capture, tensor_attributes
from argus.programs.planning.building import build_side_by_side
from argus.programs.planning.kept_plans import kept_plan
from argus.programs.planning.plan import ProgramPlan
from argus.programs.running.execution import (
    KernelRunner,
    ProgramCall,
    proved_in_interpreter,
    returned,
)
from argus.programs.running.given import GivenTensors
from argus.programs.running.launches import device_target
from argus.programs.running.replay import ReplayedCall

if TYPE_CHECKING:
    from torch.nn import Module


class CompiledProgram:
    """The kernels of a plan, for inputs of some shapes.

    Weights are those of the plan: what is changed in place is seen. ``strict``: what
    would stay in torch is an error. ``graph``: calls with tensors where they were
    before are replayed as a CUDA graph. Kernels are proved and built in the first call;
    on tensors of the CPU they are proved and interpreted, which is for small sizes.
    Raises ArgusError AG1043 where something is left in torch and ``strict``.
    """

    def __init__(
        self,
        plan: ProgramPlan,
        *,
        strict: bool = False,
        graph: bool = False,
        run: KernelRunner | None = None,
    ) -> None:
        self.plan = plan
        if strict:
            require_whole(self.plan)
        self._run, self._graph = run, graph
        self._given = GivenTensors(self.plan.program)
        self._call: ProgramCall | ReplayedCall | None = None

    def __call__(self, *inputs: Any) -> Any:
        """What the module returns, on the current stream; without gradients.

        Inputs are tensors with the shapes, types and device of the plan. Raises
        ArgusError AG0801 for others, AG1047 for a device without kernels, and what
        proving, building and launching kernels raise.
        """
        import torch

        program = self.plan.program
        with torch.no_grad():
            if self._call is None:
                self._call = called(self.plan, self._run, self._graph)
            results = self._call(*self._given(inputs, program.tensors))
            return returned(program, results, inputs, program.tensors)


def called(
    plan: ProgramPlan, run: KernelRunner | None = None, graph: bool = False
) -> ProgramCall | ReplayedCall:
    """A plan, ready to be called: kernels by ``run``, or as its device has them.

    Raises ArgusError AG1047 for a device without kernels.
    """
    device = plan.program.device
    if run is not None or not plan.kernels or device == "cpu":
        return ProgramCall(plan, run or proved_in_interpreter())
    if not device.startswith("cuda"):
        raise fail(
            "AG1047",
            None,
            f"the tensors of the program are on `{device}`, which has no kernels",
            help="move the module and its inputs to a GPU of CUDA, or to the CPU",
        )
    import torch

    index = torch.device(device).index or 0
    target = device_target(index)
    build_side_by_side(plan.kernels, target, open_sizes=plan.open_sizes)
    call = ProgramCall(plan)
    return ReplayedCall(call) if graph else call


def compiled(
    model: Module, inputs: Sequence[Any], *, strict: bool = False, graph: bool = False
) -> CompiledProgram:
    """The kernels of a module in evaluation mode, for inputs of these shapes.

    Raises ArgusError AG1041 where torch cannot export the module; AG0801 for what is no
    module, or inputs that are no sequence.
    """
    import torch

    if not isinstance(cast(object, model), torch.nn.Module):
        raise fail(
            "AG0801",
            None,
            f"`model` is to be a torch.nn.Module, given a {type(model).__name__}",
        )
    if not isinstance(cast(object, inputs), tuple | list):
        raise fail(
            "AG0801",
            None,
            "`inputs` are to be a tuple of the arguments of `forward`, given a "
            f"{type(inputs).__name__}",
            help="write `argus.compile(model, (x,))`",
        )
    plan = kept_plan(capture(model, tuple(inputs)))
    return CompiledProgram(plan, strict=strict, graph=graph)


def bound(plan: ProgramPlan, module: Module) -> ProgramPlan:
    """A plan made of shapes alone, with the weights, buffers and tensors of a module.

    Other constants are those of the plan. Raises ArgusError AG1041 for one without
    elements: only a program of the module itself (`capture`) has them.
    """
    from torch._subclasses import FakeTensor

    held: dict[str, Any] = dict(module.named_parameters(remove_duplicate=False))
    held |= dict(module.named_buffers(remove_duplicate=False))
    held |= {name: getattr(m, own) for m, own, name in tensor_attributes(module)}
    tensors: dict[str, Any] = {}
    for name, tensor in plan.program.tensors.items():
        if name not in held and isinstance(tensor, FakeTensor):
            raise fail("AG1041", None, f"`{name}` is no weight of the module")
        tensors[name] = held.get(name, tensor).detach()
    return replace(plan, program=replace(plan.program, tensors=tensors))


def require_whole(plan: ProgramPlan) -> None:
    """Raises ArgusError AG1043 where something is left in torch."""
    if plan.left:
        step = plan.left[0]
        others = len(plan.left) - 1
        more = f" ({others} more)" if others else ""
        raise fail(
            "AG1043",
            None,
            f"{step.what} stays in torch: {step.why}{more}",
            help="leave out `strict`, and torch computes it",
        )
