"""Terms: what an element is, as a real number, in normal form.

    a, b = element("A", [m, k]), element("B", [n, k])
    (a + b) * (a - b) == a * a - b * b          # equal numbers of one form are equal

A term is a sum of products with rational coefficients. A product has leaves to rational
powers and at most one exponential: ``exp(x) * exp(y)`` is ``exp(x + y)``, so that what
a running maximum rescales cancels by algebra. Functions that need a world (what is
positive, what a sum is over) are in other files; here is what holds of all numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from argus.terms.integers import Integer, Variable
from argus.terms.keyed import Keyed
from argus.terms.leaves import Constant, Element, Infinity, Leaf, Undefined, Whole
from argus.terms.unknown import Unknown

if TYPE_CHECKING:
    from argus.terms.world import World

Rational: TypeAlias = int | Fraction


def _by_key(item: tuple[Keyed, Rational]) -> str:
    return item[0].key


class Product(Keyed):
    """Leaves to rational powers, times at most one exponential."""

    __slots__ = ("exponent", "factors", "free", "height")

    def __init__(
        self, factors: Mapping[Leaf, Rational], exponent: Term | None = None
    ) -> None:
        ordered = [(leaf, simple(power)) for leaf, power in factors.items() if power]
        if len(ordered) > 1:
            ordered.sort(key=_by_key)
        self.factors = tuple(ordered)
        self.exponent = exponent if exponent is not None and exponent.parts else None
        free: frozenset[Variable] = frozenset()
        height = 0
        for leaf, _ in ordered:
            free |= leaf.free
            height = max(height, leaf.height)
        if self.exponent is not None:
            free |= self.exponent.free_variables()
            height = max(height, self.exponent.height)
        self.free, self.height = free, height
        text = "*".join([f"{leaf.key}^{power}" for leaf, power in ordered])
        if self.exponent is not None:
            text += f"*exp({self.exponent.key})"
        self.identify(text)

    def times(self, other: Product) -> Product:
        """The product of both; powers of bases may be left to multiply out."""
        if self is ONE_PRODUCT:
            return other
        if other is ONE_PRODUCT:
            return self
        factors = dict(self.factors)
        for leaf, power in other.factors:
            factors[leaf] = factors.get(leaf, 0) + power
        exponent = self.exponent
        if exponent is None:
            exponent = other.exponent
        elif other.exponent is not None:
            exponent = exponent + other.exponent
        return Product(factors, exponent)

    def __str__(self) -> str:
        parts = [f"{leaf}" + _power(power) for leaf, power in self.factors]
        if self.exponent is not None:
            parts.append(f"exp({self.exponent})")
        return "*".join(parts) or "1"


ONE_PRODUCT = Product({})


class Term(Keyed):
    """A sum of products; ``parts`` maps them to coefficients that are not 0.

    Infinity and what is undefined absorb what is added to them: such a term has one
    part, `special`.
    """

    __slots__ = ("_free", "height", "parts", "special")

    def __init__(self, parts: Mapping[Product, Rational]) -> None:
        items = [(p, simple(c)) for p, c in parts.items() if c]
        if len(items) > 1:
            items.sort(key=_by_key)
        self.special = _special(items)
        if self.special is not None and len(items) > 1:
            items = _absorbed(items, self.special)
            self.special = _special(items)
        self.parts: dict[Product, Rational] = dict(items)
        self.height = max((p.height for p, _ in items), default=0)
        self._free: frozenset[Variable] | None = None
        self.identify("+".join([f"{c}*{p.key}" for p, c in items]) or "0")

    def free_variables(self) -> frozenset[Variable]:
        """Variables that it depends on."""
        if self._free is None:
            none: frozenset[Variable] = frozenset()
            self._free = none.union(*(p.free for p in self.parts))
        return self._free

    @property
    def constant(self) -> Rational | None:
        """Its value where it is a rational number, else None."""
        if not self.parts:
            return 0
        return self.parts.get(ONE_PRODUCT) if len(self.parts) == 1 else None

    @property
    def single(self) -> Leaf | None:
        """The leaf that it is, or None."""
        if len(self.parts) != 1:
            return None
        ((part, coefficient),) = self.parts.items()
        if coefficient != 1 or part.exponent is not None or len(part.factors) != 1:
            return None
        leaf, power = part.factors[0]
        return leaf if power == 1 else None

    @property
    def undefined(self) -> str | None:
        """Why nothing is claimed of it; None where it is a number or infinite."""
        special = self.special
        return special.reason if isinstance(special, Undefined) else None

    @property
    def infinite(self) -> int:
        """-1 for minus infinity, 1 for plus infinity, 0 for every other term."""
        if not isinstance(self.special, Infinity):
            return 0
        return -1 if next(iter(self.parts.values())) > 0 else 1

    @property
    def integer(self) -> Integer | None:
        """The integer expression that it is, or None."""
        total = Integer.of(0)
        for part, coefficient in self.parts.items():
            if part.exponent is not None or not isinstance(coefficient, int):
                return None
            value = Integer.of(coefficient)
            for leaf, power in part.factors:
                if not isinstance(power, int) or power < 0:
                    return None
                if isinstance(leaf, Whole):
                    atom = leaf.atom
                else:
                    return None
                for _ in range(power):
                    value = value * Integer.atom(atom)
            total = total + value
        return total

    def __add__(self, other: Term) -> Term:
        if not other.parts:
            return self
        if not self.parts:
            return other
        if self.infinite and other.infinite:
            same = self == other
            return self if same else undefined("the difference of two infinities")
        sums = dict(self.parts)
        for part, coefficient in other.parts.items():
            sums[part] = sums.get(part, 0) + coefficient
        return Term(sums)

    def __neg__(self) -> Term:
        if self.undefined is not None:
            return self
        return Term({p: -c for p, c in self.parts.items()})

    def __sub__(self, other: Term) -> Term:
        return self + -other

    def scaled(self, factor: Rational) -> Term:
        """A multiple by a rational number."""
        if factor == 1:
            return self
        if self.special is not None:
            return self * number(factor)
        return Term({p: c * factor for p, c in self.parts.items()})

    def __mul__(self, other: Term) -> Term:
        if self.special is not None or other.special is not None:
            return _special_product(self, other)
        from argus.terms.powers import multiplied_out  # powers multiply

        products: dict[Product, Rational] = {}
        rest: list[Term] = []
        for left, c in self.parts.items():
            for right, d in other.parts.items():
                part = left.times(right)
                out = multiplied_out(part)
                if out is None:
                    products[part] = products.get(part, 0) + c * d
                else:
                    rest.append(out.scaled(c * d))
        total = Term(products)
        for term in rest:
            total = total + term
        return total

    def substituted(self, world: World, env: Mapping[Variable, Integer]) -> Term:
        """The same with variables replaced."""
        from argus.terms.rebuild import substituted  # which makes terms

        return substituted(world, self, env)

    def __str__(self) -> str:
        text = ""
        for part, coefficient in self.parts.items():
            size = abs(coefficient)
            shown = str(part) if part is not ONE_PRODUCT else ""
            if size != 1 or not shown:
                shown = f"{size}*{shown}" if shown else str(size)
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} {shown}" if text else "-" * (coefficient < 0) + shown
        return text or "0"


def simple(value: Rational) -> Rational:
    """A rational number, as an int where it is one."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def number(value: Rational) -> Term:
    """A rational number as a term."""
    return Term({ONE_PRODUCT: value})


def leaf_term(leaf: Leaf, power: Rational = 1) -> Term:
    """A leaf, or a power of it, as a term."""
    return Term({Product({leaf: power}): 1})


def element(tensor: str, indices: Sequence[Integer]) -> Term:
    """An element of an input tensor of floats."""
    return leaf_term(Element(tensor, indices))


def undefined(reason: str) -> Term:
    """A number of which nothing is claimed."""
    return leaf_term(Undefined(reason))


def whole(value: Integer) -> Term:
    """An integer as a real number."""
    parts: dict[Product, Rational] = {}
    for monomial, coefficient in value.terms.items():
        factors: dict[Leaf, Rational] = {}
        for atom in monomial:
            leaf = Whole(atom)
            factors[leaf] = factors.get(leaf, 0) + 1
        parts[Product(factors)] = coefficient
    return Term(parts)


def _special(items: Sequence[tuple[Product, Rational]]) -> Leaf | None:
    """What absorbs the rest of a sum."""
    found: Leaf | None = None
    for part, _ in items:
        for leaf, _ in part.factors:
            if isinstance(leaf, Undefined):
                return leaf
            if isinstance(leaf, Infinity):
                found = leaf
    return found


def _absorbed(
    items: Sequence[tuple[Product, Rational]], special: Leaf
) -> list[tuple[Product, Rational]]:
    """The parts of a sum that are left beside infinity, or what is undefined."""
    if isinstance(special, Undefined):
        return [(Product({special: 1}), 1)]
    kept = [(p, c) for p, c in items if any(f is special for f, _ in p.factors)]
    return [(kept[0][0], 1 if kept[0][1] > 0 else -1)]


def _special_product(left: Term, right: Term) -> Term:
    """A product with infinity or with what is undefined."""
    for term in (left, right):
        if term.undefined is not None:
            return term
    infinite, factor = (left, right) if left.infinite else (right, left)
    if factor.infinite:
        negative = infinite == factor
        return -MINUS_INFINITY if negative else MINUS_INFINITY
    value = factor.constant
    if value is None:
        raise Unknown(f"the sign of {factor}, a factor of infinity")
    if value == 0:
        return undefined("0 times infinity")
    return infinite if value > 0 else -infinite


def _power(power: Rational) -> str:
    if power == 1:
        return ""
    return f"^{power}" if isinstance(power, int) else f"^({power})"


ZERO = Term({})
ONE = number(1)
MINUS_INFINITY = leaf_term(Infinity())
LN2 = Constant("ln2")
PI = Constant("pi")
