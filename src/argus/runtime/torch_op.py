"""Kernels as torch operators, so that `torch.compile(fullgraph=True)` takes them.

    op = as_torch_op(relu, "argus::relu", (tensor("X"), tensor("Y")), ["Y"])
    op(X, Y)             # writes Y

An operator is opaque to torch's compiler: it is called, never traced into. It has no
gradient; wrap it in `torch.autograd.Function` for one. Of the runtime, this file and
`sequence` import torch, and only when they are asked for something.
"""

import json
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, cast

from argus.diagnostics import fail

ParameterKind = Literal["tensor", "optional_tensor", "int", "float", "bool", "str"]

_SCHEMA_TYPES: dict[ParameterKind, str] = {
    "tensor": "Tensor",
    "optional_tensor": "Tensor?",
    "int": "SymInt",
    "float": "float",
    "bool": "bool",
    "str": "str",
}


class _Required(Enum):
    REQUIRED = "required"


Default = None | bool | int | float | str
REQUIRED = _Required.REQUIRED
"""The default of a parameter that has none."""


@dataclass(frozen=True, slots=True)
class OpParameter:
    """A parameter of an operator. Those with defaults come last."""

    name: str
    kind: ParameterKind
    default: Default | _Required = REQUIRED


def tensor(name: str) -> OpParameter:
    """A parameter that takes a tensor."""
    return OpParameter(name, "tensor")


_registered: dict[str, tuple[Callable[..., object], Callable[..., Any]]] = {}
_lock = threading.Lock()


def schema(
    parameters: Sequence[OpParameter], mutates: Sequence[str], outputs: int = 0
) -> str:
    """The operator's schema, such as "(Tensor A, Tensor(a!) C) -> ()".

    Raises ValueError for a mutated parameter that there is not, or that is no tensor.
    """
    kinds = {p.name: p.kind for p in parameters}
    for name in mutates:
        if kinds.get(name) not in ("tensor", "optional_tensor"):
            raise ValueError(f"{name!r} is no tensor parameter of {list(kinds)}")
    aliases = iter("abcdefghijklmnopqrstuvwxyz")
    parts: list[str] = []
    for parameter in parameters:
        kind = _SCHEMA_TYPES[parameter.kind]
        if parameter.name in mutates:
            kind = kind.replace("Tensor", f"Tensor({next(aliases)}!)")
        default = parameter.default
        text = "" if default is REQUIRED else f"={_literal(default)}"
        parts.append(f"{kind} {parameter.name}{text}")
    result = "Tensor" if outputs == 1 else f"({', '.join(['Tensor'] * outputs)})"
    return f"({', '.join(parts)}) -> {result}"


def _literal(default: Default | _Required) -> str:
    return json.dumps(default) if isinstance(default, str) else repr(default)


def _complete(
    parameters: Sequence[OpParameter], args: tuple[object, ...]
) -> tuple[object, ...]:
    """All arguments: torch leaves out those at the end that equal their defaults."""
    return (*args, *(p.default for p in parameters[len(args) :]))


def as_torch_op(
    function: Callable[..., object],
    name: str,
    parameters: Sequence[OpParameter],
    mutates_args: Sequence[str],
) -> Callable[..., Any]:
    """Register ``function`` as the operator ``name`` ("argus::gemm"), and return that.

    ``function`` takes the parameters by position, writes the tensors of
    ``mutates_args`` and its result is ignored. The operator returns None. The same
    function may be registered again under its name: the operator is the same.

    Raises:
        ArgusError: AG0906 if torch is not installed.
        ValueError: a name of the wrong form, or taken by another function.
    """

    def run(*args: object) -> None:
        function(*_complete(parameters, args))

    def fake(*args: object) -> None:
        """Nothing to infer: the operator returns nothing."""

    return _register(function, name, schema(parameters, mutates_args), run, fake)


def as_functional_op(
    function: Callable[..., object],
    name: str,
    parameters: Sequence[OpParameter],
    allocate: Callable[..., object],
    outputs: int = 1,
) -> Callable[..., Any]:
    """Register an operator that makes its outputs: torch plans their memory.

    ``allocate`` takes the operator's arguments and returns its output tensors, empty
    (one, or a tuple of ``outputs``); it runs on torch's fake tensors too, so it uses
    shapes and types only. ``function`` takes the arguments and then the outputs.

    Raises like :func:`as_torch_op`.
    """

    def fake(*args: object) -> object:
        return allocate(*_complete(parameters, args))

    def run(*args: object) -> object:
        given = _complete(parameters, args)
        made = allocate(*given)
        several = cast("tuple[object, ...]", made) if outputs > 1 else (made,)
        function(*given, *several)
        return made

    if outputs < 1:
        raise ValueError("a functional operator has at least one output")
    text = schema(parameters, (), outputs)
    return _register(function, name, text, run, fake)


def _register(
    function: Callable[..., object],
    name: str,
    text: str,
    run: Callable[..., object],
    fake: Callable[..., object],
) -> Callable[..., Any]:
    if not re.fullmatch(r"[A-Za-z_]\w*::[A-Za-z_]\w*", name):
        raise ValueError(f"{name!r} is not of the form 'namespace::name'")
    try:
        from torch.library import custom_op
    except ImportError as error:
        raise fail(
            "AG0906",
            None,
            "torch is not installed",
            help="pip install 'argus-gpu[torch]'",
        ) from error
    with _lock:
        known = _registered.get(name)
        if known is not None:
            if known[0] is not function:
                raise ValueError(f"the operator {name} is another function's")
            return known[1]
        mutated = re.findall(r"Tensor\([a-z]!\)\?? (\w+)", text)
        define = cast("Callable[..., Any]", custom_op)
        op = define(name, run, mutates_args=tuple(mutated), schema=text)
        op.register_fake(fake)
        _registered[name] = (function, op)
        return op
