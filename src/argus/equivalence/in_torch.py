"""References in PyTorch: what imports torch is given tensors, and gives tensors.

The import stands in the function, or in the file of a task that has one of its own.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any

import numpy as np

__all__ = ["array_of", "as_tensors", "is_in_torch"]

_NAME = "torch"


def is_in_torch(function: Callable[..., Any]) -> bool:
    """Whether a function imports torch by itself, or its file does.

    One that uses numpy, and not the torch of its file, is in numpy.
    """
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return False
    if any(map(_imports, _codes(code))):
        return True
    if _NAME not in function.__globals__:
        return False
    names = {name for each in _codes(code) for name in each.co_names}
    return _NAME in names or not names.intersection(("np", "numpy"))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _imports(code: CodeType) -> bool:
    modules = (
        str(step.argval)
        for step in dis.get_instructions(code)
        if step.opname == "IMPORT_NAME"
    )
    return any(module.partition(".")[0] == _NAME for module in modules)


def as_tensors(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments whose arrays are tensors, which share no memory with them.

    Raises ImportError without torch.
    """
    import torch

    return {
        name: torch.tensor(value) if isinstance(value, np.ndarray) else value
        for name, value in given.items()
    }


def array_of(result: Any) -> Any:
    """A result as an array: floats that numpy lacks are of 64 bits."""
    if not hasattr(result, "detach"):
        return result
    found = result.detach().cpu()
    return (found.double() if found.is_floating_point() else found).numpy()
