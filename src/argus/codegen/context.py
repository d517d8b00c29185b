"""What the printers of operations share: names, the thread group, register loops.

A register loop prints one statement for all registers of a tile. The registers that it
touches are tables (register numbers, coordinates, offsets); where a table is a layout
of the loop variable the loop is printed as a loop, else statement by statement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.codegen import code as c
from argus.codegen import expressions
from argus.codegen.bounds import Bounds
from argus.codegen.code import CppExpression
from argus.codegen.errors import CodegenError
from argus.codegen.fusing import rounded_products
from argus.codegen.names import Identifiers
from argus.codegen.scalars import ScalarTypes
from argus.codegen.storage import RegisterArray, RegisterArrays, layout_of
from argus.codegen.writer import Reserved, Writer
from argus.ir import ops as o
from argus.ir.expr import Const, Expr, ScalarType, Sym, evaluate, lift
from argus.ir.program import Program
from argus.ir.ranges import I32, I64
from argus.ir.walk import used, walk
from argus.layout import Fragment, from_table

Ints = NDArray[np.integer[Any]]

# No name of the source has an @ in it.
TID = Sym("@tid", "thread")
"""Thread index within the group that runs the operation."""
LOOP = Sym("@r", "loop")
"""Variable of a register loop."""
INNER_LOOP = Sym("@rr", "loop")
"""Variable of a register loop inside a register loop."""
_PRINTED = {TID.name: "tid", LOOP.name: "r", INNER_LOOP.name: "rr"}


_TYPES: dict[str, ScalarType] = {"float": "float", "bool": "bool"}
"""Scalar types of C++ types; every other is an integer."""


class Irregular(Exception):  # noqa: N818 - a request to unroll, not an error
    """A table is no layout of the loop variable: print the statements one by one."""


@dataclass(frozen=True)
class RegisterIteration:
    """One iteration of a register loop: ``var`` is its variable, or None when unrolled.

    ``values`` are the loop values that it stands for (exactly one when unrolled).
    """

    var: Sym | None
    values: Ints

    def index(self, table: Ints) -> Expr:
        """``table[i]`` for iteration i, as an expression of the loop variable.

        Raises Irregular when it is none.
        """
        base = int(table[0])
        if self.var is None or bool((table == base).all()):
            return Const(base)
        layout = from_table(table - base)
        if layout is None:
            raise Irregular
        value = layout(self.var)
        return lift(value) + base

    def nested(self, inner: RegisterIteration, table: Ints) -> Expr:
        """``table[i, j]`` for iteration i of this loop and iteration j of ``inner``."""
        rows, columns = table[:, 0], table[0] - table[0, 0]
        if not np.array_equal(rows[:, None] + columns, table):
            raise Irregular
        return self.index(rows) + inner.index(columns)


@dataclass
class EmissionGroup:
    """The threads that run the operations being printed: a role, or the whole block."""

    name: str
    warps: int
    lanes: int
    """Threads of a warp."""
    place: Reserved
    """Where values that depend on the thread alone are declared."""
    tid: str
    """Value of the thread index within the group."""
    tid_place: Reserved
    tid_declared: bool = False
    tables: dict[str, Ints] = field(default_factory=dict[str, Ints])
    """Value of each such symbol for every thread, and of TID."""
    values: dict[tuple[Expr, str], Sym] = field(
        default_factory=dict[tuple[Expr, str], Sym]
    )

    def __post_init__(self) -> None:
        self.tables[TID.name] = np.arange(self.threads)

    @property
    def threads(self) -> int:
        """Number of threads."""
        return self.warps * self.lanes

    def declare_tid(self) -> None:
        """Declare ``tid``, once, where the group begins."""
        if not self.tid_declared:
            self.tid_place.line(f"const int tid = {self.tid};")
            self.tid_declared = True


@dataclass
class Emission:
    """State of one emission."""

    program: Program
    names: Identifiers
    storage: RegisterArrays
    out: Writer
    group: EmissionGroup
    values: dict[str, int] = field(default_factory=dict[str, int])
    """Sizes and strides for which alone the text is, by the names of their symbols."""
    tensors: dict[str, str] = field(default_factory=dict[str, str])
    """C++ name of each tensor's pointer."""
    spelled: dict[str, str] = field(default_factory=dict[str, str])
    """C++ name of each symbol."""
    opaques: dict[str, CppExpression] = field(default_factory=dict[str, CppExpression])
    """Symbols that stand for a text: elements of tiles, widened coordinates."""
    scalars: ScalarTypes = field(default_factory=ScalarTypes)
    """Types and values of symbols."""
    symbols: dict[str, Sym] = field(default_factory=dict[str, Sym])
    """Dim, stride, param and block symbols that the text mentions."""
    pointers: dict[str, None] = field(default_factory=dict[str, None])
    maps: dict[int, None] = field(default_factory=dict[int, None])
    last_line: tuple[str, int] | None = None
    bounds: dict[o.Tile, Bounds] = field(default_factory=dict[o.Tile, Bounds])
    """Between which numbers elements of tiles lie, where that is known."""

    @cached_property
    def uses(self) -> Counter[o.Tile]:
        """By how many operations each tile is read."""
        return Counter(t for op in walk(self.program.body) for t in set(used(op)))

    @cached_property
    def rounded_products(self) -> frozenset[o.Elementwise]:
        """Products that no sum may be fused with."""
        return rounded_products(self.program)

    # ------------------------------------------------------------ expressions

    def spell(self, sym: Sym) -> CppExpression:
        """C++ text of a symbol. Raises CodegenError for one nobody bound."""
        if sym.name in self.opaques:
            return self.opaques[sym.name]
        if sym.name == TID.name:
            self.group.declare_tid()
        if sym.name in _PRINTED:
            return c.name(_PRINTED[sym.name])
        if sym.kind in ("dim", "stride", "param", "block", "rank"):
            self.symbols.setdefault(sym.name, sym)
        if sym.name not in self.spelled:
            raise CodegenError(f"symbol {sym.name} ({sym.kind}) is not bound here")
        return c.name(self.spelled[sym.name])

    @property
    def types(self) -> dict[str, str]:
        """C++ types of symbols by name."""
        return self.scalars.types

    def code(self, e: Expr) -> CppExpression:
        """``e`` as C++."""
        return expressions.code(e, self.spell, self.scalars)

    def ctype(self, e: Expr) -> str:
        """C++ type of ``e``."""
        return self.scalars.ctype(e)

    def value_of(self, sym: Sym, e: Expr) -> CppExpression:
        """``e`` as what a bound symbol becomes, in the type of the symbol.

        It may be computed in more bits than its value needs.
        """
        narrowed = self.ctype(sym) == "int" and self.ctype(e) == "long long"
        return c.converted("int", self.code(e)) if narrowed else self.code(e)

    def bind(self, sym: Sym, ctype: str, wanted: str | None = None) -> str:
        """Give a symbol an identifier of its own."""
        name = self.names.unique(wanted or sym.name)
        self.spelled[sym.name] = name
        self.types[sym.name] = ctype
        return name

    def bind_scalar(self, sym: Sym) -> str:
        """Name a scalar; its declaration without a value, such as ``int k``."""
        ctype = self.ctype(sym)
        return f"{ctype} {self.bind(sym, ctype)}"

    def opaque(self, body: CppExpression, kind: str = "int") -> Sym:
        """A symbol of C++ type ``kind`` that is printed as ``body``."""
        sym = Sym(f"@{body.bare}", "thread", _TYPES.get(kind, "int"), False)
        self.opaques[sym.name] = body
        self.types[sym.name] = kind
        ranges = self.scalars.ranges
        ranges.free.add(sym.name)
        ranges.known[sym.name] = I64 if kind == "long long" else I32
        return sym

    def thread_value(self, e: Expr, wanted: str, ctype: str = "int") -> Expr:
        """A value that depends on TID alone, computed once where the group begins."""
        if isinstance(e, Const | Sym):
            return e
        key = (e, ctype)
        if key not in self.group.values:
            name = self.names.unique(wanted)
            table = np.asarray(evaluate(e, self.group.tables))
            low, high = int(table.min()), int(table.max())
            sym = Sym(f"@{name}", "thread", "int", low >= 0)
            self.group.tables[sym.name] = table
            self.spelled[sym.name] = name
            self.types[sym.name] = ctype
            self.scalars.ranges.known[sym.name] = low, high
            self.group.place.line(f"const {ctype} {name} = {self.code(e).bare};")
            self.group.values[key] = sym
        return self.group.values[key]

    def coordinate(self, tile_dims: Sequence[str | None], layout: Fragment, axis: int):
        """The thread's part of the coordinate along ``axis`` of a layout."""
        if layout.num_threads != self.group.threads:
            raise CodegenError(
                f"a layout over {layout.num_threads} threads in group "
                f"{self.group.name} of {self.group.threads}"
            )
        part = lift(layout.thread_part(TID)[axis])
        dim = tile_dims[axis]
        return self.thread_value(part, f"thread_{(dim or str(axis)).lower()}")

    # --------------------------------------------------------------- registers

    def array(self, tile: o.Tile) -> RegisterArray:
        """The register array of a tile."""
        return self.storage.array(tile)

    def loop(
        self, count: int, body: Callable[[RegisterIteration], Sequence[str]]
    ) -> None:
        """Print ``body`` for steps 0 .. count-1, as a loop where its tables allow."""
        if self.try_loop(count, body):
            return
        for i in range(count):
            lines = body(RegisterIteration(None, np.array([i])))
            if len(lines) == 1:
                self.out.line(lines[0])
            else:
                with self.out.block(""):
                    self.out.lines(lines)

    def try_loop(
        self, count: int, body: Callable[[RegisterIteration], Sequence[str]]
    ) -> bool:
        """Print a loop of at least two iterations; False when it is none."""
        if count < 2:
            return False
        step = RegisterIteration(LOOP, np.arange(count))
        try:
            lines = body(step)
        except Irregular:
            return False
        self.out.line("#pragma unroll")
        head = f"for (int r = 0; r < {count}; ++r)"
        if len(lines) == 1:
            self.out.lines([head, f"  {lines[0]}"])
            return True
        with self.out.block(head):
            self.out.lines(lines)
        return True

    def fresh_arrays(self, *wanted: str) -> tuple[str, ...]:
        """Unique identifiers for temporaries."""
        return tuple(self.names.unique(name) for name in wanted)


@contextmanager
def in_group(cx: Emission, group: EmissionGroup) -> Generator[None]:
    """Print operations of another thread group."""
    outer = cx.group
    cx.group = group
    yield
    cx.group = outer


def num_regs(tile: o.Tile) -> int:
    """Elements per thread of a tile."""
    return layout_of(tile).num_regs
