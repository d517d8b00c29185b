"""Modules that call a part as torch calls one of its graphs: `code`, `graph`.

A graph of torch is a module that has what it reads as attributes, beside its own, so
that it does not find a codebook that the author calls `code`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.nn import Module

HELD = "held_by_argus"
"""The attribute under which such a module is exported."""


def without_clashes(model: Module) -> Module:
    """The module, or one that calls it, of which no name is one of a graph."""
    from torch.fx import GraphModule
    from torch.nn import Module

    named = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    named += [name for name, _ in model.named_buffers(remove_duplicate=False)]
    own = {name.partition(".")[0] for name in named}
    if not any(hasattr(GraphModule, name) for name in own):
        return model

    class Holder(Module):
        """Calls the module."""

        def __init__(self) -> None:
            super().__init__()
            setattr(self, HELD, model)

        def forward(self, *args: Any, **named: Any) -> Any:
            return model(*args, **named)

    return Holder().train(model.training)


def own_name(name: Any) -> str:
    """What the module itself calls a tensor that it was exported with."""
    return str(name).removeprefix(f"{HELD}.")
