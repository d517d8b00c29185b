"""Integers: polynomials over atoms, and the atoms.

    n, k = world.size("N"), world.variable("k", 0, world.size("K"))
    str(2 * n * k + 1)          # "2*N*k + 1"

An atom holds its own definition, so that an integer can be read, evaluated and compared
without a table. What is quasi-affine becomes an isl expression (`sets.py`); products of
atoms and the atoms that isl has no form for are opaque there, with the facts that
follow from their definition (`facts.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Literal, Protocol, TypeAlias

from argus.terms.keyed import Keyed, keys

Operation: TypeAlias = Literal["div", "mod", "min", "max"]
Comparison: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]
EXTREMES: dict[str, Comparison] = {"min": "<=", "max": ">="}
"""What the number that a minimum, or a maximum, is, is to the other one."""


class DataTerm(Protocol):
    """A term, as far as integers need to know it."""

    key: str
    height: int

    @property
    def constant(self) -> int | Fraction | None:
        """The number that it is, or None."""
        ...

    @property
    def special(self) -> object:
        """None for a number."""
        ...

    def free_variables(self) -> frozenset[Variable]:
        """Variables that it depends on."""
        ...

    def __str__(self) -> str: ...


class Atom(Keyed):
    """An integer that is not a polynomial of others."""

    __slots__ = ("alone", "height", "variables")
    variables: frozenset[Variable]
    """Variables that it depends on, through its definition; itself if it is one."""
    height: int
    """How deep sums and maxima stand in the data that it depends on."""
    alone: Integer
    """The integer that it is, once somebody has asked `Integer.atom`."""

    @property
    def arguments(self) -> tuple[Integer, ...]:
        """The integers in its definition."""
        return ()


class Variable(Atom):
    """A size, a block index, a loop counter, an axis or a bound variable.

    ``lower`` is inclusive, ``upper`` exclusive; None where there is no such bound. A
    name stands for one variable in a world.
    """

    __slots__ = ("lower", "name", "upper")

    def __init__(
        self, name: str, lower: Integer | None = None, upper: Integer | None = None
    ) -> None:
        self.name, self.lower, self.upper = name, lower, upper
        self.identify(name)
        self.variables, self.height = frozenset({self}), 0

    def __str__(self) -> str:
        return self.name


class Opaque(Atom):
    """``a // b``, ``a mod b`` (floor), the smaller or the larger of two integers."""

    __slots__ = ("args", "op")
    op: Operation

    def __init__(self, op: Operation, args: tuple[Integer, Integer]) -> None:
        self.op, self.args = op, args
        self.variables, self.height = _variables_of(args), height_of(args)
        self.identify(f"{op}({keys(args)})")

    @property
    def arguments(self) -> tuple[Integer, ...]:
        """The integers in its definition."""
        return self.args

    def __str__(self) -> str:
        left, right = self.args
        if self.op in ("min", "max"):
            return f"{self.op}({left}, {right})"
        sign = "//" if self.op == "div" else "mod"
        return f"({_operand(left)} {sign} {_operand(right)})"


class Entry(Atom):
    """The entry of an integer tensor at a position: a function of the position."""

    __slots__ = ("indices", "tensor")

    def __init__(self, tensor: str, indices: tuple[Integer, ...]) -> None:
        self.tensor, self.indices = tensor, indices
        self.variables, self.height = _variables_of(indices), height_of(indices)
        self.identify(f"{tensor}[{keys(indices)}]")

    @property
    def arguments(self) -> tuple[Integer, ...]:
        """The integers in its definition."""
        return self.indices

    def __str__(self) -> str:
        return f"{self.tensor}[{', '.join(map(str, self.indices))}]"


class Truth(Atom):
    """1 where a term is greater than 0 ("gt"), or equal to 0 ("eq"), else 0."""

    __slots__ = ("op", "term")
    op: Literal["gt", "eq"]

    def __init__(self, op: Literal["gt", "eq"], term: DataTerm) -> None:
        self.op, self.term = op, term
        self.variables, self.height = term.free_variables(), term.height
        self.identify(f"{op}({term.key})")

    def __str__(self) -> str:
        return f"({self.term} {'>' if self.op == 'gt' else '=='} 0)"


class Truncated(Atom):
    """A term cut to an integer, towards zero."""

    __slots__ = ("term",)

    def __init__(self, term: DataTerm) -> None:
        self.term = term
        self.variables, self.height = term.free_variables(), term.height
        self.identify(f"int({term.key})")

    def __str__(self) -> str:
        return f"int({self.term})"


class Applied(Atom):
    """A function of integers of which nothing is known, such as ``a & b``."""

    __slots__ = ("args", "function")

    def __init__(self, function: str, args: tuple[Integer, ...]) -> None:
        self.function, self.args = function, args
        self.variables, self.height = _variables_of(args), height_of(args)
        self.identify(f"{function}({keys(args)})")

    @property
    def arguments(self) -> tuple[Integer, ...]:
        """The integers in its definition."""
        return self.args

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.args))})"


Monomial: TypeAlias = tuple[Atom, ...]
"""A product of atoms, in the order of their keys; () is 1."""


class Integer(Keyed):
    """A polynomial: ``terms`` maps monomials to coefficients that are not 0."""

    __slots__ = ("_atoms", "_variables", "terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        items = [item for item in terms.items() if item[1]]
        if len(items) > 1:
            items.sort(key=_by_keys)
        self.terms: dict[Monomial, int] = dict(items)
        self._variables: frozenset[Variable] | None = None
        self._atoms: tuple[Atom, ...] | None = None
        self.identify("+".join([f"{c}{_star(m)}" for m, c in items]) or "0")

    @staticmethod
    def of(value: Integer | int) -> Integer:
        """An integer, from a number or as it is."""
        if isinstance(value, Integer):
            return value
        found = _NUMBERS.get(value)
        return Integer({(): int(value)}) if found is None else found

    @staticmethod
    def atom(atom: Atom) -> Integer:
        """The integer that an atom is."""
        if not hasattr(atom, "alone"):
            atom.alone = Integer({(atom,): 1})
        return atom.alone

    @property
    def constant(self) -> int | None:
        """Its value where it is a number, else None."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def single(self) -> Atom | None:
        """The atom that it is, or None."""
        if len(self.terms) != 1:
            return None
        ((monomial, coefficient),) = self.terms.items()
        return monomial[0] if len(monomial) == 1 and coefficient == 1 else None

    def variables(self) -> frozenset[Variable]:
        """Variables that it depends on, also through opaque atoms."""
        if self._variables is None:
            found: set[Variable] = set()
            for atom in self.atoms():
                found |= atom.variables
            self._variables = frozenset(found)
        return self._variables

    def atoms(self) -> tuple[Atom, ...]:
        """Atoms of its monomials, each once, in order."""
        if self._atoms is None:
            self._atoms = tuple(dict.fromkeys([a for m in self.terms for a in m]))
        return self._atoms

    def all_atoms(self) -> Iterator[Atom]:
        """Atoms of its monomials, each followed by those in its definition."""
        for atom in self.atoms():
            yield atom
            for inner in atom.arguments:
                yield from inner.all_atoms()

    @property
    def height(self) -> int:
        """How deep sums and maxima stand in the data that it depends on."""
        return max((a.height for m in self.terms for a in m), default=0)

    def coefficient(self, atom: Atom) -> int | None:
        """What a single atom is multiplied by; None where it stands in a product."""
        if any(atom in m for m in self.terms if len(m) > 1):
            return None
        return self.terms.get((atom,), 0)

    def __add__(self, other: Integer | int) -> Integer:
        other = Integer.of(other)
        if not other.terms:
            return self
        sums = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            sums[monomial] = sums.get(monomial, 0) + coefficient
        return Integer(sums)

    __radd__ = __add__

    def __neg__(self) -> Integer:
        return Integer({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: Integer | int) -> Integer:
        other = Integer.of(other)
        if not other.terms:
            return self
        sums = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            sums[monomial] = sums.get(monomial, 0) - coefficient
        return Integer(sums)

    def __rsub__(self, other: Integer | int) -> Integer:
        return Integer.of(other) - self

    def __mul__(self, other: Integer | int) -> Integer:
        other = Integer.of(other)
        if other.terms == _ONE:
            return self
        products: dict[Monomial, int] = {}
        for left, c in self.terms.items():
            for right, d in other.terms.items():
                monomial = product(left + right) if left and right else left or right
                products[monomial] = products.get(monomial, 0) + c * d
        return Integer(products)

    __rmul__ = __mul__

    def __str__(self) -> str:
        text = ""
        constant_last = sorted(self.terms.items(), key=lambda item: item[0] == ())
        for monomial, coefficient in constant_last:
            factors = [] if abs(coefficient) == 1 and monomial else [abs(coefficient)]
            part = "*".join(map(str, [*factors, *monomial]))
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} {part}" if text else "-" * (coefficient < 0) + part
        return text or "0"


def product(atoms: Iterable[Atom]) -> Monomial:
    """The monomial of several atoms."""
    return tuple(sorted(atoms, key=lambda a: a.key))


def without_factors(monomial: Monomial, by: Monomial) -> Monomial | None:
    """What a monomial has beside the atoms of another; None where it lacks one."""
    left = list(monomial)
    for atom in by:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def height_of(args: Iterable[Integer]) -> int:
    """The largest height of several integers."""
    return max((a.height for a in args), default=0)


def _by_keys(item: tuple[Monomial, int]) -> list[str]:
    return [a.key for a in item[0]]


def _star(monomial: Monomial) -> str:
    return "".join([f"*{a.key}" for a in monomial])


def _variables_of(args: Iterable[Integer]) -> frozenset[Variable]:
    found: frozenset[Variable] = frozenset()
    for arg in args:
        found |= arg.variables()
    return found


def _operand(value: Integer) -> str:
    simple = value.single is not None or value.constant is not None
    return str(value) if simple else f"({value})"


_ONE: Mapping[Monomial, int] = {(): 1}
_NUMBERS = {n: Integer({(): n}) for n in range(-1, 257)}
"""Numbers that are asked for all the time."""


def variable_of(value: Integer) -> Variable:
    """The variable that an integer is. Raises TypeError where it is none."""
    atom = value.single
    if not isinstance(atom, Variable):
        raise TypeError(f"{value} is not a variable")
    return atom
