"""Tensors that `forward` puts into attributes which held none, or one of another shape.

A table of angles for as many positions as there are is made of shapes: a program makes
it anew in each call, and nobody sees a difference. One that is made of inputs is state,
which has no place in a program. What is one or the other is seen in two calls of the
module with tensors that have no elements.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from torch.nn import Module

_WRITTEN: frozenset[type] = frozenset((dict, list, set))
Attribute = tuple[Any, str]
"""A module, and the name of its attribute."""


class PutAttributes:
    """Attributes that a call put tensors into.

    ``new``: where there was none before; ``reshaped``: one of another shape.
    """

    def __init__(self) -> None:
        self.new: set[Attribute] = set()
        self.reshaped: set[Attribute] = set()

    @contextmanager
    def followed(self, model: Module) -> Generator[None]:
        """Look at what is put into attributes of modules, and forget it at the end.

        In the place of a buffer of another shape it is an attribute until then. What is
        put into one of the same shape is not told to torch, which would copy it to the
        buffer at the end, whatever that holds then: of two that change places both
        would hold the same.
        """
        import torch

        before = [(m, dict(vars(m))) for m in model.modules()]
        kind: Any = torch.nn.Module
        usual = kind.__setattr__

        def put(module: Any, name: str, value: Any) -> None:
            attributes = _attributes(module)
            buffer: Any = attributes.get("_buffers", {}).get(name)
            if not _is_tensor(buffer) or not _is_tensor(value):
                usual(module, name, value)
            elif buffer.shape == value.shape:
                attributes.pop(name, None)
                attributes["_buffers"][name] = value  # seen by no hook of torch's
            else:
                self.reshaped.add((module, name))
                attributes[name] = value

        kind.__setattr__ = put
        try:
            yield
        finally:
            kind.__setattr__ = usual
            for module, held in before:
                for name, value in [*vars(module).items()]:
                    if _is_tensor(value) and not _is_tensor(held.get(name)):
                        if (module, name) in self.reshaped:
                            del vars(module)[name]
                        else:
                            self.new.add((module, name))

    def state(self, model: Module, inputs: tuple[Any, ...]) -> str | None:
        """One that is made of inputs and matters to the next call; None: there is none.

        One that is only put there matters to none, unless there was a tensor before.
        """
        if not self.new and not self.reshaped:
            return None
        made, read = _traced(model, inputs, {*self.new, *self.reshaped})
        return next(
            (
                name
                for module, name in sorted(made, key=lambda found: found[1])
                if (module, name) in self.reshaped or (module, name) in read
            ),
            None,
        )


def _traced(
    model: Module, inputs: tuple[Any, ...], attributes: Collection[Attribute]
) -> tuple[set[Attribute], set[Attribute]]:
    """Attributes that are made of inputs, and those that the next call reads."""
    import torch
    from torch._subclasses import FakeTensor, FakeTensorMode
    from torch.utils import _pytree
    from torch.utils._python_dispatch import TorchDispatchMode

    class ComputedFrom(TorchDispatchMode):
        """What is computed from some tensors, by the memory that it is in."""

        def __init__(self, given: Any) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]
            self.kept: list[Any] = []
            self.memory: set[int] = set()
            self.read: set[int] = set()
            self.add(given)

        def add(self, given: Any) -> None:
            for tensor in _pytree.tree_leaves(given):
                if _is_tensor(tensor):
                    self.kept.append(tensor)  # its place in memory is given to no other
                    self.memory.add(_memory(tensor))

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = func(*args, **(kwargs or {}))
            found = [t for t in _pytree.tree_leaves((args, kwargs)) if _is_tensor(t)]
            self.read |= {_memory(t) for t in found}
            if any(_memory(t) in self.memory for t in found):
                self.add(result)
            return result

    state = [*model.parameters(), *model.buffers()]
    every = [*_pytree.tree_leaves(inputs), *state]
    fakes = [t for t in every if isinstance(t, FakeTensor)]
    mode = fakes[0].fake_mode if fakes else FakeTensorMode(allow_non_fake_inputs=True)
    held = [(m, _contents(m)) for m in model.modules()]
    own = {_memory(t) for t in state}  # what is put into those is followed
    with torch.no_grad(), mode:
        given, others = (_pytree.tree_map(_alike, inputs) for _ in range(2))
        try:
            with ComputedFrom(given) as first:
                model(*given)
            put = {found: _of(*found) for found in attributes}
            made = {
                found
                for found, tensor in put.items()
                if _is_tensor(tensor) and _memory(tensor) in first.memory - own
            }
            second = ComputedFrom(())
            try:
                with second:
                    model(*others)
            except Exception:  # noqa: BLE001 - of shapes that changed, say
                return made, made
            return made, {f for f in made if _memory(put[f]) in second.read}
        finally:
            for module, contents in held:
                _restore(module, contents)


def _alike(value: Any) -> Any:
    """Another tensor like it, without elements where there are none."""
    import torch

    return torch.empty_like(value) if _is_tensor(value) else value


def _contents(module: Any) -> dict[str, tuple[Any, Any]]:
    """All attributes, and copies of those that a call may write into."""
    return {
        name: (value, copy(value) if type(value) in _WRITTEN else None)
        for name, value in _attributes(module).items()
    }


def _restore(module: Any, contents: dict[str, tuple[Any, Any]]) -> None:
    _attributes(module).clear()
    for name, (value, held) in contents.items():
        if held is not None:
            value.clear()
            if hasattr(value, "extend"):
                value.extend(held)
            else:
                value.update(held)
        vars(module)[name] = value


def _attributes(module: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", vars(module))


def _of(module: Any, name: str) -> Any:
    return getattr(module, name, None)


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _memory(tensor: Any) -> int:
    return tensor.untyped_storage()._cdata
