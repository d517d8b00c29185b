"""The library as functions on torch tensors: allocate, choose a form, launch.

    from argus import ops
    y = ops.gemm(x, w, bias, activation="relu")

Each function checks nothing that the kernel's own contract checks: a wrong argument is
an ArgusError before anything is launched. Results are on the inputs' device, computed
on its current stream, and usable under CUDA graphs.

The functions stand in the `op.py` of each family of `argus.kernels`.
"""

from collections.abc import Callable
from typing import Any

from argus.kernels.library import parts

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(part, name) for part in parts("op") for name in part.__all__
}

__all__ = list(_FUNCTIONS)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in _FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no function {name!r}")
    # A name of the module from now on: Python calls this for no name that it finds.
    globals()[name] = _FUNCTIONS[name]
    return _FUNCTIONS[name]


def __dir__() -> list[str]:
    return sorted(_FUNCTIONS)
