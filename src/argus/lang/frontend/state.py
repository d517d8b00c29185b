"""The state of one reading of a kernel: the program so far, scopes, and small services.

Expressions and statements are functions over this state, in the files beside it.
"""

from __future__ import annotations

import ast
import difflib
import unicodedata
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from argus.diagnostics import ArgusError, Label, Reporter, Span, fail
from argus.ir.divisors import define
from argus.ir.dtypes import DType
from argus.ir.expr import (
    Binary,
    Const,
    Expr,
    Select,
    Sym,
    binary,
    divisor,
    nonnegative,
    select,
)
from argus.ir.memory import SharedAlloc, SharedView
from argus.ir.ops import AnyOp, Block, Extract, Let, LoadScalar, Sync, Tile
from argus.ir.program import Program
from argus.ir.walk import defined
from argus.isa import registry
from argus.isa.conversions import encoding
from argus.lang.frontend.declarations import FunctionDecl, ModuleEnv
from argus.lang.frontend.liveness import Liveness
from argus.lang.frontend.values import SlotMode, Value

MAX_STEPS = 60_000
MAX_UNROLL = 4096
MAX_INLINE_DEPTH = 24
MAX_READINGS = 6
MAX_EXPANSION = 2000
MAX_EXPANSION_DEPTH = 100

Dims = tuple[str | None, ...]


class Cascade(Exception):  # noqa: N818 - not an error: its cause was reported
    """An expression used a variable whose own assignment failed."""


@dataclass(frozen=True, slots=True)
class RoleInfo:
    """The role whose body is being read. ``warps`` of it."""

    name: str
    warps: int


@dataclass(eq=False)
class Scope:
    """Variables of one function body, with the file it stands in."""

    env: ModuleEnv
    variables: dict[str, Value]
    live: Liveness
    role_locals: dict[str, str] = field(default_factory=dict[str, str])
    """Variables of finished roles, by name, with the role's name."""


@dataclass(frozen=True, slots=True)
class DeclaredGrid:
    """The author's grid: number of blocks, or pieces of work of a persistent kernel."""

    work: Expr
    persistent: bool
    span: Span


@dataclass(frozen=True, slots=True)
class AnnotationPlace:
    """An annotation is being read; ``following`` is the statement after it."""

    following: Span | None


class Elaborator:
    """Builds one program. ``block`` receives operations; ``scope`` gives names."""

    def __init__(
        self,
        program: Program,
        scope: Scope,
        seeds: dict[str, Dims],
        evaluate: Callable[[Elaborator, ast.expr], Value],
        execute: Callable[[Elaborator, Sequence[ast.stmt]], Value | None],
    ) -> None:
        self.program = program
        self._evaluate = evaluate
        self._execute = execute
        self.scope = scope
        self.seeds = seeds
        self.block = program.body
        self.reporter = Reporter()
        self.role: RoleInfo | None = None
        self.counters: dict[tuple[str, SlotMode], Expr] = {}
        self.definitions: dict[str, Expr] = {}
        self.grid: DeclaredGrid | None = None
        self.launch_span: Span | None = None
        self.launch_warps = False
        self.arguments: dict[str, Value] = {}
        self.cluster_span: Span | None = None
        self.role_prologue: list[AnyOp] = []
        self.block_syncs: list[Sync] = []
        self.calls: list[tuple[str, Span]] = []
        self.active_inlines: list[tuple[str, FunctionDecl]] = []
        self.inline_control: list[int] = []
        self.constants: list[str] = []
        self.control = 0
        """Depth of run-time loops and branches around the current statement."""
        self.tentative = 0
        self.guesses = 0
        self.steps = 0
        self.naming: tuple[str, Span] | None = None
        """The variable of the present assignment, and where its right side stands."""
        self.discarded: Span | None = None
        """Where a statement stands that is an expression: nobody uses its value."""
        self.used_unnamed: set[SharedAlloc] = set()
        self.stale = False
        self.annotation: AnnotationPlace | None = None
        self.components: set[str] = set()
        """Components that tags were given so far."""
        self._names: dict[str, int] = {}
        self._spans: dict[int, tuple[ast.AST, Span]] = {}

    def evaluate(self, node: ast.expr) -> Value:
        """The value of an expression in the current scope."""
        return self._evaluate(self, node)

    def execute(self, body: Sequence[ast.stmt]) -> Value | None:
        """Read statements; the value of a `return` among them, else None."""
        return self._execute(self, body)

    # ------------------------------------------------------------- diagnostics

    def span(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> Span:
        """Where a piece of syntax of the current file stands."""
        cached = self._spans.get(id(node))
        if cached is None:
            cached = (node, self.scope.env.source.span(node))
            self._spans[id(node)] = cached
        return cached[1]

    def fail(
        self,
        code: str,
        span: Span,
        message: str,
        *,
        label: str | None = None,
        help: str | None = None,
        notes: Iterable[str] = (),
        related: Iterable[Label] = (),
    ) -> ArgusError:
        """A diagnostic to raise; inside an inline function it names the call sites."""
        sites = [
            Label(site, f"`{name}` is called here") for name, site in self.calls[-3:]
        ]
        return fail(
            code,
            span,
            message,
            label=label,
            help=help,
            notes=notes,
            related=[*related, *reversed(sites)],
        )

    def step(self, span: Span) -> None:
        """Count a statement. Raises ArgusError (AG0515) beyond the limit."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise self.fail(
                "AG0515",
                span,
                f"unrolling makes more than {MAX_STEPS} statements",
                help="use `ag.range` for the outer loop",
            )

    # ------------------------------------------------------------------ output

    def emit(self, op: AnyOp) -> None:
        """Append an operation to the current block.

        Raises ArgusError AG0602 for an element type that the target cannot convert.
        """
        for made in (
            *defined(op),
            *([op.tensor] if isinstance(op, LoadScalar) else []),
        ):
            if not self._computes(made.dtype):
                raise self.fail(
                    "AG0602",
                    op.span,
                    f"{self.program.target.name} has no conversions of {made.dtype}",
                    help="choose another target, or another element type",
                )
        self.block.ops.append(op)

    def _computes(self, dtype: DType) -> bool:
        """Whether threads can compute with numbers of a type."""
        target = self.program.target.name
        return not dtype.encoded or all(
            registry.supports(function, target) for function in encoding(dtype.name)
        )

    @contextmanager
    def into(self, block: Block) -> Generator[Block]:
        """Let operations go to another block meanwhile."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer

    def fresh(self, base: str) -> str:
        """A symbol or buffer name that is not used yet: `k`, then `k_1`, ..."""
        count = self._names.get(base)
        if count is None:
            self._names[base] = 0
            return base
        while True:
            count += 1
            name = f"{base}_{count}"
            if name not in self._names:
                self._names[base] = count
                self._names[name] = 0
                return name

    def own_name(self, span: Span, base: str) -> str:
        """A name for what a call makes: its variable's, where it is assigned to one."""
        given, where = self.naming or (base, span)
        return self.fresh(given if where == span else base)

    def names_snapshot(self) -> dict[str, int]:
        """The names in use, to be given back to `names_restore`."""
        return dict(self._names)

    def names_restore(self, names: dict[str, int]) -> None:
        """Forget the names made since the snapshot."""
        self._names = dict(names)

    def tile(
        self, dtype: DType, shape: tuple[int, ...], dims: Dims, span: Span
    ) -> Tile:
        """A new register tile."""
        return Tile(dtype, shape, dims, span)

    def let(self, name: str, value: Expr, span: Span, nonneg: bool = False) -> Expr:
        """Name a scalar, unless it is a constant or has a name already."""
        if isinstance(value, Const | Sym):
            return value
        positive = nonneg or nonnegative(value) or nonnegative(self.expand(value))
        sym = Sym(self.fresh(name), "let", value.type, nonneg=positive)
        self.define(sym, value)
        self.emit(Let(sym, value, span=span))
        return sym

    def define(self, sym: Sym, value: Expr) -> None:
        """Remember what a named scalar stands for, and what divides it."""
        self.definitions[sym.name] = value
        if value.type == "int":
            rule = partial(divisor, value)
            define(self.program.facts, sym.name, rule, least=2)

    def bind(self, op: LoadScalar | Extract) -> Expr:
        """Emit an operation that makes a scalar of data, and return its symbol."""
        self.emit(op)
        return op.sym

    def expand(self, expr: Expr) -> Expr:
        """Put back what named scalars stand for; unchanged where that is very large."""
        full = self._expanded(expr, [MAX_EXPANSION], 0)
        return expr if full is None else full

    def _expanded(self, expr: Expr, left: list[int], depth: int) -> Expr | None:
        left[0] -= 1
        if left[0] < 0 or depth > MAX_EXPANSION_DEPTH:
            return None
        match expr:
            case Sym(name=name) if name in self.definitions:
                return self._expanded(self.definitions[name], left, depth + 1)
            case Binary(op=op, left=a, right=b):
                x = self._expanded(a, left, depth + 1)
                y = None if x is None else self._expanded(b, left, depth + 1)
                return None if x is None or y is None else binary(op, x, y)
            case Select(cond=c, then=a, other=b):
                parts = [self._expanded(p, left, depth + 1) for p in (c, a, b)]
                x, y, z = parts
                if x is None or y is None or z is None:
                    return None
                return select(x, y, z)
            case _:
                return expr

    # ------------------------------------------------- dimension names of shared

    def use_shared(self, view: SharedView) -> SharedView:
        """Note that a shared tile is used with the names it has now."""
        if None in view.dims:
            self.used_unnamed.add(view.alloc)
        return view

    def name_shared(self, view: SharedView, dims: Dims) -> None:
        """Give unnamed axes of a buffer the names of what is stored in it."""
        names = list(view.alloc.dims)
        for axis, dim in zip(view.axes, dims, strict=True):
            if names[axis] is None and dim is not None and dim not in names:
                names[axis] = dim
        if tuple(names) != view.alloc.dims:
            view.alloc.dims = tuple(names)
            self.seeds[view.alloc.name] = view.alloc.dims
            if view.alloc in self.used_unnamed:
                self.stale = True


def is_name(text: str) -> bool:
    """Whether a text is a name as Python reads one: an identifier in normal form."""
    return text.isidentifier() and unicodedata.normalize("NFKC", text) == text


def suggest(name: str, options: Iterable[str]) -> str | None:
    """`did you mean ...?` for a misspelt name, or None."""
    close = difflib.get_close_matches(name, sorted(set(options)), n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else None
