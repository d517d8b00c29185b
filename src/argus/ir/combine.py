"""Associative functions of scans and folds, as data.

    new, old = f(a0, a1, b0, b1)        a: what came before, b: what follows

A :class:`Combination` is a straight line of element-wise functions of
`argus.ir.functions` on single numbers. Readers carry it out in their own terms: numpy,
C++, the algebra of terms. So what an author's function means is said once, by the
meaning of its steps.

Text: ``a0``, ``b1`` are numbers of the state before and after, ``t2`` is the result of
step 2: ``{mul.f32 a0 b0, fma.f32 b0 a1 b1 -> t0 t1}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from argus.ir.dtypes import DType
from argus.ir.functions import FUNCTIONS

__all__ = ["Combination", "CombinationStep", "CombinationValue"]

T = TypeVar("T")

CombinationValue = str | int | float | bool
"""The name of a number (``a0``, ``b0``, ``t0``), or a constant."""

_REDUCTIONS = {"add": "sum", "mul": "prod", "maximum": "max", "minimum": "min"}
_NAME = re.compile(r"([abt])(\d+)")


@dataclass(frozen=True)
class CombinationStep:
    """``fn(args...)``, an element of ``dtype``."""

    fn: str
    dtype: DType
    args: tuple[CombinationValue, ...]

    def __str__(self) -> str:
        return f"{self.fn}.{self.dtype.name} {' '.join(map(_shown, self.args))}"


@dataclass(frozen=True)
class Combination:
    """A function of two states of ``width`` numbers that gives a third one."""

    steps: tuple[CombinationStep, ...]
    results: tuple[CombinationValue, ...]

    @staticmethod
    def of(fn: str, dtype: DType) -> Combination:
        """An element-wise function of two numbers."""
        return Combination((CombinationStep(fn, dtype, ("a0", "b0")),), ("t0",))

    @property
    def width(self) -> int:
        """Numbers in a state."""
        return len(self.results)

    @property
    def single(self) -> str | None:
        """The function that this is, of one number; None for any other."""
        if len(self.steps) != 1 or self.results != ("t0",):
            return None
        (step,) = self.steps
        return step.fn if step.args in (("a0", "b0"), ("b0", "a0")) else None

    @property
    def reduction(self) -> str | None:
        """The reduction (`sum`, `prod`, `max`, `min`) that folds by it are, if any."""
        return _REDUCTIONS.get(self.single or "")

    def run(
        self,
        before: Sequence[T],
        after: Sequence[T],
        constant: Callable[[int | float | bool], T],
        apply: Callable[[CombinationStep, list[T]], T],
    ) -> list[T]:
        """The state that is made of two."""
        made: list[T] = []
        named = {"a": before, "b": after, "t": made}

        def value(of: CombinationValue) -> T:
            if not isinstance(of, str):
                return constant(of)
            kind, number = split(of)
            return named[kind][number]

        for step in self.steps:
            made.append(apply(step, [value(x) for x in step.args]))
        return [value(x) for x in self.results]

    def operand_types(
        self, step: CombinationStep, state: Sequence[DType]
    ) -> list[DType | None]:
        """Element types of the operands of a step; None for constants."""
        found: list[DType | None] = []
        for x in step.args:
            if not isinstance(x, str):
                found.append(None)
                continue
            kind, number = split(x)
            found.append(self.steps[number].dtype if kind == "t" else state[number])
        return found

    def fault(self, state: Sequence[DType]) -> str | None:
        """What is wrong with it as a function of states of these types, if anything."""
        if len(state) != self.width:
            return f"{self.width} results for a state of {len(state)}"
        for at, step in enumerate(self.steps):
            function = FUNCTIONS.get(step.fn)
            if function is None or function.arity != len(step.args):
                return f"no function {step.fn} of {len(step.args)} numbers"
            differs = (function.result == "bool") != (step.dtype.kind == "bool")
            if differs and step.fn not in ("where", "and", "or", "xor", "not"):
                return f"{step.fn} does not give {step.dtype}"
            if not all(self._known(x, at) for x in step.args):
                return f"{step} takes what is not there yet"
        for x, dtype in zip(self.results, state, strict=True):
            if not self._known(x, len(self.steps)):
                return f"{x} is not there"
            if isinstance(x, str):
                kind, number = split(x)
                given = self.steps[number].dtype if kind == "t" else state[number]
                if given != dtype:
                    return f"{x} is {given}, not {dtype}"
        return None

    def _known(self, x: CombinationValue, steps: int) -> bool:
        if not isinstance(x, str):
            return True
        kind, number = split(x)
        return number < (steps if kind == "t" else self.width)

    def __str__(self) -> str:
        steps = ", ".join(map(str, self.steps))
        return f"{{{steps} -> {' '.join(map(_shown, self.results))}}}"


def split(name: str) -> tuple[str, int]:
    """``t12`` as ("t", 12). Raises ValueError for no name of a number."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(f"no number of a combination: {name!r}")
    return found[1], int(found[2])


def _shown(value: CombinationValue) -> str:
    return value if isinstance(value, str) else repr(value)
