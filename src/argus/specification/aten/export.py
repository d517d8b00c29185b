"""A function or module of PyTorch as a specification.

    given = trace_torch(torch_attention, program, world)

`torch.export` keeps sizes symbolic and says which sizes it means: the graph holds for
these only, so they are needs. Where it means sizes other than 1, those that are 1 have
a graph of their own. Decompositions are torch's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.ir.required import required_divisors
from argus.specification.arguments import named_arguments
from argus.specification.array import REAL, SymbolicArray
from argus.specification.aten.exporting import SIZE, Exports, dims_of, guards_of
from argus.specification.aten.graph import constant, walked
from argus.specification.aten.guards import require_guard
from argus.specification.calling import results_of
from argus.specification.specification import (
    Specification,
    arguments_of,
    as_output,
    in_all_ways,
)
from argus.specification.storage import Indices
from argus.specification.tracing import Tracing
from argus.terms import (
    Failing,
    Integer,
    Unknown,
    Value,
    World,
    element,
    tracing_specification,
)


def trace_torch(
    function: Callable[..., Any],
    program: Program,
    world: World,
    *,
    sizes: Mapping[str, int] | None = None,
    optional: Collection[str] = (),
) -> Specification:
    """The specification that a function or module of torch is for a kernel.

    It takes tensors, scalars, sizes and static parameters of the kernel by name (a
    scalar as a tensor without dimensions), and returns one tensor, several in the order
    of ``program.outputs``, or a mapping by their names. ``sizes``: numbers at which it
    is exported, by symbol, where sizes that differ arbitrarily do not fit (`H` a
    multiple of `G`). ``optional``: tensors that a call may leave out. A parameter
    of a module is a tensor of its name: the kernel's, where it has it.

    Raises Untraced for what torch cannot export with symbolic sizes, for operators that
    are not traced, and without torch.
    """
    forward = getattr(function, "forward", function)
    exports: list[Exports] = []

    def one_way(tracing: Tracing) -> Specification:
        given = arguments_of(tracing, program)
        with tracing_specification():
            if not exports:
                try:
                    named = named_arguments(forward, given, dims_of(program), optional)
                except ValueError as error:
                    raise Unknown(
                        f"the names of what {function!r} takes are not known"
                    ) from error
                exports.append(Exports(function, program, named, sizes or {}))
            return _one_way(tracing, given, exports[0])

    return in_all_ways(world, one_way)


def _one_way(
    tracing: Tracing, given: Mapping[str, Any], exports: Exports
) -> Specification:
    exported = _graph(tracing, exports)
    names, signature = exports.inputs, exported.graph_signature
    inputs = dict(zip(signature.user_inputs, (given[n] for n in names), strict=True))
    for place, target in _held(signature).items():
        inputs[place] = (
            given[target] if target in given else _parameter(tracing, exported, target)
        )
    _note_sizes(tracing, exported, inputs)
    for guard in guards_of(exported):
        _guard(tracing, exports, guard, given)
    values = walked(tracing, exported.graph, inputs)
    return _specification(tracing, exports, exported, values)


def _graph(tracing: Tracing, exports: Exports) -> Any:
    """The graph for launches that go this way, as sizes are 1 or others.

    Raises Failing where there is none with sizes of 1: launches have others then.
    """
    ones: frozenset[str] = frozenset()
    others: set[str] = set()
    while True:
        try:
            exported = exports.at(ones)
        except Unknown as why:
            if not ones:
                raise
            named = " and ".join(sorted(ones))
            raise Failing(f"where {named} is 1, {why.reason}") from why
        left = [n for n in exports.other_than_one(exported) if others.isdisjoint(n)]
        if not left:
            return exported
        name = left[0][0]
        size = tracing.world.size(name)
        tracing.sizes |= size.variables()
        if tracing.branched(tracing.world.compare(size, "==", 1)):
            ones |= {name, *_divisors_of_one(tracing, exports.program, name)}
        else:
            others.add(name)


def _divisors_of_one(tracing: Tracing, program: Program, name: str) -> Iterator[str]:
    """Sizes that divide one that is 1: they are 1, too.

    Raises Failing where one is 0, for launches have others.
    """
    world = tracing.world
    for divisor, dividend in required_divisors(program):
        if dividend == name:
            size = world.size(divisor)
            tracing.sizes |= size.variables()
            is_one = world.compare(size, "==", 1)
            few = world.compare(size, "<=", 1)
            other = world.compare(world.size(name), "!=", 1)
            world.require(few | other, f"{divisor} divides {name}")
            if not tracing.branched(is_one):
                raise Failing(f"the reference divides {name} by {divisor}, which is 0")
            yield divisor


def _specification(
    tracing: Tracing, exports: Exports, exported: Any, values: list[Any]
) -> Specification:
    from torch.utils import _pytree

    program = exports.program

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
    return Specification(
        found,
        tuple(tracing.needs),
        tracing.assumptions,
        frozenset(exports.named),
    )


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
    derived: list[tuple[Integer, str]] = []
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
                derived.append((size, name))
    for size, name in derived:
        guard = f"size == {name}"
        require_guard(tracing, guard, {**symbols, "size": size}, "torch.export")
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


def _guard(
    tracing: Tracing, exports: Exports, guard: str, given: Mapping[str, Any]
) -> None:
    """What torch says of sizes of inputs, as a need: elsewhere is another graph.

    Raises Unknown for what sets of sizes cannot say.
    """
    sizes: dict[str, Integer] = {}

    def named(found: re.Match[str]) -> str:
        tensor, axis = exports.size_of(found)
        name = f"{tensor}_{axis}"
        sizes[name] = given[tensor].sizes[axis]
        return name

    text = SIZE.sub(named, guard)  # also says which sizes it names
    require_guard(tracing, text, sizes, "torch.export")
