"""The table of the language's functions, and how a call's arguments are bound.

A handler is registered under the name of its stub in :mod:`argus.lang.names`, whose
signature binds the arguments: there is no second list of parameters.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from argus.diagnostics import ArgusError, Span
from argus.ir.dtypes import DType
from argus.ir.expr import Expr
from argus.ir.ops import Tile
from argus.lang.frontend import coerce
from argus.lang.frontend.idioms import of_call
from argus.lang.frontend.state import Elaborator, suggest
from argus.lang.frontend.values import (
    Builtin,
    ScalarValue,
    StaticValue,
    TupleValue,
    Value,
    describe,
)
from argus.lang.names import FUNCTIONS, LAYOUTS, METHODS
from argus.layout import Fragment

MAX_LABEL = 40
"""Characters of the name of a role, a named barrier or turns."""
_LABEL = re.compile(r"[A-Za-z]\w*(?:[ -]\w+)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Arg:
    """An argument: its value, and where it stands."""

    value: Value
    span: Span


@dataclass(eq=False)
class BoundCall:
    """A call whose arguments are bound to the parameters of the stub."""

    e: Elaborator
    name: str
    span: Span
    receiver: Value | None
    args: dict[str, Arg]
    extra: dict[str, Arg] = field(default_factory=dict[str, Arg])
    """Keyword arguments of a stub with ``**fields``."""

    def given(self, name: str) -> bool:
        """Whether the argument is there and not `None`."""
        return name in self.args and self.args[name].value != StaticValue(None)

    def value(self, name: str) -> Value:
        """The argument as it is."""
        return self.args[name].value

    def where(self, name: str) -> Span:
        """Where the argument stands; the whole call where it is left out."""
        return self.args[name].span if name in self.args else self.span

    def int(self, name: str, default: int | None = None) -> int:
        """A static integer."""
        if default is not None and not self.given(name):
            return default
        return coerce.static_int(
            self.e, self.value(name), self.where(name), f"`{name}`"
        )

    def positive(self, name: str, default: int | None = None) -> int:
        """A static integer of at least 1."""
        if default is not None and not self.given(name):
            return default
        return coerce.positive(self.e, self.value(name), self.where(name), f"`{name}`")

    def flag(self, name: str, default: bool) -> bool:
        """A static truth value."""
        if not self.given(name):
            return default
        value = self.value(name)
        if isinstance(value, StaticValue) and isinstance(value.value, bool):
            return value.value
        if isinstance(value, ScalarValue):
            raise self.e.fail(
                "AG0108",
                self.where(name),
                f"`{name}` must be known at compile time",
                label="known only at run time",
            )
        raise self.e.fail(
            "AG0105",
            self.where(name),
            f"`{name}` is `True` or `False`, and this is {describe(value)}",
        )

    def choice(self, name: str, options: tuple[str, ...]) -> str | None:
        """A static text out of a few; None where it is left out."""
        if not self.given(name):
            return None
        word = self.text(name)
        if word not in options:
            raise self.e.fail(
                "AG0105",
                self.where(name),
                f"`{name}` is one of {', '.join(repr(o) for o in options)}",
                help=suggest(word, options),
            )
        return word

    def text(self, name: str) -> str:
        """A static text."""
        return coerce.text(self.e, self.value(name), self.where(name), f"`{name}`")

    def sentence(self, name: str) -> str:
        """A static text that people read, on one line."""
        return " ".join(self.text(name).split())

    def label(self, name: str) -> str:
        """The name of a role, of a named barrier or of turns.

        Raises ArgusError (AG0025) for what is no name, or is one of the compiler's.
        """
        text = self.text(name)
        if _LABEL.fullmatch(text) and len(text) <= MAX_LABEL and text != "block":
            return text
        raise self.e.fail(
            "AG0025",
            self.where(name),
            f"{text!a} cannot be a name here"
            if len(text) <= MAX_LABEL
            else f"a name of {len(text)} characters is too long",
            notes=(
                "a name begins with a letter and has ASCII letters, digits and `_`, "
                f"single blanks or `-` between words, and at most {MAX_LABEL} "
                "characters; `block` is taken",
            ),
        )

    def dtype(self, name: str) -> DType:
        """An element type."""
        return coerce.dtype(self.e, self.value(name), self.where(name))

    def scalar(self, name: str) -> Expr:
        """A number, static or not."""
        return coerce.scalar(self.e, self.value(name), self.where(name), f"`{name}`")

    def integer(self, name: str) -> Expr:
        """An integer, static or not."""
        return coerce.integer(self.e, self.value(name), self.where(name), f"`{name}`")

    def tile(self, name: str) -> Tile:
        """A register tile."""
        where = self.where(name)
        return coerce.tile(self.e, self.value(name), where, f"`{name}`").tile

    def shape(self, name: str, what: str = "the tile") -> tuple[int, ...]:
        """The sizes of a tile."""
        return coerce.shape(self.e, self.value(name), self.where(name), what)

    def dims(self, name: str, rank: int) -> tuple[str | None, ...]:
        """Dimension names; all unnamed where the argument is left out."""
        if not self.given(name):
            return (None,) * rank
        return coerce.dim_names(self.e, self.value(name), self.where(name), rank)

    def layout(self, name: str) -> Fragment | None:
        """A layout of `ag.layouts`; None where it is left out."""
        if not self.given(name):
            return None
        value = self.value(name)
        if isinstance(value, StaticValue) and isinstance(value.value, Fragment):
            return value.value
        raise self.e.fail(
            "AG0105",
            self.where(name),
            f"`{name}` is a layout, and this is {describe(value)}",
            help=f"call it: `ag.layouts.{signature_text(value.name)}`"
            if isinstance(value, Builtin) and value.name.startswith("layouts.")
            else "make one with `ag.layouts`",
        )

    def items(self, name: str) -> tuple[Value, ...]:
        """The items of a tuple argument, or of the rest of the arguments."""
        value = self.value(name)
        return value.items if isinstance(value, TupleValue) else (value,)

    def wrong(self, name: str, message: str, help: str | None = None) -> ArgusError:
        """The error for an argument of a wrong kind (AG0105)."""
        return self.e.fail("AG0105", self.where(name), message, help=help)


Handler = Callable[[BoundCall], Value]
HANDLERS: dict[str, Handler] = {}
"""Functions by name (`load`, `layouts.blocked`) and methods (`Tile.to`)."""

STUBS: dict[str, Callable[..., object]] = {
    **FUNCTIONS,
    **{f"layouts.{name}": stub for name, stub in LAYOUTS.items()},
    **METHODS,
}
"""The stub of each handler."""


def builtin(*names: str) -> Callable[[Handler], Handler]:
    """Register the handler of one or several names."""

    def register(handler: Handler) -> Handler:
        for name in names:
            if name in HANDLERS or name not in STUBS:
                raise KeyError(name)
            HANDLERS[name] = handler
        return handler

    return register


@cache
def _parameters(name: str) -> tuple[inspect.Parameter, ...]:
    found = tuple(inspect.signature(STUBS[name]).parameters.values())
    return found[1:] if name in METHODS else found


def signature_text(name: str) -> str:
    """A stub's parameters for a note: `load(view, shape=None, *, fill=0)`."""
    parts: list[str] = []
    starred = False
    for p in _parameters(name):
        if p.kind is p.VAR_POSITIONAL:
            starred = True
            parts.append(f"*{p.name}")
        elif p.kind is p.VAR_KEYWORD:
            parts.append(f"**{p.name}")
        else:
            if p.kind is p.KEYWORD_ONLY and not starred:
                starred = True
                parts.append("*")
            default = "" if p.default is p.empty else f"={p.default!r}"
            parts.append(p.name + default)
    return f"{name.split('.')[-1]}({', '.join(parts)})"


def bind(
    e: Elaborator,
    name: str,
    receiver: Value | None,
    positional: list[Arg],
    keywords: list[tuple[str, Arg]],
    span: Span,
) -> BoundCall:
    """Bind arguments to the parameters of a stub.

    Raises ArgusError (AG0104) for too many, too few, unknown or repeated arguments.
    """
    note = (f"the signature is `{signature_text(name)}`",)
    short = name.split(".")[-1]
    args: dict[str, Arg] = {}
    extra: dict[str, Arg] = {}
    rest = list(positional)
    parameters = _parameters(name)
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            items = tuple(a.value for a in rest)
            args[p.name] = Arg(TupleValue(items), span)
            rest.clear()
        elif p.kind is p.POSITIONAL_OR_KEYWORD and rest:
            args[p.name] = rest.pop(0)
    if rest:
        raise e.fail(
            "AG0104", rest[0].span, f"too many arguments for `{short}`", notes=note
        )
    by_name = {
        p.name: p
        for p in parameters
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for key, arg in keywords:
        if key in by_name and key not in args:
            args[key] = arg
        elif key not in by_name and open_ended and key not in extra:
            extra[key] = arg
        else:
            known = key in by_name or key in extra
            raise e.fail(
                "AG0104",
                arg.span,
                f"`{key}` is given twice"
                if known
                else f"`{short}` has no parameter `{key}`",
                notes=note,
                help=None if known else of_call(key) or suggest(key, by_name),
            )
    for p in by_name.values():
        if p.name not in args and p.default is p.empty:
            raise e.fail(
                "AG0104", span, f"`{short}` needs an argument `{p.name}`", notes=note
            )
    return BoundCall(e, name, span, receiver, args, extra)
