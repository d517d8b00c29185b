"""What `torch.export` makes of a function of a kernel's arguments: a graph.

    exports = Exports(function, program, named, sizes)
    exports.at(frozenset())             # the graph, with all sizes symbolic
    exports.at(frozenset({"K"}))        # where K is 1

Torch takes a size of 1 for no other: that one is not 1 can be what a graph is for. A
size of which launches admit one number is that number.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache, cached_property
from io import StringIO
from typing import Any
from unittest.mock import patch

from argus.diagnostics.ending import DidNotEnd, within
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program, ScalarParam
from argus.ir.required import required_sizes
from argus.specification.aten.decomposing import decomposed, decompositions_but
from argus.specification.aten.graph import traced
from argus.specification.aten.open_options import open_options
from argus.specification.aten.table import IN_REALS
from argus.specification.aten.unlogged import unlogged
from argus.terms import Unknown

__all__ = ["SIZE", "Exports", "dims_of", "guards_of"]

SIZE = re.compile(
    r"L\['(?P<name>\w+)'\](?:\[(?P<place>\d+)\])?\.size\(\)\[(?P<axis>\d+)\]"
)
"""A size of an input, as guards name it: by the input's name, or its number."""
_SECONDS = 300.0
"""For which an export may compute: a whole model's takes longer than a function's."""


@dataclass
class Exports:
    """Graphs of a function or module of torch, exported once for each set of ones.

    ``named``: its arguments by name; ``sizes``: numbers to export at, by symbol.
    """

    function: Any
    program: Program
    named: Mapping[str, Any]
    sizes: Mapping[str, int]
    _graphs: dict[frozenset[str], Any] = field(
        default_factory=dict[frozenset[str], Any]
    )

    @cached_property
    def inputs(self) -> list[str]:
        """Tensors and scalars that are inputs of a graph; they give sizes, too."""
        dims = dims_of(self.program)
        wanted = {dims[n][0] for n in self.named if n in dims} | self.named.keys()
        return [p.name for p in self.program.params if p.name in wanted]

    def at(self, ones: frozenset[str]) -> Any:
        """The graph of core operators where these sizes are 1, and others symbolic.

        Raises Unknown for what torch cannot export.
        """
        if ones not in self._graphs:
            self._graphs[ones] = self._exported(ones)
        return self._graphs[ones]

    def other_than_one(self, exported: Any) -> list[tuple[str, ...]]:
        """Symbols of sizes of which a graph takes one for another than 1, if all are.

        One guard each has several where it is about whether all of them are 1.
        """
        found = (self._others(guard) for guard in guards_of(exported))
        return list(dict.fromkeys(names for names in found if names))

    def _others(self, guard: str) -> tuple[str, ...]:
        """The symbols of the sizes in a guard, if 1 breaks it, and no 1 more does."""
        sizes = {size.groups(): size for size in SIZE.finditer(guard)}
        named: dict[str, str] = {}
        for size in sizes.values():
            name, axis = self.size_of(size)
            param = next(p for p in self.program.params if p.name == name)
            if not isinstance(param, GlobalTensor):
                return ()
            named[size.group()] = str(param.shape[axis])
        symbols = tuple(dict.fromkeys(named.values()))

        def kept(at: str | None) -> Any:
            """Whether it holds where one size is 2, and others are 1."""
            text = SIZE.sub(lambda m: "2" if named[m.group()] == at else "1", guard)
            return eval(text, {"__builtins__": {}})

        try:
            if kept(None) or (len(symbols) > 1 and not all(map(kept, symbols))):
                return ()
        except (NameError, SyntaxError, TypeError, ZeroDivisionError):
            return ()
        return symbols

    def size_of(self, size: re.Match[str]) -> tuple[str, int]:
        """The input and its axis that a size in a guard (`SIZE`) is of."""
        place = size["place"]
        name = size["name"] if place is None else self.inputs[int(place)]
        return name, int(size["axis"])

    def _exported(self, ones: frozenset[str]) -> Any:
        try:
            import torch
            from torch.fx.experimental import _config
        except ImportError as error:
            raise Unknown("torch, which it is in, is not installed") from error

        params = {p.name: p for p in self.program.params}
        known = {**required_sizes(self.program), **dict.fromkeys(ones, 1)}
        numbers: dict[str, int] = {**self.sizes, **known}
        examples: list[Any] = []
        dynamic: list[dict[int, Any]] = []
        for name in self.inputs:
            example, open_ones = _example(params[name], numbers, known.keys())
            examples.append(example)
            dynamic.append(dict.fromkeys(open_ones, torch.export.Dim.DYNAMIC))
        is_module = isinstance(self.function, torch.nn.Module)
        called = _Called(self.function, self.inputs, self.named, dims_of(self.program))
        module: Any = self.function if is_module else _wrapped(called)
        # Sizes of 1 are like all others, but where a guard says otherwise.
        settings: Any = _config
        try:
            with (
                warnings.catch_warnings(),
                _quiet(),
                settings.patch(backed_size_oblivious=True),
                _without_choices(torch),
                open_options(),
            ):
                warnings.simplefilter("ignore")  # torch's, about itself
                shapes = tuple(dynamic) if is_module else (tuple(dynamic),)
                exported: Any = within(
                    _SECONDS,
                    lambda: torch.export.export(
                        module.eval(),
                        tuple(examples),
                        dynamic_shapes=shapes,
                        strict=False,
                    ),
                )
                _require_no_squeeze(exported.graph)
                return decomposed(exported, _decompositions)
        except Unknown:
            raise
        except DidNotEnd as why:
            raise Unknown(f"torch.export {why}") from why
        except (Exception, SystemExit) as error:
            first = str(error).partition("\n")[0]
            raise Unknown(
                f"torch.export fails: {type(error).__name__}: {first}"
            ) from error


@cache
def _decompositions() -> dict[Any, Any]:
    """Torch's own, of operators that are not traced as they are."""
    table = decompositions_but(traced)
    return {op: how for op, how in table.items() if str(op) not in IN_REALS}


@contextmanager
def _quiet() -> Generator[None]:
    """Without what torch logs and prints of graphs that it cannot make."""
    unread = StringIO()
    with unlogged(), redirect_stdout(unread), redirect_stderr(unread):
        yield


@contextmanager
def _without_choices(torch: Any) -> Generator[None]:
    """Results of convolutions and pools are dense, whatever would be fast on a device.

    Which order is asks of sizes whether they are 1, and elements do not depend on it.
    How many windows a pool has is one formula, too, and asks nothing of sizes. Heads of
    queries that share keys have these repeated, also where each has its own.
    """
    from torch import _meta_registrations, _prims_common
    from torch.nn import functional

    attention = functional.scaled_dot_product_attention

    def with_own_keys(
        query: Any, key: Any, value: Any, *args: Any, enable_gqa: bool = False,
        **named: Any,
    ) -> Any:  # fmt: skip
        """Attention of which each head has keys."""
        if enable_gqa:
            times = query.shape[-3] // key.shape[-3]
            key, value = (x.repeat_interleave(times, -3) for x in (key, value))
        return attention(query, key, value, *args, **named)

    def none(*_: Any) -> None:
        """No order that would be fast."""

    def dense(_: Any) -> Any:
        """The order of results for an argument."""
        return torch.contiguous_format

    orders = (
        (torch._C, "_conv_determine_backend_memory_format", none),
        (_prims_common, "suggest_memory_format", dense),
        (_meta_registrations, "pooling_output_shape_pad_lr", _windows),
        (functional, attention.__name__, with_own_keys),
    )
    with ExitStack() as stack:
        for owner, name, instead in orders:
            if hasattr(owner, name):  # not another torch
                stack.enter_context(patch.object(owner, name, instead))
        yield


def _windows(
    size: Any, kernel: int, before: int, after: int, stride: int, dilation: int,
    ceil: bool,
) -> Any:  # fmt: skip
    """How many windows a pool has along a dimension with a border.

    With ``ceil`` also those that begin inside, or in the border before, and end
    outside of the border after.
    """
    span = dilation * (kernel - 1) + 1
    last = size + before + after - span
    if ceil:
        last = size + before - 1 + min(after - span + stride, 0)
    return last // stride + 1


def guards_of(exported: Any) -> Sequence[str]:
    """What a graph takes for granted about sizes of its inputs, in words of torch.

    Raises Unknown where this torch does not say it.
    """
    found = getattr(exported, "_guards_code", None)
    if found is None:
        raise Unknown("this torch does not say which sizes a graph is for")
    return found


def dims_of(program: Program) -> dict[str, tuple[str, int]]:
    """Dimensions by name: a tensor, and which of its axes has that name."""
    return {
        dim: (p.name, axis)
        for p in reversed(program.params)
        if isinstance(p, GlobalTensor)
        for axis, dim in enumerate(p.dims)
    }


@dataclass(frozen=True)
class _Called:
    """A function of named arguments, as one of the inputs of a graph in order.

    Sizes are asked of the tensors that have them, and static parameters are numbers.
    """

    function: Callable[..., Any]
    inputs: Sequence[str]
    named: Mapping[str, Any]
    dims: Mapping[str, tuple[str, int]]

    def __call__(self, *tensors: Any) -> Any:
        given = dict(zip(self.inputs, tensors, strict=True))
        named = {n: self._argument(n, v, given) for n, v in self.named.items()}
        return self.function(**named)

    def _argument(self, name: str, value: Any, given: Mapping[str, Any]) -> Any:
        if name in given:
            return given[name]
        if name not in self.dims:
            return value
        tensor, axis = self.dims[name]
        return given[tensor].shape[axis]


def _wrapped(function: Callable[..., Any]) -> Any:
    import torch

    class Function(torch.nn.Module):
        """A function as a module."""

        def forward(self, *args: Any) -> Any:
            return function(*args)

    return Function()


def _example(
    param: GlobalTensor | ScalarParam, numbers: dict[str, int], known: Collection[str]
) -> tuple[Any, list[int]]:
    """An example of an argument, and its dimensions of symbolic size.

    Every symbol has a number of its own, so that torch takes none for another; those
    that are ``known`` are numbers.
    """
    import torch

    if isinstance(param, ScalarParam):
        whole = param.dtype.startswith("i")
        return torch.tensor(1, dtype=torch.int64 if whole else torch.float64), []
    shape: list[int] = []
    open_ones: list[int] = []
    for dim, extent in enumerate(param.shape):
        value = getattr(extent, "value", None)
        if isinstance(value, int):
            shape.append(value)
            continue
        used = set(numbers.values())
        free = next(n for n in range(6, 10**6, 2) if n not in used)
        shape.append(numbers.setdefault(str(extent), free))
        if str(extent) not in known:
            open_ones.append(dim)
    kinds = {"float": torch.float64, "int": torch.int64, "bool": torch.bool}
    return torch.zeros(shape, dtype=kinds[param.dtype.kind]), open_ones


def _require_no_squeeze(graph: Any) -> None:
    """Raises Unknown for an axis that is there unless its size is 1."""
    for node in graph.nodes:
        if not str(node.target).startswith("aten.squeeze"):
            continue
        shape = node.args[0].meta["val"].shape
        given = node.args[1] if len(node.args) > 1 else range(len(shape))
        axes = [given] if isinstance(given, int) else given
        if any(not isinstance(shape[axis], int) for axis in axes):
            raise Unknown("it squeezes an axis whose size is not a number")
