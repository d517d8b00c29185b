"""Which bytes of shared memory each warp (or unit) of a placed access touches.

A :class:`Footprint` is one access of one operation at concrete values of its stage and
offsets: for each unit that acts on its own (a warp, a warpgroup, the elected thread) a
set of bytes, as a bit mask in one Python integer. Two footprints are compared once, and
the answer, which unit meets which, is kept: a walk repeats the same few pairs.

Bytes outside the block's shared memory are left out; bounds are another analysis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from argus.ir import ops as o
from argus.ir.access import (
    Env,
    Ints,
    box_address,
    descriptor_starts,
    matrix_elements,
    vector_shared,
)
from argus.ir.expr import Const
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.placement import MatrixOperand, TmaPlan, VectorPlan
from argus.isa.boxes import box_offsets
from argus.isa.descriptor import operand_addresses
from argus.isa.effects import EffectsTable
from argus.isa.matrix import MatrixElement, element
from argus.verify.order.scalars import Scalars

__all__ = ["Footprint", "Footprints", "OutOfModel", "Pairs"]

Pairs = tuple[tuple[int, int], ...]


class OutOfModel(Exception):  # noqa: N818 - an outcome, not a mistake
    """Something that this analysis does not model; the message says what."""


@dataclass(eq=False)
class Footprint:
    """Bytes that each unit touches: bit i of a mask is byte ``low + i``."""

    low: int
    high: int
    masks: tuple[int, ...]
    whole: int
    """All units' bytes, counted from byte 0 of shared memory."""
    access: object = None
    """What makes it, but for the stage of the buffer."""
    stage: int = 0
    even: bool = True
    """The same bytes of each stage are touched, and nothing else."""
    met: dict[Footprint, Pairs] = field(default_factory=dict["Footprint", Pairs])
    covered: dict[Footprint, bool] = field(default_factory=dict["Footprint", bool])

    def covers(self, other: Footprint) -> bool:
        """Whether all bytes of the other are among these."""
        if other not in self.covered:
            self.covered[other] = not other.whole & ~self.whole
        return self.covered[other]

    def meets(self, other: Footprint) -> Pairs:
        """Which units of self share a byte with which units of the other."""
        if other not in self.met:
            self.met[other] = self._meets(other)
        return self.met[other]

    def _meets(self, other: Footprint) -> Pairs:
        if self.high <= other.low or other.high <= self.low:
            return ()
        if not self.whole & other.whole:
            return ()
        shift = other.low - self.low
        theirs = [m << shift if shift >= 0 else m >> -shift for m in other.masks]
        return tuple(
            (u, v)
            for u, a in enumerate(self.masks)
            for v, b in enumerate(theirs)
            if a & b
        )


class Footprints:
    """Footprints of a program's accesses, each made once, in all stages of its buffer.

    ``empty``: some access touches no byte at all.
    """

    def __init__(self, size: int, scalars: Scalars, lanes: int) -> None:
        self.size = size
        self.lanes = lanes
        self.scalars = scalars
        self.effects = EffectsTable()
        self.empty = False
        self._made: dict[tuple[object, ...], Footprint] = {}
        self._boxes: dict[tuple[object, ...], tuple[Footprint, ...]] = {}

    def vector(
        self, op: o.AnyOp, plan: VectorPlan, view: SharedView, env: Env
    ) -> Footprint:
        """A load, store or cp.async by all threads: one unit per warp."""
        stage, *origin = self.scalars.values((view.stage, *view.origin), env)
        key = (stage, id(op), *origin)
        found = self._made.get(key)
        if found is None:
            found = self._each(
                stage, key[1:], view, lambda at: self._vector(plan, at, env)
            )
        return found

    def _each(
        self,
        stage: int,
        access: tuple[object, ...],
        view: SharedView,
        make: Callable[[SharedView], Footprint],
    ) -> Footprint:
        """Make the footprint in each stage, if the view is in one of the buffer's.

        ``access`` is what names it, but for the stage.
        """
        alloc = view.alloc
        asked = make(view)
        self.empty |= not asked.whole
        found = {stage: asked}
        first = _within(asked, alloc, stage)
        even = first is not None
        for number in range(alloc.stages) if even else ():
            try:
                if number != stage:
                    found[number] = make(replace(view, stage=Const(number)))
                even = even and _within(found[number], alloc, number) == first
            except OutOfModel:
                even = False
        for number, one in found.items():
            one.access, one.stage, one.even = access, number, even
            self._made[number, *access] = one
        return asked

    def _vector(self, plan: VectorPlan, view: SharedView, env: Env) -> Footprint:
        if "matrix" in plan.instruction:
            places = matrix_elements(plan, view, env)
        else:
            places = vector_shared(plan, view, env)
        threads = places.shape[0]
        if plan.unique:
            owner = plan.layout.owner_mask().reshape(places.shape)
            places = np.where(owner, places, -(1 << 40))
        warps = max(threads // self.lanes, 1)
        return self._of(places.reshape(warps, -1), view.dtype.bytes)

    def boxes(
        self, op: o.AnyOp, plan: TmaPlan, view: SharedView, env: Env
    ) -> tuple[Footprint, ...]:
        """The boxes of a TMA copy: a single unit each."""
        places = (view.stage, *(box.offset for box in plan.boxes))
        key = (id(op), *self.scalars.values(places, env))
        found = self._boxes.get(key)
        if found is None:
            stage, *offsets = key[1:]
            found = self._boxes[key] = tuple(
                self._each(
                    stage,
                    (id(op), i, *offsets),
                    view,
                    lambda at, i=i: self._box(plan, i, at, env),
                )
                for i in range(len(plan.boxes))
            )
        return found

    def _box(self, plan: TmaPlan, index: int, view: SharedView, env: Env) -> Footprint:
        itemsize = plan.map.tensor.dtype.bytes
        start = int(box_address(plan.boxes[index], view, env))
        offsets = box_offsets(plan.map.box, itemsize, plan.map.swizzle)
        return self._of((offsets + start).reshape(1, -1), itemsize)

    def operand(
        self,
        op: o.AnyOp,
        side: str,
        operand: MatrixOperand,
        view: SharedView,
        env: Env,
        rows: int,
        warpgroups: int,
    ) -> Footprint:
        """An operand of wgmma: one unit per warpgroup.

        Raises OutOfModel for a descriptor that the instruction does not accept.
        """
        stage, *origin = self.scalars.values((view.stage, *view.origin), env)
        key = (stage, id(op), side, *origin)
        found = self._made.get(key)
        if found is None:
            of = element(view.dtype)
            if of is None:
                raise OutOfModel(f"a product of {view.dtype}")

            def make(at: SharedView) -> Footprint:
                starts = descriptor_starts(operand, at, env, warpgroups)
                units = [_operand(operand, group, rows, of) for group in starts]
                return self._of(np.stack(units), view.dtype.bytes)

            found = self._each(stage, key[1:], view, make)
        return found

    def _of(self, places: Ints, itemsize: int) -> Footprint:
        """Units [units, elements] of element addresses."""
        inside = (places >= 0) & (places + itemsize <= self.size)
        if not inside.any():
            return Footprint(0, 0, (0,) * places.shape[0], 0)
        low = int(places[inside].min())
        high = int(places[inside].max()) + itemsize
        masks: list[int] = []
        for unit, valid in zip(places, inside, strict=True):
            bits = np.zeros(high - low, np.bool_)
            first = unit[valid] - low
            for byte in range(itemsize):
                bits[first + byte] = True
            packed = np.packbits(bits, bitorder="little")
            masks.append(int.from_bytes(packed.tobytes(), "little"))
        whole = 0
        for mask in masks:
            whole |= mask
        return Footprint(low, high, tuple(masks), whole << low)


def _within(
    footprint: Footprint, alloc: SharedAlloc, stage: int
) -> tuple[int, tuple[int, ...]] | None:
    """The bytes of a stage that are touched, by unit; None if not all are in it."""
    if not 0 <= stage < alloc.stages:
        return None
    assert alloc.offset is not None
    base = alloc.offset + stage * alloc.stage_bytes
    inside = base <= footprint.low and footprint.high <= base + alloc.stage_bytes
    return (footprint.low - base, footprint.masks) if inside else None


def _operand(
    operand: MatrixOperand, starts: Ints, rows: int, of: MatrixElement
) -> Ints:
    """Addresses of one warpgroup's operand, all atoms and steps."""
    base = int(starts.min()) // 1024 * 1024
    inside = tuple(int(s) - base for s in starts.reshape(-1))
    return _relative(operand, inside, rows, of) + base


@lru_cache(maxsize=512)
def _relative(
    operand: MatrixOperand, starts: tuple[int, ...], rows: int, of: MatrixElement
) -> Ints:
    parts: list[Ints] = []
    for start in starts:
        try:
            part = operand_addresses(
                start // 16 * 16,
                operand.leading,
                operand.stride,
                operand.swizzle,
                operand.mn_major,
                rows,
                of.depth,
                of.dtype.bytes,
            )
        except ValueError as error:
            raise OutOfModel(f"a matrix descriptor: {error}") from error
        parts.append(part.reshape(-1))
    result = np.concatenate(parts)
    result.setflags(write=False)
    return result
