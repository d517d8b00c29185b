"""What sets of a world have in common: a context of isl with its limits, and names."""

from __future__ import annotations

from typing import cast

import islpy as isl

from argus.terms.integers import Comparison, Integer, Monomial, Opaque
from argus.terms.isl_sets import (
    STEPS,
    STEPS_OF_DIFFERENCES,
    STEPS_OF_SOLUTIONS,
    Asking,
    line,
    linear,
    parameters,
)
from argus.terms.sets import IndexSet, holds, is_native

__all__ = ["Space"]


class Space:
    """The isl context of a world, and which monomial each parameter is."""

    def __init__(self) -> None:
        self.context = isl.Context()
        self._empty = hash(isl.BasicSet.read_from_str(self.context, "{ : 1 = 0 }"))
        """The hash of conjunctions that isl sees to be empty when it hashes them."""
        self.context.set_max_operations(STEPS)
        self.asking = Asking(self.context, STEPS)
        """Around each question for isl."""
        self.subtracting = Asking(self.context, STEPS_OF_DIFFERENCES)
        """Around those for what is not in a set."""
        self.solving = Asking(self.context, STEPS_OF_SOLUTIONS)
        """Around those for what a variable is."""
        self._names: dict[Monomial, str] = {}
        self._monomials: dict[str, Monomial] = {}
        self._lines: dict[tuple[str, ...], isl.LocalSpace] = {}
        """Spaces of parameters, by their names in order."""
        self._comparisons: dict[tuple[Integer, Comparison], IndexSet] = {}
        self._same: dict[tuple[bool, int, tuple[str, ...]], list[IndexSet]] = {}
        """Sets that were made, by whether they are conjunctions, isl's hash, and their
        parameters: the hash is of coefficients alone."""
        self.combined: dict[tuple[str, IndexSet, IndexSet], IndexSet] = {}
        """What isl has made of two sets, by what was asked: most pairs are met several
        times."""
        self.coalesced: dict[IndexSet, IndexSet] = {}
        """Sets of fewer pieces, by what they were."""

    def one(self, value: isl.Set | isl.BasicSet) -> IndexSet:
        """The set of a form, the same object each time: what is known of it is, too."""
        with self.asking:
            conjunction, number = isinstance(value, isl.BasicSet), hash(value)
            if number == self._empty and value.is_empty():
                return IndexSet.nothing
            made = self._same.setdefault((conjunction, number, parameters(value)), [])
            for known in made:
                if known.has_form(value):
                    return known
            new = IndexSet(value, self)
            made.append(new)
            return new

    def name(self, monomial: Monomial) -> str:
        """The parameter of a monomial."""
        name = self._names.get(monomial)
        if name is None:
            name = f"p{len(self._names)}"
            self._names[monomial] = name
            self._monomials[name] = monomial
        return name

    def monomial(self, name: str) -> Monomial:
        """The monomial of a parameter. Raises KeyError where it is none."""
        return self._monomials[name]

    def compare(self, difference: Integer, op: Comparison) -> IndexSet:
        """Where a difference is ``op`` 0."""
        value = difference.constant
        if value is not None:
            return IndexSet.universe if holds(value, op, 0) else IndexSet.nothing
        key = (difference, op)
        if key not in self._comparisons:
            self._comparisons[key] = self.one(self.condition(difference, op))
        return self._comparisons[key]

    def condition(
        self, value: Integer, op: Comparison, less: str | None = None
    ) -> isl.Set:
        """The isl set in which an integer, less a parameter, is ``op`` 0.

        What has no quotients is not written for isl to read, which takes ten times as
        long; what is made is the same.
        """
        if any(map(is_native, value.terms)):
            return self._read(value, op, less)
        factors = {self.name(m): c for m, c in value.terms.items() if m}
        if less is not None:
            factors[less] = -1
        names = tuple(sorted(factors))
        with self.asking:
            if names not in self._lines:
                self._lines[names] = line(self.context, names)
            ordered = [factors[name] for name in names]
            return linear(self._lines[names], ordered, value.terms.get((), 0), op)

    def _read(self, value: Integer, op: Comparison, less: str | None) -> isl.Set:
        """The same, by isl's reader."""
        used = set[str]() if less is None else {less}
        text = self._text(value, used)
        if less is not None:
            text = f"{text} - {less}"
        condition = f"{text} {'=' if op == '==' else op} 0"
        if op == "!=":
            condition = f"({text} < 0 or {text} > 0)"
        text = f"[{', '.join(sorted(used))}] -> {{ : {condition} }}"
        with self.asking:
            return isl.Set.read_from_str(self.context, text)

    def _text(self, value: Integer, used: set[str]) -> str:
        """An integer as isl reads it; adds the parameters to ``used``."""
        parts: list[str] = []
        for monomial, coefficient in value.terms.items():
            if not monomial:
                parts.append(str(coefficient))
                continue
            native = self._native(monomial, used)
            if native is None:
                native = self.name(monomial)
                used.add(native)
            parts.append(f"{coefficient}*{native}")
        return " + ".join(parts) or "0"

    def _native(self, monomial: Monomial, used: set[str]) -> str | None:
        """A quotient or remainder by a positive number."""
        if len(monomial) != 1 or not is_native(monomial):
            return None
        atom = cast(Opaque, monomial[0])
        dividend, divisor = atom.args
        inner = self._text(dividend, used)
        if atom.op == "div":
            return f"floor(({inner})/{divisor.constant})"
        return f"(({inner}) mod {divisor.constant})"
