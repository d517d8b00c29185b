"""Sizes that a launch admits: small ones around the tiles of a program.

What a program requires of its sizes is mended one condition at a time: an equation
gives a size its value, a bound and a divisor move it. What cannot be mended in a few
rounds is given up, and other sizes are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

from argus.extents import LEAST_EXTENT
from argus.ir.expr import Binary, Const, Expr, Sym, evaluate, holds, symbols
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program, ScalarParam, stride_symbol

__all__ = [
    "Sizes",
    "elements_of",
    "environment",
    "fixed_sizes",
    "free_sizes",
    "mended",
    "shapes_of",
    "with_others_small",
]

Sizes = dict[str, int]
_ROUNDS = 8


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


def mended(program: Program, sizes: Mapping[str, int]) -> Sizes | None:
    """Sizes near the given ones that all requirements admit; None if none was found."""
    made = dict(sizes)
    free = set(free_sizes(program))
    for _ in range(_ROUNDS):
        env = environment(program, made, {})
        open_ = [r.cond for r in program.requirements if not _admits(r.cond, env)]
        if not open_:
            return made
        for cond in open_:
            for part in _conjuncts(cond):
                if not _admits(part, env):
                    _mend(part, made, free, env)
                    env = environment(program, made, {})
    return None


def with_others_small(
    program: Program, known: Mapping[str, int], small: int
) -> Sizes | None:
    """Admitted sizes near the known ones, beside which all others are near ``small``.

    Names that are no size of the program are left out. None as of :func:`mended`.
    """
    others = dict.fromkeys(free_sizes(program), small)
    given = {name: n for name, n in known.items() if name in others}
    return mended(program, {**fixed_sizes(program), **others, **given})


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
            extent = sizes[param.dims[i]]
            env[param.dims[i]] = extent
            stride *= extent
    return env


def shapes_of(program: Program, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Shapes of the tensors."""
    return {t.name: tuple(sizes[d] for d in t.dims) for t in _tensors(program)}


def elements_of(program: Program, sizes: Mapping[str, int]) -> int:
    """How many elements the tensors have in all."""
    return sum(prod(shape) for shape in shapes_of(program, sizes).values())


def _tensors(program: Program) -> Iterable[GlobalTensor]:
    return (p for p in program.params if isinstance(p, GlobalTensor))


def _admits(cond: Expr, env: Mapping[str, int | float]) -> bool:
    """Whether a condition holds; one on what is not a size is left to the run."""
    if any(s.name not in env for s in symbols(cond)):
        return True
    return holds(cond, env)


def _conjuncts(cond: Expr) -> Iterator[Expr]:
    if isinstance(cond, Binary) and cond.op == "and":
        yield from _conjuncts(cond.left)
        yield from _conjuncts(cond.right)
    else:
        yield cond


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}


def _mend(
    cond: Expr, sizes: Sizes, free: set[str], env: Mapping[str, int | float]
) -> None:
    """Move one size so that the condition holds, if it says how."""
    if not isinstance(cond, Binary):
        return
    sides = (
        (cond.op, cond.left, cond.right),
        (
            _TURNED.get(cond.op, ""),
            cond.right,
            cond.left,
        ),
    )
    for op, one, other in sides:
        try:
            value = int(evaluate(other, env))
            if isinstance(one, Sym) and one.name in free:
                target = {"<": value - 1, "<=": value, ">": value + 1}.get(op, value)
                if op in _TURNED and target >= LEAST_EXTENT:
                    sizes[one.name] = target
                    return
            if isinstance(one, Binary) and one.op == "%" and op == "==":
                _divide(one, sizes, free, env, value)
                return
        except (KeyError, ZeroDivisionError):
            continue


def _divide(
    e: Binary, sizes: Sizes, free: set[str], env: Mapping[str, int | float], rest: int
) -> None:
    """Make ``e``, a remainder, be ``rest`` by a larger size."""
    by = int(evaluate(e.right, env))
    if isinstance(e.left, Sym) and e.left.name in free and by > 0:
        now = sizes[e.left.name]
        sizes[e.left.name] = now + (rest - now) % by
