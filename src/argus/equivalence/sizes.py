"""Sizes that a launch admits: small ones around the tiles of a program.

Sizes that a program does not admit are moved to the nearest ones that it does
(`verify/decide/nearest.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from argus.ir.expr import Const, Expr, binary, substitute, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program, ScalarParam, stride_symbol
from argus.ir.required import required_sizes
from argus.verify.decide.nearest import nearest

__all__ = [
    "Sizes",
    "distinct_sizes",
    "elements_of",
    "environment",
    "fixed_sizes",
    "free_sizes",
    "mended",
    "named_sizes",
    "shapes_of",
    "with_others_small",
]

Sizes = dict[str, int]


def fixed_sizes(program: Program) -> Sizes:
    """Dimensions whose size the program has fixed."""
    found: Sizes = {}
    for tensor in _tensors(program):
        for dim, extent in zip(tensor.dims, tensor.shape, strict=True):
            if isinstance(extent, Const):
                found[dim] = int(extent.value)
    return found


def free_sizes(program: Program) -> tuple[str, ...]:
    """The other dimensions, in order of the parameters."""
    fixed = fixed_sizes(program)
    dims = (d for t in _tensors(program) for d in t.dims)
    return tuple(d for d in dict.fromkeys(dims) if d not in fixed)


def named_sizes(sizes: Mapping[str, int]) -> Sizes:
    """Sizes that a user knows by name: a number in an annotation has none."""
    return {n: size for n, size in sizes.items() if not n.removeprefix("_").isdigit()}


def mended(
    program: Program, sizes: Mapping[str, int], first: Iterable[str] = ()
) -> Sizes | None:
    """Sizes near the given ones that all requirements admit; None if none was found.

    ``first``: those that stay where they are if they can, whatever others do.
    """
    made = dict(sizes)
    strides = _strides(program)
    required = [substitute(r.cond, strides) for r in program.requirements]
    # What is asked of a number that is not a size is left to the run.
    known = [c for c in required if all(s.name in made for s in symbols(c))]
    own = free_sizes(program)
    order = dict.fromkeys((*(d for d in first if d in own), *own))
    found = nearest(known, made, list(order), first=len(set(first) & set(own)))
    if found.values is None:
        return None
    return {name: int(n) for name, n in found.values.items()}


def _strides(program: Program) -> dict[str, Expr]:
    """Strides of contiguous tensors."""
    found: dict[str, Expr] = {}
    for tensor in _tensors(program):
        stride: Expr = Const(1)
        for i in reversed(range(tensor.rank)):
            found[stride_symbol(tensor.name, i).name] = stride
            stride = binary("*", stride, tensor.shape[i])
    return found


def distinct_sizes(program: Program) -> Sizes:
    """Admitted sizes of which no two are the same, and none is 1; {} if none are found.

    Dimensions that the program has fixed, or requires to be a number, are not among
    them.
    """
    fixed = {**fixed_sizes(program), **required_sizes(program)}
    own = tuple(name for name in free_sizes(program) if name not in fixed)
    tried = [[step * n for n in range(3, 3 + len(own))] for step in (2, 4, 6, 12)]
    # Of two sizes one may have to divide the other, which is far from it then.
    powers = [4 * 2**n for n in range(len(own))]
    for numbers in (*tried, powers[::-1], powers):
        wanted = dict(zip(own, numbers, strict=True))
        found = mended(program, {**fixed, **wanted}) or {}
        made = {name: found[name] for name in own if name in found}
        if len(made) == len(own) == len({*made.values()} - {1}):
            return made
    return {}


def with_others_small(
    program: Program, known: Mapping[str, int], small: int
) -> Sizes | None:
    """Admitted sizes near the known ones, beside which all others are near ``small``.

    Names that are no size of the program are left out. None as of :func:`mended`.
    """
    others = dict.fromkeys(free_sizes(program), small)
    given = {name: n for name, n in known.items() if name in others}
    return mended(program, {**fixed_sizes(program), **others, **given}, given)


def environment(
    program: Program, sizes: Mapping[str, int], scalars: Mapping[str, int | float]
) -> dict[str, int | float]:
    """Values of the symbols of dimensions, contiguous strides and scalars."""
    env: dict[str, int | float] = {}
    for param in program.params:
        if isinstance(param, ScalarParam):
            if param.name in scalars:
                env[param.sym.name] = scalars[param.name]
            continue
        stride = 1
        for i in reversed(range(param.rank)):
            env[stride_symbol(param.name, i).name] = stride
            extent = _extent(param, i, sizes)
            env[param.dims[i]] = extent
            stride *= extent
    return env


def shapes_of(program: Program, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Shapes of the tensors."""
    return {
        t.name: tuple(_extent(t, i, sizes) for i in range(t.rank))
        for t in _tensors(program)
    }


def elements_of(program: Program, sizes: Mapping[str, int]) -> int:
    """How many elements the tensors have in all."""
    return sum(prod(shape) for shape in shapes_of(program, sizes).values())


def _extent(tensor: GlobalTensor, axis: int, sizes: Mapping[str, int]) -> int:
    """A size of a tensor; one that is fixed is its own, whatever others are called."""
    own = tensor.shape[axis]
    return int(own.value) if isinstance(own, Const) else sizes[tensor.dims[axis]]


def _tensors(program: Program) -> Iterable[GlobalTensor]:
    return (p for p in program.params if isinstance(p, GlobalTensor))
