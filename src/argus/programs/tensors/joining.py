"""Tensors put together: parts of one value, or a choice at each position.

    program = join(program)

Where products or reductions make the parts, and nothing else reads these, each kernel
stores its part in the joined value, and nothing is copied. Of many parts, those that
something else reads are copied: no kernel chooses between as many tensors as a loop has
steps. Joins that begin with the same tensors are one value, of which the shorter ones
are the first parts (a dense block). Else an element is a choice between elements of the
tensors, each with a border, in the kernel that reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from math import prod

from argus.programs.tensors.memory_order import in_order, order_of
from argus.programs.tensors.offsets import digits_through
from argus.programs.tensors.recorder import ProgramRecorder
from argus.programs.tensors.rewriting import ProgramRewriter
from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    GivenPrimitive,
    JoinedPrimitive,
    JoinPrimitive,
    MapPrimitive,
    Primitive,
    ProgramValue,
    ReducePrimitive,
    TensorProgram,
    TorchPrimitive,
    ViewedValue,
    operands_of,
)
from argus.programs.tensors.views import BorderedView, ReshapedView, bordered, sliced

_LEAST = 1 << 16
"""Elements of a joined value below which launches count and not bytes."""
_MANY = 32
"""Tensors from which on a kernel that chooses between them would be too long."""
LONG = frozenset({"sin", "cos", "exp", "log", "erf", "tanh", "atan"})
FEW, _DEEP, _LARGE = 3, 4, 1 << 22
"""Parts with such functions that a choice may compute for each element; maps among
which these are looked for; elements from which that takes longer than launches.
"""
_FRACTION = 8
"""A tensor that is so many times smaller than another counts for nothing beside it."""


def join(program: TensorProgram) -> TensorProgram:
    """The program without `JoinPrimitive`."""
    program = _Turning(program).program(program)
    return _Joining(program).program(program)


def may_lie_in_one(operands: Sequence[ViewedValue]) -> bool:
    """Whether tensors may be parts of one value: many, or large and values as such."""
    if len(operands) >= _MANY:
        return True
    whole = all(map(_whole, operands))
    return whole and sum(o.value.size for o in operands) >= _LEAST


def _whole(operand: ViewedValue) -> bool:
    """Whether an operand shows each element of its value once, in any order.

    The kernel that makes the value may store it so.
    """
    if all(isinstance(v, ReshapedView) for v in operand.views):
        return True
    found = digits_through(operand)
    return (
        found is not None
        and prod(operand.shape) == operand.value.size
        and all(step for digits in found[0] for n, step in digits if n > 1)
    )


def grows(operands: Sequence[ViewedValue]) -> bool:
    """Whether what is given, or parts of it, is larger than the others together."""
    given = [o for o in operands if isinstance(o.value.made, GivenPrimitive)]
    bordered = any(isinstance(v, BorderedView) for o in given for v in o.views)
    size = sum(prod(o.shape) for o in operands)
    return not bordered and 2 * sum(prod(o.shape) for o in given) > size


def choice(
    recorder: ProgramRecorder, operands: Sequence[ViewedValue], dim: int
) -> ViewedValue:
    """Operands of one type, one after the other: a choice at each position."""
    total = sum(o.shape[dim] for o in operands)
    shape = [*operands[0].shape]
    shape[dim] = total
    at = recorder.positions(shape, dim)
    zero = recorder.cast(0, operands[0].value.dtype)
    assert isinstance(zero, bool | int | float)
    end, found = total, None
    for part in reversed(operands):
        n = part.shape[dim]
        widths = [(0, 0)] * len(shape)
        widths[dim] = (end - n, total - end)
        seen = part.through(bordered(part.shape, widths, zero))
        if found is None:
            found = seen
        else:
            found = recorder.map("where", recorder.map("lt", at, end), seen, found)
        end -= n
    assert found is not None
    return found


class _Turning(ProgramRewriter):
    """Joins that are only copied in another order (a result) are made in that order.

    No kernel stores what several parts are made of, and could turn it on the way.
    """

    def __init__(self, program: TensorProgram) -> None:
        super().__init__()
        read = Counter(o.value for v in program.values for o in operands_of(v))
        read.update(r.value for r in program.results if isinstance(r, ViewedValue))
        self._turned: dict[ProgramValue, tuple[int, ...]] = {}
        """Which dimensions of a join those of its copy are, by the copies."""
        self._gone: set[ProgramValue] = set()
        for value in program.values:
            match value.made:
                case MapPrimitive("cast", (ViewedValue(value=joined) as seen,)) if (
                    isinstance(joined.made, JoinPrimitive)
                    and read[joined] == 1
                    and joined.dtype == value.dtype
                ):
                    order, found = order_of(seen), digits_through(seen)
                    if not order or not found or order.stored != joined.shape:
                        continue
                    steps = [step for digits in found[0] for _, step in digits]
                    if order.whole and not found[1] and min(steps) >= 0:
                        dims = range(len(joined.shape))
                        self._turned[value] = tuple(map(order.dims.index, dims))
                        self._gone.add(joined)
                case _:
                    pass

    def rewrite(self, value: ProgramValue) -> None:
        """Leave out a join that its copy becomes."""
        super().rewrite(value)
        if value in self._gone:
            self.values.pop()

    def replaced(self, value: ProgramValue, made: Primitive) -> Primitive:
        """A copy of a join as the join of parts that are seen in its order."""
        dims = self._turned.get(value)
        if dims is None:
            return made
        assert isinstance(made, MapPrimitive)
        (seen,) = made.operands
        assert isinstance(seen, ViewedValue)
        joined = seen.value.made
        assert isinstance(joined, JoinPrimitive)
        parts = tuple(in_order(o.shape, dims).laid(o) for o in joined.operands)
        return JoinPrimitive(parts, dims.index(joined.dim), joined.grows)


class _Home:
    """Joins of which the longest has the others as its first parts."""

    def __init__(self, joins: Sequence[ProgramValue]) -> None:
        self.longest = max(joins, key=lambda v: v.size)
        self.joins = joins
        made = self.longest.made
        assert isinstance(made, JoinPrimitive)
        self.dim, self.operands = made.dim, made.operands
        self.sizes = tuple(o.shape[made.dim] for o in made.operands)
        self.value = replace(self.longest, made=JoinedPrimitive(self.sizes, self.dim))
        self.stored = 0
        """How many parts are values of the new program so far."""


class _Joining(ProgramRewriter):
    def __init__(self, program: TensorProgram) -> None:
        super().__init__()
        self.recorder = ProgramRecorder()
        self.readers: dict[ProgramValue, list[ProgramValue | None]] = {}
        joins: list[ProgramValue] = []
        for value in program.values:
            self.recorder.named(value.name)
            for operand in operands_of(value):
                self.readers.setdefault(operand.value, []).append(value)
            if isinstance(value.made, JoinPrimitive):
                joins.append(value)
        for result in program.results:
            if isinstance(result, ViewedValue):
                self.readers.setdefault(result.value, []).append(None)
        self.homes: dict[ProgramValue, _Home] = {}
        for home in _homes(joins):
            if self._in_one(home):
                self.homes |= dict.fromkeys(home.joins, home)

    def rewrite(self, value: ProgramValue) -> None:
        """A join of parts adds those that are not there yet, and is a view of them."""
        home = self.homes.get(value)
        if home is None:
            super().rewrite(value)
            return
        if not home.stored:
            self.values.append(home.value)
        assert isinstance(value.made, JoinPrimitive)
        ends = (0, *accumulate(home.sizes))
        for number in range(home.stored, len(value.made.operands)):
            operand = home.operands[number]
            copied = MapPrimitive("cast", (self.operand(operand),))
            name = self.recorder.named(f"{value.name}_part")
            at = ends[number] * home.value.strides[home.dim]
            self.values.append(
                ProgramValue(
                    name, operand.shape, value.dtype, copied, 0, home.value, at
                )
            )
        home.stored = max(home.stored, len(value.made.operands))

    def operand(self, operand: ViewedValue) -> ViewedValue:
        """The operand of the new program."""
        home = self.homes.get(operand.value)
        if home is None:
            return super().operand(operand)
        whole = home.value
        if operand.value is home.longest:
            return ViewedValue(whole, operand.views)
        parts = [(0, 1, n) for n in operand.value.shape]
        return ViewedValue(whole, (sliced(whole.shape, parts), *operand.views))

    def replaced(self, value: ProgramValue, made: Primitive) -> Primitive:
        """Other joins are a choice."""
        if not isinstance(made, JoinPrimitive):
            return made
        found = choice(self.recorder, made.operands, made.dim)
        self.values += [v for v in self.recorder.values if v is not found.value]
        again = found.value not in self.recorder.values
        self.recorder.values.clear()
        return MapPrimitive("cast", (found,)) if again else found.value.made

    def _in_one(self, home: _Home) -> bool:
        """Whether parts are stored in one value, at no more cost than without it.

        A kernel stores what nothing else reads in its part. Of several joins others
        are copied once, and not chosen from by each that reads the joins.
        """
        readers = [r for join in home.joins for r in self.readers.get(join, [])]
        if any(r and isinstance(r.made, TorchPrimitive) for r in readers):
            return False  # it would read what is not written yet
        if len(home.operands) >= _MANY:
            made = [
                self._stored_by_its_kernel(o.value, several=True) for o in home.operands
            ]
            return 2 * sum(made) >= len(made)
        own = set(home.joins)
        kept = [
            o.value.size
            for o in home.operands
            if set(self.readers[o.value]) <= own
            and self._stored_by_its_kernel(o.value, several=len(own) > 1)
        ]
        if len(own) == 1:
            if len(kept) == len(home.operands) or self._grows(home):
                return True
            long = sum(self._takes_long(o.value, _DEEP) for o in home.operands)
            return home.longest.size >= _LARGE and long > FEW
        return 2 * sum(kept) >= home.longest.size

    def _grows(self, home: _Home) -> bool:
        """Whether a join is a given tensor that grows, and a result.

        It has to be stored, and what is behind is small or stored by its kernel. So no
        kernel compares positions with the length, and those of one length are those
        of the next, for a launch or two more.
        """
        made = home.longest.made
        assert isinstance(made, JoinPrimitive)
        if not made.grows or None not in self.readers[home.longest]:
            return False
        long = [
            o.value
            for o in home.operands
            if _FRACTION * prod(o.shape) > home.longest.size
            and not self._stored_by_its_kernel(o.value, several=False)
        ]
        return all(isinstance(v.made, GivenPrimitive) for v in long)

    def _takes_long(self, value: ProgramValue, depth: int) -> bool:
        """Whether a kernel that chooses a part computes functions for all of them."""
        made = value.made
        if not isinstance(made, MapPrimitive) or not depth:
            return False
        return made.function in LONG or any(
            len(self.readers[o.value]) == 1 and self._takes_long(o.value, depth - 1)
            for o in operands_of(value)
        )

    def _stored_by_its_kernel(self, value: ProgramValue, *, several: bool) -> bool:
        """Whether a product or a reduction makes a value, perhaps with maps behind.

        One that is stored with gaps (``alone``) is copied without them, which is worth
        it for several readers.
        """
        match value.made:
            case ContractPrimitive(alone=alone):
                return several or not alone
            case ReducePrimitive():
                return True
            case MapPrimitive():
                large = [
                    o.value
                    for o in operands_of(value)
                    if _FRACTION * o.value.size > value.size
                ]
                return any(
                    len(self.readers[v]) == 1
                    and self._stored_by_its_kernel(v, several=several)
                    for v in large
                )
            case _:
                return False


def _homes(joins: Sequence[ProgramValue]) -> list[_Home]:
    """Each join with those whose operands are its first ones; none in two."""
    left = sorted(joins, key=lambda v: -v.size)
    found: list[_Home] = []
    while left:
        longest = left[0]
        members = [v for v in left if _begins(v, longest)]
        left = [v for v in left if v not in members]
        found.append(_Home(members))
    return found


def _begins(one: ProgramValue, other: ProgramValue) -> bool:
    a, b = one.made, other.made
    assert isinstance(a, JoinPrimitive) and isinstance(b, JoinPrimitive)
    return a.dim == b.dim and a.operands == b.operands[: len(a.operands)]
