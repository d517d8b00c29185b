"""Reductions to few results in two steps, so that many blocks take part.

Sums, products and extremes may be taken in any order. A reduction of many elements to
few is first one to parts, each of which is a block's, and then one of the parts. Scans
of few long rows are those of parts, after what all parts before come to.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from math import prod

from argus.ir.dtypes import f32
from argus.programs.lowering.expression_text import COMBINE
from argus.programs.lowering.lowering import over_windows
from argus.programs.tensors.loops import LoopSpace, NeedsSplitError, NotAffineError
from argus.programs.tensors.numbers import neutral
from argus.programs.tensors.offsets import (
    MOST_SPLITS,
    digits_through,
    offsets_through,
    source_offset,
)
from argus.programs.tensors.rewriting import ProgramRewriter
from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    MapPrimitive,
    Primitive,
    ProgramValue,
    ReducePrimitive,
    ScanPrimitive,
    TensorProgram,
    ViewedValue,
    operands_of,
)
from argus.programs.tensors.views import (
    BorderedView,
    ReshapedView,
    bordered,
    permuted,
    repeated,
    sliced,
)

_BLOCKS = 528
"""Parts together: four for each multiprocessor of an H100 or H200."""
_LEAST = 2048
"""Elements of a part, at least."""
_FEW_PARTS, _FEW_BLOCKS = 3, 66
"""Fewer parts of so many blocks are no faster than one launch less."""
_UNEVEN = 4
"""How many times fewer parts divide a sum where it is cut into others."""
_WIDE = 32
"""Results side by side in memory that a block computes, at least."""
_THREADS = 128
"""The same of a scan, where each result is a thread's."""
_SCANNED, _CHAINED = 8, 32
"""Parts from which on a scan across memory is faster, though it is read twice; and
where scans of scans are a kernel's otherwise."""
_PIECE = 64
"""Elements of rows side by side that are no row by themselves."""
_LONG = 1 << 18
"""Elements of a matrix that a block multiplies by a vector sooner than two launches."""
_PART_LETTER = "P"
"""Of the dimension of parts; letters of factors are small."""
_MANY = 512
"""Elements of a result beside others that take a block longer than a launch does."""
_DEEP = 4
"""Maps before a reduction that are looked through, at most."""
_MOST_READ = 128
"""Operands of maps that say how what a sum reads lies."""


def split_reductions(program: TensorProgram) -> TensorProgram:
    """The program in which no reduction leaves most of a GPU idle."""
    return _Splitting().program(program)


class _Splitting(ProgramRewriter):
    def __init__(self) -> None:
        super().__init__()
        self._last: list[Primitive] = []
        """Reductions of parts."""
        self._chained: set[ProgramValue] = set()
        """Scans of what others give."""

    def program(self, program: TensorProgram) -> TensorProgram:
        """The new program.

        Parts are added up as late as can be: what is between parts of several results
        would keep one kernel from computing all of them.
        """
        self._chained = _chained_scans(program)
        found = super().program(program)
        last = {id(made) for made in self._last}
        late = {v for v in found.values if id(v.made) in last}
        return replace(found, values=_late(found.values, late)) if late else found

    def replaced(self, value: ProgramValue, made: Primitive) -> Primitive:
        """A reduction or a scan may become one of parts."""
        match made:
            case ReducePrimitive():
                return self._parted(value, _inside(made))
            case ScanPrimitive():
                return self._scanned(value, made)
            case ContractPrimitive(terms=(), between=()):
                return self._multiplied(value, made)
            case _:
                return made

    def _multiplied(self, value: ProgramValue, made: ContractPrimitive) -> Primitive:
        """The sum of parts of products of a matrix by a vector, of any batch of them.

        Others are tensor cores' (`product_operands.py`).
        """
        sizes, both = made.sizes, set(made.left_letters) & set(made.right_letters)
        own = [set(x) - both for x in (made.left_letters, made.right_letters)]
        if all(prod(sizes[s] for s in x) > 1 for x in own):
            return made
        summed = [s for s in sizes if s not in made.result and s in both]
        floats = made.left.value.dtype.is_float and value.dtype.bits <= f32.bits
        if not summed or not floats or over_windows(made):
            return made
        cut = max(summed, key=sizes.__getitem__)
        factors = ((made.left, made.left_letters), (made.right, made.right_letters))
        matrix, letters = max(factors, key=lambda f: prod(f[0].shape))
        beside = next((letters[d] for d in _lines(matrix)), "")
        wide = min(sizes[beside], _WIDE) if beside in made.result and beside else 1
        rows = prod(sizes[s] for s in made.result)
        if sizes[cut] * wide < _LONG:
            return made
        for parts, each in _parts([sizes[cut]], rows, wide):
            left, right = (_cut(*f, cut, parts, each) for f in factors)
            if _walked(left, _DEEP) and _walked(right, _DEEP):
                break
        else:
            return made
        part = replace(
            made,
            left=left,
            right=right,
            left_letters=made.left_letters.replace(cut, _PART_LETTER + cut),
            right_letters=made.right_letters.replace(cut, _PART_LETTER + cut),
            result=_PART_LETTER + made.result,
        )
        shape = (parts, *value.shape)
        products = ProgramValue(f"{value.name}_parts", shape, f32, part)
        last = ReducePrimitive("sum", ViewedValue(products), (0,))
        self._last.append(last)
        self.values.append(products)
        if value.dtype == f32:
            return last
        whole = ProgramValue(f"{value.name}_sum", value.shape, f32, last)
        self.values.append(whole)
        return MapPrimitive("cast", (ViewedValue(whole),))

    def _scanned(self, value: ProgramValue, made: ScanPrimitive) -> Primitive:
        """The scan of each part after the reduction of all parts before."""
        shape, function = made.operand.shape, made.function
        n = shape[made.dim]
        order = [d for d in range(len(shape)) if d != made.dim]
        sizes, rank = tuple(shape[d] for d in order), len(order)
        ordered = made.operand.through(permuted(shape, (*order, made.dim)))
        beside = next((shape[d] for d in _lines(made.operand) if d != made.dim), 1)
        none = neutral(function, value.dtype)
        least = 0
        if beside > 1:
            least = _CHAINED if value in self._chained else _SCANNED
        for parts, each in _parts([n], prod(sizes), min(beside, _THREADS)):
            if parts < least:
                return made
            cut = ReshapedView((*sizes, parts, each))
            operand = _filled(ordered, rank, parts * each, none).through(cut)
            if _walked(operand, _DEEP):
                break
        else:
            return made

        def made_of(name: str, shape: tuple[int, ...], made: Primitive) -> ViewedValue:
            found = ProgramValue(f"{value.name}_{name}", shape, value.dtype, made)
            self.values.append(found)
            return ViewedValue(found)

        whole = made_of(
            "parts", cut.shape[:-1], ReducePrimitive(function, operand, (rank + 1,))
        )
        wider = bordered(cut.shape[:-1], [(0, 0)] * rank + [(1, 0)], none)
        kept = sliced(wider.shape, [(0, 1, s) for s in cut.shape[:-1]])
        earlier = ScanPrimitive(whole.through(wider).through(kept), rank, function)
        before = made_of("before", cut.shape[:-1], earlier)
        inner = made_of("inside", cut.shape, ScanPrimitive(operand, rank + 1, function))
        line = (*cut.shape[:-1], 1)
        spread = before.through(ReshapedView(line)).through(repeated(line, cut.shape))
        back = [order.index(d) for d in range(made.dim)]
        back += [
            rank,
            rank + 1,
            *(order.index(d) for d in range(made.dim + 1, rank + 1)),
        ]
        both = [p.through(permuted(cut.shape, back)) for p in (inner, spread)]
        if parts * each == n:
            whole_rows = ReshapedView(shape)
            both = [p.through(whole_rows) for p in both]
            return MapPrimitive(COMBINE[function], tuple(both))
        # No loop over the row has parts that do not divide it: they are stored first.
        added = MapPrimitive(COMBINE[function], tuple(both))
        found = made_of("longer", both[0].shape, added)
        rows = (*shape[: made.dim], parts * each, *shape[made.dim + 1 :])
        found = found.through(ReshapedView(rows))
        return MapPrimitive(
            "cast", (found.through(sliced(rows, [(0, 1, s) for s in shape])),)
        )

    def _parted(self, value: ProgramValue, made: ReducePrimitive) -> ReducePrimitive:
        """The reduction of parts, which are a value of their own.

        Where short pieces of rows lie side by side (channels of a group, between
        pixels), their elements are results of parts, too.
        """
        if made.function.startswith("arg"):
            return made
        whole_rows, dims, pieces = _pieces(made)
        shape = whole_rows.shape
        gone = [d for d in dims if d not in pieces]
        kept = [d for d in range(len(shape)) if d not in dims]
        few = [*kept, *pieces]
        sizes = tuple(shape[d] for d in few)
        wide = next((shape[d] for d in _lines(whole_rows) if d in kept), 1)
        wide = prod(shape[d] for d in pieces) if pieces else wide
        cuts = [shape[d] for d in gone]
        none = neutral(made.function, value.dtype)
        able = [*_parts(cuts, prod(sizes), min(wide, _WIDE))]
        if pieces and not able:  # any parts are better than rows in pieces
            able = [*_parts(cuts, prod(sizes), _WIDE)]
        for parts, each in able:
            # Of parts, too, results lie side by side; pieces lie beside their parts.
            at = len(kept) if pieces else 0 if wide > 1 else len(few)
            order = (*few[:at], *gone, *few[at:])
            cut = (*sizes[:at], parts, each, *sizes[at:])
            whole, inner = (*sizes[:at], parts, *sizes[at:]), at + 1
            ordered = whole_rows.through(permuted(shape, order))
            longer = parts * each // prod(cuts[1:])
            operand = _filled(ordered, at, longer, none).through(ReshapedView(cut))
            if _walked(operand, _DEEP) or not _walked(made.operand, _DEEP):
                break
        else:
            return made
        part = ProgramValue(
            f"{value.name}_parts",
            whole,
            value.dtype,
            ReducePrimitive(made.function, operand, (inner,)),
        )
        self.values.append(part)
        behind = range(at + 1, at + 1 + len(pieces))
        last = ReducePrimitive(made.function, ViewedValue(part), (at, *behind))
        self._last.append(last)
        return last


def _chained_scans(program: TensorProgram) -> set[ProgramValue]:
    """Scans of maps of other scans, and these."""
    found: set[ProgramValue] = set()
    before: dict[ProgramValue, set[ProgramValue]] = {}
    for value in program.values:
        scans = {s for o in operands_of(value) for s in before.get(o.value, ())}
        match value.made:
            case ScanPrimitive():
                found |= {value, *scans} if scans else set()
                before[value] = {value}
            case MapPrimitive() if scans:
                before[value] = scans
            case _:
                pass
    return found


def _inside(made: ReducePrimitive) -> ReducePrimitive:
    """A sum over all of a border of zeros, as that of what is inside of it."""
    operand = made.operand
    while made.function == "sum" and operand.views:
        border = operand.views[-1]
        if not isinstance(border, BorderedView) or border.fill != 0:
            break
        inner = ViewedValue(operand.value, operand.views[:-1])
        sides = zip(inner.shape, border.shape, border.before, strict=True)
        if not all(
            0 <= before <= whole - n and (n == whole or d in made.dims)
            for d, (n, whole, before) in enumerate(sides)
        ):
            break
        operand = inner
    return replace(made, operand=operand)


def _late(
    values: Sequence[ProgramValue], late: Collection[ProgramValue]
) -> tuple[ProgramValue, ...]:
    """The values in another order: some, and maps of them, where they are read."""
    waiting: dict[ProgramValue, None] = {}
    found: list[ProgramValue] = []
    for value in values:
        before = [o.value for o in operands_of(value) if o.value in waiting]
        small = isinstance(value.made, MapPrimitive) and all(
            value.size <= v.size for v in before
        )
        if value.home is None and (value in late or (before and small)):
            waiting[value] = None
            continue
        wanted: set[ProgramValue] = set()
        while before:
            one = before.pop()
            wanted.add(one)
            before += [o.value for o in operands_of(one) if o.value in waiting]
        found += [v for v in waiting if v in wanted]
        for one in wanted:
            del waiting[one]
        found.append(value)
    return (*found, *waiting)


def _lines(operand: ViewedValue) -> list[int]:
    """The dimension along which most elements that are read lie side by side.

    None, or one: none, too, where what is read is small and each element is used many
    times.
    """
    votes: Counter[int] = Counter()
    for leaf in _read(operand):
        _vote(leaf, votes)
    most = votes.most_common(1)
    return [d for d, read in most if 2 * read >= prod(operand.shape)]


def _read(operand: ViewedValue) -> Iterator[ViewedValue]:
    """What an operand is computed of: what maps compute is read where theirs are.

    Of long chains of maps (steps of a loop that is spelled out) the nearest.
    """
    pending, seen = deque([operand]), {operand}
    while pending and len(seen) <= _MOST_READ:
        one = pending.popleft()
        made = one.value.made
        if not isinstance(made, MapPrimitive):
            yield one
            continue
        for part in made.operands:
            if isinstance(part, ViewedValue):
                further = ViewedValue(part.value, part.views + one.views)
                if further not in seen:
                    seen.add(further)
                    pending.append(further)


def _pieces(
    made: ReducePrimitive,
) -> tuple[ViewedValue, tuple[int, ...], tuple[int, ...]]:
    """The operand and dimensions of a reduction, and which of these are short pieces.

    A dimension that is several in memory, one of which is such a piece, becomes those.
    """
    operand = made.operand
    found = digits_through(operand)
    if found is None or any(s == 0 for digits in found[0] for n, s in digits if n > 1):
        return operand, made.dims, ()
    sides = [
        [n for n, _ in found[0][d]] if d in made.dims else [size]
        for d, size in enumerate(operand.shape)
    ]
    starts = [sum(map(len, sides[:d])) for d in range(len(sides))]
    dims = [starts[d] + i for d in made.dims for i in range(len(sides[d]))]
    steps = {
        starts[d] + i: digit for d in made.dims for i, digit in enumerate(found[0][d])
    }
    pieces = tuple(d for d, (n, s) in steps.items() if s == 1 and 1 < n <= _PIECE)
    if pieces and len(pieces) < len(dims):
        shape = tuple(n for side in sides for n in side)
        return operand.through(ReshapedView(shape)), tuple(dims), pieces
    return operand, made.dims, ()


def _vote(operand: ViewedValue, votes: Counter[int]) -> None:
    found = offsets_through(operand)
    if found is None:  # borders, or an order that no strides say: rows mostly stay rows
        strides = tuple(prod(operand.shape[d + 1 :]) for d in range(len(operand.shape)))
    else:
        strides = found[0]
    steps = list(zip(operand.shape, strides, strict=True))
    read = prod(n for n, step in steps if step)
    for d, (n, step) in enumerate(steps):
        if step == 1 and n > 1:
            votes[d] += read


def _walked(operand: ViewedValue, deep: int) -> bool:
    """Whether loops over an operand's dimensions, or digits of them, walk its value."""
    made = operand.value.made
    if deep and isinstance(made, MapPrimitive):
        return all(
            _walked(ViewedValue(part.value, part.views + operand.views), deep - 1)
            for part in made.operands
            if isinstance(part, ViewedValue)
        )
    space = LoopSpace()
    for _ in range(MOST_SPLITS):
        at = [space.index(f"o{d}", n)[0] for d, n in enumerate(operand.shape)]
        try:
            source_offset(operand, at, space)
        except NeedsSplitError as need:
            try:
                space.split(need)
            except NotAffineError:
                return False
        except NotAffineError:
            return False
        else:
            return True
    return False


def _cut(
    factor: ViewedValue, letters: str, letter: str, parts: int, each: int
) -> ViewedValue:
    """A factor of which a dimension is two: parts, and positions in a part."""
    at = letters.index(letter)
    longer = _filled(factor, at, parts * each, 0.0)
    shape = factor.shape
    return longer.through(ReshapedView((*shape[:at], parts, each, *shape[at + 1 :])))


def _filled(
    operand: ViewedValue, dim: int, size: int, fill: float | int | bool
) -> ViewedValue:
    """An operand of which a dimension has ``size`` elements, with ``fill`` behind."""
    behind = size - operand.shape[dim]
    if not behind:
        return operand
    widths = [(0, behind if d == dim else 0) for d in range(len(operand.shape))]
    return operand.through(bordered(operand.shape, widths, fill))


def _parts(sizes: list[int], rows: int, wide: int = 1) -> Iterator[tuple[int, int]]:
    """Into how many parts, the most first, and the elements of each.

    Few blocks are no better than one. The outermost sizes are cut, so that parts lie
    together. ``wide`` of the rows lie side by side, and are a block's. Where hardly
    any numbers of parts divide the elements, the outermost size is longer in parts.
    """
    total = prod(sizes)
    wanted = min(_BLOCKS * wide // max(1, rows), total * wide // _LEAST)
    if wide > 1 and total < _MANY:
        return
    found: set[int] = set()
    parts = 1
    for n in sizes:
        found |= {parts * d for d in range(1, wanted // parts + 1) if n % d == 0}
        parts *= n
        if parts > wanted:
            break
    if max(found, default=1) * _UNEVEN < wanted <= sizes[0] and wanted >= _FEW_PARTS:
        lines = -(-sizes[0] // wanted)
        yield -(-sizes[0] // lines), lines * prod(sizes[1:])
    blocks = rows // wide
    for n in sorted(found - {1}, reverse=True):
        if n >= _FEW_PARTS or blocks < _FEW_BLOCKS:
            yield n, total // n
