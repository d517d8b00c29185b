"""Terms, integers and sets as text for people.

    Σ_{0 <= k < K} A[m, k]·B[n, k]

Bound variables get names that nothing else has, sets say only what the sets around them
do not say, and variables are called what their author called them where that is clear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction

from argus.terms.integers import Integer, Variable
from argus.terms.leaves import (
    Base,
    Call,
    Carried,
    Element,
    Generated,
    Infinity,
    Leaf,
    Sum,
    Whole,
)
from argus.terms.sets import IndexSet
from argus.terms.term import Product, Rational, Term
from argus.terms.value import Value

_LETTERS = ("k", "j", "i", "l", "p", "q", "r", "s", "t", "u")


def show(x: Term | Integer | IndexSet | Value) -> str:
    """The text of a term, an integer, a set or a value."""
    shown = _Text(_names(_free(x)))
    if isinstance(x, Term):
        return shown.term(x, IndexSet.universe)
    if isinstance(x, Integer):
        return shown.integer(x)
    if isinstance(x, IndexSet):
        return shown.set(x)
    if x.kind == "truth":
        return shown.set(x.where)
    cases: list[str] = []
    for where, y in x.cases:
        text = shown.term(y, where) if isinstance(y, Term) else shown.integer(y)
        cases.append(text if where.is_universe else f"{text} if {shown.set(where)}")
    return "; ".join(cases)


def _free(x: Term | Integer | IndexSet | Value) -> frozenset[Variable]:
    if isinstance(x, Term):
        return x.free_variables()
    if isinstance(x, Integer | IndexSet):
        return x.variables()
    found = x.where.variables()
    for where, y in x.cases:
        found |= where.variables() | _free(y)
    return found


def _names(variables: Iterable[Variable]) -> dict[Variable, str]:
    """What variables are called: ``k.17`` is ``k`` where there is no other."""
    ordered = sorted(variables, key=lambda v: v.key)
    stems: dict[str, list[Variable]] = {}
    for variable in ordered:
        stems.setdefault(variable.name.partition(".")[0], []).append(variable)
    names: dict[Variable, str] = {}
    for stem, alike in stems.items():
        for number, variable in enumerate(alike):
            names[variable] = stem + "'" * number
    return names


class _Text:
    """Text below given names of variables."""

    def __init__(self, names: Mapping[Variable, str]) -> None:
        self.names = dict(names)

    def below(self, variables: Iterable[Variable]) -> _Text:
        """Text below a binder."""
        names = dict(self.names)
        taken = set(names.values())
        for variable in variables:
            primes = 0
            while True:
                free = [c for c in _LETTERS if c + "'" * primes not in taken]
                if free:
                    break
                primes += 1
            names[variable] = free[0] + "'" * primes
            taken.add(names[variable])
        return _Text(names)

    def integer(self, value: Integer) -> str:
        """An integer."""
        return self._named(str(value))

    def set(self, where: IndexSet) -> str:
        """The condition of a set."""
        text = str(where).strip()
        text = re.sub(r"^\{\s*:?\s*|\s*\}$", "", text)
        return self._named(text) or "everywhere"

    def _named(self, text: str) -> str:
        """A text with variables under the names that they have here."""
        by_name = {v.name: n for v, n in self.names.items() if v.name != n}
        if not by_name:
            return text
        longest = sorted(by_name, key=len, reverse=True)
        pattern = "|".join(re.escape(n) for n in longest)
        return re.sub(
            rf"(?<![\w.$])(?:{pattern})(?![\w.])", lambda m: by_name[m[0]], text
        )

    def term(self, term: Term, context: IndexSet) -> str:
        """A term where a set is known to hold."""
        text = ""
        for part, coefficient in term.parts.items():
            negative = coefficient < 0
            shown = self._product(part, abs(coefficient), context)
            sign = "−" if negative else "+"
            text += f" {sign} {shown}" if text else "−" * negative + shown
        return text or "0"

    def _product(self, part: Product, coefficient: Rational, context: IndexSet) -> str:
        size = Fraction(coefficient)
        above: list[str] = []
        below: list[str] = []
        if part.exponent is not None:
            above.append(f"exp({self.term(part.exponent, context)})")
        plain = sorted(part.factors, key=lambda f: isinstance(f[0], Sum))
        for leaf, power in plain:
            (above if power > 0 else below).append(
                self._factor(leaf, abs(power), context)
            )
        if size.numerator != 1 or not above:
            above.insert(0, str(size.numerator))
        if size.denominator != 1:
            below.insert(0, str(size.denominator))
        text = "·".join(above)
        if not below:
            return text
        under = "·".join(below)
        return f"{text} / {under}" if len(below) == 1 else f"{text} / ({under})"

    def _factor(self, leaf: Leaf, power: Rational, context: IndexSet) -> str:
        if power == Fraction(1, 2):
            inner = leaf.term if isinstance(leaf, Base) else None
            text = self._leaf(leaf, context)
            return f"sqrt({self.term(inner, context) if inner else text})"
        text = self._leaf(leaf, context)
        if isinstance(leaf, Sum):
            text = f"({text})"
        if power == 1:
            return text
        return f"{text}^{power}" if isinstance(power, int) else f"{text}^({power})"

    def _leaf(self, leaf: Leaf, context: IndexSet) -> str:
        match leaf:
            case Element(tensor=name) | Carried(name=name):
                indices = ", ".join(self.integer(i) for i in leaf.indices)
                return f"{name}[{indices}]" if indices else name
            case Whole():
                return self._named(str(leaf.atom))
            case Infinity():
                return "−∞"
            case Call():
                args = ", ".join(self.term(a, context) for a in leaf.args)
                return f"{leaf.function}({args})"
            case Base():
                return f"({self.term(leaf.term, context)})"
            case Sum():
                return self._over("Σ", leaf.variables, leaf.domain, leaf.body, context)
            case Generated():
                parts = [
                    self._over("", g.variables, g.domain, g.body, context)
                    for g in leaf.generators
                ]
                return f"{leaf.function}({', '.join(parts)})"
            case _:
                return str(leaf)

    def _over(
        self,
        sign: str,
        variables: tuple[Variable, ...],
        domain: IndexSet,
        body: Term,
        context: IndexSet,
    ) -> str:
        inner = self.below(variables)
        said = domain.gist(context) if domain.space is context.space else domain
        text = inner.term(body, context & domain)
        if said.is_universe and not variables:
            return text
        condition = inner.set(said)
        names = ", ".join(inner.names[v] for v in variables)
        if not sign:
            return f"{text} for {condition}"
        if not variables:
            return f"[{condition}]·{text}" if text != "1" else f"[{condition}]"
        named = condition if condition != "everywhere" else names
        return f"{sign}_{{{named}}} {text}"
