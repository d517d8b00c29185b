"""A module of torch as a program of kernels that is called like the module.

faster = argus.compile(model, (x,))
y = faster(x)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from argus.diagnostics import fail
from argus.programs.execution import DeviceRunner, KernelRunner, run_plan
from argus.programs.plan import plan_of

if TYPE_CHECKING:
    from torch.nn import Module


class CompiledProgram:
    """The kernels of a module in evaluation mode, for inputs of some shapes.

    Weights are those of the module: what is changed in place is seen. ``strict``: what
    would stay in torch is an error. Raises ArgusError AG1041 where torch cannot export
    the module, and AG1043 where something is left in torch and ``strict``.
    """

    def __init__(
        self,
        model: Module,
        inputs: Sequence[Any],
        *,
        strict: bool = False,
        run: KernelRunner | None = None,
    ) -> None:
        self.plan = plan_of(model, inputs)
        self._run = DeviceRunner() if run is None else run
        if strict and self.plan.left:
            step = self.plan.left[0]
            raise fail(
                "AG1043",
                None,
                f"{step.what} stays in torch: {step.why}",
                help="leave out `strict`, and torch computes it",
            )

    def __call__(self, *inputs: Any) -> Any:
        """What the module returns, on the current stream; without gradients.

        Inputs are tensors of CUDA with the shapes and types of the plan. Raises
        ArgusError AG0801 for others, and what launching raises.
        """
        return run_plan(self.plan, inputs, self.plan.program.tensors, self._run)
