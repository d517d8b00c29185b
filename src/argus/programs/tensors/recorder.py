"""Making values of a tensor program, one after the other, each once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, cast

from argus.ir.dtypes import DType, boolean, f32, f64, i16, i32, i64
from argus.programs.tensors.memory_order import (
    MemoryOrder,
    common_order,
)
from argus.programs.tensors.numbers import number_of, saturates
from argus.programs.tensors.offsets import offsets_through
from argus.programs.tensors.tensor_program import (
    FilledPrimitive,
    GivenPrimitive,
    MapPrimitive,
    PositionPrimitive,
    Primitive,
    ProgramValue,
    ReducePrimitive,
    ScanPrimitive,
    UntranslatedError,
    ViewedValue,
    constant_of,
)
from argus.programs.tensors.views import LinearView, ReshapedView, repeated, sliced
from argus.programs.tensors.whole_numbers import KnownNumbers

Part = ViewedValue | float | int | bool
"""What a map is given: a tensor, or a number that is the same everywhere."""

_MOST_POSITIONS = 1024
"""Most whole numbers among which a position is found in one tile."""
_FEW_ROWS = 1024
"""Rows of which the positions of extremes are looked for by blocks together."""
_LONG_ROW = 8192
_LONG_COLUMN, _FEW_COLUMNS = 2048, 8192
"""The same of rows whose elements lie apart, of which 32 are read together."""
_EXACT_FLOATS = 1 << 24
"""Whole numbers up to it are f32."""
COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_LOGICAL = frozenset({"and", "or", "xor", "not"})
_EXACT = frozenset(
    {"add", "sub", "mul", "neg", "abs", "maximum", "minimum", "floordiv", "mod"}
)
"""Functions of whole numbers that are whole numbers; all others are of floats."""


def promoted(types: Sequence[DType]) -> DType:
    """The type in which elements of these types meet: truth, whole numbers, floats."""
    floats = {t for t in types if t.is_float}
    if floats:
        return floats.pop() if len(floats) == 1 else f64 if f64 in floats else f32
    whole = {t for t in types if t.kind == "int"}
    if not whole:
        return boolean
    most = max(whole, key=lambda t: t.bits)
    if all(most.holds(t) for t in whole):
        return most
    wider = (t for t in (i16, i32) if all(t.holds(u) for u in whole))
    return next(wider, i64)


def accumulated(function: str, dtype: DType) -> DType:
    """The type in which elements of a type are reduced and scanned, as in torch.

    Floats of less than 32 bits are f32; sums and products of whole numbers are i64,
    extremes of those of less than 32 bits i32.
    """
    if dtype.is_float:
        return f32 if dtype.bits < f32.bits else dtype
    if dtype.kind == "bool" or (function in ("sum", "prod") and dtype.bits < i64.bits):
        return i64
    return i32 if dtype.bits < i32.bits else dtype


def type_of(part: Part, beside: Sequence[DType] = ()) -> DType:
    """The element type of a part; a number takes the type of what it stands beside.

    If that has no such whole number, it is i64.
    """
    if isinstance(part, ViewedValue):
        return part.value.dtype
    if isinstance(part, bool):
        return boolean
    met = promoted(beside) if beside else boolean
    if isinstance(part, int):
        low, high = met.integers
        held = met.is_float or (met.kind == "int" and low <= part <= high)
        return met if held else i64
    return met if met.is_float else f32


class ProgramRecorder:
    """The values made so far. A primitive that was made before is not made again.

    ``follows``: maps and reductions lie as most of what they read does
    (`memory_order.py`); else in the order of their dimensions.
    """

    def __init__(self, *, follows: bool = False) -> None:
        self.values: list[ProgramValue] = []
        self._follows = follows
        self.open_sizes = False
        """Whether other calls have other sizes: there are plans for these."""
        self._made: dict[object, ProgramValue] = {}
        self._known = KnownNumbers()
        self._names: dict[str, int] = {}
        """Names that are taken, with the last number that was tried after each."""

    def named(self, wish: str) -> str:
        """A name that no other value has."""
        name, count = wish, self._names.get(wish, 1)
        while name in self._names:
            count += 1
            name = f"{wish}_{count}"
        if name != wish:
            self._names[wish] = count
        self._names[name] = 1
        return name

    @contextmanager
    def in_order_of_dimensions(self) -> Generator[None]:
        """Let values lie in the order of their dimensions: somebody counts on it."""
        before, self._follows = self._follows, False
        try:
            yield
        finally:
            self._follows = before

    def order_of(self, operands: Sequence[Part]) -> MemoryOrder | None:
        """How what is made of operands of one shape lies; None: as its dimensions."""
        seen = [o for o in operands if isinstance(o, ViewedValue)]
        return common_order(seen) if self._follows else None

    def given(
        self, name: str, shape: Sequence[int], dtype: DType, made: GivenPrimitive
    ) -> ViewedValue:
        """A tensor from outside."""
        return self._value(name, shape, dtype, made)

    def _value(
        self, wish: str, shape: Sequence[int], dtype: DType, made: Primitive
    ) -> ViewedValue:
        key = (made, tuple(shape), dtype, _kinds(made))
        if key not in self._made:
            value = ProgramValue(self.named(wish), tuple(shape), dtype, made)
            self._made[key] = value
            self.values.append(value)
        return ViewedValue(self._made[key])

    def made(
        self, wish: str, shape: Sequence[int], dtype: DType, primitive: Primitive
    ) -> ViewedValue:
        """The value of a primitive whose operands fit."""
        return self._value(wish, shape, dtype, primitive)

    def filled(
        self, shape: Sequence[int], value: float | int | bool, dtype: DType
    ) -> ViewedValue:
        """One number everywhere."""
        if dtype.is_float:
            value = float(value)
        elif dtype.kind == "int":
            value = int(value)
        else:
            value = bool(value)
        return self._value("filled", shape, dtype, FilledPrimitive(value))

    def positions(
        self, shape: Sequence[int], dim: int, start: int = 0, step: int = 1
    ) -> ViewedValue:
        """Positions along a dimension."""
        made = PositionPrimitive(dim, start, step)
        return self._value("positions", shape, i64, made)

    def cast(self, part: Part, dtype: DType) -> Part:
        """As another element type."""
        if not isinstance(part, ViewedValue):
            if dtype.is_float:
                return float(part)
            return int(part) if dtype.kind == "int" else bool(part)
        if part.value.dtype == dtype:
            return part
        part = self._known.unconverted(part)
        if part.value.dtype == dtype:
            return part
        if dtype.finite and part.value.dtype.kind != "bool" and not saturates(dtype):
            raise UntranslatedError(
                f"what is too large for {dtype} becomes the largest number in kernels, "
                "and not in torch"
            )
        shape = part.shape
        if dtype.kind == "bool":
            return self._laid("truth", shape, dtype, MapPrimitive("ne", (part, 0)))
        if part.value.dtype.kind == "bool":
            one, zero = (1.0, 0.0) if dtype.is_float else (1, 0)
            made = MapPrimitive("where", (part, one, zero))
            return self._laid("number", shape, dtype, made)
        if part.value.dtype.is_float and dtype.kind == "int":
            part = self._cut(part, dtype)
        if part.value.dtype.kind == dtype.kind == "int":
            part = self._wrapped(part, dtype)
        return self._laid("cast", shape, dtype, MapPrimitive("cast", (part,)))

    def _cut(self, part: ViewedValue, dtype: DType) -> ViewedValue:
        """Floats as numbers of 32 bits, of which torch leaves the last ones.

        A conversion to fewer would give the largest number that there is.
        """
        if dtype.bits >= i32.bits or self._known.cut_fit(part, dtype):
            return part
        made = MapPrimitive("cast", (part,))
        return self._laid("cast", part.shape, i32, made)

    def _wrapped(self, part: ViewedValue, dtype: DType) -> ViewedValue:
        """Whole numbers as fewer bits hold them: what is left of them, as in torch."""
        if dtype.holds(part.value.dtype) or self._known.fit(part, dtype):
            return part
        low, high = dtype.integers
        rest = self.map("mod", part, high - low + 1)
        if not low:
            return rest
        return self.map(
            "add", self.map("mod", self.map("sub", rest, low), high - low + 1), low
        )

    def copied(self, part: ViewedValue) -> ViewedValue:
        """What is seen through views, as a value of its own."""
        made = MapPrimitive("cast", (part,))
        return self._value("copy", part.shape, part.value.dtype, made)

    def fresh_copy(self, part: ViewedValue) -> ViewedValue:
        """The same elements in a value of its own, each time another."""
        made = MapPrimitive("cast", (part,))
        name = self.named(f"{part.value.name}_copy")
        value = ProgramValue(name, part.shape, part.value.dtype, made)
        self.values.append(value)
        return ViewedValue(value)

    def map(self, function: str, *parts: Part) -> ViewedValue:
        """A function at each position; parts are repeated along dimensions of size 1.

        Types meet as in torch: truth, whole numbers, floats. Raises UntranslatedError
        for shapes that do not go together.
        """
        known, types = self._met(parts)
        if function == "where":
            wanted = promoted(types[1:])
            condition = self.cast(known[0], boolean)
            said = known[1:] == [True, False] and wanted.kind == "bool"
            same = _shape_of([condition]) == _shape_of(parts)
            if said and same and isinstance(condition, ViewedValue):
                return condition
            known = [condition, *(self.cast(p, wanted) for p in known[1:])]
            result = wanted
        elif function in _LOGICAL:
            known = [self.cast(p, boolean) for p in known]
            wanted = result = boolean
        else:
            wanted = promoted(types)
            if wanted.kind == "bool" or (
                wanted.kind == "int" and function not in _EXACT | COMPARISONS
            ):
                wanted = i64 if function in _EXACT | COMPARISONS else f32
            known = [self.cast(p, wanted) for p in known]
            result = boolean if function in COMPARISONS else wanted
        return self._mapped(function, known, _shape_of(parts), wanted, result)

    def _met(self, parts: Sequence[Part]) -> tuple[list[Part], list[DType]]:
        """Parts before conversions that change nothing, and the element type of each.

        Constants are numbers.
        """
        known = [_constant(p) for p in parts]
        known = [
            self._known.unconverted(p) if isinstance(p, ViewedValue) else p
            for p in known
        ]
        met = [p.value.dtype for p in known if isinstance(p, ViewedValue)]
        return known, [type_of(p, met) for p in known]

    def bits(self, function: str, *parts: Part) -> ViewedValue:
        """A function of bits: of truth values their logic, else of whole numbers.

        Raises UntranslatedError for floats.
        """
        known, types = self._met(parts)
        met = promoted(types)
        if met.kind == "bool" and function in _LOGICAL:
            return self.map(function, *parts)
        if met.is_float:
            raise UntranslatedError("bits of floats")
        met = i64 if met.kind == "bool" else met
        known = [self.cast(p, met) for p in known]
        return self._mapped(function, known, _shape_of(parts), met, met)

    def _mapped(
        self,
        function: str,
        parts: Sequence[Part],
        shape: tuple[int, ...],
        wanted: DType,
        result: DType,
    ) -> ViewedValue:
        """A function computed in ``wanted``, of parts that have its types."""
        if not any(isinstance(p, ViewedValue) for p in parts):
            numbers = [p for p in parts if not isinstance(p, ViewedValue)]
            return self.filled(shape, number_of(function, numbers, wanted), result)
        spread = tuple(
            self.broadcast(p, shape) if isinstance(p, ViewedValue) else p for p in parts
        )
        return self._laid(function, shape, result, MapPrimitive(function, spread))

    def _laid(
        self, wish: str, shape: Sequence[int], dtype: DType, made: MapPrimitive
    ) -> ViewedValue:
        """A map that lies as most of what it reads does."""
        order = self.order_of(made.operands)
        if order is None or order.natural:
            return self._value(wish, shape, dtype, made)
        parts = tuple(
            order.laid(o) if isinstance(o, ViewedValue) else o for o in made.operands
        )
        made = MapPrimitive(made.function, parts)
        return order.shown(self._value(wish, order.stored, dtype, made))

    def broadcast(self, part: ViewedValue, shape: Sequence[int]) -> ViewedValue:
        """Repeated to a shape, as numpy does."""
        if part.shape == tuple(shape):
            return part
        return part.through(repeated(part.shape, shape))

    def scan(self, function: str, part: ViewedValue, dim: int) -> ViewedValue:
        """Running sums, products, extremes; their type is `accumulated`."""
        dtype = accumulated(function, part.value.dtype)
        part = cast("ViewedValue", self.cast(part, dtype))
        if part.shape[dim] == 1:
            return part
        made = ScanPrimitive(part, dim % len(part.shape), function)
        return self._value(f"cum{function}", part.shape, dtype, made)

    def reduce(
        self, function: str, part: ViewedValue, dims: Sequence[int], keep: bool
    ) -> ViewedValue:
        """``function`` over dimensions; its type is `accumulated`."""
        rank = len(part.shape)
        gone = tuple(sorted({d % rank for d in dims})) if rank else ()
        if function.startswith("arg") and gone and _apart(part, gone[0]):
            return self._first(function, part, gone[0], keep)
        dtype = accumulated(function, part.value.dtype)
        part = cast("ViewedValue", self.cast(part, dtype))
        if any(part.shape[d] == 0 for d in gone):
            return self._of_nothing(function, part, gone, keep)
        same = tuple(d for d in gone if part.shape[d] > 1 and _same_along(part, d))
        if same:
            return self._of_the_same(function, part, gone, same, keep)
        shape = tuple(n for d, n in enumerate(part.shape) if d not in gone)
        result = part
        if gone:
            chosen = i64 if function.startswith("arg") else dtype
            result = self._reduced(function, part, gone, chosen)
        elif function.startswith("arg"):
            result = self.filled(shape, 0, i64)
        if not keep:
            return result
        parts: list[Any] = [
            None if d in gone else (0, 1, n) for d, n in enumerate(part.shape)
        ]
        return result.through(sliced(shape, parts)) if gone else result

    def _reduced(
        self, function: str, part: ViewedValue, gone: Sequence[int], dtype: DType
    ) -> ViewedValue:
        """A reduction, of which what is left lies as it does in what it reads."""
        whole = self.order_of([part])
        order = None if whole is None else whole.without(gone)
        if order is None or order.natural:
            kept = [n for d, n in enumerate(part.shape) if d not in gone]
            made = ReducePrimitive(function, part, tuple(gone))
            return self._value(function, kept, dtype, made)
        kept = [d for d in range(len(part.shape)) if d not in gone]
        digits = [(kept[d], i, n) for d, i, n in order.digits]
        rows = MemoryOrder(
            part.shape, (*digits, *((d, 0, part.shape[d]) for d in gone))
        )
        dims = tuple(range(len(digits), len(digits) + len(gone)))
        made = ReducePrimitive(function, rows.laid(part), dims)
        return order.shown(self._value(function, order.stored, dtype, made))

    def _of_nothing(
        self, function: str, part: ViewedValue, gone: Sequence[int], keep: bool
    ) -> ViewedValue:
        """A sum or product of no elements. Raises UntranslatedError for an extreme."""
        if function not in ("sum", "prod"):
            raise UntranslatedError("an extreme of no elements")
        sizes = [1 if d in gone else n for d, n in enumerate(part.shape)]
        shape = [n for d, n in enumerate(sizes) if keep or d not in gone]
        return self.filled(shape, int(function == "prod"), part.value.dtype)

    def _of_the_same(
        self, function: str, part: ViewedValue, gone: Sequence[int],
        same: Sequence[int], keep: bool,
    ) -> ViewedValue:  # fmt: skip
        """A reduction of elements that are repeated along some dimensions."""
        if function == "prod":  # stored, each factor is one of its own
            return self.reduce(function, self.copied(part), gone, keep)
        once: list[Any] = [(0, 1, 1 if d in same else n)
                           for d, n in enumerate(part.shape)]  # fmt: skip
        found = self.reduce(
            function, part.through(sliced(part.shape, once)), gone, keep
        )
        times = prod(part.shape[d] for d in same)
        return self.map("mul", found, times) if function == "sum" else found

    def _first(
        self, function: str, part: ViewedValue, dim: int, keep: bool
    ) -> ViewedValue:
        """The first position of an extreme among many, or of what is no number."""
        count = _parts_of_positions(part.shape[dim])
        if count > 1:
            return self._first_of_parts(function, part, dim, count, keep)
        extreme = self.reduce(function.removeprefix("arg"), part, (dim,), True)
        found = self.map("eq", part, extreme)
        if part.value.dtype.is_float:
            found = self.map("or", found, self.map("ne", part, part))
        at = self.cast(self.positions(part.shape, dim), f32)
        places = self.map("where", found, at, float(part.shape[dim]))
        first = self.reduce("min", places, (dim,), keep)
        return cast("ViewedValue", self.cast(first, i64))

    def _first_of_parts(
        self, function: str, part: ViewedValue, dim: int, count: int, keep: bool
    ) -> ViewedValue:
        """The same of the first part that has it, of ``count``."""
        length = part.shape[dim] // count
        cut = (*part.shape[:dim], count, length, *part.shape[dim + 1 :])
        split = part.through(ReshapedView(cut))
        inside = self._first(function, split, dim + 1, False)
        extremes = self.reduce(function.removeprefix("arg"), split, (dim + 1,), False)
        chosen = self.reduce(function, extremes, (dim,), True)
        at = self.cast(self.positions(inside.shape, dim), i64)
        place = self.map("add", self.map("mul", at, length), inside)
        places = self.map("where", self.map("eq", at, chosen), place, 0)
        return self.reduce("sum", places, (dim,), keep)


def _parts_of_positions(n: int) -> int:
    """Into how many equal parts positions are cut, to be exact in f32; 0: into none."""
    if n <= _EXACT_FLOATS:
        return 1
    least = -(-n // _EXACT_FLOATS)
    able = range(least, least * _MOST_POSITIONS)
    return next((d for d in able if n % d == 0), 0)


def _apart(part: ViewedValue, dim: int) -> bool:
    """Whether the place of an extreme is looked for after the extreme.

    So it is in few and long rows, by many blocks, and of whole numbers, for which the
    verifier follows no place that a loop carries. Of what lies across memory, several
    rows are a block's.
    """
    n, size = part.shape[dim], prod(part.shape)
    if not _parts_of_positions(n):
        return False
    if not part.value.dtype.is_float and n > _MOST_POSITIONS:
        return True
    steps = offsets_through(part)
    across = steps is not None and steps[0][dim] != 1
    long, few = (_LONG_COLUMN, _FEW_COLUMNS) if across else (_LONG_ROW, _FEW_ROWS)
    return n > long and size < few * n


def _same_along(part: ViewedValue, dim: int) -> bool:
    """Whether a view repeats elements along a dimension."""
    if constant_of(part) is not None:
        return True
    last = part.views[-1] if part.views else None
    return isinstance(last, LinearView) and all(
        d != dim for pairs in last.factors for d, _ in pairs
    )


def _constant(part: Part) -> Part:
    """The number that is at every position, where it is one."""
    number = constant_of(part) if isinstance(part, ViewedValue) else None
    return part if number is None else number


def _shape_of(parts: Sequence[Part]) -> tuple[int, ...]:
    """The shape in which parts meet. Raises UntranslatedError."""
    return _common([p.shape for p in parts if isinstance(p, ViewedValue)])


def _kinds(made: Primitive) -> object:
    """What tells equal numbers of different types apart: 1, 1.0 and True; -0.0."""
    if isinstance(made, MapPrimitive):
        return tuple(
            type(p) if isinstance(p, ViewedValue) else repr(p) for p in made.operands
        )
    return repr(made.value) if isinstance(made, FilledPrimitive) else None


def _common(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    import numpy as np

    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise UntranslatedError(f"shapes {shapes} do not go together") from error
