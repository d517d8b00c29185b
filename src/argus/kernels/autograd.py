"""Functions on torch tensors that have gradients, and are operators for torch.compile.

    loss = TorchFunction("argus::loss", parameters, launch, allocate, 2, keep, gradient)
    value, kept = loss(x, t)

Tensors that hold numbers are launched for directly, under `torch.autograd.Function`
where a gradient is wanted: torch's dispatcher would cost more than the launch. Whoever
traces (torch.compile, export, fake tensors, functorch) gets an operator of the same
functions, which is opaque to it, with the same gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argus.diagnostics import fail
from argus.files.settings import installed
from argus.runtime.torch_op import OpParameter, as_functional_op

__all__ = ["TorchFunction", "followed", "without_gradient"]

Keep = Callable[[Any, tuple[Any, ...], Any], None]
"""What a gradient needs: (ctx, arguments, outputs), as torch's ``setup_context``."""
Gradient = Callable[..., Any]
"""From (ctx, gradients of outputs, None for those that have none) to gradients of all
arguments, None for those that are no tensors of numbers."""


def followed(*tensors: Any) -> bool:
    """Whether somebody follows what is computed of tensors: autograd, or a trace.

    A launch by itself says nothing to them: their function is a `TorchFunction`. Every
    call asks, so that it takes half a microsecond.
    """
    import torch

    plain = (torch.Tensor, torch.nn.Parameter)
    wanted = False
    for t in tensors:
        if type(t) in plain:
            wanted = wanted or t.requires_grad
        elif t is not None:
            return True
    if wanted and torch.is_grad_enabled():
        return True
    return torch.compiler.is_compiling()


def without_gradient(what: str, *tensors: Any) -> None:
    """Raises ArgusError AG0801 where a gradient is wanted, which ``what`` has not."""
    import torch

    if not torch.is_grad_enabled():
        return
    for t in tensors:
        if getattr(t, "requires_grad", False):
            raise fail(
                "AG0801",
                None,
                f"{what} has no gradient, and a tensor that it is given requires one",
                help="call it under torch.no_grad(), or give it x.detach()",
            )


class TorchFunction:
    """A function of tensors and numbers that makes its outputs.

    ``launch`` takes the arguments, and then the outputs that ``allocate`` makes of the
    arguments: one, or a tuple of ``outputs``. ``keep`` and ``gradient`` are given
    together, or neither: then there is no gradient.
    """

    def __init__(
        self,
        name: str,
        parameters: Sequence[OpParameter],
        launch: Callable[..., object],
        allocate: Callable[..., Any],
        outputs: int = 1,
        keep: Keep | None = None,
        gradient: Gradient | None = None,
    ) -> None:
        self._name = name
        self._parameters = tuple(parameters)
        self._launch = launch
        self._allocate = allocate
        self._outputs = outputs
        self._keep = keep
        self._gradient = gradient
        self._operator: Any = None
        self._function: Any = None

    def __call__(self, *args: Any) -> Any:
        """The outputs; all arguments are given by position."""
        import torch

        if torch.compiler.is_compiling():
            return self.operator(*args)
        wanted = False
        for value in args:
            if isinstance(value, torch.Tensor):
                if type(value) not in (torch.Tensor, torch.nn.Parameter):
                    return self.operator(*args)
                wanted = wanted or value.requires_grad
        if wanted and self._gradient is not None and torch.is_grad_enabled():
            if self._function is None:
                self._function = self._made_function()
            return self._function.apply(*args)
        return self._made(*args)

    @property
    def operator(self) -> Any:
        """The operator, registered when it is first asked for.

        That cannot be traced: `register` is for before. Raises ArgusError AG0906
        without torch.
        """
        if self._operator is None:
            self.register()
        return self._operator

    def register(self) -> None:
        """Register the operator where that is still to be done, and torch is there."""
        if self._operator is not None or not installed("torch"):
            return
        op = as_functional_op(
            self._launch, self._name, self._parameters, self._allocate, self._outputs
        )
        if self._gradient is not None:
            keep, gradient = self._keep, self._gradient

            def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
                assert keep is not None
                keep(ctx, inputs, output)

            made: Any = op
            made.register_autograd(gradient, setup_context=setup)
        self._operator = op

    def _made(self, *args: Any) -> Any:
        made = self._allocate(*args)
        several = made if self._outputs > 1 else (made,)
        self._launch(*args, *several)
        return made

    def _made_function(self) -> Any:
        """The function as autograd has it; its gradient has none.

        Without ``setup_context``, through which torch takes several times as long.
        """
        import torch

        once: Any = vars(torch.autograd.function)["once_differentiable"]
        keep = self._keep
        assert keep is not None

        def forward(ctx: Any, *args: Any) -> Any:
            made = self._made(*args)
            keep(ctx, args, made)
            return made

        body: dict[str, Any] = {
            "forward": staticmethod(forward),
            "backward": staticmethod(once(self._gradient)),
        }
        return type(self._name.split("::")[1], (torch.autograd.Function,), body)
