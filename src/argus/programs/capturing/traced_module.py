"""A module whose `forward` differentiates, as a graph of operators.

`torch.export` follows a call before autograd sees it, where it loses tensors that
autograd makes: gradients within `forward`, functions of `torch.func`. Below autograd
nothing is lost: the graph that is found there is exported in the place of `forward`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from argus.programs.capturing.name_clashes import HELD

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["traced_below_autograd", "transforms_left"]


@contextmanager
def transforms_left() -> Generator[None]:
    """Leaves no function transform of torch open that is entered within it.

    Where a graph fails between the operators that enter and leave one (`jvp`),
    all tensors that are made later would belong to it.
    """
    import torch

    own: Any = vars(torch)["_C"]
    functorch: Any = own._functorch
    before = functorch.get_dynamic_layer_stack_depth()
    forward_mode = _is_forward_mode(own)
    try:
        yield
    finally:
        functorch.pop_dynamic_layer_stack_and_undo_to_depth(before)
        if not forward_mode and _is_forward_mode(own):
            own._exit_dual_level(level=0)


def _is_forward_mode(own: Any) -> bool:
    """Whether a level of forward differentiation is open; torch has no second one."""
    try:
        level = own._enter_dual_level()
    except RuntimeError:
        return True
    own._exit_dual_level(level=level)
    return False


def traced_below_autograd(model: Module, inputs: tuple[Any, ...]) -> Module:
    """A module that computes the same for inputs like these, without autograd.

    It holds the model under the name `HELD`. Raises what the model raises, and what
    torch does where a graph would have to look at elements.
    """
    import torch
    from torch._subclasses import FakeTensor
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.nn import Module
    from torch.nn.utils import stateless
    from torch.utils import _pytree

    swapped: Any = vars(stateless)["_reparametrize_module"]
    leaves, nested = _pytree.tree_flatten(inputs)
    places = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
    names = [n for n, _ in (*model.named_parameters(), *model.named_buffers())]
    returned: list[Any] = []

    def held() -> dict[str, Any]:
        return {**dict(model.named_parameters()), **dict(model.named_buffers())}

    def called(state: list[Any], given: list[Any]) -> list[Any]:
        arguments = [*leaves]
        for place, tensor in zip(places, given, strict=True):
            arguments[place] = tensor
        own = dict(zip(names, state, strict=True))
        with swapped(model, own, tie_weights=True):
            result = model(*_pytree.tree_unflatten(arguments, nested))
        found, how = _pytree.tree_flatten(result)
        returned[:] = [how]
        return found

    state = [held()[name] for name in names]
    given = [leaves[i] for i in places]
    fake = any(isinstance(t, FakeTensor) for t in (*state, *given))
    graph: Any = make_fx(called, tracing_mode="real" if fake else "fake")(state, given)
    (how,) = returned

    class Traced(Module):
        """Calls the graph."""

        def __init__(self) -> None:
            super().__init__()
            setattr(self, HELD, model)

        def forward(self, *arguments: Any) -> Any:
            leaves = _pytree.tree_leaves(arguments)
            now = held()
            found = graph([now[n] for n in names], [leaves[i] for i in places])
            return _pytree.tree_unflatten(found, how)

    return Traced().train(model.training)
