"""A function or module of PyTorch as a specification.

    given = trace_torch(torch_attention, program, world)

`torch.export` keeps sizes symbolic and says which sizes it means: the graph holds for
these only, so they are needs. Decompositions are torch's own.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from argus.ir.memory import GlobalTensor
from argus.ir.program import Program, ScalarParam
from argus.specification.array import REAL, SymbolicArray
from argus.specification.aten.decomposing import decomposed
from argus.specification.aten.graph import constant, walked
from argus.specification.calling import results_of
from argus.specification.specification import (
    Specification,
    arguments_of,
    as_output,
)
from argus.specification.storage import Indices
from argus.specification.tracing import Need, Tracing
from argus.terms import Integer, Unknown, Value, World, element

_RANGE = re.compile(r"L\[.*\]\.size\(\)\[\d+\] >= \d+")
"""A guard that says what the range of a size says."""


def trace_torch(
    function: Callable[..., Any],
    program: Program,
    world: World,
    *,
    sizes: Mapping[str, int] | None = None,
) -> Specification:
    """The specification that a function or module of torch is for a kernel.

    It takes tensors and scalars of the kernel by name (a scalar as a tensor without
    dimensions), and returns one tensor, several in the order of ``program.outputs``,
    or a mapping by their names. ``sizes``: numbers at which it is exported, by symbol,
    where sizes that differ arbitrarily do not fit (`H` a multiple of `G`). A parameter
    of a module is a tensor of its name: the kernel's, where it has it.

    Raises Unknown for what torch cannot export with symbolic sizes, and for operators
    that are not traced; ImportError without torch.
    """
    tracing = Tracing(world)
    given = arguments_of(tracing, program)
    forward = getattr(function, "forward", function)
    try:
        names = [n for n in inspect.signature(forward).parameters if n in given]
    except ValueError as error:
        raise Unknown(f"the names of what {function!r} takes are not known") from error
    exported = _exported(function, program, names, sizes or {})
    signature: Any = exported.graph_signature
    inputs = dict(zip(signature.user_inputs, (given[n] for n in names), strict=True))
    for place, target in _held(signature).items():
        inputs[place] = (
            given[target] if target in given else _parameter(tracing, exported, target)
        )
    _note_sizes(tracing, exported, inputs)
    values = walked(tracing, exported.graph, inputs)
    return _specification(tracing, program, exported, values, frozenset(names))


def _specification(
    tracing: Tracing,
    program: Program,
    exported: Any,
    values: list[Any],
    taken: frozenset[str],
) -> Specification:
    from torch.utils import _pytree

    signature = exported.graph_signature
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        raise Unknown("the function of torch changes its arguments or buffers")
    result = _pytree.tree_unflatten(values, exported.call_spec.out_spec)
    tensors = {p.name: p for p in program.params if isinstance(p, GlobalTensor)}
    found: dict[str, SymbolicArray] = {}
    for name, value in results_of(result, tuple(program.outputs)).items():
        if name not in tensors:
            raise Unknown(f"the function of torch returns {name}, which is no output")
        found[name] = as_output(tracing, tensors[name], value)
    return Specification(found, tuple(tracing.needs), tuple(tracing.assumptions), taken)


def _exported(
    function: Any, program: Program, names: list[str], sizes: Mapping[str, int]
) -> Any:
    """The graph of core operators, with all symbolic sizes kept."""
    import torch

    params = {p.name: p for p in program.params}
    numbers: dict[str, int] = dict(sizes)
    examples: dict[str, Any] = {}
    dynamic: dict[str, Any] = {}
    for name in names:
        example, open_ones = _example(params[name], numbers)
        examples[name] = example
        dynamic[name] = dict.fromkeys(open_ones, torch.export.Dim.DYNAMIC)
    is_module = isinstance(function, torch.nn.Module)
    module: Any = function if is_module else _wrapped(function)
    shapes = tuple(dynamic[n] for n in names)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, about itself
            exported: Any = torch.export.export(
                module.eval(),
                tuple(examples[n] for n in names),
                dynamic_shapes=shapes if is_module else (shapes,),
                strict=False,
            )
            return decomposed(exported, torch.export.default_decompositions)
    except Exception as error:
        first = str(error).partition("\n")[0]
        raise Unknown(f"torch.export fails: {type(error).__name__}: {first}") from error


def _wrapped(function: Callable[..., Any]) -> Any:
    import torch

    class Function(torch.nn.Module):
        """A function as a module."""

        def forward(self, *args: Any) -> Any:
            return function(*args)

    return Function()


def _example(
    param: GlobalTensor | ScalarParam, numbers: dict[str, int]
) -> tuple[Any, list[int]]:
    """An example of an argument, and its dimensions of symbolic size.

    Every symbol has a number of its own, so that torch takes none for another.
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
        open_ones.append(dim)
    kinds = {"float": torch.float64, "int": torch.int64, "bool": torch.bool}
    return torch.zeros(shape, dtype=kinds[param.dtype.kind]), open_ones


def _held(signature: Any) -> dict[str, str]:
    """Placeholders of parameters, buffers and constants, and their names."""
    return {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }


def _parameter(tracing: Tracing, exported: Any, target: str) -> SymbolicArray:
    """A parameter is a tensor of its name; a buffer or a constant is its numbers."""
    if target not in exported.state_dict or target in exported.constants:
        return constant(tracing, exported.constants[target])
    tensor = exported.state_dict[target]
    if target in exported.graph_signature.buffers:
        return constant(tracing, tensor)

    def read(indices: Indices) -> Value:
        return Value.real(element(target, indices))

    shape = tuple(Integer.of(n) for n in tensor.shape)
    return SymbolicArray(tracing, shape, REAL, read)


def _note_sizes(tracing: Tracing, exported: Any, inputs: Mapping[str, Any]) -> None:
    """The sizes for which the graph was made, as needs."""
    world = tracing.world
    symbols: dict[str, Integer] = {}
    for node in exported.graph.nodes:
        array = inputs.get(node.name) if node.op == "placeholder" else None
        if not isinstance(array, SymbolicArray):
            continue
        for size, said in zip(array.sizes, node.meta["val"].shape, strict=True):
            name = str(said)
            if name.isdigit():
                tracing.need_equal(size, Integer.of(int(name)), "torch.export")
            elif name.isidentifier():
                tracing.need_equal(symbols.setdefault(name, size), size, "torch.export")
            else:
                tracing.needs.append(Need(None, f"{size} == {name} (torch.export)"))
    for symbol, bounds in exported.range_constraints.items():
        size = symbols.get(str(symbol))
        if size is None:
            continue
        low, high = str(bounds.lower), str(bounds.upper)
        if low.lstrip("-").isdigit():
            least = world.compare(size, ">=", int(low))
            tracing.need(least, f"{size} >= {low} (torch.export)")
        if high.isdigit():
            most = world.compare(size, "<=", int(high))
            tracing.need(most, f"{size} <= {high} (torch.export)")
    for guard in getattr(exported, "_guards_code", None) or ():
        if not _RANGE.fullmatch(guard):
            tracing.needs.append(Need(None, f"{guard} (torch.export)"))
