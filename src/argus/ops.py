"""The library as functions on torch tensors: allocate, choose a form, launch.

    from argus import ops
    y = ops.gemm(x, w, bias, activation="relu")

Each function checks nothing that the kernel's own contract checks: a wrong argument is
an ArgusError before anything is launched. Results are on the inputs' device, computed
on its current stream, and usable under CUDA graphs.

The functions stand in the `op.py` of each family of `argus.kernels`. Those that have
gradients are made of `TorchFunction`s, which its `OPERATORS` lists: they are registered
with torch when a function of the family is first asked for, since that is before
torch.compile traces a call of it.
"""

from collections.abc import Callable
from typing import Any

from argus.kernels.library import parts

_FAMILIES: dict[str, Any] = {name: p for p in parts("op") for name in p.__all__}

__all__ = list(_FAMILIES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in _FAMILIES:
        raise AttributeError(f"module {__name__!r} has no function {name!r}")
    family = _FAMILIES[name]
    for function in getattr(family, "OPERATORS", ()):
        function.register()
    # A name of the module from now on: Python calls this for no name that it finds.
    globals()[name] = found = getattr(family, name)
    return found


def __dir__() -> list[str]:
    return sorted(_FAMILIES)
