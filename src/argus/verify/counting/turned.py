"""Counters that programs turn by hand, as one number that only grows.

    st = st + 1                              n = n + 1
    if st == 3:                              st = n % 3
        st = 0                               ph = n // 3
        ph = ph + 1

A loop that carries a scalar ``st`` and others is the same loop with a number n in the
place of ``st`` if, for a constant S and constants c of the others,

    st = n % S,  ph = n // S + c             before its first iteration, and
    in each iteration, if it holds at its beginning, of another n at its end.

No n is negative. Loops within a loop hand on a number of their own, which begins with
that of the loop around them, and so does what a branch leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import TypeVar

from argus.ir import ops as o
from argus.ir.expr import (
    Binary,
    Const,
    Expr,
    Select,
    Sym,
    binary,
    select,
    subexpressions,
    substitute,
    symbols,
)
from argus.ir.program import Program
from argus.ir.rewrite import change_expressions
from argus.ir.walk import blocks, bound, expressions, inner_symbols, walk
from argus.verify.counting.blocks import changed, within
from argus.verify.counting.periods import Periods
from argus.verify.counting.positions import Positions, quotient
from argus.verify.counting.unused import without_unused

__all__ = ["with_turned_counters"]

Op = TypeVar("Op", bound=o.AnyOp)

_LARGE = 200
"""Symbols in an expression that is followed no further."""

_Env = dict[str, Expr]
"""Scalars by numbers that only grow, and by what is not followed."""


def with_turned_counters(program: Program) -> Program:
    """A program that counts on instead; itself if nothing in it is turned."""
    loops = (op for op in walk(program.body) if isinstance(op, o.For))
    if not any(c.arg.type == "int" for op in loops for c in op.scalars):
        return program
    made = {s: x for op in walk(program.body) for s, x in _made(op).items()}
    rewriting = _Rewriting(Periods(made))
    body = rewriting.block(program.body, {})
    if not rewriting.numbers:
        return program
    return replace(program, body=without_unused(body, rewriting.turned))


def _made(op: o.AnyOp) -> dict[str, tuple[Expr, ...]]:
    """What scalars an operation makes of which, and of what chooses between them."""
    if isinstance(op, o.Let):
        return {op.sym.name: (op.value,)}
    if isinstance(op, o.If):
        return {m.result.name: (Select(op.cond, m.then, m.other),) for m in op.scalars}
    if isinstance(op, o.For):
        handed = [(c, (c.init, c.yielded)) for c in op.scalars]
        return {s.name: made for c, made in handed for s in (c.arg, c.result)}
    return {}


@dataclass(frozen=True)
class _Guess:
    """``turned = n % period``, and ``n // period + c`` for each of the others."""

    turned: Sym
    period: int
    first: Expr
    """n before the loop."""
    others: Mapping[str, int]

    @property
    def number(self) -> Sym:
        """What the loop carries instead. No author's name has such a letter."""
        return Sym(f"{self.turned.name}#", "let")

    def scalars(self, n: Expr) -> _Env:
        """The carried scalars, made of n."""
        made: _Env = {self.turned.name: binary("%", n, self.period)}
        for name, c in self.others.items():
            made[name] = quotient(n, self.period, c)
        return made


class _Rewriting:
    def __init__(self, periods: Periods) -> None:
        self.periods = periods
        self.numbers: set[str] = set()
        """Names of those that only grow."""
        self.turned: set[str] = set()
        """Names of scalars that are made of them."""
        self.positions = Positions(self.numbers)

    def block(self, block: o.Block, env: _Env) -> o.Block:
        """A block with its loops changed; ``env`` gets what it binds."""
        return changed(block, lambda op: self._op(op, env))

    def _op(self, op: o.AnyOp, env: _Env) -> Iterator[o.AnyOp]:
        if isinstance(op, o.For):
            yield from self._loop(op, env)
        elif isinstance(op, o.If):
            yield from self._branch(op, env)
        elif blocks(op):
            yield within(op, lambda b: self.block(b, dict(env)))
        else:
            plain = self._plain(op, env)
            if isinstance(plain, o.Let):
                self._bind(plain.sym, substitute(plain.value, env), env)
            yield plain

    def _plain(self, op: Op, env: _Env) -> Op:
        """An operation that does not choose between remainders of a number."""

        def change(e: Expr) -> Expr:
            return self._without_choice(e, env)

        if all(change(e) is e for e in expressions(op)):
            return op
        made = copy(op)
        change_expressions(made, change)
        return made

    def _without_choice(self, e: Expr, env: _Env) -> Expr:
        if not self.numbers or isinstance(e, Const | Sym) or not _chooses(e):
            return e
        value = substitute(e, env)
        if not self.positions.within(value):
            return e
        for period in sorted(_periods(value)):
            found = self.positions.plain(value, period)
            if found != value:
                return found
        return e

    def _bind(self, sym: Sym, value: Expr, env: _Env) -> None:
        env.pop(sym.name, None)
        if sym.type == "float" or len(symbols(value)) > _LARGE:
            return
        env[sym.name] = value
        if self.positions.within(value):
            self.turned.add(sym.name)

    # ------------------------------------------------------------------- branches

    def _branch(self, op: o.If, env: _Env) -> Iterator[o.AnyOp]:
        envs = [dict(env), dict(env)]
        inside = iter(envs)
        made = within(op, lambda b: self.block(b, next(inside)))
        ends = {
            m.result: (substitute(m.then, envs[0]), substitute(m.other, envs[1]))
            for m in op.scalars
        }
        assert isinstance(made, o.If)
        condition, inner = substitute(op.cond, env), _inner(made)
        after: list[o.Let] = []
        for result, (then, other) in ends.items():
            value = select(condition, then, other)
            if any(s.name in inner for s in symbols(value)):
                made, lets = self._merged(made, result, ends)
                after += lets
                continue
            plain = self._without_choice(value, {})
            if plain != value:
                kept = [m for m in made.scalars if m.result != result]
                made = replace(made, scalars=kept)
                after.append(o.Let(result, plain, span=op.span))
            self._bind(result, plain, env)
        yield made
        for let in after:
            yield from self._op(let, env)

    def _merged(
        self, op: o.If, turned: Sym, ends: Mapping[Sym, tuple[Expr, Expr]]
    ) -> tuple[o.If, list[o.Let]]:
        """A branch that leaves a number that only its blocks have."""
        sides = ends[turned]
        periods = {_period(e) for e in sides} - {None}
        if len(periods) != 1 or all(m.result != turned for m in op.scalars):
            return op, []
        (period,) = periods
        assert period is not None
        found = [self.positions.position(e, period) for e in sides]
        then, other = found
        if then is None or other is None:
            return op, []
        guess = _Guess(turned, period, then, {})
        others = {
            result.name: c
            for result, values in ends.items()
            if (c := self._offset(values, (then, other), period)) is not None
        }
        guess = replace(guess, others=others)
        self.numbers.add(guess.number.name)
        scalars = guess.scalars(guess.number)
        gone = [m.result for m in op.scalars if m.result.name in scalars]
        kept = [m for m in op.scalars if m.result.name not in scalars]
        self.turned |= {s.name for s in gone}
        merge = o.ScalarMerge(then, other, guess.number)
        lets = [o.Let(s, scalars[s.name], span=op.span) for s in gone]
        return replace(op, scalars=[*kept, merge]), lets

    def _offset(
        self, values: tuple[Expr, Expr], numbers: tuple[Expr, Expr], period: int
    ) -> int | None:
        """The c with which both values are ``number // period + c``."""
        start, n = (self.positions.at_zero(e) for e in (values[0], numbers[0]))
        if start is None or n is None:
            return None
        c = start - n // period
        same = all(
            self.positions.equal(e, quotient(n, period, c), period)
            for e, n in zip(values, numbers, strict=True)
        )
        return c if same else None

    # ---------------------------------------------------------------------- loops

    def _loop(self, op: o.For, env: _Env) -> Iterator[o.AnyOp]:
        """A loop that counts on, and what it leaves behind it."""
        after: list[o.Let] = []
        for carry in list(op.scalars):
            found = self._counting(op, carry, env)
            if found is not None:
                op, lets = found
                after += lets
        yield within(op, lambda b: self.block(b, dict(env)))
        for let in after:
            yield from self._op(let, env)

    def _counting(
        self, op: o.For, carry: o.ScalarCarry, env: _Env
    ) -> tuple[o.For, list[o.Let]] | None:
        """The loop with a number in the place of one scalar, and others with it."""
        if carry not in op.scalars or carry.arg.type != "int":
            return None
        for period in self.periods.of(carry.arg):
            first = self.positions.position(substitute(carry.init, env), period)
            if first is None:
                continue
            others = self._others(op, carry, env, period, first)
            guess = _Guess(carry.arg, period, first, others)
            found = self._proved(op, guess, env)
            if found is not None:
                return found
        return None

    def _others(
        self, op: o.For, turned: o.ScalarCarry, env: _Env, period: int, first: Expr
    ) -> dict[str, int]:
        """What is ``first // period + c`` before a loop, by name; and c."""
        found: dict[str, int] = {}
        n = self.positions.at_zero(first)
        for carry in op.scalars:
            name = carry.arg.name
            if carry is turned or carry.arg.type != "int" or name in self.numbers:
                continue
            init = substitute(carry.init, env)
            start = self.positions.at_zero(init)
            if start is None or n is None:
                continue
            c = start - n // period
            if self.positions.equal(init, quotient(first, period, c), period):
                found[name] = c
        return found

    def _proved(
        self, op: o.For, guess: _Guess, env: _Env
    ) -> tuple[o.For, list[o.Let]] | None:
        """By induction; what does not go on with the number is left out, and again."""
        while True:
            kept = set(self.numbers), set(self.turned)
            self.numbers.add(guess.number.name)
            inside = {**env, **guess.scalars(guess.number)}
            body = self.block(op.body, inside)
            ends = {c.arg.name: substitute(c.yielded, inside) for c in op.scalars}
            n = self.positions.position(ends[guess.turned.name], guess.period)
            others: dict[str, int] = {}
            for name, c in guess.others.items():
                if n is None:
                    break
                end = quotient(n, guess.period, c)
                if self.positions.equal(ends[name], end, guess.period):
                    others[name] = c
            if n is not None and others == guess.others:
                return self._replaced(op, guess, body, n)
            for names, before in zip((self.numbers, self.turned), kept, strict=True):
                names.intersection_update(before)
            if not guess.others:
                return None
            guess = replace(guess, others=others)

    def _replaced(
        self, op: o.For, guess: _Guess, body: o.Block, n: Expr
    ) -> tuple[o.For, list[o.Let]]:
        arg = guess.number
        result = replace(arg, name=f"{arg.name}'")
        self.numbers.add(result.name)
        inside, after = guess.scalars(arg), guess.scalars(result)
        gone = [c for c in op.scalars if c.arg.name in inside]
        kept = [c for c in op.scalars if c.arg.name not in inside]
        self.turned |= {s.name for c in gone for s in (c.arg, c.result)}
        lets = [o.Let(c.arg, inside[c.arg.name], span=op.span) for c in gone]
        made = replace(
            op,
            body=replace(body, ops=[*lets, *body.ops]),
            scalars=[*kept, o.ScalarCarry(guess.first, arg, n, result)],
        )
        return made, [o.Let(c.result, after[c.arg.name], span=op.span) for c in gone]


def _period(e: Expr) -> int | None:
    """Of what remainder an expression is."""
    match e:
        case Binary(op="%", right=Const(value=int(period))):
            return period
        case Const() | Sym() | Binary() | Select():
            return None


def _chooses(e: Expr) -> bool:
    return any(isinstance(x, Select) for x in subexpressions(e))


def _periods(e: Expr) -> set[int]:
    return {n for x in subexpressions(e) if (n := _period(x)) is not None}


def _inner(op: o.AnyOp) -> set[str]:
    """Names of what has a value within an operation only."""
    inside = (inner for block in blocks(op) for inner in walk(block))
    return {s.name for x in inside for s in (*bound(x), *inner_symbols(x))}
