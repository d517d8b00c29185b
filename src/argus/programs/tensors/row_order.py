"""Values that are shown in another order of rows are stored in that order alone.

    program = in_order_of_readers(program)

Torch says which strides a result has: for what is kept for a backward pass those of the
operators before. A copy in that order beside the value would be written and read for
nothing; so whoever reads the value reads the copy, and the value is computed where the
copy is stored. So is a product of a batch (heads) that all readers see in one other
order (positions first), in which what follows may join dimensions. Rows stay rows:
elements that lie side by side do so in both.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.programs.tensors.rewriting import ProgramRewriter
from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    MapPrimitive,
    Primitive,
    ProgramValue,
    ReducePrimitive,
    TensorProgram,
    TorchPrimitive,
    ViewedValue,
    operands_of,
)
from argus.programs.tensors.views import LinearView, permuted


def in_order_of_readers(program: TensorProgram) -> TensorProgram:
    """The program in which such copies are read in place of what they copy."""
    results = {r.value for r in program.results if isinstance(r, ViewedValue)}
    readers: dict[ProgramValue, list[ProgramValue]] = {}
    for value in program.values:
        for operand in operands_of(value):
            readers.setdefault(operand.value, []).append(value)
    chosen: dict[ProgramValue, ProgramValue] = {}
    for value in program.values:
        source = _copied(value) if value in results else None
        if source is None or source in results or source in chosen:
            continue
        computed = MapPrimitive | ContractPrimitive | ReducePrimitive
        if isinstance(source.made, computed) and len(readers[source]) > 1:
            chosen[source] = value
    names = {value.name for value in program.values}
    for value in program.values:
        if value in results or value in chosen or not _batched(value):
            continue
        copy = _turned(value, readers.get(value, ()), names)
        if copy is not None:
            chosen[value] = copy
    return _Ordering(chosen).program(program) if chosen else program


def _copied(value: ProgramValue) -> ProgramValue | None:
    """The value of which another one is a copy in another order of its rows."""
    match value.made:
        case MapPrimitive(
            function="cast",
            operands=(ViewedValue(value=source, views=(LinearView() as view,)),),
        ):
            pass
        case _:
            return None
    plain = source.home is None and value.home is None and source.dtype == value.dtype
    order = _order(view, source.shape)
    return source if plain and order and order[-1] == len(order) - 1 else None


def _batched(value: ProgramValue) -> bool:
    """Whether a value is a product of a batch, or one that was rounded."""
    match value.made:
        case ContractPrimitive(result=result) as made:
            both = set(made.left_letters) & set(made.right_letters)
            return bool(both & set(result))
        case MapPrimitive(function="cast", operands=(ViewedValue(views=()) as whole,)):
            return _batched(whole.value)
        case _:
            return False


def _turned(
    value: ProgramValue, readers: Sequence[ProgramValue], names: set[str]
) -> ProgramValue | None:
    """The copy of a value in the order in which all see it; None where there is none.

    What is only rounded on the way is its rounded value's.
    """
    seen = {
        operand.views[:1]
        for reader in readers
        for operand in operands_of(reader)
        if operand.value is value
    }
    match list(seen):
        case [(LinearView() as view,)]:
            pass
        case _:
            return None
    order, rank = _order(view, value.shape), len(value.shape)
    if not order or order[-1] != rank - 1 or order == tuple(range(rank)):
        return None
    if any(isinstance(r.made, TorchPrimitive) for r in readers) or value.home:
        return None
    name = f"{value.name}_rows"
    while name in names:
        name += "_"
    names.add(name)
    made = MapPrimitive("cast", (ViewedValue(value, (view,)),))
    return ProgramValue(name, view.shape, value.dtype, made)


def _order(view: LinearView, shape: Sequence[int]) -> tuple[int, ...]:
    """Which dimension of a source of this shape each one of a view is.

    () where the view is anything but the whole source in another order.
    """
    where = [pairs[0][0] for pairs in view.factors if pairs]
    rank = len(shape)
    if sorted(where) != list(range(rank)) or len(view.shape) != rank:
        return ()
    dims = tuple(where.index(d) for d in range(rank))
    return dims if permuted(shape, dims) == view else ()


class _Ordering(ProgramRewriter):
    """``chosen``: which copy is read in place of each value."""

    def __init__(self, chosen: dict[ProgramValue, ProgramValue]) -> None:
        super().__init__()
        self._chosen = chosen
        self._placed: set[ProgramValue] = set()
        self._shown: dict[ProgramValue, tuple[ProgramValue, LinearView]] = {}
        """The copy of a value, and the view that it is a copy of."""

    def replaced(self, value: ProgramValue, made: Primitive) -> Primitive:
        """The same."""
        return made

    def rewrite(self, value: ProgramValue) -> None:
        """Add a value, and behind it its copy."""
        if value in self._placed:
            return
        super().rewrite(value)
        copy = self._chosen.get(value)
        if copy is None:
            return
        super().rewrite(copy)
        self._placed.add(copy)
        match copy.made:
            case MapPrimitive(operands=(ViewedValue(views=(LinearView() as view,)),)):
                self._shown[value] = self._new[copy], view
            case _:
                raise AssertionError(copy)

    def operand(self, operand: ViewedValue) -> ViewedValue:
        """The operand of the new program."""
        found = self._shown.get(operand.value)
        if found is None:
            return super().operand(operand)
        copy, way = found
        seen, views = ViewedValue(copy), operand.views
        if views[:1] == (way,):
            views = views[1:]
        else:
            order = _order(way, operand.value.shape)
            back = [order.index(d) for d in range(len(order))]
            seen = seen.through(permuted(copy.shape, back))
        for view in views:
            seen = seen.through(view)
        return seen
