"""Kernels with several results: those that walk the same loops become one.

    known = KnownKernels()
    groups = merged(program, grouped(program, known), known)

A kernel joins a later one that reads its result, or what it reads, where both are one
kernel for `lowering.py` and `tiling.py`: maps over the same positions, reductions over
the same columns, what is stored for each row beside what is stored for each position.
So a sum of two tensors is stored by the kernel that normalises it, and a normalisation
stores its means. Small kernels of what one kernel stores side by side become one, too.
Products and running sums stay kernels of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import ceil, prod

from argus.programs.lowering.counting import require_provable
from argus.programs.lowering.lowering import LoweredGroup, NotFusedError, lowered
from argus.programs.lowering.unrolling import unrolled
from argus.programs.planning.alike import KnownKernels
from argus.programs.planning.early_maps import TINY
from argus.programs.planning.forms import source_of
from argus.programs.planning.kernel_group import KernelGroup
from argus.programs.planning.worth import worthwhile
from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    GatherPrimitive,
    ProgramValue,
    ScanPrimitive,
    TensorProgram,
    TorchCall,
    TorchPrimitive,
    ViewedValue,
    operands_of,
)
from argus.programs.tiles.tile_axes import FEW_BLOCKS, GroupTiling
from argus.programs.tiles.tiling import tiling_of

_MOST_RESULTS = 4
_MOST_TENSORS = 12
"""Parameters of a kernel, at most."""
_OF_FEW, _MOST_PARTS = 8, 24
"""The same of a kernel that sums, if its parameters are parts of so few tensors (gates
of a recurrence)."""
_MOST_TINY = 8
_MOST_TENSORS_OF_TINY = 20
"""The same of kernels that do less than a launch takes."""
_MOST_PLACES = 4
"""Ways in which the dimensions of one result may be among those of another."""
_NEAR = 48
"""Kernels before one that may join it."""
_SMALL, _OF_BLOCK = 1 << 18, 1 << 13
"""Elements for which a launch takes as long as the work, and those of each block."""


def merged(
    program: TensorProgram, groups: Sequence[KernelGroup], known: KnownKernels
) -> list[KernelGroup]:
    """The kernels, some of them as one, in the order of their launches.

    ``known``: those that were made.
    """
    return _Merging(program, groups, known).groups()


class _Merging:
    def __init__(
        self,
        program: TensorProgram,
        groups: Sequence[KernelGroup],
        known: KnownKernels,
    ) -> None:
        self.known = known
        self.order = {v: i for i, v in enumerate(program.values)}
        self.needed = {r.value for r in program.results if isinstance(r, ViewedValue)}
        self.readers: dict[ProgramValue, set[object]] = {}
        """Kernels and calls of torch, by what they read."""
        for group in groups:
            self._noted(group)
        self.found: list[KernelGroup] = []
        self.given = groups
        self.calls: dict[TorchCall, int] = {}
        for value in program.values:
            if isinstance(value.made, TorchPrimitive):
                call = value.made.call
                self.calls.setdefault(call, self.order[value])
                for operand in call.operands:
                    self.readers.setdefault(operand.value, set()).add(call)

    def _noted(self, group: KernelGroup) -> None:
        for value in _read(group):
            self.readers.setdefault(value, set()).add(group)

    def groups(self) -> list[KernelGroup]:
        for group in self.given:
            self.found.append(group)
            if not _alone(group):
                self._joined()
        return self.found

    def _joined(self) -> None:
        """The last kernel takes in those before it, as long as it can."""
        at = len(self.found) - 2
        while at >= max(0, len(self.found) - _NEAR):
            other, last = self.found[at], self.found[-1]
            related = not _alone(other) and (
                _related(other, last)
                or self._beside(other, last)
                or _tiny_alike(other, last)
            )
            if related and self._may_wait(at):
                made = self._together(other, last)
                if made is not None:
                    for value in (*_read(other), *_read(last)):
                        self.readers[value] -= {other, last}
                    self._noted(made)
                    self.found[-1] = made
                    del self.found[at]
            at -= 1

    def _beside(self, one: KernelGroup, other: KernelGroup) -> bool:
        """Whether two small kernels walk alike what one kernel stores side by side."""
        assert one.lowered is not None and other.lowered is not None
        points = _points(one.lowered)
        if points != _points(other.lowered) or points > _SMALL:
            return False
        first, second = set(_read(one)), set(_read(other))
        stored = (set(_results(g)) for g in self.found if g.beside)
        return any(first & results and second & results for results in stored)

    def _may_wait(self, at: int) -> bool:
        """Whether nothing between a kernel and the last one reads its results."""
        results = set(_results(self.found[at]))
        if any(results & set(_read(g)) for g in self.found[at + 1 : -1]):
            return False
        end = self.order[self.found[-1].stored]
        return not any(
            place < end and results & {o.value for o in call.operands}
            for call, place in self.calls.items()
        )

    def _together(self, one: KernelGroup, other: KernelGroup) -> KernelGroup | None:
        """Both as one kernel; None where it is none, or no faster.

        What nobody else reads is not stored any more.
        """
        before = (*_results(one), *other.beside)
        inside = one.inside | other.inside | frozenset(before)
        both: set[object] = {one, other}
        beside = [
            v
            for v in before
            if v in self.needed or not self.readers.get(v, set()) <= both
        ]
        return _one_kernel(other.stored, beside, inside, (one, other), self.known)


def _results(group: KernelGroup) -> tuple[ProgramValue, ...]:
    return (*group.beside, group.stored)


def _read(group: KernelGroup) -> tuple[ProgramValue, ...]:
    """Values that a kernel, or torch in its place, reads."""
    if group.lowered is not None:
        return tuple(e.buffer for e in group.lowered.elements)
    return tuple(o.value for o in operands_of(group.stored))


def _alone(group: KernelGroup) -> bool:
    """Whether a kernel has one result by its nature."""
    if group.lowered is None or not isinstance(group.form, GroupTiling):
        return True
    if group.lowered.flat or group.form.product is not None:
        return True
    if any(v.home is not None for v in _results(group)):  # others read its home
        return True
    kinds = ContractPrimitive | ScanPrimitive | GatherPrimitive
    return any(isinstance(v.made, kinds) for v in (*_results(group), *group.inside))


def _points(group: LoweredGroup) -> int:
    return prod(group.sizes[n] for n in (*group.rows, *group.columns))


def _tiny_alike(one: KernelGroup, other: KernelGroup) -> bool:
    """Whether one of two kernels takes a launch and no more, of as many results.

    The other one does, too, or reduces to its results.
    """
    assert one.lowered is not None and other.lowered is not None
    if one.stored.size != other.stored.size:
        return False
    tiny = [_points(g) <= TINY for g in (one.lowered, other.lowered)]
    return any(tiny) and all(
        small or g.columns
        for small, g in zip(tiny, (one.lowered, other.lowered), strict=True)
    )


def _related(one: KernelGroup, other: KernelGroup) -> bool:
    """Whether two kernels walk as many points, and one reads what the other has."""
    assert one.lowered is not None and other.lowered is not None
    points = _points(one.lowered)
    if points != _points(other.lowered):
        return False
    read = set(_read(other))
    if read & set(_results(one)):
        return True
    return any(2 * v.size > points for v in read & set(_read(one)))


_Made = tuple[LoweredGroup, GroupTiling]


def _one_kernel(
    stored: ProgramValue,
    beside: Sequence[ProgramValue],
    inside: frozenset[ProgramValue],
    parts: Sequence[KernelGroup],
    known: KnownKernels,
) -> KernelGroup | None:
    tiny = all(g.lowered and _points(g.lowered) <= TINY for g in parts)
    if len(beside) >= (_MOST_TINY if tiny else _MOST_RESULTS):
        return None
    values = sorted((*beside, stored), key=lambda v: v.size)
    *small, whole = values
    for dims in _places(small, whole):
        own = (tuple(dims), *(v is stored for v in values))

        def walked(dims: Sequence[Sequence[int]] = dims) -> _Made:
            group = unrolled(lowered(values, inside, dims))
            form = tiling_of(group)
            worthwhile(group)
            require_provable(group)
            return group, form

        try:
            group, form = known.of(values, inside, ("merged", *own), walked)
            assert isinstance(form, GroupTiling)
            if _slower(group, form, parts):
                return None

            def said(made: _Made = (group, form)) -> _Made:
                source_of(*made, "kernel", "")
                return made

            known.of(values, inside, ("text", *own), said)
        except NotFusedError:
            continue
        return KernelGroup(stored, inside, group, form, "", tuple(beside))
    return None


def _places(
    small: Sequence[ProgramValue], whole: ProgramValue
) -> Iterator[list[tuple[int, ...]]]:
    """Which dimensions of the largest result those of the others are."""
    found = [list(_among(v.shape, whole.shape)) for v in small]
    if not small:
        yield []
    elif all(found):
        for number in range(min(_MOST_PLACES, max(map(len, found)))):
            yield [each[min(number, len(each) - 1)] for each in found]


def _among(shape: Sequence[int], whole: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Ways in which dimensions are among others, in order; -1: one of size 1."""
    long = [n for n in shape if n != 1]
    for dims in combinations(range(len(whole)), len(long)):
        if all(whole[d] == n for d, n in zip(dims, long, strict=True)):
            each = iter(dims)
            yield tuple(next(each) if n != 1 else -1 for n in shape)


def _slower(
    group: LoweredGroup, form: GroupTiling, parts: Sequence[KernelGroup]
) -> bool:
    """Whether a kernel of its own would walk memory better, or in more blocks."""
    tensors = {(e.buffer, e.offset) for e in group.elements}
    tiny = _points(group) <= TINY
    most = _MOST_TENSORS_OF_TINY if tiny else _MOST_TENSORS
    if group.columns and len({buffer for buffer, _ in tensors}) <= _OF_FEW:
        most = _MOST_PARTS
    if len(tensors) + len(group.stores) > most:
        return True
    vector = form.axes[-1].loop if form.axes else None
    offsets = [s.offset for s in group.stores] + [e.offset for e in group.elements]
    for offset in offsets:
        if vector in offset.loops and offset.factor(vector) != 1:
            return True
    blocks = _blocks(group, form)
    if _points(group) <= max(_SMALL, blocks * _OF_BLOCK):
        return False
    return blocks < FEW_BLOCKS and any(
        isinstance(g.form, GroupTiling)
        and g.lowered is not None
        and _blocks(g.lowered, g.form) > 2 * blocks
        for g in parts
    )


def _blocks(group: LoweredGroup, form: GroupTiling) -> int:
    return prod(ceil(group.sizes[n] / (form.size(n) or 1)) for n in group.rows)
