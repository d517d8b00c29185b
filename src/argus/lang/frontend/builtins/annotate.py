"""Annotations: tags, checks, assumptions, expectations, trust.

They only name values that are there. What their arguments would compute is refused by
`statements.py`, which reads an annotation into a block of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import get_args

from argus.diagnostics import ArgusError, Span
from argus.ir.annotations import (
    Assume,
    Check,
    Expect,
    Fact,
    Tag,
    Trust,
)
from argus.ir.expr import Const, Expr, Sym, axis, symbols
from argus.ir.memory import GlobalTensor, SharedView
from argus.ir.ops import Tile
from argus.lang.frontend import coerce
from argus.lang.frontend.calls import BoundCall, builtin
from argus.lang.frontend.state import Elaborator, Scope, is_name, suggest
from argus.lang.frontend.values import (
    NOTHING,
    ElementValue,
    LambdaValue,
    ScalarValue,
    SharedValue,
    TensorValue,
    TileValue,
    Value,
    axes_text,
    counted,
    describe,
)


@builtin("tag")
def tag(call: BoundCall) -> Value:
    """Further components of the tags of a tensor's or tile's elements."""
    e = call.e
    following(call)
    target: Tile | SharedView | GlobalTensor
    match call.value("target"):
        case TileValue(tile=tile):
            target = tile
        case SharedValue(view=view):
            target = view
        case TensorValue(tensor=tensor, holes=None):
            target = tensor
        case other:
            raise call.wrong(
                "target", f"tensors and tiles have tags, and this is {describe(other)}"
            )
    function = _lambda(call, "components", call.value("components"))
    rank = len(target.shape)
    names = _parameters(call, "components", function, rank, "coordinate")
    body = function.node.body
    if not isinstance(body, ast.Dict):
        raise call.wrong(
            "components",
            "a tag function gives a dictionary",
            'write `lambda m, k: {"K": k}`',
        )
    values = {name: ScalarValue(axis(i)) for i, name in enumerate(names)}
    components: dict[str, Expr] = {}
    with _inside(e, function, values):
        for key, item in zip(body.keys, body.values, strict=True):
            if not (
                isinstance(key, ast.Constant)
                and isinstance(key.value, str)
                and is_name(key.value)
            ):
                raise e.fail(
                    "AG0202",
                    e.span(body if key is None else key),
                    "the name of a component is a text that is a name",
                )
            where = e.span(item)
            value = coerce.integer(e, e.evaluate(item), where, "a component of a tag")
            components[key.value] = value
    e.components.update(components)
    e.emit(Tag(target, tuple(components.items()), span=call.span))
    return NOTHING


@builtin("check")
def check(call: BoundCall) -> Value:
    """A relation between tags."""
    e = call.e
    following(call)
    function = _lambda(call, "relation", call.value("relation"))
    args: list[Tile | SharedView] = []
    for value in call.items("values"):
        match value:
            case TileValue(tile=tile):
                args.append(tile)
            case SharedValue(view=view):
                args.append(view)
            case _:
                raise call.wrong(
                    "values",
                    f"a check compares elements of tiles, and this is "
                    f"{describe(value)}",
                )
    if not args:
        raise call.wrong("values", "a check compares elements of at least one tile")
    names = _parameters(call, "relation", function, len(args), "tile")
    axes, shape, dims = _together(call, args)
    span = e.span(function.node.body)
    bound = {name: ElementValue(i) for i, name in enumerate(names)}
    with _inside(e, function, bound):
        value = e.evaluate(function.node.body)
        cond = coerce.condition(e, value, span, "the relation")
    known = {d for t in e.program.params for d in getattr(t, "dims", ())}
    known |= e.components | {d for d in dims if d is not None}
    for sym in symbols(cond):
        name = sym.name.partition(".")[2]
        if sym.kind == "tag" and name not in known:
            raise e.fail(
                "AG0103",
                span,
                f"no element has a component `{name}` in its tag",
                help=suggest(name, known),
                notes=(f"there are: {', '.join(sorted(known))}",),
            )
    e.emit(Check(tuple(args), axes, shape, dims, cond, span=call.span))
    return NOTHING


def _together(
    call: BoundCall, args: Sequence[Tile | SharedView]
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...], tuple[str | None, ...]]:
    """Axes of each argument in a common space, and the space."""
    first = args[0]
    dims, shape = list(first.dims), list(first.shape)
    axes = [tuple(range(len(shape)))]
    for arg in args[1:]:
        if None in arg.dims or None in dims:
            if tuple(shape) != arg.shape:
                raise _apart(call, arg, dims, shape)
            axes.append(tuple(range(len(shape))))
            continue
        own: list[int] = []
        for dim, extent in zip(arg.dims, arg.shape, strict=True):
            if dim not in dims:
                dims.append(dim)
                shape.append(extent)
            own.append(dims.index(dim))
            if shape[own[-1]] != extent:
                raise _apart(call, arg, dims, shape)
        axes.append(tuple(own))
    return tuple(axes), tuple(shape), tuple(dims)


def _apart(
    call: BoundCall,
    arg: Tile | SharedView,
    dims: Sequence[str | None],
    shape: Sequence[int],
) -> ArgusError:
    left = axes_text(tuple(dims), tuple(shape))
    return call.e.fail(
        "AG0201",
        call.span,
        f"it is not known which elements of {axes_text(arg.dims, arg.shape)} meet "
        f"those of {left}",
        help="name the axes with `ag.rename`" if None in (*arg.dims, *dims) else None,
    )


@builtin("assume")
def assume(call: BoundCall) -> Value:
    """A fact about run-time values."""
    e = call.e
    following(call)
    given, pairs = call.value("fact"), call.flag("pairs", False)
    tables = [_table(call, value) for value in call.items("tables")]
    if not isinstance(given, LambdaValue):
        if tables or pairs:
            raise call.wrong("fact", "a fact about tables is a lambda")
        where = call.where("fact")
        cond = coerce.condition(e, given, where, "the fact")
        made = Assume(cond, str(cond), span=call.span)
        return _stated(call, made)
    if not tables:
        raise call.wrong("fact", "a lambda says something about tables: name them")
    if any(t.shape != tables[0].shape for t in tables):
        raise e.fail("AG0201", call.span, "the tables have different sizes")
    count = len(tables) * (2 if pairs else 1)
    names = _parameters(call, "fact", given, count, "element")
    elements = tuple(_element(t, "i") for t in tables)
    others = tuple(_element(t, "j") for t in tables) if pairs else ()
    # With pairs, a function of two tables takes (a_i, b_i, a_j, b_j).
    bound = {
        n: ScalarValue(s) for n, s in zip(names, (*elements, *others), strict=True)
    }
    span = e.span(given.node.body)
    with _inside(e, given, bound):
        value = e.evaluate(given.node.body)
        cond = coerce.condition(e, value, span, "the fact")
    text = ast.unparse(given.node.body)
    made = Assume(cond, text, tuple(tables), elements, others, span=call.span)
    return _stated(call, made)


def _stated(call: BoundCall, made: Assume) -> Value:
    if isinstance(made.cond, Const):
        if not made.cond.value:
            raise call.e.fail("AG0318", call.span, "what is assumed is false")
        return NOTHING
    call.e.emit(made)
    return NOTHING


def _table(call: BoundCall, value: Value) -> GlobalTensor:
    match value:
        case TensorValue(tensor=tensor, holes=None) if tensor.dtype.kind == "int":
            return tensor
        case _:
            raise call.wrong(
                "tables",
                f"a table is a tensor of integers, and this is {describe(value)}",
            )


def _element(table: GlobalTensor, position: str) -> Sym:
    return Sym(f"{table.name}[{position}]", "gather", nonneg=False)


@builtin("expect")
def expect(call: BoundCall) -> Value:
    """Binding performance facts."""
    e = call.e
    following(call)
    facts: list[tuple[Fact, int]] = []
    for name in get_args(Fact):
        if not call.given(name):
            continue
        value = call.int(name)
        if value < 0:
            raise call.wrong(name, f"`{name}` is at least 0, and this is {value}")
        facts.append((name, value))
    if not facts:
        raise e.fail("AG0104", call.span, "`expect` needs at least one fact")
    e.emit(Expect(tuple(facts), span=call.span))
    return NOTHING


@builtin("trust")
def trust(call: BoundCall) -> Value:
    """What is unknown about the next statement is accepted."""
    covers = following(call)
    reason, whole = call.sentence("reason"), call.flag("whole", False)
    if not reason.strip():
        raise call.wrong("reason", "trust needs a reason that others can read")
    if covers is None and not whole:
        raise call.e.fail(
            "AG0121",
            call.span,
            "nothing follows that could be trusted",
            help="it stands before the statement that it is about",
        )
    call.e.emit(Trust(reason, covers or call.span, whole, span=call.span))
    return NOTHING


def following(call: BoundCall) -> Span | None:
    """The statement after the annotation.

    Raises ArgusError (AG0121) for a call that is not a statement of its own.
    """
    place = call.e.annotation
    if place is None:
        raise call.e.fail(
            "AG0121",
            call.span,
            f"`{call.name}` stands inside something else, or without the module's name",
            help=f"write `ag.{call.name}(...)` as a statement of its own",
        )
    return place.following


def _lambda(call: BoundCall, name: str, value: Value) -> LambdaValue:
    if isinstance(value, LambdaValue):
        return value
    raise call.wrong(name, f"`{name}` is a lambda, and this is {describe(value)}")


def _parameters(
    call: BoundCall, name: str, function: LambdaValue, count: int, what: str
) -> list[str]:
    args = function.node.args
    odd = args.vararg or args.kwarg or args.kwonlyargs or args.defaults
    names = [a.arg for a in (*args.posonlyargs, *args.args)]
    if odd or len(names) != count:
        raise call.e.fail(
            "AG0203",
            call.where(name),
            f"the lambda takes {counted(len(names), 'value')}, and is given "
            f"{counted(count, what)}",
        )
    return names


@contextmanager
def _inside(
    e: Elaborator, function: LambdaValue, bound: Mapping[str, Value]
) -> Generator[None]:
    """Evaluate the body of a lambda with its parameters bound."""
    outer, own = e.scope, function.scope
    e.scope = Scope(own.env, {**own.variables, **bound}, own.live)
    try:
        yield
    finally:
        e.scope = outer
