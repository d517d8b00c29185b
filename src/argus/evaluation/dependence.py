"""Value-dependence experiments: does an output depend on what it must not depend on?

    misplaced   an element of dimension D at d ends up, or is combined, at another d:
                the inputs at D = d are changed, and an output elsewhere must change
    forgotten   a sum never sees coordinate c: the inputs at c are changed, and no
                output of the block may change
    padded      elements outside a tensor reach the output: the fill of the load is
                changed, and some output must change
    twice       blocks are run one by one: two of them must write one element

Each shows what it looks for (True) or nothing (None): a value may be hidden by what
follows, so that silence is no disagreement.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.ir import ops as o
from argus.ir.expr import Const, binary
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.verify.evidence import Counterexample

__all__ = ["Arrays", "Run", "forgotten", "misplaced", "padded", "twice"]

Arrays = dict[str, Any]
Run = Callable[[Program, Arrays, "list[int] | None"], "Arrays | None"]
"""Outputs of a program on these arrays (which it may change), for these blocks; None
where the launch refuses them or the interpreter finds a fault."""

MOST_BLOCKS, MOST_COPIED = 128, 1 << 25
"""Blocks that are run one by one; elements that are copied for them, together."""


def misplaced(
    program: Program, arrays: Arrays, found: Counterexample, execute: Run
) -> bool | None:
    """Whether a value of an operand's coordinate appears at another coordinate."""
    mixed = _mixed(program)
    if None in mixed:
        return None
    blocks = _blocks(found)
    base = execute(program, _copy(arrays), blocks)
    if base is None:
        return None
    seen: set[tuple[str, int]] = set()
    for operand in found.operands:
        for dim, at in operand.tag.items():
            if dim in mixed or (dim, at) in seen:
                continue
            seen.add((dim, at))
            changed = _changed(program, arrays, {dim: at})
            made = None if changed is None else execute(program, changed, blocks)
            if made is not None and any(
                _differs_elsewhere(t, base[t.name], made[t.name], dim, at)
                for t in _outputs(program)
            ):
                return True
    return None


def forgotten(
    program: Program, arrays: Arrays, found: Counterexample, execute: Run
) -> bool | None:
    """Whether the block's outputs do not depend on the coordinates that are missing."""
    missing = next((x for x in found.operands if x.label == "missing"), None)
    if missing is None:
        return None
    blocks = _blocks(found)
    changed = _changed(program, arrays, missing.tag)
    if changed is None:
        return None
    base = execute(program, _copy(arrays), blocks)
    made = execute(program, changed, blocks)
    if base is None or made is None:
        return None
    same = all(base[n].tobytes() == made[n].tobytes() for n in base)
    return True if same else None


def padded(
    program: Program, arrays: Arrays, found: Counterexample, execute: Run
) -> bool | None:
    """Whether an output depends on what is loaded for elements that do not exist.

    A fill is that of all such elements of a load. Where some of them lie outside
    another dimension, or in no mask, what changes says nothing of those in question.
    """
    lines = {s.span for x in found.operands for s in x.chain}
    other = copy.deepcopy(program)
    changed = False
    for op in walk(other.body):
        if isinstance(op, o.LoadGlobal) and op.span in lines:
            if not _padded_as_said(op, arrays, found):
                return None
            op.fill = _another(op.fill)
            changed = True
    if not changed:
        return None
    base = execute(program, _copy(arrays), _blocks(found))
    made = execute(other, _copy(arrays), _blocks(found))
    if base is None or made is None:
        return None
    differ = any(base[n].tobytes() != made[n].tobytes() for n in base)
    return True if differ else None


def twice(program: Program, arrays: Arrays, blocks: int, execute: Run) -> bool | None:
    """Whether two blocks write one element of an output."""
    copied = blocks * sum(a.size for a in arrays.values())
    if blocks > MOST_BLOCKS or copied > MOST_COPIED:
        return None
    count = {n: np.zeros(arrays[n].shape, np.int64) for n in program.outputs}
    for first in range(0, blocks, program.cluster):
        made = execute(
            program, _copy(arrays), list(range(first, first + program.cluster))
        )
        if made is None:
            return None
        for name, array in made.items():
            count[name] += _bytes(array) != _bytes(arrays[name])
    return True if any((n > 1).any() for n in count.values()) else None


def _blocks(found: Counterexample) -> list[int] | None:
    """The block that the counterexample is about; None: all."""
    return None if found.place.block is None else [found.place.block]


def _padded_as_said(op: o.LoadGlobal, arrays: Arrays, found: Counterexample) -> bool:
    """Whether a load has only the padding that is said, as sizes of tiles tell."""
    tensor = op.view.tensor
    extents = dict(zip(tensor.dims, arrays[tensor.name].shape, strict=True))
    outside = {
        name
        for x in found.operands
        for name, at in x.tag.items()
        if name in extents and not 0 <= at < extents[name]
    }
    return op.mask is None and all(
        name is not None and (name in outside or extents.get(name, 1) % size == 0)
        for name, size in zip(op.view.dims, op.view.shape, strict=True)
    )


def _another(fill: Any) -> Any:
    if isinstance(fill, Const) and isinstance(fill.value, float):
        finite = np.isfinite(fill.value)
        return Const(fill.value + 3.0 if finite else 3.0)
    return binary("+", fill, 3)


# ------------------------------------------------------------------------- changes


def _copy(arrays: Arrays) -> Arrays:
    return {n: a.copy() for n, a in arrays.items()}


def _changed(program: Program, arrays: Arrays, tag: Mapping[str, int]) -> Arrays | None:
    """Arrays with other numbers in the inputs where these coordinates are."""
    made = _copy(arrays)
    any_ = False
    for t in _tensors(program):
        own = [d for d in t.dims if d in tag]
        if t.name in program.outputs or not t.dtype.is_float or not own:
            continue
        index = tuple(tag[d] if d in tag else slice(None) for d in t.dims)
        array = made[t.name]
        inside = all(
            0 <= i < n
            for i, n in zip(index, array.shape, strict=True)
            if isinstance(i, int)
        )
        if inside:
            array[index] = _negated(array[index])
            any_ = True
    return made if any_ else None


def _negated(array: Any) -> Any:
    """Other numbers: those of the opposite sign (bf16 is kept as 16 bits)."""
    held = np.asarray(array)
    if held.dtype == np.uint16:
        return held ^ np.uint16(0x8000)
    return -held


def _differs_elsewhere(tensor: GlobalTensor, a: Any, b: Any, dim: str, at: int) -> bool:
    if dim not in tensor.dims:
        return False
    axis = tensor.dims.index(dim)
    different = _bytes(a) != _bytes(b)
    if at < different.shape[axis]:
        np.moveaxis(different, axis, 0)[at] = False
    return bool(different.any())


def _bytes(array: Any) -> NDArray[Any]:
    """The array as integers: poison compares equal with itself."""
    held = np.ascontiguousarray(array)
    return held.view(f"u{held.dtype.itemsize}").copy()


# ------------------------------------------------------------------------- programs


def _tensors(program: Program) -> Iterable[GlobalTensor]:
    return (p for p in program.params if isinstance(p, GlobalTensor))


def _outputs(program: Program) -> list[GlobalTensor]:
    return [t for t in _tensors(program) if t.name in program.outputs]


def _mixed(program: Program) -> set[str | None]:
    """Dimensions along which a right kernel mixes elements: reductions, products.

    None among them: a reduction along an axis without a name.
    """
    found: set[str | None] = set()
    for op in walk(program.body):
        match op:
            case o.Reduce(src=src, axis=axis) | o.Sort(src=src, axis=axis):
                found.add(src.dims[axis])
            case o.Combining(srcs=srcs, axis=axis):
                found.update(src.dims[axis] for src in srcs)
            case o.Dot(a=a):
                found.add(a.dims[-1])
            case _:
                pass
    return found
