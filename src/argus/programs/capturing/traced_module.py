"""A module whose `forward` differentiates, as a graph of operators.

`torch.export` follows a call before autograd sees it, where it loses tensors that
autograd makes: gradients within `forward`, functions of `torch.func`. Below autograd
nothing is lost: the graph that is found there is exported in the place of `forward`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argus.programs.capturing.name_clashes import HELD

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["traced_below_autograd"]


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
