"""What the fields of operations hold, derived once for each class from their types.

    USED.of(op)          tiles that it reads
    EXPRESSIONS.of(op)   scalar expressions that it reads
    BLOCKS.of(op)        its nested blocks, and so on

A :class:`Collector` goes through the fields of a class in their order and finds the
places where its kind of thing may be. It makes a table per class when it first meets
it. A field has a role or there is an error: a tile or a symbol that is not marked
(:mod:`argus.ir.op`), or a type that is neither a record, a declaration nor an
attribute, raises ``FieldError``, and so does a class that is no operation.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from argus.diagnostics import Span
from argus.ir import memory as m
from argus.ir import ops as o
from argus.ir import placement as p
from argus.ir.combine import Combination
from argus.ir.dtypes import DType
from argus.ir.expr import Arithmetic, Expr, Sym
from argus.ir.op import Use
from argus.layout import Fragment, SharedLayout

__all__ = [
    "BLOCKS",
    "BOUND",
    "DEFINED",
    "EXPRESSIONS",
    "INNER_SYMBOLS",
    "INNER_TILES",
    "MENTIONED_EXPRESSIONS",
    "MENTIONED_TILES",
    "PLAN_EXPRESSIONS",
    "RECORDS",
    "USED",
    "Collector",
    "FieldError",
    "field_types",
]

T = TypeVar("T")
Found = list[Any]
Add = Callable[[Any, Found], None]

RECORDS = (
    o.TileCarry, o.ScalarCarry, o.TileMerge, o.ScalarMerge, o.Role,
    m.GlobalView, m.SharedView, m.GatheredAxis, m.Limit, m.BarrierRef,
    p.VectorPlan, p.TmaPlan, p.TmaBox, p.WgmmaPlan, p.MatrixOperand, p.MmaPlan,
    p.MmaStep,
)  # fmt: skip
"""Parts of operations: their fields have roles of their own."""
DECLARATIONS = (
    m.GlobalTensor, m.SharedAlloc, m.BarrierAlloc, m.Ring, p.TensorMap,
)  # fmt: skip
"""What a program declares: an operation refers to it."""
ATTRIBUTES = (
    int, float, bool, str, type(None), Span, Fragment, SharedLayout, DType, Combination,
)  # fmt: skip
"""Values that say nothing of tiles and scalars."""


class FieldError(TypeError):
    """A field of which no role follows from its type: a bug of the representation."""


@cache
def field_types(cls: type[Any]) -> dict[str, Any]:
    """Types of the fields of an operation or of a record, with their marks, in order.

    Raises FieldError for a class that is neither.
    """
    if cls not in (*o.OPS, *RECORDS):
        raise FieldError(f"{cls.__name__} is no operation and no part of one")
    names = {**vars(m), **vars(o), **vars(p), "Span": Span, "Fragment": Fragment}
    hints = get_type_hints(cls, localns=names, include_extras=True)
    return {field.name: hints[field.name] for field in fields(cls)}


class Collector(Generic[T]):
    """Finds everything of one type and one use in an operation, in order of fields."""

    def __init__(self, wanted: type[Any], use: Use) -> None:
        self.wanted = wanted
        self.use = use
        self._tables: dict[type, tuple[tuple[str, Add], ...]] = {}

    def of(self, op: o.AnyOp) -> tuple[T, ...]:
        """What is found in ``op``; nested blocks are not entered."""
        table = self._tables.get(type(op))
        if table is None:
            table = self._operation(type(op))
        if not table:
            return ()
        found: Found = []
        for name, add in table:
            add(getattr(op, name), found)
        return tuple(found)

    def _operation(self, cls: type) -> tuple[tuple[str, Add], ...]:
        if cls not in o.OPS:
            raise FieldError(f"{cls.__name__} is no operation")
        return self.table(cls)

    def table(self, cls: type) -> tuple[tuple[str, Add], ...]:
        """For each field that may hold something: its name, and how to find it."""
        if cls not in self._tables:
            found = (
                (name, self._of_type(hint, None, f"{cls.__name__}.{name}"))
                for name, hint in field_types(cls).items()
            )
            self._tables[cls] = tuple((n, add) for n, add in found if add is not None)
        return self._tables[cls]

    def _of_type(self, hint: Any, mark: Use | None, where: str) -> Add | None:
        """How to find what is wanted in a value of a type; None: it is never there."""
        if get_origin(hint) is Annotated:
            inner, *marks = get_args(hint)
            (use,) = (x for x in marks if isinstance(x, Use))
            return self._of_type(inner, use, where)
        if get_origin(hint) in (Union, types.UnionType):
            return self._of_union(get_args(hint), mark, where)
        if get_origin(hint) in (tuple, list):
            return self._of_sequence(hint, mark, where)
        if get_origin(hint) is Literal:
            return None
        return self._of_class(hint, mark, where)

    def _of_class(self, cls: Any, mark: Use | None, where: str) -> Add | None:
        if cls is o.Tile or cls is Sym:
            if mark is None:
                raise FieldError(f"{where} says not whether it is read or defined")
            return _append if cls is self.wanted and mark is self.use else None
        if cls is Expr:
            use = mark or Use.READ
            return _append if cls is self.wanted and use is self.use else None
        if cls is o.Block:
            return _append if cls is self.wanted else None
        if cls in RECORDS:
            if mark is Use.MENTIONED:  # a view that an annotation speaks of
                return self._mentioned(cls)
            return self._of_record(cls)
        if cls in DECLARATIONS or cls in ATTRIBUTES:
            return None
        raise FieldError(f"{where} has a type without a role: {cls}")

    def _mentioned(self, cls: type) -> Add | None:
        """What is read in a record that is mentioned is mentioned."""
        if self.use is not Use.MENTIONED:
            return None
        return Collector[T](self.wanted, Use.READ)._of_record(cls)

    def _of_record(self, cls: type) -> Add | None:
        table = self.table(cls)
        if not table:
            return None
        if len(table) == 1:
            ((only, add_only),) = table
            return lambda value, found: add_only(getattr(value, only), found)

        def record(value: Any, found: Found) -> None:
            for name, add in table:
                add(getattr(value, name), found)

        return record

    def _of_sequence(self, hint: Any, mark: Use | None, where: str) -> Add | None:
        args = get_args(hint)
        if get_origin(hint) is tuple and args[-1] is not Ellipsis:
            each = [self._of_type(x, mark, where) for x in args]
            if not any(each):
                return None

            def parts(value: Any, found: Found) -> None:
                for part, add_part in zip(value, each, strict=True):
                    if add_part is not None:
                        add_part(part, found)

            return parts
        add = self._of_type(args[0], mark, where)
        if add is None:
            return None
        if add is _append:
            return _extend

        def every(value: Any, found: Found) -> None:
            for x in value:
                add(x, found)

        return every

    def _of_union(
        self, members: tuple[Any, ...], mark: Use | None, where: str
    ) -> Add | None:
        choices = [(_runtime(x), self._of_type(x, mark, where)) for x in members]
        if not any(add for _, add in choices):
            return None

        def choose(value: Any, found: Found) -> None:
            for cls, add in choices:
                if isinstance(value, cls):
                    if add is not None:
                        add(value, found)
                    return
            raise FieldError(f"{where} is a {type(value).__name__}")

        return choose


def _append(value: Any, found: Found) -> None:
    found.append(value)


def _extend(value: Any, found: Found) -> None:
    found.extend(value)


def _runtime(hint: Any) -> Any:
    """The class of a member of a union, for isinstance."""
    if get_origin(hint) is Annotated:
        return _runtime(get_args(hint)[0])
    if get_origin(hint) is Literal:
        return get_args(hint)[0].__class__
    return get_origin(hint) or hint


USED: Collector[o.Tile] = Collector(o.Tile, Use.READ)
DEFINED: Collector[o.Tile] = Collector(o.Tile, Use.DEFINED)
INNER_TILES: Collector[o.Tile] = Collector(o.Tile, Use.INNER)
MENTIONED_TILES: Collector[o.Tile] = Collector(o.Tile, Use.MENTIONED)
EXPRESSIONS: Collector[Expr] = Collector(Arithmetic, Use.READ)
MENTIONED_EXPRESSIONS: Collector[Expr] = Collector(Arithmetic, Use.MENTIONED)
PLAN_EXPRESSIONS: Collector[Expr] = Collector(Arithmetic, Use.PLANNED)
BOUND: Collector[Sym] = Collector(Sym, Use.DEFINED)
INNER_SYMBOLS: Collector[Sym] = Collector(Sym, Use.INNER)
BLOCKS: Collector[o.Block] = Collector(o.Block, Use.READ)
