"""Changing the scalar expressions of operations in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from argus.ir import fields as f
from argus.ir import ops as o
from argus.ir.annotations import AnyAnnotation
from argus.ir.expr import Arithmetic, Expr

__all__ = ["change_expressions"]


def change_expressions(op: o.AnyOp, change: Callable[[Expr], Expr]) -> None:
    """Replace each expression of ``op`` itself by ``change`` of it.

    The names that the operation binds are expressions, too: a change that replaces
    symbols has to make symbols of them. Nested blocks, the operands of an annotation
    and what a program declares (tensors, buffers, barriers) stay as they are.
    """
    if isinstance(op, AnyAnnotation):
        return
    for field in fields(op):
        before = getattr(op, field.name)
        after = _changed(before, change)
        if after is not before:
            setattr(op, field.name, after)


def _changed(value: Any, change: Callable[[Expr], Expr]) -> Any:
    """The value, itself where nothing in it has changed."""
    if isinstance(value, Arithmetic):
        made = change(value)  # pyright: ignore[reportArgumentType]
        return value if made == value else made
    if isinstance(value, tuple | list):
        given = cast("tuple[Any, ...] | list[Any]", value)
        parts = [_changed(x, change) for x in given]
        same = all(x is y for x, y in zip(parts, given, strict=True))
        return given if same else type(given)(parts)
    if type(value) not in f.RECORDS or isinstance(value, o.Role):
        return value
    assert is_dataclass(value) and not isinstance(value, type)
    made = {x.name: getattr(value, x.name) for x in fields(value)}
    new = {name: _changed(part, change) for name, part in made.items()}
    if all(new[name] is made[name] for name in made):
        return value
    return replace(value, **new)
