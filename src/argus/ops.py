"""The library as functions on torch tensors: allocate, choose a form, launch.

    from argus import ops
    y = ops.gemm(x, w, bias, activation="relu")

Each function checks nothing that the kernel's own contract checks: a wrong argument is
an ArgusError before anything is launched. Results are on the inputs' device, computed
on its current stream, and usable under CUDA graphs.

The functions stand in the `op.py` of each family of `argus.kernels`. Those that have
gradients are made of `TorchFunction`s, which its `OPERATORS` lists: they are registered
with torch when a function of the family is first asked for, since that is before
torch.compile traces a call of it. The functions of other families have none: where a
tensor requires one, and gradients are enabled, a call is an ArgusError (AG0801), and
not a result that autograd knows nothing of.
"""

import re
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from argus.diagnostics import fail
from argus.kernels.autograd import without_gradient
from argus.kernels.library import parts

_FAMILIES: dict[str, Any] = {name: p for p in parts("op") for name in p.__all__}

__all__ = list(_FAMILIES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in _FAMILIES:
        raise AttributeError(f"module {__name__!r} has no function {name!r}")
    family = _FAMILIES[name]
    found = getattr(family, name)
    if hasattr(family, "OPERATORS"):
        for function in family.OPERATORS:
            function.register()
    else:
        found = _guarded(name, found)
    found = _of_tensors(name, found)
    # A name of the module from now on: Python calls this for no name that it finds.
    globals()[name] = found
    return found


def _of_tensors(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which refuses what is no tensor of torch where it takes one.

    Its own text asks a tensor for its shape before a kernel is called, whose contract
    has a word for other things: an array of numpy, a list, None. Where that fails, the
    tensors are asked for their ranks.
    """
    from torch import Tensor

    said = {n: str(p.annotation) for n, p in signature(function).parameters.items()}
    kinds = {n: "None" in a for n, a in said.items() if a.startswith("Tensor")}
    ranks = {n: int(found[1]) for n, a in said.items() if (found := _RANK.match(a))}
    in_order = tuple((n, n in kinds, kinds.get(n, True)) for n in said)

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        for (parameter, wanted, optional), value in zip(in_order, args, strict=False):
            if wanted and not isinstance(value, Tensor):
                _require_left_out(name, parameter, value, optional)
        for parameter, value in named.items():
            if parameter in kinds and not isinstance(value, Tensor):
                _require_left_out(name, parameter, value, kinds[parameter])
        try:
            return function(*args, **named)
        except (IndexError, ValueError, RuntimeError):
            given = {**dict(zip(said, args, strict=False)), **named}
            for parameter, rank in ranks.items():
                _require_rank(name, parameter, given.get(parameter), rank)
            raise

    return call


_RANK = re.compile(r"Tensor(\d)")
"""Annotations of tensors of so many dimensions: see `argus.kernels.tensors`."""


def _require_rank(name: str, parameter: str, value: Any, rank: int) -> None:
    """Raise ArgusError AG0803 for a tensor of another rank."""
    if value is not None and value.dim() != rank:
        raise fail(
            "AG0803",
            None,
            f"`{parameter}` of ops.{name} has rank {value.dim()}, expected {rank}",
            help=f"help(argus.ops.{name}) has the shapes",
        ) from None


def _require_left_out(name: str, parameter: str, value: object, optional: bool) -> None:
    """Raise ArgusError AG0812 for what is no tensor, unless it may be None and is."""
    if value is None and optional:
        return
    raise fail(
        "AG0812",
        None,
        f"`{parameter}` of ops.{name} takes a torch tensor, given a "
        f"{type(value).__name__}",
        help="torch.as_tensor(...) makes one of an array or a list",
    )


def _guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which refuses tensors that a gradient is wanted of."""
    what = f"ops.{name}"

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        without_gradient(what, *args, *named.values())
        return function(*args, **named)

    return call


def __dir__() -> list[str]:
    return sorted(_FAMILIES)
