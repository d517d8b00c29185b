"""The text of each operation as a template, which printer and parser both read.

    "{result} = load {view}{~fill}{~mask}"

    {name}          the field, as its type says (:func:`kind`)
    {~name}         nothing where the field has its default, else `` name value``
    {~name:word}    the same with another word than the field's name, or with none
    {name?a|b}      a flag: ``a`` where it is set, else ``b``

Every field of an operation stands in its template, except those that each operation
may have (:data:`COMMON`) and the blocks, carries and merges of :data:`STRUCTURE`,
which take lines of their own.
"""

from __future__ import annotations

import re
import types
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from argus.diagnostics import Span
from argus.ir import memory as m
from argus.ir import ops as o
from argus.ir.combine import Combination
from argus.ir.expr import Expr, Sym
from argus.ir.fields import field_types
from argus.ir.functions import FUNCTIONS
from argus.ir.op import Op, Use

__all__ = [
    "COMMON",
    "STRUCTURE",
    "SYNTAX",
    "Field",
    "FieldKind",
    "Flag",
    "Word",
    "beginnings",
    "default",
    "items",
    "kind",
]

COMMON = ("span", "note", "plan")
"""Fields that stand in the margin, after ``#`` and in brackets at the end of a line."""
STRUCTURE: dict[type[Op], tuple[str, ...]] = {
    o.For: ("body", "tiles", "scalars"),
    o.If: ("then", "other", "tiles", "scalars"),
    o.Roles: ("roles",),
}
"""Fields that stand in lines of their own."""

SYNTAX: dict[type[Op], str] = {
    o.For: "for {var} in {start} .. {stop} step {step}{~unroll}",
    o.If: "if {cond}",
    o.Roles: "roles",
    o.LoadScalar: "let {sym} = load {tensor}{coords}",
    o.Extract: "let {sym} = element {src}",
    o.Let: "let {sym} = {value}",
    o.Full: "{result} = full {value}",
    o.Index: "{result} = index {axis}",
    o.Cast: "{result} = cast {src}",
    o.Broadcast: "{result} = broadcast {src} axes {axes}",
    o.Transpose: "{result} = transpose {src} axes {axes}",
    o.Reduce: "{result} = reduce {fn} {src} axis {axis}",
    o.Reshape: "{result} = reshape {src}",
    o.Join: "{result} = join {parts} axis {axis}",
    o.Slice: "{result} = slice {src} axis {axis} from {start}",
    o.StridedSlice: "{result} = slice {src} axis {axis} from {start} step {step}",
    o.Flip: "{result} = flip {src} axis {axis}",
    o.Scan: "{result} = scan {srcs} axis {axis}{reverse? reverse} by {combine} "
    "part {part}",
    o.ScanTotal: "{result} = fold {srcs} axis {axis} by {combine} part {part}",
    o.Sort: "{result} = sort {src} axis {axis}{descending? descending}"
    "{indices? indices}",
    o.Reinterpret: "{result} = reinterpret {src}",
    o.Convert: "{result} = convert {src}",
    o.Dot: "{result} = dot {a}, {b}{~acc:+}{~instruction}{~inst_n}",
    o.LoadShared: "{result} = load {view}",
    o.LoadGlobal: "{result} = load {view}{~fill}{~mask}{~evict}",
    o.Atomic: "{result} = atomic {atomic} {view}, {src}{~expected}{~mask}{~evict}",
    o.Elementwise: "{result} = {fn} {args}",
    o.StoreShared: "store {view}, {src}",
    o.StoreGlobal: "store {view}, {src}{~mask}{~atomic}{~evict}",
    o.CopyAsync: "copy {dst} <- {src}{~via}{~barrier}{~multicast}{~evict}{~ring}",
    o.CopyOut: "copy_out {dst} <- {src}",
    o.CopyOutCommit: "copy_out_commit",
    o.CopyOutWait: "copy_out_wait {pending}{read? read}",
    o.CpAsyncCommit: "cp_async_commit",
    o.CpAsyncWait: "cp_async_wait {pending}",
    o.CpAsyncArrive: "cp_async_arrive {barrier}",
    o.BarrierExpect: "expect {barrier} bytes {bytes}",
    o.BarrierArrive: "arrive {barrier} per {per}{cluster? cluster}",
    o.BarrierWait: "wait {barrier} completion {n}",
    o.Sync: "{arrive_only?sync_arrive|sync} {threads} threads{~barrier}{~name}",
    o.ClusterSync: "cluster_sync",
    o.Fence: "fence {kind}",
    o.WgmmaCommit: "wgmma_commit",
    o.WgmmaWait: "wgmma_wait {pending}{~tiles:}",
    o.SetMaxRegisters: "setmaxnreg {grow?inc|dec} {count}",
    o.RingAcquire: "ring_acquire {ring} fill {n}",
    o.RingPublish: "ring_publish {ring} fill {n}",
    o.RingWait: "ring_wait {ring} fill {n}",
    o.RingRelease: "ring_release {ring} fill {n}",
    o.Tag: "tag {target} {components}",
    o.Check: "check {cond} for {dims} {shape} of {args} axes {axes}",
    o.Assume: "assume {cond}{~tables}{~elements}{~others}: {text}",
    o.Expect: "expect {facts}",
    o.Print: "print {text} of {values}",
    o.Trust: "trust {covers}{whole? and the kernel}: {reason}",
}
"""The parser takes the first template that fits a line."""

_REDUCTIONS = ("sum", "max", "min", "prod", "argmax", "argmin")
_EVICT = ("first", "last", "normal")
CHOICES: dict[tuple[type[Op], str], tuple[str, ...]] = {
    (o.Elementwise, "fn"): tuple(FUNCTIONS),
    (o.Reduce, "fn"): _REDUCTIONS,
    (o.LoadGlobal, "evict"): _EVICT,
    (o.StoreGlobal, "evict"): _EVICT,
    (o.StoreGlobal, "atomic"): ("add", "max", "min"),
    (o.Atomic, "evict"): _EVICT,
    (o.Atomic, "atomic"): ("add", "max", "min", "exchange", "cas"),
    (o.CopyAsync, "evict"): _EVICT,
}
"""Strings that have few values, of which the type does not say so."""


@dataclass(frozen=True)
class Word:
    """Text that stands as it is."""

    text: str


@dataclass(frozen=True)
class Field:
    """A field's value; with ``prefix`` only where it has not its default."""

    name: str
    kind: FieldKind
    prefix: str | None = None


@dataclass(frozen=True)
class Flag:
    """A word for True and one for False; each may be empty."""

    name: str
    yes: str
    no: str


@dataclass(frozen=True)
class FieldKind:
    """What a type of a field looks like: printer and parser have a case for each.

    "tile", "definition", "symbol", "expr", "int", "word", "dim" (a word or ``_``),
    "choice" (one of ``words``), "tensor", "global", "shared", "barrier", "ring",
    "span", "combination"; "either" of the parts; "listed" ``(a, b)``, "indexed"
    ``[a, b]``, "bare" ``a, b`` and "pairs" ``{a: b}`` of them.
    """

    name: str
    parts: tuple[FieldKind, ...] = ()
    words: tuple[str, ...] = ()


_HOLE = re.compile(r"\{(~?)(\w+)(?::([^}]*))?(?:\?([^|}]*)\|?([^}]*))?\}")


@cache
def items(cls: type[Op]) -> tuple[Word | Field | Flag, ...]:
    """The parts of the template of an operation; KeyError for an unknown class."""
    template, types_ = SYNTAX[cls], field_types(cls)
    found: list[Word | Field | Flag] = []
    at = 0
    for hole in _HOLE.finditer(template):
        if hole.start() > at:
            found.append(Word(template[at : hole.start()]))
        at = hole.end()
        optional, name, prefix, yes, no = hole.groups()
        if yes is not None:
            found.append(Flag(name, yes, no))
            continue
        word = (name if prefix is None else prefix) if optional else None
        choice = CHOICES.get((cls, name))
        of = kind(types_[name]) if choice is None else FieldKind("choice", words=choice)
        found.append(Field(name, of, word))
    if at < len(template):
        found.append(Word(template[at:]))
    return tuple(found)


@cache
def beginnings(cls: type[Op]) -> tuple[str, ...] | None:
    """The words that a line of an operation may begin with; None: a tile."""
    first = items(cls)[0]
    if isinstance(first, Word):
        return (first.text.split()[0],)
    return (first.yes, first.no) if isinstance(first, Flag) else None


@cache
def default(cls: type[Op], name: str) -> Any:
    """The default of a field. Raises ValueError for one that has none."""
    (field,) = (x for x in fields(cls) if x.name == name)
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    # An operand that may be absent, and must be given to the constructor.
    if type(None) in get_args(field_types(cls)[name]):
        return None
    raise ValueError(f"{cls.__name__}.{name} has no default")


_SIMPLE = {
    Expr: "expr", Sym: "symbol", int: "int", str: "word", Span: "span",
    m.GlobalTensor: "tensor", m.GlobalView: "global", m.SharedView: "shared",
    m.BarrierRef: "barrier", m.Ring: "ring",
    Combination: "combination",
}  # fmt: skip


def kind(hint: Any, use: Use | None = None) -> FieldKind:
    """How values of a type are written. Raises TypeError for one without a form."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        (use,) = (x for x in args[1:] if isinstance(x, Use))
        return kind(args[0], use)
    if origin is Literal:
        return FieldKind("choice", words=args)
    if origin in (Union, types.UnionType):
        parts = tuple(kind(x, use) for x in args if x is not type(None))
        return parts[0] if len(parts) == 1 else FieldKind("either", parts)
    if origin is tuple:
        return _sequence(args, use)
    if hint is o.Tile:
        defines = use in (Use.DEFINED, Use.INNER)
        return FieldKind("definition" if defines else "tile")
    if hint in _SIMPLE:
        return FieldKind(_SIMPLE[hint])
    raise TypeError(f"no text for {hint}")


def _sequence(args: tuple[Any, ...], use: Use | None) -> FieldKind:
    if args[-1] is not Ellipsis:
        raise TypeError(f"no text for a tuple of {args}")
    if get_origin(args[0]) is tuple and get_args(args[0])[-1] is not Ellipsis:
        return FieldKind("pairs", tuple(kind(x, use) for x in get_args(args[0])))
    if args[0] == str | None:
        return FieldKind("listed", (FieldKind("dim"),))
    part = kind(args[0], use)
    if part.name == "expr":
        return FieldKind("indexed", (part,))
    if part.name == "either" and FieldKind("expr") in part.parts:
        return FieldKind("bare", (part,))
    return FieldKind("listed", (part,))
