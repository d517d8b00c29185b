"""What a host needs to launch an emitted kernel, and its form on disk.

The code generator makes a :class:`LaunchSpec` beside the CUDA source; the runtime binds
arguments to it, checks them, and launches. It holds no operations and no source, so it
can be read back from a cache without the compiler.

Nothing here evaluates an expression or touches a driver.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, assert_never, cast, get_args

from argus.diagnostics import Span
from argus.ir.dtypes import DTYPES
from argus.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    ScalarType,
    Select,
    Sym,
    SymKind,
)
from argus.ir.memory import GlobalTensor
from argus.ir.placement import TensorMap
from argus.ir.program import LaunchRequirement, PointerAlignment, ScalarParam

T = TypeVar("T")
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

MOST_BLOCKS = (1 << 31) - 1
"""Of a grid (CUDA C++ Programming Guide, "Technical Specifications")."""
FORMAT = 4
"""Version of the JSON form; a file with another one is not read."""


@dataclass(frozen=True)
class TensorMapArg:
    """The 128-byte CUtensorMap number ``index`` of the spec's ``tensor_maps``."""

    index: int


@dataclass(frozen=True)
class PointerArg:
    """The data pointer of a tensor (64 bits)."""

    tensor: str


@dataclass(frozen=True)
class SymArg:
    """The value of a dim or stride symbol.

    A dim is a 32-bit int (the launch checks that it is below 2**31), a stride a 64-bit
    int, in elements.
    """

    sym: Sym

    @property
    def bits(self) -> int:
        """Size of the kernel parameter."""
        return 64 if self.sym.kind == "stride" else 32


@dataclass(frozen=True)
class ScalarArg:
    """The value of a scalar parameter, of its own type (i32, i64 or f32)."""

    param: str


Arg = TensorMapArg | PointerArg | SymArg | ScalarArg
"""One kernel parameter. Parameters are packed in order, each naturally aligned
(a tensor map to 64 bytes), as ``cuLaunchKernel`` takes them one pointer each."""


@dataclass(frozen=True)
class LaunchSpec:
    """How to launch one emitted kernel.

    ``args`` lists what the kernel actually takes, in order. ``grid`` is the number of
    blocks (x only), over dims, params and ``sm_count``; ``threads`` per block;
    ``shared_bytes`` of dynamic shared memory. ``registers`` is how many a thread must
    be launched with, None where nothing depends on it (no register budgets). ``waits``:
    its threads wait for earlier launches before they touch global memory, so that it
    may be launched before those have ended.
    """

    entry: str
    target: str
    tensors: tuple[GlobalTensor, ...]
    scalars: tuple[ScalarParam, ...]
    args: tuple[Arg, ...]
    grid: Expr
    threads: int
    cluster: int
    min_blocks: int
    shared_bytes: int
    tensor_maps: tuple[TensorMap, ...]
    requirements: tuple[LaunchRequirement, ...]
    alignments: tuple[PointerAlignment, ...]
    outputs: tuple[str, ...]
    registers: int | None = None
    waits: bool = False

    def to_json(self) -> str:
        """A JSON text that :meth:`from_json` reads back to an equal spec."""
        position = {t: i for i, t in enumerate(self.tensors)}
        data: dict[str, Json] = {
            "format": FORMAT,
            "entry": self.entry,
            "target": self.target,
            "tensors": [_tensor_out(t) for t in self.tensors],
            "scalars": [[s.name, s.dtype, expr_to_json(s.sym)] for s in self.scalars],
            "args": [_arg_out(a) for a in self.args],
            "grid": expr_to_json(self.grid),
            "threads": self.threads,
            "cluster": self.cluster,
            "min_blocks": self.min_blocks,
            "shared_bytes": self.shared_bytes,
            "tensor_maps": [
                [position[m.tensor], list(m.box), m.swizzle, list(m.steps)]
                for m in self.tensor_maps
            ],
            "requirements": [
                [expr_to_json(r.cond), r.why, dict(r.span.to_json())]
                for r in self.requirements
            ],
            "alignments": [[a.tensor, a.bytes] for a in self.alignments],
            "outputs": list(self.outputs),
            "registers": self.registers,
            "waits": self.waits,
        }
        return json.dumps(data, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> LaunchSpec:
        """The spec that :meth:`to_json` wrote.

        Raises ValueError (json.JSONDecodeError is one) for anything else.
        """
        data = _mapping(json.loads(text))
        try:
            if data["format"] != FORMAT:
                raise ValueError(f"format {data['format']!r} is not {FORMAT}")
            return _spec_in(data)
        except (KeyError, IndexError, TypeError) as error:
            raise ValueError(f"not a launch spec: {error!r}") from error


# ------------------------------------------------------------------ expressions

_NON_FINITE = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


def expr_to_json(e: Expr) -> Json:
    """An expression as nested lists.

    ``["const", v]`` (a non-finite v by name), ``["sym", name, kind, type, nonneg]``,
    ``["select", c, a, b]``, ``[op, left, right]``.
    """
    match e:
        case Const(value=v):
            finite = not isinstance(v, float) or (v == v and abs(v) != float("inf"))
            return ["const", v if finite else repr(v)]
        case Sym():
            return ["sym", e.name, e.kind, e.type, e.nonneg]
        case Binary():
            return [e.op, expr_to_json(e.left), expr_to_json(e.right)]
        case Select():
            parts = (e.cond, e.then, e.other)
            return ["select", *(expr_to_json(p) for p in parts)]
        case _:
            raise TypeError(f"not a scalar expression: {e!r}")


def expr_from_json(data: Json) -> Expr:
    """The expression that :func:`expr_to_json` wrote; ValueError for anything else."""
    match data:
        case ["const", str(name)]:
            return Const(_NON_FINITE[name])
        case ["const", bool() | int() | float() as value]:
            return Const(value)
        case ["sym", str(name), str(kind), str(type_), bool(nonneg)]:
            return Sym(
                name,
                _one_of(kind, get_args(SymKind)),
                _one_of(type_, get_args(ScalarType)),
                nonneg,
            )
        case ["select", cond, then, other]:
            return Select(*(expr_from_json(x) for x in (cond, then, other)))
        case [str(op), left, right]:
            known = _one_of(op, get_args(BinaryOp))
            return Binary(known, expr_from_json(left), expr_from_json(right))
        case _:
            raise ValueError(f"not an expression: {data!r}")


# ------------------------------------------------------------------------ parts


def _tensor_out(t: GlobalTensor) -> Json:
    shape: list[Json] = [expr_to_json(e) for e in t.shape]
    strides: list[Json] = [expr_to_json(e) for e in t.strides]
    return [t.name, t.dtype.name, list(t.dims), shape, strides]


def _tensor_in(data: Json) -> GlobalTensor:
    name, dtype, dims, shape, strides = _list(data)
    return GlobalTensor(
        _text(name),
        DTYPES[_text(dtype)],
        tuple(_text(d) for d in _list(dims)),
        tuple(expr_from_json(e) for e in _list(shape)),
        tuple(expr_from_json(e) for e in _list(strides)),
    )


def _arg_out(arg: Arg) -> Json:
    match arg:
        case TensorMapArg():
            return ["tensor_map", arg.index]
        case PointerArg():
            return ["pointer", arg.tensor]
        case SymArg():
            return ["sym", expr_to_json(arg.sym)]
        case ScalarArg():
            return ["scalar", arg.param]
        case _:
            assert_never(arg)


def _arg_in(data: Json) -> Arg:
    match data:
        case ["tensor_map", int(index)]:
            return TensorMapArg(index)
        case ["pointer", str(tensor)]:
            return PointerArg(tensor)
        case ["sym", sym]:
            return SymArg(_sym(sym))
        case ["scalar", str(param)]:
            return ScalarArg(param)
        case _:
            raise ValueError(f"not a kernel argument: {data!r}")


def _spec_in(data: Mapping[str, Json]) -> LaunchSpec:
    tensors = _each(data["tensors"], _tensor_in)

    def scalar(item: Json) -> ScalarParam:
        name, dtype, sym = _list(item)
        return ScalarParam(_text(name), _text(dtype), _sym(sym))

    def tensor_map(item: Json) -> TensorMap:
        tensor, box, swizzle, steps = _list(item)
        of, extents = tensors[_int(tensor)], _each(box, _int)
        return TensorMap(of, extents, _int(swizzle), _each(steps, _int))

    def requirement(item: Json) -> LaunchRequirement:
        cond, why, span = _list(item)
        where = _mapping(span)
        return LaunchRequirement(
            expr_from_json(cond),
            _text(why),
            Span(
                _text(where["file"]),
                *(
                    _int(where[key])
                    for key in ("line", "column", "end_line", "end_column")
                ),
            ),
        )

    def alignment(item: Json) -> PointerAlignment:
        tensor, size = _list(item)
        return PointerAlignment(_text(tensor), _int(size))

    return LaunchSpec(
        entry=_text(data["entry"]),
        target=_text(data["target"]),
        tensors=tensors,
        scalars=_each(data["scalars"], scalar),
        args=_each(data["args"], _arg_in),
        grid=expr_from_json(data["grid"]),
        threads=_int(data["threads"]),
        cluster=_int(data["cluster"]),
        min_blocks=_int(data["min_blocks"]),
        shared_bytes=_int(data["shared_bytes"]),
        tensor_maps=_each(data["tensor_maps"], tensor_map),
        requirements=_each(data["requirements"], requirement),
        alignments=_each(data["alignments"], alignment),
        outputs=_each(data["outputs"], _text),
        registers=None if data["registers"] is None else _int(data["registers"]),
        waits=_truth(data["waits"]),
    )


def _sym(data: Json) -> Sym:
    e = expr_from_json(data)
    if not isinstance(e, Sym):
        raise ValueError(f"not a symbol: {data!r}")
    return e


def _one_of(value: str, known: Sequence[T]) -> T:
    for item in known:
        if item == value:
            return item
    raise ValueError(f"{value!r} is none of {known}")


def _each(data: Json, read: Callable[[Json], T]) -> tuple[T, ...]:
    return tuple(read(item) for item in _list(data))


def _list(data: Json) -> list[Json]:
    if not isinstance(data, list):
        raise ValueError(f"not a list: {data!r}")
    return data


def _mapping(data: object) -> Mapping[str, Json]:
    if not isinstance(data, dict):
        raise ValueError(f"not an object: {data!r}")
    return cast("Mapping[str, Json]", data)


def _text(data: Json) -> str:
    if not isinstance(data, str):
        raise ValueError(f"not a string: {data!r}")
    return data


def _truth(data: Json) -> bool:
    if not isinstance(data, bool):
        raise ValueError(f"not true or false: {data!r}")
    return data


def _int(data: Json) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        raise ValueError(f"not an integer: {data!r}")
    return data
