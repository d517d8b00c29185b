"""Operands of products as tensor cores and TMA take them, made by kernels before.

    program = prepare_products(program)

- Factors of f32 become parts of bf16 (`kernels/single`): x = high + middle + low, side
  by side in one value, and the product of two becomes six products of parts (`TERMS`).
  What is beyond 2**127, infinity too, gives NaN. Where both factors are inputs with few
  rows and a long sum, the kernel of the product splits them itself.
- A factor that TMA cannot address (rows that are not multiples of 16 bytes, elements
  that do not lie side by side) is copied to one that it can.
- Of a product with few results and a long sum, parts of the sum are results first.

Only products in which elements of both factors belong to several results: others have a
form that takes factors as they are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import ceil, prod

from argus.ir.dtypes import bf16, f16, f32
from argus.programs.attention.attention_chains import softmax_before
from argus.programs.lowering.lowering import over_windows
from argus.programs.planning.spelled_products import spelled_product
from argus.programs.products.product_factors import Factor, rounded_inside, unit_of
from argus.programs.products.product_forms import TMA_BYTES
from argus.programs.products.product_tiles import parts_of_sum
from argus.programs.products.products import short_sum
from argus.programs.tensors.offsets import digits_through, offsets_through
from argus.programs.tensors.recorder import ProgramRecorder
from argus.programs.tensors.rewriting import ProgramRewriter
from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    GivenPrimitive,
    MapPrimitive,
    Primitive,
    ProgramValue,
    ReducePrimitive,
    TensorProgram,
    ViewedValue,
    operands_of,
)
from argus.programs.tensors.views import (
    BorderedView,
    LinearView,
    OperandView,
    ReshapedView,
    permuted,
)

TERMS = ((1, 1), (2, 0), (0, 2), (1, 0), (0, 1), (0, 0))
"""Which parts of left and right are multiplied, the smallest products first."""
_PARTS = 3
_MANY_QUERIES = 64 * 128
"""Rows from which on attention fills a device, and is better whole than in parts."""
_LEFT, _RIGHT, _SUM = "T", "U", "SW"
"""Letters of parts of the left and right factor, and of two sums."""
_FEW_ROWS = range(64, 513)
_LONG_SUM = 4096
"""Rows of both factors, and elements that are summed, with which a product splits
factors of f32 itself: each is used in a few tiles, and writing parts takes as long as
the product."""
_FEW_STEPS = 8
"""Elements of a short sum that are read one by one, wherever they lie."""
_LARGE, _TIMES, _STEPS = 1 << 20, 8, 4
"""Results of a short sum, how many more than elements of a factor they are, and how far
apart neighbours lie in it, from which on it is copied."""
_SHORT_ROW = 8
"""Elements of a row below which room for whole steps of 16 bytes is wasted."""


def prepare_products(program: TensorProgram) -> TensorProgram:
    """The program in which products that are worth it have such operands."""
    return _Preparing(program).program(program)


class _Preparing(ProgramRewriter):
    def __init__(self, program: TensorProgram) -> None:
        super().__init__()
        self.recorder = ProgramRecorder()
        for value in program.values:
            self.recorder.named(value.name)
        readers = Counter(o.value for v in program.values for o in operands_of(v))
        results = {r.value for r in program.results if isinstance(r, ViewedValue)}
        self.once = {v for v, n in readers.items() if n == 1 and v not in results}
        """Values that one other reads."""
        self.stored: dict[ProgramValue, ProgramValue] = {}
        """Values with room between rows, by the dense ones."""
        self.copies: dict[object, ViewedValue] = {}
        self.parts: dict[object, ProgramValue] = {}
        """What was made of factors, by what they show: several products may read it."""

    def replaced(self, value: ProgramValue, made: Primitive) -> Primitive:
        """The product of operands that are prepared, or parts of its sum."""
        match value.made, made:
            case ReducePrimitive(operand=read), ReducePrimitive() if (
                read.value in self.once
            ):
                made = spelled_product(made) or made
            case _:
                pass
        if not isinstance(made, ContractPrimitive) or made.terms or over_windows(made):
            return made
        made = _distinct(made)
        result, sizes = set(made.result), made.sizes
        mine = (set(made.left_letters) - set(made.right_letters)) & result
        theirs = (set(made.right_letters) - set(made.left_letters)) & result
        types = {made.left.value.dtype, made.right.value.dtype}
        many = all(prod(sizes[s] for s in side) > 1 for side in (mine, theirs))
        if not many or len(types) > 1 or not types <= {bf16, f16, f32}:
            return made
        length = prod(n for s, n in sizes.items() if s not in result)
        if short_sum(made.left.value.dtype, made.precision, length):
            turned = self._side_by_side(made)
            if turned is not made or not (
                length > _FEW_STEPS and _stored_across_sum(made)
            ):
                return turned
        left, right = Factor(made.left, made.left_letters), Factor(
            made.right, made.right_letters
        )  # fmt: skip
        terms: tuple[tuple[int, int], ...] = ()
        full = types == {f32} and made.precision == "f32"
        if full and _splits_itself(made, mine, theirs):
            made = replace(made, precision="split")
            left, right = self._pair(left, right, made)
        elif full:
            terms = TERMS
            left = self._parts(left, made, _LEFT)
            along = unit_of(left, made, bf16) or left.letters[-1]
            right = self._parts(right, made, _RIGHT, along)
        else:
            made, left, right = rounded_inside(made, left, right)
            left, right = self._pair(left, right, made)
        prepared = replace(
            made,
            left=left.operand,
            right=right.operand,
            left_letters=left.letters,
            right_letters=right.letters,
            terms=terms,
        )
        return self._summed(value, prepared, mine, theirs)

    # -- copies

    def _side_by_side(self, made: ContractPrimitive) -> ContractPrimitive:
        """A short sum, whose results lie along what is side by side in a factor.

        A factor that lies along its sum is read in steps of it; where it is much
        smaller than the result, a copy is read instead.
        """
        last, sizes = made.result[-1:], made.sizes
        size = prod(sizes[s] for s in made.result)
        if size < _LARGE or last in set(made.left_letters) & set(made.right_letters):
            return made
        on_left = last in made.left_letters
        factor = (
            Factor(made.left, made.left_letters)
            if on_left
            else Factor(made.right, made.right_letters)
        )
        found = offsets_through(factor.operand)
        steps = None if found is None else found[0][factor.letters.index(last)]
        if steps is None or steps <= _STEPS or _TIMES * _size_of(factor) > size:
            return made
        order = factor.letters.replace(last, "") + last
        copy = MapPrimitive("cast", (_in_order(factor, order),))
        shape = tuple(sizes[s] for s in order)
        name = f"{factor.operand.value.name}_turned"
        dense = self.recorder.made(name, shape, factor.operand.value.dtype, copy)
        self.values += self.recorder.values
        self.recorder.values.clear()
        if on_left:
            return replace(made, left=dense, left_letters=order)
        return replace(made, right=dense, right_letters=order)

    def _pair(
        self, left: Factor, right: Factor, made: ContractPrimitive
    ) -> tuple[Factor, Factor]:
        """Factors that lie along their own rows or along one sum."""
        dtype = left.operand.value.dtype
        found: list[Factor] = []
        along: list[str] = []
        for factor in (left, right):
            unit = unit_of(factor, made, dtype)
            tf32 = dtype == f32 and made.precision in ("tf32", "nearest")
            if unit is None or (tf32 and unit in made.result and not factor.rounded):
                factor = self._copied(factor, made)
                unit = factor.letters[-1]
            found.append(factor)
            along.append(unit)
        sums = {u for u in along if u not in made.result}
        if len(sums) > 1:  # both along the sum that the left one lies along
            last = along[0]
            found[1] = self._copied(found[1], made, last)
        return found[0], found[1]

    def _copied(
        self, factor: Factor, made: ContractPrimitive, last: str = ""
    ) -> Factor:
        """A copy, the innermost dimension of which is summed."""
        order = _order(factor, made, last)
        operand = _in_order(factor, order)
        shown = _shown(operand)
        if shown not in self.copies:
            copy = MapPrimitive("cast", (operand,))
            name, dtype = f"{operand.value.name}_rows", operand.value.dtype
            dense = self.recorder.made(name, operand.shape, dtype, copy)
            self.copies[shown] = self._with_room(dense)
        return Factor(self.copies[shown], order)

    def _with_room(self, dense: ViewedValue) -> ViewedValue:
        """A value of the recorder, with rows that are multiples of 16 bytes."""
        made = dense.value
        if made not in self.stored:
            self.stored[made] = _roomy(made)
            self.values += [v for v in self.recorder.values if v is not made]
            self.values.append(self.stored[made])
            self.recorder.values.clear()
        return ViewedValue(self.stored[made])

    # -- parts of f32

    def _parts(
        self, factor: Factor, made: ContractPrimitive, letter: str, along: str = ""
    ) -> Factor:
        """Three parts of a factor, the first dimension of which says which.

        They lie along its own rows or along one sum: that of the other factor, which
        lies ``along`` it, if it lies along one.
        """
        last = "" if along in made.result else along
        value, views = factor.operand.value, factor.operand.views
        size = prod(factor.operand.shape)
        borders = any(isinstance(v, BorderedView) for v in views)
        rows = bool(value.shape) and value.shape[-1] >= _SHORT_ROW
        if rows and 2 * size >= value.size and not borders:
            letters = letter + factor.letters
            like = replace(value, shape=_parts_shape(value.shape), dtype=bf16)
            unit = unit_of(Factor(_each_part(_roomy(like), views), letters), made, bf16)
            if unit and (not last or unit == last or unit in made.result):
                parts = self._split(ViewedValue(value))
                return Factor(_each_part(parts, views), letters)
        order = _order(factor, made, last)
        parts = self._split(_in_order(factor, order))
        return Factor(_each_part(parts, ()), letter + order)

    def _split(self, operand: ViewedValue) -> ProgramValue:
        """Parts of a tensor."""
        shown = _shown(operand)
        if shown in self.parts:
            return self.parts[shown]
        r, shape = self.recorder, operand.shape
        high = r.cast(operand, bf16)
        rest = r.map("sub", operand, r.cast(high, f32))
        middle = r.cast(rest, bf16)
        low = r.cast(r.map("sub", rest, r.cast(middle, f32)), bf16)
        wide = _parts_shape(shape)
        dims = [*range(len(shape) - 1), len(shape)]
        spread = LinearView(wide, tuple(((d, 1),) for d in dims), (0,) * len(shape))
        each: list[ViewedValue] = []
        for part in (high, middle, low):
            assert isinstance(part, ViewedValue)
            each.append(part.through(spread))
        number = r.positions(wide, len(shape) - 1)
        later = r.map("where", r.map("eq", number, 1), each[1], each[2])
        parts = r.map("where", r.map("eq", number, 0), each[0], later)
        self.parts[shown] = self._with_room(parts).value
        return self.parts[shown]

    # -- sums in parts

    def _summed(
        self,
        value: ProgramValue,
        made: ContractPrimitive,
        mine: set[str],
        theirs: set[str],
    ) -> Primitive:
        """The product, or the sum over its parts, which are a value of their own."""
        sizes = made.sizes
        summed = [s for s in sizes if s not in made.result and s not in _LEFT + _RIGHT]
        if not summed:
            return made
        inner = max(summed, key=sizes.__getitem__)
        m, n = (prod(sizes[s] for s in side) for side in (mine, theirs))
        batch = prod(sizes[s] for s in set(made.result) - mine - theirs)
        others = [s for s in summed if s != inner]
        common = [
            s for s in others if s in made.left_letters and s in made.right_letters
        ]
        most = max(common, key=sizes.__getitem__, default="")
        split = made.precision == "split"
        dtype = bf16 if made.terms or split else made.left.value.dtype
        counts = parts_of_sum(
            m,
            n,
            sizes[inner],
            batch,
            prod(sizes[s] for s in others),
            element=dtype,
            terms=len(TERMS) if split else max(1, len(made.terms)),
            repeats=sizes.get(most, 1),
            split=split,
        )
        if counts == (1, 1) or made.left is made.right or made.between:
            return made
        if batch * m >= _MANY_QUERIES and softmax_before(value):
            return made
        cuts = [
            (s, letter, c)
            for s, letter, c in zip((most, inner), _SUM, counts, strict=True)
            if c > 1
        ]
        part = made
        for letter, new, count in cuts:
            part = replace(
                part,
                left=_cut(part.left, part.left_letters, letter, count),
                right=_cut(part.right, part.right_letters, letter, count),
                left_letters=part.left_letters.replace(letter, new + letter),
                right_letters=part.right_letters.replace(letter, new + letter),
            )
        each = "".join(new for _, new, _ in cuts)
        part = replace(part, result=each + made.result)
        name = self.recorder.named(f"{value.name}_parts")
        sizes_of_parts = [count for *_, count in cuts]
        parts = ProgramValue(name, (*sizes_of_parts, *value.shape), f32, part)
        self.values.append(parts)
        added = ReducePrimitive("sum", ViewedValue(parts), tuple(range(len(cuts))))
        if value.dtype == f32:
            return added
        name = self.recorder.named(f"{value.name}_sum")
        whole = ProgramValue(name, value.shape, f32, added)
        self.values.append(whole)
        return MapPrimitive("cast", (ViewedValue(whole),))


def _splits_itself(made: ContractPrimitive, mine: set[str], theirs: set[str]) -> bool:
    """Whether the kernel of a product of f32 makes the parts of its factors.

    Parts of weights are kept, and what kernels compute they store in parts.
    """
    sizes = made.sizes
    longest = max((n for s, n in sizes.items() if s not in made.result), default=0)
    given = all(
        isinstance(x.value.made, GivenPrimitive) and x.value.made.kind == "input"
        for x in (made.left, made.right)
    )
    few = all(prod(sizes[s] for s in x) in _FEW_ROWS for x in (mine, theirs))
    return given and few and longest >= _LONG_SUM


def _stored_across_sum(made: ContractPrimitive) -> bool:
    """Whether a factor lies along the sum and not along what its results lie along.

    Taken one by one, elements of neighbouring results would be far apart.
    """
    last = made.result[-1]
    for operand, letters in (
        (made.left, made.left_letters),
        (made.right, made.right_letters),
    ):
        found = digits_through(operand) if last in letters else None
        if found is not None:
            steps = {s: d[-1][1] for s, d in zip(letters, found[0], strict=True) if d}
            return any(steps.get(s) == 1 for s in letters if s not in made.result)
    return False


def _shown(operand: ViewedValue) -> object:
    """What is alike of operands that have the same elements."""
    found = digits_through(operand)
    return operand if found is None else (operand.value, operand.shape, found)


def _size_of(factor: Factor) -> int:
    return prod(factor.operand.shape)


def _roomy(value: ProgramValue) -> ProgramValue:
    """The same with rows that are multiples of 16 bytes."""
    step = TMA_BYTES // value.dtype.bytes
    row = ceil(value.shape[-1] / step) * step
    return replace(value, pitch=row if row != value.shape[-1] else 0)


def _parts_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of the parts of a tensor: they lie row by row."""
    return (*shape[:-1], _PARTS, shape[-1])


def _each_part(parts: ProgramValue, views: tuple[OperandView, ...]) -> ViewedValue:
    """Parts with their number as the first dimension, each seen through views."""
    rank = len(parts.shape)
    first = [rank - 2, *range(rank - 2), rank - 1]
    found = ViewedValue(parts).through(permuted(parts.shape, first))
    for view in views:
        found = found.through(_lifted(view))
    return found


def _distinct(made: ContractPrimitive) -> ContractPrimitive:
    """Factors without letters along which they are repeated, or that are of size 1.

    A letter stays in one of them.
    """
    left, right = made.left_letters, made.right_letters
    kept, letters = _without(made.left, left, right)
    other, others = _without(made.right, right, letters)
    return replace(
        made, left=kept, right=other, left_letters=letters, right_letters=others
    )


def _without(operand: ViewedValue, letters: str, other: str) -> tuple[ViewedValue, str]:
    found, shape = offsets_through(operand), operand.shape
    if found is None:
        return operand, letters
    kept = [
        d
        for d, letter in enumerate(letters)
        if letter not in other or (shape[d] > 1 and found[0][d])
    ]
    if not kept or len(kept) == len(letters):
        return operand, letters
    view = LinearView(
        tuple(shape[d] for d in kept),
        tuple(((kept.index(d), 1),) if d in kept else () for d in range(len(shape))),
        (0,) * len(shape),
    )
    return operand.through(view), "".join(letters[d] for d in kept)


def _order(factor: Factor, made: ContractPrimitive, last: str = "") -> str:
    """Letters of a factor: those of the batch, of its own rows, and of the sum."""
    sizes = dict(zip(factor.letters, factor.operand.shape, strict=True))
    both = set(made.left_letters) & set(made.right_letters)
    summed = [s for s in factor.letters if s not in made.result]
    batch = [s for s in factor.letters if s in made.result and s in both]
    own = [s for s in factor.letters if s in made.result and s not in both]
    summed.sort(key=lambda s: (s == last, sizes[s]))
    return "".join([*batch, *own, *summed])


def _in_order(factor: Factor, order: str) -> ViewedValue:
    dims = [factor.letters.index(s) for s in order]
    if dims == list(range(len(dims))):
        return factor.operand
    return factor.operand.through(permuted(factor.operand.shape, dims))


def _lifted(view: OperandView) -> OperandView:
    """The same view of each part, of which the first dimension says which."""
    shape = (_PARTS, *view.shape)
    match view:
        case ReshapedView():
            return ReshapedView(shape)
        case LinearView(factors=factors, starts=starts):
            further = tuple(tuple((d + 1, c) for d, c in pairs) for pairs in factors)
            return LinearView(shape, (((0, 1),), *further), (0, *starts))
        case BorderedView():
            raise AssertionError("parts of what has a border are its own")


def _cut(operand: ViewedValue, letters: str, inner: str, count: int) -> ViewedValue:
    """A dimension as two: parts, and positions in a part."""
    at, shape = letters.index(inner), operand.shape
    new = (*shape[:at], count, shape[at] // count, *shape[at + 1 :])
    return operand.through(ReshapedView(new))
