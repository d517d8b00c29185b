"""Functions of torch that take a number as an option, such as an eps.

A scalar of a kernel is any number. Torch's functions in C++ ask which one their options
are; its own reference implementations in Python do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from argus.terms import Unknown

__all__ = ["open_options"]


def open_options() -> Any:
    """A context in which options may be scalars.

    In it a function raises Unknown where torch asks which number one is, and has no
    implementation that does not.
    """
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
    from torch.overrides import TorchFunctionMode

    references = _references()

    class OpenOptions(TorchFunctionMode):
        def __torch_function__(
            self,
            func: Callable[..., Any],
            types: Sequence[type],
            args: Sequence[Any] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> Any:
            named = kwargs or {}
            try:
                return func(*args, **named)
            except GuardOnDataDependentSymNode as error:
                other = references.get(func)
                name = getattr(func, "__name__", str(func))
                if other is None and name.startswith("__"):
                    raise  # a branch by an element, say
                if other is None:
                    raise Unknown(
                        f"torch's `{name}` asks which number a scalar is"
                    ) from error
                with self:
                    return other(*args, **named)

    return OpenOptions()


def _references() -> Mapping[Any, Callable[..., Any]]:
    try:
        from torch._prims.context import torch_to_refs_map
    except ImportError:  # another torch
        return {}
    return torch_to_refs_map()
