"""Uniform scalar expressions: what every thread of a role agrees on.

Block indices, loop counters, problem sizes, ring counters and scalar arguments are
expressions over symbols. The same expression is printed by the code generator,
evaluated by the interpreter (on ints or numpy arrays) and read symbolically by the
verifier. Per-thread quantities use the same class: the code generator substitutes
axis symbols by expressions over ``tid``.

Simplification at construction is limited to constant folding and identities; deciding
whether two expressions are equal is the verifier's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, assert_never

from argus.ir.quickly_made import quickly_made

ScalarType = Literal["int", "bool", "float"]
SymKind = Literal[
    "dim",  # a problem size: runtime extent of a tensor dimension (`argus.extents`)
    "stride",  # a runtime tensor stride in elements
    "param",  # a scalar kernel argument
    "block",  # blockIdx.x / cluster id: "block_x"; gridDim: "grid_x"
    "rank",  # rank of this block in its cluster
    "sms",  # number of multiprocessors of the device (host side only)
    "loop",  # a loop variable
    "let",  # a named scalar: Let, LoadScalar, loop-carried or merged scalar
    "axis",  # tile axis i of a GlobalView: "%0", "%1", ...
    "gather",  # an element of an index tile along a GlobalView axis
    "tag",  # a component of the tag of a Check's argument: "0.K"
    "thread",  # thread index within the role (code generator, verifier)
]


class Arithmetic:
    """Base of scalar expressions: Python's operators build larger ones.

    Their hash and their symbols are asked for often, of large expressions, and found
    once. They are no fields: no text or pickle has them.
    """

    __slots__ = ("_hash", "occurring")
    type: ScalarType
    _hash: int
    occurring: tuple[Sym, ...]
    """As of `symbols`, once they were asked for."""

    def __deepcopy__(self, memo: object) -> Self:
        """Itself: copies of programs share expressions, which never change."""
        return self

    def __add__(self, other: Operand) -> Expr:
        return binary("+", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return binary("+", other, self)

    def __sub__(self, other: Operand) -> Expr:
        return binary("-", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return binary("-", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return binary("*", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return binary("*", other, self)

    def __floordiv__(self, other: Operand) -> Expr:
        return binary("//", self, other)

    def __rfloordiv__(self, other: Operand) -> Expr:
        return binary("//", other, self)

    def __mod__(self, other: Operand) -> Expr:
        return binary("%", self, other)

    def __rmod__(self, other: Operand) -> Expr:
        return binary("%", other, self)

    def __xor__(self, other: Operand) -> Expr:
        return binary("^", self, other)

    def __rxor__(self, other: Operand) -> Expr:
        return binary("^", other, self)


@quickly_made
@dataclass(frozen=True, slots=True)
class Const(Arithmetic):
    """A literal."""

    value: int | float | bool

    @property
    def type(self) -> ScalarType:  # type: ignore[override]
        """Python type decides."""
        if isinstance(self.value, bool):
            return "bool"
        return "int" if isinstance(self.value, int) else "float"

    def __str__(self) -> str:
        return str(self.value)


@quickly_made
@dataclass(frozen=True, slots=True)
class Sym(Arithmetic):
    """A named uniform quantity. ``nonneg`` promises the value is never negative."""

    name: str
    kind: SymKind
    type: ScalarType = "int"  # type: ignore[misc]
    nonneg: bool = True

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            found = hash((self.name, self.kind, self.type, self.nonneg))
            object.__setattr__(self, "_hash", found)
            return found

    def __str__(self) -> str:
        return self.name


BinaryOp = Literal[
    "+", "-", "*", "//", "%", "/", "^", "min", "max",
    "==", "!=", "<", "<=", ">", ">=", "and", "or",
]  # fmt: skip
_COMPARE = {"==", "!=", "<", "<=", ">", ">=", "and", "or"}


@quickly_made
@dataclass(frozen=True, slots=True)
class Binary(Arithmetic):
    """``op`` applied to two expressions; ``//`` and ``%`` round to minus infinity."""

    op: BinaryOp
    left: Expr
    right: Expr

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            found = hash((self.op, self.left, self.right))
            object.__setattr__(self, "_hash", found)
            return found

    @property
    def type(self) -> ScalarType:  # type: ignore[override]
        """Comparisons are bool; ``/`` is float; else float wins over int."""
        if self.op in _COMPARE:
            return "bool"
        if self.op == "/" or "float" in (self.left.type, self.right.type):
            return "float"
        return "int"

    def __str__(self) -> str:
        if self.op in ("min", "max"):
            return f"{self.op}({self.left}, {self.right})"
        return f"({self.left} {self.op} {self.right})"


@quickly_made
@dataclass(frozen=True, slots=True)
class Select(Arithmetic):
    """``then`` where ``cond`` else ``other``."""

    cond: Expr
    then: Expr
    other: Expr

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            found = hash((self.cond, self.then, self.other))
            object.__setattr__(self, "_hash", found)
            return found

    @property
    def type(self) -> ScalarType:  # type: ignore[override]
        """Type of the branches; float wins over int, and int over bool."""
        types = (self.then.type, self.other.type)
        return "float" if "float" in types else "int" if "int" in types else "bool"

    def __str__(self) -> str:
        return f"({self.then} if {self.cond} else {self.other})"


if TYPE_CHECKING:
    Expr = Const | Sym | Binary | Select
    """A scalar expression. Immutable; compare with ``==`` structurally.

    These four and no others, so that a ``match`` on one can be checked to be complete.
    At run time it is their base class, of which ``isinstance`` is faster.
    """
else:
    Expr = Arithmetic

Operand = Expr | int | float | bool
"""What arithmetic on expressions accepts."""


def lift(x: Operand | Arithmetic) -> Expr:
    """An expression as it is; a Python number as a constant."""
    if isinstance(x, Arithmetic):
        return x  # pyright: ignore[reportReturnType]
    return Const(x)


def _extreme(a: Any, b: Any, first: Any) -> Any:
    if hasattr(first, "shape") and first.shape:
        return a * first + b * (1 - first)
    # An infinite number that is not chosen must not be multiplied by 0.
    return a if first or a != a else b


def _number(value: Any) -> Any:
    """Truth values as 0 and 1: numpy's own arithmetic on them is another one."""
    if type(value) is int:
        return value
    truths = hasattr(value, "dtype") and value.dtype.kind == "b"
    return value * 1 if truths else value


_EVAL: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: _number(a) + _number(b),
    "-": lambda a, b: _number(a) - _number(b),
    "*": lambda a, b: _number(a) * _number(b),
    "//": lambda a, b: _number(a) // _number(b),
    "%": lambda a, b: _number(a) % _number(b),
    "/": lambda a, b: a / b,
    "^": lambda a, b: _number(a) ^ _number(b),
    "min": lambda a, b: _extreme(a, b, a <= b),
    "max": lambda a, b: _extreme(a, b, a >= b),
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
}


_LAZY = ("and", "or")
_DIVISIONS = ("//", "%", "/")


def apply(op: BinaryOp, a: Any, b: Any) -> Any:
    """``a op b`` of two values."""
    return _EVAL[op](a, b)


def divides_by_zero(op: BinaryOp, by: Expr) -> bool:
    """Whether it is a division by a number that is 0."""
    return op in _DIVISIONS and isinstance(by, Const) and by.value == 0


def binary(
    op: BinaryOp, left: Operand | Arithmetic, right: Operand | Arithmetic
) -> Expr:
    """Build ``left op right``, folding constants and trivial identities.

    A division by zero stays one: whoever evaluates it gets the error.
    """
    a, b = lift(left), lift(right)
    if divides_by_zero(op, b):
        return Binary(op, a, b)
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(_EVAL[op](a.value, b.value))
    match op, a, b:
        case "+", Const(value=0), _ if a.type == "int":
            return b
        case "+" | "-" | "^", _, Const(value=0) if b.type == "int":
            return a
        case "*" | "//", _, Const(value=1) if b.type == "int":
            return a
        case "*", Const(value=1), _ if a.type == "int":
            return b
        case ("*", Const(value=0), Arithmetic(type="int")) | (
            "*",
            Arithmetic(type="int"),
            Const(value=0),
        ) if a.type == b.type == "int":
            return Const(0)
        case "%", _, Const(value=1):
            return Const(0)
        case "-", _, _ if a == b:
            return Const(0)
        case "and", Const(value=v), _:
            return b if v else Const(False)
        case "and", _, Const(value=v):
            return a if v else Const(False)
        case "or", Const(value=v), _:
            return Const(True) if v else b
        case "or", _, Const(value=v):
            return Const(True) if v else a
        case "min" | "max", _, _ if a == b:
            return a
        case "+", Binary(op="+", left=x, right=Const(value=u)), Const(value=v) if (
            isinstance(u, int) and isinstance(v, int)
        ):
            return binary("+", x, u + v)
        case "-", Binary(op="+", left=x, right=y), _ if x == b:
            return y
        case "-", Binary(op="+", left=x, right=y), _ if y == b:
            return x
        case "-", _, Const(value=v) if isinstance(v, int) and b.type == "int":
            return binary("+", a, -v)
        case _, Const() | Sym() | Binary() | Select(), _:
            return Binary(op, a, b)
        case _:
            raise TypeError(f"not a scalar expression: {a!r}")


def select(cond: Operand, then: Operand, other: Operand) -> Expr:
    """``then if cond else other`` with a constant condition resolved."""
    c = lift(cond)
    if isinstance(c, Const):
        return lift(then) if c.value else lift(other)
    return Select(c, lift(then), lift(other))


def cdiv(a: Operand, b: Operand) -> Expr:
    """Ceiling division of non-negative ``a`` by positive ``b``."""
    return binary("//", binary("+", a, binary("-", b, 1)), b)


def evaluate(e: Expr, env: Mapping[str, Any]) -> Any:
    """Value of ``e`` with symbols looked up by name (ints, floats or numpy arrays).

    Of numbers that decide (``and``, ``or``, a choice) only what is needed is evaluated,
    as on the device. Raises KeyError with the name of a symbol that ``env`` lacks, and
    ZeroDivisionError.
    """
    match e:
        case Const():
            return e.value
        case Sym():
            return env[e.name]
        case Binary(op=op):
            left = evaluate(e.left, env)
            decides = op in _LAZY and not hasattr(left, "shape")
            if decides and bool(left) is (op == "or"):
                return left
            return _EVAL[op](left, evaluate(e.right, env))
        case Select():
            c = evaluate(e.cond, env)
            if not hasattr(c, "shape"):
                return evaluate(e.then if c else e.other, env)
            a, b = evaluate(e.then, env), evaluate(e.other, env)
            return a * c + b * (1 - c)
        case _:
            raise TypeError(f"not a scalar expression: {e!r}")


def holds(cond: Expr, env: Mapping[str, Any]) -> bool:
    """Whether a requirement holds of a launch; not where it divides by zero."""
    try:
        return bool(evaluate(cond, env))
    except ZeroDivisionError:
        return False


def substitute(e: Expr, env: Mapping[str, Operand]) -> Expr:
    """``e`` with symbols replaced by name, simplified again."""
    match e:
        case Sym():
            return lift(env[e.name]) if e.name in env else e
        case Binary():
            return binary(e.op, substitute(e.left, env), substitute(e.right, env))
        case Select():
            parts = (substitute(x, env) for x in (e.cond, e.then, e.other))
            return select(*parts)
        case Const():
            return e
        case _:
            assert_never(e)


def symbols(e: Expr) -> tuple[Sym, ...]:
    """Every symbol occurrence in ``e``, left to right."""
    try:
        return e.occurring
    except AttributeError:
        found = tuple(_symbols(e))
        object.__setattr__(e, "occurring", found)
        return found


def _symbols(e: Expr) -> list[Sym]:
    found: list[Sym] = []
    todo = [e]
    while todo:
        one = todo.pop()
        match one:
            case Sym():
                found.append(one)
            case Binary():
                todo.append(one.right)
                todo.append(one.left)
            case Select():
                todo += (one.other, one.then, one.cond)
            case Const():
                pass
            case _:
                assert_never(one)
    return found


def subexpressions(e: Expr) -> Iterator[Expr]:
    """``e`` and every expression in it, each before its parts, left to right."""
    yield e
    match e:
        case Binary():
            yield from subexpressions(e.left)
            yield from subexpressions(e.right)
        case Select():
            for part in (e.cond, e.then, e.other):
                yield from subexpressions(part)
        case Const() | Sym():
            return
        case _:
            assert_never(e)


def whole_constants(e: Expr) -> Iterator[int]:
    """Whole numbers that stand in an expression, left to right."""
    for part in subexpressions(e):
        if isinstance(part, Const) and isinstance(part.value, int):
            yield int(part.value)


def factors_of(e: Expr) -> list[Expr]:
    """What is multiplied in an expression; itself, if it is no product."""
    if isinstance(e, Binary) and e.op == "*":
        return [*factors_of(e.left), *factors_of(e.right)]
    return [e]


def nonnegative(e: Expr) -> bool:
    """A cheap, sound test that ``e`` is never negative; False means "not known"."""
    match e:
        case Const():
            return e.value >= 0
        case Sym():
            return e.nonneg
        case Binary(op="+" | "*" | "//" | "max" | "min" | "^", left=a, right=b):
            return nonnegative(a) and nonnegative(b)
        case Binary(op="%", right=b):
            return nonnegative(b)
        case Binary(op="-", left=a, right=Binary(op="%", right=n)):
            # The largest remainder is n - 1.
            return nonnegative(n) and a in (n, binary("-", n, 1))
        case Select(then=a, other=b):
            return nonnegative(a) and nonnegative(b)
        case Binary():
            return False
        case _:
            assert_never(e)


def divisor(e: Expr, facts: Mapping[str, int]) -> int:
    """Largest known power of two dividing ``e`` (capped at 2**20).

    ``facts`` maps symbol names to a power of two that divides them.
    """
    cap = 1 << 20
    match e:
        case Const(value=v) if isinstance(v, int) and not isinstance(v, bool):
            return cap if v == 0 else min(v & -v, cap)
        case Sym():
            return facts.get(e.name, 1)
        case Binary(op="+" | "-" | "min" | "max" | "^", left=a, right=b):
            return min(divisor(a, facts), divisor(b, facts))
        case Binary(op="*", left=a, right=b):
            return min(divisor(a, facts) * divisor(b, facts), cap)
        case Binary(op="%", left=a, right=b):
            return min(divisor(a, facts), divisor(b, facts))
        case Binary(op="//", left=a, right=Const(value=v)) if isinstance(v, int):
            d = divisor(a, facts)
            return d // v if v > 0 and v & (v - 1) == 0 and d >= v else 1
        case Select(then=a, other=b):
            return min(divisor(a, facts), divisor(b, facts))
        case Const() | Binary():
            return 1
        case _:
            assert_never(e)


def axis(i: int) -> Sym:
    """Symbol of tile axis ``i`` in a :class:`~argus.ir.memory.GlobalView`."""
    return Sym(f"%{i}", "axis")
