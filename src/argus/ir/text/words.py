"""Words, expressions and layouts as text: what knows no names of tiles.

A word is an identifier as it is, or anything else between backquotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import assert_never

from argus.diagnostics import Span
from argus.ir.expr import Binary, Const, Expr, Select, Sym
from argus.layout import Fragment, Mode, SharedLayout

__all__ = [
    "RESERVED",
    "base_name",
    "comment",
    "dim",
    "expression",
    "extents",
    "file_name",
    "fragment_text",
    "listed",
    "modes_text",
    "quoted",
    "shared_layout_text",
    "uncomment",
    "word",
]

RESERVED = frozenset(
    ("True", "False", "None", "inf", "nan", "min", "max", "if", "else", "and", "or")
)
"""What is no name in an expression unless it is quoted."""
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


def quoted(name: str) -> str:
    """A name. Raises ValueError for one that has no text: with a backquote."""
    if _IDENTIFIER.fullmatch(name) and name not in RESERVED:
        return name
    if "`" in name or "\n" in name:
        raise ValueError(f"a name that has no text: {name!r}")
    return f"`{name}`"


def word(value: str) -> str:
    """A string: an identifier (with dots) as it is, else as Python writes it."""
    plain = re.fullmatch(r"[^\W\d]\w*(\.\w+)*", value) and value not in RESERVED
    return value if plain and value != "_" else repr(value)


string = repr


def comment(text: str) -> str:
    """A text on one line."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def uncomment(text: str) -> str:
    """The text of which :func:`comment` made a line."""
    known = {"n": "\n", "r": "\r"}
    return re.sub(r"\\(.)", lambda x: known.get(x[1], x[1]), text)


def file_name(span: Span) -> str:
    """The name of a file without the folders that it is in."""
    return PurePath(span.file).name


def expression(e: Expr, name: Callable[[Sym], str], *, outer: bool = True) -> str:
    """An expression; every operation has parentheses, but for the outermost."""
    match e:
        case Const():
            return str(e.value)
        case Sym():
            return name(e)
        case Binary(op="min" | "max"):
            parts = (expression(x, name, outer=False) for x in (e.left, e.right))
            return f"{e.op}({', '.join(parts)})"
        case Binary():
            left, right = (expression(x, name, outer=False) for x in (e.left, e.right))
            text = f"{left} {e.op} {right}"
        case Select():
            then, cond, other = (
                expression(x, name, outer=False) for x in (e.then, e.cond, e.other)
            )
            text = f"{then} if {cond} else {other}"
        case _:
            assert_never(e)
    return text if outer else f"({text})"


def shared_layout_text(layout: SharedLayout) -> str:
    """How a shared tile lies in bytes: digits of each axis as size*stride."""
    axes = ", ".join(
        " ".join(f"{size}*{stride}" for size, stride in digits)
        for digits in layout.digits
    )
    return f"{axes}; swizzle {layout.swizzle}"


def fragment_text(fragment: Fragment) -> str:
    """Where a register tile lies: modes as size*step@axis, `-` for copies."""
    return (
        f"{listed(fragment.shape)} {fragment.num_threads} threads"
        f" {modes_text(fragment.threads)} | {fragment.num_regs} regs"
        f" {modes_text(fragment.regs)}"
    )


def modes_text(modes: Iterable[Mode]) -> str:
    """Digits of an index; `1` where there are none."""
    found = (
        f"{x.size}*-" if x.axis is None else f"{x.size}*{x.step}@{x.axis}"
        for x in modes
    )
    return " ".join(found) or "1"


def extents(dims: Iterable[str | None], shape: Iterable[int]) -> str:
    """Extents with the names of their dimensions."""
    pairs = zip(dims, shape, strict=True)
    return "[" + " ".join(f"{dim(d)}:{n}" for d, n in pairs) + "]"


def dim(name: str | None) -> str:
    """The name of a dimension; `_` where it has none."""
    if name is None:
        return "_"
    plain = re.fullmatch(r"\w+", name) and name != "_"
    return name if plain else f"`{name}`"


def listed(values: Iterable[object]) -> str:
    """Values in parentheses, without a comma after a single one."""
    return "(" + ", ".join(str(v) for v in values) + ")"


def base_name(written: str) -> str:
    """The name of a thing that is written with quotes, or as the second one."""
    if written.startswith("`"):
        return written[1 : written.rindex("`")]
    return written.partition(".")[0]
