"""Which tensors a reference only computes with, by its text: they say of no place.

Numpy counts a negative index from the end, which nobody means. So whole numbers of 32
bits are drawn as indices, unless neither the kernel nor its reference takes them for
such. Where it is not known what a function does with one, it may be an index.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

import numpy as np

from argus.evaluation.equal.inputs import assumed_tables
from argus.evaluation.tiles import indexing
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program
from argus.ir.tensor_reads import read

__all__ = ["computed_alone", "only_computed"]

_OF_ITS_FORM = frozenset({"shape", "size", "ndim", "dtype"})
"""Attributes that say nothing of a tensor's numbers."""
_COMPUTING = frozenset({
    "abs", "all", "any", "argmax", "argmin", "argsort", "array", "asarray", "astype",
    "average", "bool_", "broadcast_to", "clip", "concatenate", "copy", "count_nonzero",
    "cumprod", "cumsum", "diff", "dot", "empty_like", "expand_dims", "flip", "float32",
    "float64", "full_like", "int16", "int32", "int64", "int8", "max", "mean", "median",
    "min", "ones_like", "outer", "prod", "ptp", "reshape", "round", "sort", "squeeze",
    "stack", "std", "sum", "transpose", "uint16", "uint32", "uint64", "uint8", "unique",
    "var", "where", "zeros_like",
})  # fmt: skip
"""Functions and methods that compute with numbers, each alone or all of them; beside
those of numpy that are element-wise."""


def only_computed(program: Program, reference: ast.FunctionDef) -> bool:
    """Whether there are whole numbers of 32 bits, none of which is an index.

    And of which nothing is assumed.
    """
    tensors = (p for p in program.params if isinstance(p, GlobalTensor))
    whole = {t.name for t in tensors if t.dtype.kind == "int" and t.dtype.bits >= 32}
    whole -= set(program.outputs) - read(program)
    if not whole or assumed_tables(program) or whole & indexing(program):
        return False
    return whole <= computed_alone(reference, whole)


def computed_alone(
    function: ast.FunctionDef, parameters: Collection[str]
) -> frozenset[str]:
    """Those of some parameters of a function whose numbers are no index in it."""
    held: dict[str, frozenset[str]] = {name: frozenset({name}) for name in parameters}
    before = None
    while before != held:
        before = dict(held)
        for targets, value in _assignments(function):
            read = _read(value, held)
            for name in targets:
                held[name] = held.get(name, frozenset()) | read
    used: frozenset[str] = frozenset()
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript):
            used |= _read(node.slice, held)
        elif isinstance(node, ast.Call) and not _computes(_name(node.func)):
            used |= _read(node, held)
    return frozenset(parameters) - used


def _assignments(function: ast.FunctionDef) -> Iterator[tuple[set[str], ast.expr]]:
    """Names that an assignment changes, elements of theirs included; and its value."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                yield {n for t in targets for n in _names(t)}, value
            case ast.AugAssign(target=target, value=value):
                yield _names(target), value
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield _names(target), value
            case ast.NamedExpr(target=target, value=value):
                yield _names(target), value
            case ast.For(target=target, iter=value):
                yield _names(target), value
            case ast.comprehension(target=target, iter=value):
                yield _names(target), value
            case _:
                pass


def _names(target: ast.expr) -> set[str]:
    """What an assignment changes; not what says which elements of it."""
    match target:
        case ast.Name(id=name):
            return {name}
        case ast.Tuple(elts=several) | ast.List(elts=several):
            return {n for one in several for n in _names(one)}
        case (
            ast.Subscript(value=inner)
            | ast.Starred(value=inner)
            | ast.Attribute(value=inner)
        ):
            return _names(inner)
        case _:
            return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


def _computes(name: str) -> bool:
    """Whether a function only computes, for all that its name tells."""
    return name in _COMPUTING or isinstance(getattr(np, name, None), np.ufunc)


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _read(value: ast.AST, held: dict[str, frozenset[str]]) -> frozenset[str]:
    """Parameters whose numbers an expression may depend on."""
    match value:
        case ast.Attribute(attr=attr) if attr in _OF_ITS_FORM:
            return frozenset()
        case ast.Call(func=ast.Name(id="len")):
            return frozenset()
        case ast.Name(id=name):
            return held.get(name, frozenset())
        case _:
            inside = (_read(x, held) for x in ast.iter_child_nodes(value))
            return frozenset[str]().union(*inside)
