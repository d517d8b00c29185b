"""When an optimisation applies: small expressions over features of a task and a design.

    condition = parse('bottleneck in ("memory", "l2") and M >= 2 * BM')
    condition.evaluate({"bottleneck": "memory", "M": 4096, "BM": 128})

The text is read with `ast` and walked; nothing is ever executed. Logic has three
values: a name that is not among the features is "cannot say", and so is everything that
depends on it, but `False and unknown` is false and `True or unknown` is true (Kleene).
A comparison whose sides cannot be compared is "cannot say", too.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

Value = bool | int | float | str

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class ConditionError(ValueError):
    """The text is not a condition."""


# ------------------------------------------------------------------------- expressions


@dataclass(frozen=True)
class Literal:
    """A number, a text or a truth value."""

    value: Value


@dataclass(frozen=True)
class Name:
    """A feature."""

    name: str


@dataclass(frozen=True)
class ArithmeticCondition:
    """Two operands and one of ``+ - * / // %``."""

    of: type[ast.operator]
    left: Expression
    right: Expression


@dataclass(frozen=True)
class ComparisonCondition:
    """Two operands and one of ``== != < <= > >=``."""

    of: type[ast.cmpop]
    left: Expression
    right: Expression
    text: str


@dataclass(frozen=True)
class Member:
    """Whether ``left`` is one of ``options``."""

    left: Expression
    options: tuple[Expression, ...]
    negated: bool
    text: str


@dataclass(frozen=True)
class Not:
    """The opposite."""

    operand: Expression


@dataclass(frozen=True)
class Junction:
    """``and`` (``all_of``) or ``or`` of several operands."""

    all_of: bool
    operands: tuple[Expression, ...]


Expression = (
    Literal | Name | ArithmeticCondition | ComparisonCondition | Member | Not | Junction
)


# -------------------------------------------------------------------------- evaluation


@dataclass(frozen=True)
class ConditionOutcome:
    """True, False or None (cannot say), and the clauses that decided it."""

    value: bool | None
    why: str


@dataclass(frozen=True)
class Condition:
    """A parsed condition; ``names`` are the features that it mentions."""

    text: str
    expression: Expression
    names: frozenset[str]

    def evaluate(self, features: Mapping[str, Value]) -> ConditionOutcome:
        """The truth of the condition for ``features``. Never raises."""
        return _truth(self.expression, features)


@dataclass(frozen=True)
class _UnknownValue:
    """No value, because of ``why``."""

    why: str


def _truth(e: Expression, features: Mapping[str, Value]) -> ConditionOutcome:
    match e:
        case Junction(all_of, operands):
            return _joined(all_of, [_truth(x, features) for x in operands])
        case Not(operand):
            inner = _truth(operand, features)
            value = None if inner.value is None else not inner.value
            return ConditionOutcome(value, inner.why)
        case ComparisonCondition(of, left, right, text):
            sides = _value(left, features), _value(right, features)
            found = _two(_COMPARISONS[of], *sides, text)
            return _outcome(found, e, features)
        case Member(left, options, negated, text):
            found = _contained(left, options, features, text)
            if not isinstance(found, _UnknownValue):
                found = bool(found) != negated
            return _outcome(found, e, features)
        case Literal() | Name() | ArithmeticCondition():
            found = _value(e, features)
            if not isinstance(found, bool | _UnknownValue):
                found = _UnknownValue(f"{found!r} is neither true nor false")
            return _outcome(found, e, features)
        case _:
            assert_never(e)


def _contained(
    left: Expression,
    options: tuple[Expression, ...],
    features: Mapping[str, Value],
    text: str,
) -> Value | _UnknownValue:
    value = _value(left, features)
    missing: _UnknownValue | None = None
    for option in options:
        equal = _two(operator.eq, value, _value(option, features), text)
        if equal is True:
            return True
        if isinstance(equal, _UnknownValue):
            missing = equal
    return missing if missing is not None else False


def _value(e: Expression, features: Mapping[str, Value]) -> Value | _UnknownValue:
    match e:
        case Literal(value):
            return value
        case Name(name):
            return features.get(name, _UnknownValue(f"`{name}` is not known"))
        case ArithmeticCondition(of, left, right):
            sides = _value(left, features), _value(right, features)
            return _two(_ARITHMETIC[of], *sides, "arithmetic")
        case ComparisonCondition() | Member() | Not() | Junction():
            outcome = _truth(e, features)
            return (
                _UnknownValue(outcome.why) if outcome.value is None else outcome.value
            )
        case _:
            assert_never(e)


def _two(
    act: Callable[[Any, Any], Any],
    left: Value | _UnknownValue,
    right: Value | _UnknownValue,
    text: str,
) -> Value | _UnknownValue:
    if isinstance(left, _UnknownValue):
        return left
    if isinstance(right, _UnknownValue):
        return right
    if isinstance(left, str) != isinstance(right, str):
        return _UnknownValue(f"{text}: {left!r} and {right!r} do not go together")
    try:
        return act(left, right)
    except (TypeError, ZeroDivisionError) as error:
        return _UnknownValue(f"{text}: {error}")


def _outcome(
    found: Value | _UnknownValue, e: Expression, features: Mapping[str, Value]
) -> ConditionOutcome:
    if isinstance(found, _UnknownValue):
        return ConditionOutcome(None, found.why)
    known = sorted(_names(e) & features.keys())
    used = ", ".join(f"{n} is {features[n]!r}" for n in known)
    text = e.text if isinstance(e, ComparisonCondition | Member) else ""
    return ConditionOutcome(bool(found), " where ".join(x for x in (text, used) if x))


def _joined(all_of: bool, outcomes: list[ConditionOutcome]) -> ConditionOutcome:
    """Of an `and`: false if one is, else unknown if one is, else true."""
    deciding = [o for o in outcomes if o.value is (not all_of)]
    if deciding:
        return deciding[0]
    unknown = [o for o in outcomes if o.value is None]
    if unknown:
        return ConditionOutcome(None, "; ".join(dict.fromkeys(o.why for o in unknown)))
    return ConditionOutcome(all_of, "; ".join(o.why for o in outcomes if o.why))


# ----------------------------------------------------------------------------- parsing


def parse(text: str) -> Condition:
    """Read a condition. Raises ConditionError for anything that is not one."""
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ConditionError(f"not an expression: {text!r}: {error.msg}") from error
    expression = _read(body, text)
    return Condition(text, expression, frozenset(_names(expression)))


def _read(node: ast.expr, whole: str) -> Expression:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return Literal(value)
        case ast.UnaryOp(
            op=ast.USub(), operand=ast.Constant(value=int() | float() as v)
        ):
            return Literal(-v)
        case ast.Name(id=name):
            return Name(name)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Not(_read(operand, whole))
        case ast.BoolOp(op=op, values=values):
            operands = tuple(_read(v, whole) for v in values)
            return Junction(isinstance(op, ast.And), operands)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return ArithmeticCondition(
                type(op), _read(left, whole), _read(right, whole)
            )
        case ast.Compare(left=left, ops=ops, comparators=rights):
            lefts = [left, *rights[:-1]]
            pairs = tuple(
                _comparison(a, op, b, whole)
                for a, op, b in zip(lefts, ops, rights, strict=True)
            )
            return pairs[0] if len(pairs) == 1 else Junction(True, pairs)
        case _:
            part = ast.unparse(node)
            raise ConditionError(f"`{part}` cannot stand in a condition: {whole!r}")


def _comparison(
    left: ast.expr, op: ast.cmpop, right: ast.expr, whole: str
) -> Expression:
    if isinstance(op, ast.In | ast.NotIn):
        if not isinstance(right, ast.Tuple | ast.List):
            raise ConditionError(f"`in` wants a list of options: {whole!r}")
        options = tuple(_read(x, whole) for x in right.elts)
        negated = isinstance(op, ast.NotIn)
        word = "not in" if negated else "in"
        text = f"{ast.unparse(left)} {word} {ast.unparse(right)}"
        return Member(_read(left, whole), options, negated, text)
    if type(op) not in _COMPARISONS:
        raise ConditionError(f"`is` cannot stand in a condition: {whole!r}")
    text = ast.unparse(ast.Compare(left, [op], [right]))
    return ComparisonCondition(type(op), _read(left, whole), _read(right, whole), text)


def _names(e: Expression) -> set[str]:
    match e:
        case Literal():
            return set()
        case Name(name):
            return {name}
        case Not(operand):
            return _names(operand)
        case ArithmeticCondition(_, left, right) | ComparisonCondition(
            _, left, right, _
        ):
            return _names(left) | _names(right)
        case Member(left, options, _, _):
            return _names(left).union(*(_names(o) for o in options))
        case Junction(_, operands):
            return set[str]().union(*(_names(o) for o in operands))
        case _:
            assert_never(e)
