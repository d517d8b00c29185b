"""What products of terms are made of.

A leaf is a number that is no sum, product, power or exponential of others: an element
of an input, an integer, a function of terms, a sum or a maximum over a set of points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from argus.terms.integers import Atom, Integer, Variable, height_of
from argus.terms.keyed import Keyed, keys
from argus.terms.sets import IndexSet

if TYPE_CHECKING:
    from argus.terms.term import Term

_NONE: frozenset[Variable] = frozenset()


class Leaf(Keyed):
    """A number.

    ``free``: variables that it depends on. ``height``: how deep sums and maxima stand
    in it; the variables that one binds are named by its height, so that none is bound
    twice on a way from the root.
    """

    __slots__ = ("free", "height")
    free: frozenset[Variable]
    height: int

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms inside it."""
        return ()

    @property
    def integers(self) -> tuple[Integer, ...]:
        """The integers that it has itself: where an element is, what number it is."""
        return ()

    @property
    def overs(self) -> tuple[Sum | Generator, ...]:
        """What binds variables in it: each has a set and a term, one of ``terms``."""
        return ()


class Element(Leaf):
    """An element of an input tensor."""

    __slots__ = ("indices", "tensor")

    def __init__(self, tensor: str, indices: Sequence[Integer]) -> None:
        self.tensor, self.indices = tensor, tuple(indices)
        self.free, self.height = _free_in(self.indices), height_of(self.indices)
        self.identify(f"{tensor}[{keys(self.indices)}]")

    @property
    def integers(self) -> tuple[Integer, ...]:
        """Its indices."""
        return self.indices

    def __str__(self) -> str:
        return f"{self.tensor}[{', '.join(map(str, self.indices))}]"


class Carried(Leaf):
    """What a loop carries, at the beginning of an iteration: not known yet."""

    __slots__ = ("indices", "name")

    def __init__(self, name: str, indices: Sequence[Integer]) -> None:
        self.name, self.indices = name, tuple(indices)
        self.free, self.height = _free_in(self.indices), height_of(self.indices)
        self.identify(f"carried {name}[{keys(self.indices)}]")

    @property
    def integers(self) -> tuple[Integer, ...]:
        """Its indices."""
        return self.indices

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.indices))}]"


class Scalar(Leaf):
    """A scalar argument that is a float."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
        self.free, self.height = _NONE, 0
        self.identify(f"scalar {name}")

    def __str__(self) -> str:
        return self.name


class Whole(Leaf):
    """An integer as a real number; of a polynomial, each atom is one."""

    __slots__ = ("atom",)

    def __init__(self, atom: Atom) -> None:
        self.atom = atom
        self.free, self.height = atom.variables, atom.height
        self.identify(f"whole {atom.key}")

    @property
    def integers(self) -> tuple[Integer, ...]:
        """The number itself."""
        return (Integer.atom(self.atom),)

    def __str__(self) -> str:
        return str(self.atom)


class Constant(Leaf):
    """ln 2 or pi: positive numbers that are not rational."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
        self.free, self.height = _NONE, 0
        self.identify(f"constant {name}")

    def __str__(self) -> str:
        return self.name


class Infinity(Leaf):
    """The negative of infinity, or a number that stands for it."""

    __slots__ = ()

    def __init__(self) -> None:
        self.free, self.height = _NONE, 0
        self.identify("infinity")

    def __str__(self) -> str:
        return "-inf"


class Undefined(Leaf):
    """A number of which nothing is claimed. What is made of it is it, too."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.free, self.height = _NONE, 0
        self.identify(f"undefined {reason}")

    def __str__(self) -> str:
        return f"undefined({self.reason})"


class Call(Leaf):
    """A function of which nothing is known but that it is one."""

    __slots__ = ("args", "function")

    def __init__(self, function: str, args: Sequence[Term]) -> None:
        self.function, self.args = function, tuple(args)
        free = _NONE.union(*(a.free_variables() for a in self.args))
        self.free, self.height = free, max((a.height for a in self.args), default=0)
        self.identify(f"{function}({keys(self.args)})")

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms inside it."""
        return self.args

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.args))})"


class Base(Leaf):
    """A term that is raised to a power that is not multiplied out."""

    __slots__ = ("term",)

    def __init__(self, term: Term) -> None:
        self.term = term
        self.free, self.height = term.free_variables(), term.height
        self.identify(f"base({term.key})")

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms inside it."""
        return (self.term,)

    def __str__(self) -> str:
        return f"({self.term})"


class Sum(Leaf):
    """The sum of a term over the points of a set.

    ``variables`` are bound: nothing else mentions them. They are those of a ``height``,
    or of its own. ``body`` is one product
    without a factor that does not depend on them. Without variables it is the number 1
    or 0: whether the set holds, times the body.
    """

    __slots__ = ("body", "domain", "variables")

    def __init__(
        self, count: int, domain: IndexSet, body: Term, height: int = 0
    ) -> None:
        self.domain, self.body = domain, body
        self.height = height or height_over(domain, body)
        self.variables = bound(self.height, count)
        inner = body.free_variables() | domain.variables()
        self.free = inner - frozenset(self.variables)
        self.identify(f"sum{count} {domain.number} {body.key}")

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms inside it."""
        return (self.body,)

    @property
    def overs(self) -> tuple[Sum | Generator, ...]:
        """Itself."""
        return (self,)

    def __str__(self) -> str:
        names = ", ".join(map(str, self.variables))
        return f"Σ{{{names}: {self.domain}}} {self.body}"


class Generator(Keyed):
    """Numbers of which a maximum is taken: a term at the points of a set.

    ``height``: as that of a `Sum`.
    """

    __slots__ = ("body", "domain", "free", "height", "variables")

    def __init__(
        self, count: int, domain: IndexSet, body: Term, height: int = 0
    ) -> None:
        self.domain, self.body = domain, body
        self.height = height or height_over(domain, body)
        self.variables = bound(self.height, count)
        inner = body.free_variables() | domain.variables()
        self.free = inner - frozenset(self.variables)
        self.identify(f"{count} {domain.number} {body.key}")

    def __str__(self) -> str:
        if not self.variables and self.domain.is_universe:
            return str(self.body)
        names = ", ".join(map(str, self.variables))
        return f"{{{names}: {self.domain}}} {self.body}"


class Generated(Leaf):
    """A function of the numbers that several generators make."""

    __slots__ = ("function", "generators")

    def __init__(self, function: str, generators: Sequence[Generator]) -> None:
        ordered = sorted(generators, key=lambda g: g.key)
        self.function = function
        self.generators = tuple(ordered)
        self.height = max(g.height for g in ordered)
        self.free = _NONE.union(*(g.free for g in ordered))
        self.identify(f"{function}{{{keys(ordered)}}}")

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms inside it."""
        return tuple(g.body for g in self.generators)

    @property
    def overs(self) -> tuple[Sum | Generator, ...]:
        """Its generators."""
        return self.generators

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.generators))})"


class Max(Generated):
    """The largest of the numbers of several generators; minus infinity of none."""

    __slots__ = ()

    def __init__(self, generators: Sequence[Generator]) -> None:
        super().__init__("max", generators)


class Fold(Generated):
    """A product ("prod"), or the first place of a largest number ("argmax").

    Of an "argmax" the value of the one bound variable is asked for, so that variables
    are not replaced by others; nothing is known of either but that it is a function.
    """

    __slots__ = ()


def height_over(domain: IndexSet, body: Term) -> int:
    """The height of a sum or maximum of a term over a set."""
    return max(domain.height, body.height) + 1


def bound(height: int, count: int) -> tuple[Variable, ...]:
    """The variables that a sum or maximum of a height binds, by position."""
    return tuple(Variable(f"${height}.{i}") for i in range(count))


def _free_in(indices: Sequence[Integer]) -> frozenset[Variable]:
    return _NONE.union(*(i.variables() for i in indices))
