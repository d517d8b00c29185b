"""The parameters of a kernel: what is bound at launch and what at compile time.

Annotations are read as syntax: `bf16["M K"]`, `f32["N"] | None`, `ag.float["M K"]`,
`f32`, `int`, `ag.Inline`. Default values stay syntax; the frontend evaluates them.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from argus.diagnostics import ArgusError, Span, fail
from argus.ir import dtypes
from argus.ir.dtypes import DTYPES, DType
from argus.lang.frontend.declarations import (
    FunctionDecl,
    HostValue,
    LanguageModule,
    LanguageName,
    ModuleEnv,
)
from argus.lang.frontend.state import is_name, suggest
from argus.lang.names import DTYPES as NAMES
from argus.lang.names import GROUPS
from argus.lang.names.types import (
    ElementType,
    TypeGroup,
)

StaticKind = Literal["int", "bool", "str", "float", "dtype", "inline", "any"]
_STATIC_KINDS: dict[str, StaticKind] = {
    "int": "int",
    "bool": "bool",
    "str": "str",
    "float": "float",
    "dtype": "dtype",
    "ElementType": "dtype",
    "Inline": "inline",
}
_SCALARS = (dtypes.i32, dtypes.i64, dtypes.f32)
_GROUPS = {name: group.dtypes for name, group in GROUPS.items()}
MAX_RANK = 8


@dataclass(frozen=True, slots=True)
class TensorParam:
    """A tensor. ``dims`` are names, or numbers for fixed extents.

    An optional tensor may be absent: it is `None` in the kernel then.
    """

    name: str
    dtypes: tuple[DType, ...]
    dims: tuple[str | int, ...]
    optional: bool
    span: Span


@dataclass(frozen=True, slots=True)
class ScalarParamDecl:
    """A run-time scalar: i32, i64 or f32. ``default`` is syntax."""

    name: str
    dtype: DType
    default: ast.expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class StaticParam:
    """A compile-time parameter. ``default`` is syntax, None where there is none."""

    name: str
    kind: StaticKind
    default: ast.expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters in order: run-time ones (positional), static ones (by keyword)."""

    params: tuple[TensorParam | ScalarParamDecl, ...]
    statics: tuple[StaticParam, ...]

    @property
    def tensors(self) -> tuple[TensorParam, ...]:
        """The tensors, in order."""
        return tuple(p for p in self.params if isinstance(p, TensorParam))

    @property
    def scalars(self) -> tuple[ScalarParamDecl, ...]:
        """The run-time scalars, in order."""
        return tuple(p for p in self.params if isinstance(p, ScalarParamDecl))

    @property
    def dims(self) -> tuple[str, ...]:
        """Dimension names, in order of appearance."""
        names = (d for t in self.tensors for d in t.dims if isinstance(d, str))
        return tuple(dict.fromkeys(names))


def read_signature(decl: FunctionDecl) -> Signature:
    """The parameters of a kernel's declaration.

    Raises ArgusError: a parameter list that a kernel cannot have (AG0014), an
    annotation that is no type of the language (AG0112), a bad dimension (AG0207, 0218).
    """
    args, source = decl.node.args, decl.env.source
    for stars, odd in (("*", args.vararg), ("**", args.kwarg)):
        if odd is not None:
            raise _bad(
                source.span(odd),
                f"a kernel has a fixed number of parameters, not `{stars}{odd.arg}`",
            )
    for odd in args.posonlyargs:
        raise _bad(
            source.span(odd),
            f"parameter `{odd.arg}` cannot be given by name: leave out the `/`",
        )
    defaults: list[ast.expr | None] = [None] * (len(args.args) - len(args.defaults))
    defaults += args.defaults
    params = [
        _runtime(decl.env, arg, default)
        for arg, default in zip(args.args, defaults, strict=True)
    ]
    statics = [
        _static(decl.env, arg, default)
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    names = [p.name for p in (*params, *statics)]
    for param in (*params, *statics):
        if names.count(param.name) > 1:
            raise _bad(param.span, f"there are two parameters named `{param.name}`")
    if not any(isinstance(p, TensorParam) for p in params):
        raise _bad(source.span(decl.node), f"kernel `{decl.name}` takes no tensor")
    return Signature(tuple(params), tuple(statics))


def _bad(span: Span, message: str) -> ArgusError:
    return fail(
        "AG0014",
        span,
        message,
        notes=("tensors and scalars come first, static parameters after `*`",),
    )


def _runtime(
    env: ModuleEnv, arg: ast.arg, default: ast.expr | None
) -> TensorParam | ScalarParamDecl:
    span = env.source.span(arg)
    if arg.annotation is None:
        raise _bad(span, f"parameter `{arg.arg}` has no annotation")
    node, optional = _strip_none(_unquote(env, arg.annotation))
    match node:
        case ast.Subscript(value=base, slice=ast.Constant(value=str(text))):
            options = _dtypes(env, base)
            if default is not None and not (
                optional and isinstance(default, ast.Constant) and default.value is None
            ):
                raise _bad(
                    env.source.span(default),
                    f"tensor `{arg.arg}` cannot have this default",
                )
            where = env.source.span(node)
            dims = _dims(text, where)
            return TensorParam(arg.arg, options, dims, optional, span)
        case ast.Subscript():
            raise fail(
                "AG0112",
                env.source.span(node),
                "the dimensions of a tensor are a text in brackets",
                help='write them as in `bf16["M K"]`',
            )
        case _:
            pass
    name = _type_name(env, node)
    dtype = DTYPES.get(name or "")
    if dtype not in _SCALARS or optional:
        builtin = {"int": "i32", "float": "f32"}.get(name or "")
        raise fail(
            "AG0112",
            env.source.span(node),
            f"`{ast.unparse(node)}` is not the type of a run-time parameter",
            help=f"write `{builtin}`, or move the parameter after `*` to make it static"
            if builtin
            else 'a tensor is `bf16["M K"]`; a scalar is `i32`, `i64` or `f32`',
        )
    assert dtype is not None
    return ScalarParamDecl(arg.arg, dtype, default, span)


def _static(env: ModuleEnv, arg: ast.arg, default: ast.expr | None) -> StaticParam:
    span = env.source.span(arg)
    if arg.annotation is None:
        return StaticParam(arg.arg, "any", default, span)
    node, optional = _strip_none(_unquote(env, arg.annotation))
    kind = _STATIC_KINDS.get(_type_name(env, node) or "")
    if kind is None:
        raise fail(
            "AG0112",
            env.source.span(node),
            f"`{ast.unparse(node)}` is not the type of a static parameter",
            help="static parameters are `int`, `bool`, `str`, `float`, `ag.dtype` or "
            "`ag.Inline`",
        )
    return StaticParam(arg.arg, "any" if optional else kind, default, span)


def _unquote(env: ModuleEnv, node: ast.expr) -> ast.expr:
    match node:
        case ast.Constant(value=str(text)):
            try:
                inner = ast.parse(text, mode="eval").body
            except (SyntaxError, ValueError, MemoryError, RecursionError):
                raise fail(
                    "AG0112",
                    env.source.span(node),
                    "the annotation is not an expression",
                ) from None
            for child in ast.walk(inner):
                ast.copy_location(child, node)
            return inner
        case _:
            return node


def _strip_none(node: ast.expr) -> tuple[ast.expr, bool]:
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return left, True
        case ast.BinOp(left=ast.Constant(value=None), op=ast.BitOr(), right=right):
            return right, True
        case _:
            return node, False


def _type_name(env: ModuleEnv, node: ast.expr) -> str | None:
    """The language's name for a type: `f32` for `f32`, `ag.f32` or a renamed import."""
    match node:
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return name if is_language(env, module) else None
        case ast.Name(id=name):
            match env.lookup(name):
                case LanguageName(name=original):
                    return original
                case HostValue(value=ElementType(dtype=dtype)):
                    return dtype.name
                case HostValue(value=TypeGroup(name=group)):
                    return f"{group}"
                case _:
                    return name if name in ("int", "bool", "str", "float") else None
        case _:
            return None


def is_language(env: ModuleEnv, name: str) -> bool:
    """Whether a name is that under which `argus` is imported."""
    match env.lookup(name):
        case LanguageModule():
            return True
        case HostValue(value=value):
            return getattr(value, "__name__", None) == "argus"
        case _:
            return False


def _dtypes(env: ModuleEnv, node: ast.expr) -> tuple[DType, ...]:
    name = _type_name(env, node)
    plain_name = isinstance(node, ast.Name) and not isinstance(
        env.lookup(node.id), LanguageName | HostValue
    )
    if name in _GROUPS and not plain_name:
        return _GROUPS[name]
    names = {word: t.dtype for word, t in NAMES.items()}
    if not plain_name:
        names |= DTYPES  # a host object carries the name of the IR
    dtype = names.get(name or "")
    if dtype is None:
        raise fail(
            "AG0113",
            env.source.span(node),
            f"there is no element type `{ast.unparse(node)}`",
            help=suggest(name or "", NAMES),
            notes=(f"the element types are {', '.join(NAMES)}",),
        )
    return (dtype,)


def _dims(text: str, span: Span) -> tuple[str | int, ...]:
    words = text.split()
    if not 1 <= len(words) <= MAX_RANK:
        raise fail(
            "AG0112", span, f"a tensor has 1 to {MAX_RANK} dimensions, not {len(words)}"
        )
    dims: list[str | int] = []
    for word in words:
        if word.isascii() and word.isdigit() and len(word) <= 9 and int(word) > 0:
            dims.append(int(word))
        elif is_name(word):
            dims.append(word)
        else:
            raise fail(
                "AG0112",
                span,
                f"`{word}` is neither the name nor the size of a dimension",
                help="separate names by blanks",
            )
    for word in dims:
        if isinstance(word, str) and dims.count(word) > 1:
            raise fail(
                "AG0207",
                span,
                f"dimension `{word}` appears twice",
                help="give each its own name; that they are as large is stated with "
                "`ag.require(A == B, why)`",
            )
    return tuple(dims)
