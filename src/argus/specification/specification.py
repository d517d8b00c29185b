"""A specification: for each output of a kernel, what each element should be.

world = World()
given = trace_numpy(reference, program, world)
given.outputs["C"].at((m, n))            # a value: Σ_{k < K} A[m, k]·B[n, k]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np

from argus.ir.dtypes import DType
from argus.ir.expr import Const, Expr, Sym
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program, ScalarParam
from argus.specification.arguments import named_arguments
from argus.specification.array import INTEGER, REAL, TRUTH, SymbolicArray, size_of
from argus.specification.calling import called, results_of
from argus.specification.cases import chosen
from argus.specification.casting import converted, lifted
from argus.specification.module import TracedModule
from argus.specification.sequences import unwrapped
from argus.specification.storage import Indices
from argus.specification.tracing import Need, Tracing, next_way
from argus.terms import (
    Failing,
    IndexSet,
    Integer,
    Scalar,
    Unknown,
    Value,
    World,
    element,
    leaf_term,
    tracing_specification,
)


@dataclass(frozen=True)
class Specification:
    """What a reference says.

    ``needs``: conditions on sizes without which it is not defined; the world requires
    them. ``assumptions``: what is taken for granted about data, in words, and whether
    entries of tables may be below 0 all the same. ``taken``: the kernel's parameters
    that the reference has; others keep their defaults there.
    """

    outputs: Mapping[str, SymbolicArray]
    needs: tuple[Need, ...]
    assumptions: Mapping[str, bool]
    taken: frozenset[str]


def trace_numpy(
    function: Callable[..., Any],
    program: Program,
    world: World,
    *,
    source: str | None = None,
    optional: Collection[str] = (),
) -> Specification:
    """The specification that a reference in numpy is for a kernel.

    ``function`` takes tensors, scalars, sizes and static parameters of the kernel by
    name. It returns one array, several in the order of ``program.outputs``, or a
    mapping by their names. ``source``: the text of its file, where Python cannot find
    it. ``optional``: tensors that a call may leave out. Sizes and scalars are
    `world.size(name)` and `world.variable(name)`, by the
    names of their symbols.

    Raises Untraced for what is not traced, and Unknown for results that are no outputs.
    """
    return in_all_ways(
        world,
        lambda tracing: _one_way(tracing, function, program, source, optional),
    )


def in_all_ways(
    world: World, one_way: Callable[[Tracing], Specification]
) -> Specification:
    """A specification that branches on what a launch decides, traced in each way.

    Raises what tracing it raises, and Failing where it fails in all ways.
    """
    found: list[tuple[Tracing, Specification]] = []
    failing: list[tuple[Tracing, Failing]] = []
    way: list[bool] | None = []
    while way is not None:
        tracing = Tracing(world, way=way)
        try:
            found.append((tracing, one_way(tracing)))
        except Failing as why:
            failing.append((tracing, why))
        way = next_way(way)
    if not found:
        raise failing[0][1]
    made = _of_all_ways(found)
    return replace(made, needs=(*made.needs, *_not_failing(failing)))


def _not_failing(failing: Sequence[tuple[Tracing, Failing]]) -> list[Need]:
    """That launches do not go the ways on which a reference fails."""
    needs: list[Need] = []
    for tracing, why in failing:
        others = Tracing(tracing.world, needs, sizes=tracing.sizes)
        others.need(~tracing.here, f"{~tracing.here}, or else {why.reason}")
    return needs


def _one_way(
    tracing: Tracing,
    function: Callable[..., Any],
    program: Program,
    source: str | None,
    optional: Collection[str],
) -> Specification:
    given = arguments_of(tracing, program)
    sizes = {d for t in _tensors(program) for d in t.dims}
    named = named_arguments(function, given, sizes, optional)
    outputs = tuple(program.outputs)
    with tracing_specification():
        result = called(tracing, function, (), named, source)
    result = results_of(result, outputs)
    tensors = {t.name: t for t in _tensors(program)}
    found: dict[str, SymbolicArray] = {}
    for name, value in result.items():
        if name not in tensors:
            raise Unknown(f"the reference returns {name}, which is no output")
        found[name] = as_output(tracing, tensors[name], value)
    return Specification(
        found, tuple(tracing.needs), tracing.assumptions, frozenset(named)
    )


def _of_all_ways(found: Sequence[tuple[Tracing, Specification]]) -> Specification:
    """What a reference says that branches on what a launch decides."""
    (_, whole), *others = found
    if not others:
        return whole
    outputs = dict(whole.outputs)
    for name in outputs:
        if any(name not in made.outputs for _, made in others):
            raise Unknown(f"the reference returns {name} in some branches only")
        outputs[name] = _by_way(
            [(tracing.here, made.outputs[name]) for tracing, made in found]
        )
    needs = {need.why: need for _, made in found for need in made.needs}
    said = _OfAllWays([made.assumptions for _, made in found])
    return Specification(outputs, tuple(needs.values()), said, whole.taken)


class _OfAllWays(Mapping[str, bool]):
    """What is taken for granted on any of several ways, as far as is known now."""

    def __init__(self, ways: Sequence[Mapping[str, bool]]) -> None:
        self.ways = ways

    def __getitem__(self, text: str) -> bool:
        said = [way[text] for way in self.ways if text in way]
        if not said:
            raise KeyError(text)
        return all(said)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(text for way in self.ways for text in way))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _by_way(ways: Sequence[tuple[IndexSet, SymbolicArray]]) -> SymbolicArray:
    """An output that is another array in each of some sets of launches."""
    (_, first), *_ = ways
    tracing = first.tracing
    dtype = np.result_type(*(array.dtype for _, array in ways))
    arrays = [(here, converted(array, dtype)) for here, array in ways]

    def read(at: Indices) -> Value:
        value = arrays[-1][1].at(at)
        for here, array in reversed(arrays[:-1]):
            value = chosen(
                tracing.world, here, partial(array.at, at), lambda old=value: old
            )
        return value

    whole = Tracing(tracing.world, sizes=tracing.sizes, folds=tracing.folds)
    return SymbolicArray(whole, first.sizes, dtype, read)


class LibraryCase(Protocol):
    """A problem of the library: its sizes by name; a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def sizes(self) -> Mapping[str, int]:
        """Numbers by name."""
        ...


LibraryReference = Callable[[Any, dict[str, Any], Any], Mapping[str, Any]]
"""Outputs by name, from numpy, arrays and scalars by name, and a case."""


def trace_entry(
    reference: LibraryReference,
    program: Program,
    case: LibraryCase,
    world: World,
    fixed: Collection[str] = (),
) -> Specification:
    """The specification that the reference of a library entry is for a kernel.

    ``reference`` takes numpy, arrays and scalars by name, and a case. A size of the
    case that is one of the program's is symbolic, but those of ``fixed`` are the
    numbers of the case, and so are all others. Options are those of the case.

    Raises Untraced for what is not traced, and Unknown for results that are no outputs.
    """
    tracing = Tracing(world)
    for tensor in _tensors(program):
        for name, size in zip(tensor.dims, sizes_of(tracing, tensor), strict=True):
            if name in fixed and size.constant is None:
                equal = world.compare(size, "==", case.sizes[name])
                tracing.need(equal, f"{name} == {case.sizes[name]} (the case)")
    given = arguments_of(tracing, program)
    sizes = {n: given.get(n, k) if n not in fixed else k for n, k in case.sizes.items()}
    arrays = {p.name: given[p.name] for p in program.params}
    symbolic = replace(case, sizes=sizes)  # type: ignore[type-var]
    module = TracedModule(tracing, np)
    with tracing_specification():
        result = called(tracing, reference, (module, arrays, symbolic), {})
    tensors = {t.name: t for t in _tensors(program)}
    found = {n: as_output(tracing, tensors[n], v) for n, v in result.items()}
    return Specification(
        found, tuple(tracing.needs), tracing.assumptions, frozenset(arrays)
    )


def arguments_of(tracing: Tracing, program: Program) -> dict[str, Any]:
    """Tensors, scalars, sizes and static parameters of a kernel, by name."""
    found: dict[str, Any] = {
        n: v for n, v in program.statics.items() if isinstance(v, int | float)
    }
    for tensor in _tensors(program):
        sizes = sizes_of(tracing, tensor)
        for name, size in zip(tensor.dims, sizes, strict=True):
            found.setdefault(name, size_of(tracing, size))
        found[tensor.name] = tensor_of(tracing, tensor.name, sizes, tensor.dtype)
    for param in program.params:
        if isinstance(param, ScalarParam):
            found[param.name] = scalar_of(tracing, param)
    return found


def _tensors(program: Program) -> list[GlobalTensor]:
    return [p for p in program.params if isinstance(p, GlobalTensor)]


def sizes_of(tracing: Tracing, tensor: GlobalTensor) -> tuple[Integer, ...]:
    """The shape of a tensor."""
    return tuple(_size(tracing, extent) for extent in tensor.shape)


def _size(tracing: Tracing, extent: Expr) -> Integer:
    match extent:
        case Const(value=value):
            return Integer.of(int(value))
        case Sym(name=name):
            size = tracing.world.size(name)
            tracing.sizes |= size.variables()
            return size
        case _:
            raise Unknown(f"a tensor of size {extent}")


def tensor_of(
    tracing: Tracing, name: str, sizes: tuple[Integer, ...], dtype: DType
) -> SymbolicArray:
    """A tensor argument: floats of 64 bits, integers of 64 bits, truth values."""
    world = tracing.world

    def read(indices: Indices) -> Value:
        if dtype.kind == "float":
            return Value.real(element(name, indices))
        entry = world.entry(name, indices)
        if dtype.kind == "int":
            return Value.whole(entry)
        return Value.truth(world.compare(entry, "!=", 0))

    kinds: dict[str, np.dtype[Any]] = {"float": REAL, "int": INTEGER, "bool": TRUTH}
    return SymbolicArray(tracing, sizes, kinds[dtype.kind], read)


def scalar_of(tracing: Tracing, param: ScalarParam) -> SymbolicArray:
    """A scalar argument, as a number of Python."""
    if param.dtype.startswith("f"):
        value = Value.real(leaf_term(Scalar(param.sym.name)))
        return SymbolicArray(tracing, (), REAL, lambda _: value, weak=True)
    number = tracing.world.variable(param.sym.name)
    tracing.sizes |= number.variables()
    return size_of(tracing, number)


def as_output(tracing: Tracing, tensor: GlobalTensor, value: Any) -> SymbolicArray:
    """A result in the shape and kind of an output.

    Raises Unknown where the shapes never agree.
    """
    array = lifted(tracing, unwrapped(value))
    sizes = sizes_of(tracing, tensor)
    if array.ndim != len(sizes):
        shown = ", ".join(map(str, array.sizes))
        raise Unknown(
            f"the reference's {tensor.name} is ({shown}), the kernel's has "
            f"{len(sizes)} dimensions"
        )
    for mine, other in zip(array.sizes, sizes, strict=True):
        tracing.need_equal(mine, other, f"the shape of {tensor.name}")
    if array.sizes != sizes:  # equal ones, of which not all launches may know it
        array = array.seen(sizes, lambda position: position, None)
    kinds: dict[str, np.dtype[Any]] = {"float": REAL, "int": array.dtype, "bool": TRUTH}
    return converted(array, kinds[tensor.dtype.kind])
