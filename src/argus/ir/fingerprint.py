"""A hash of what a placed program does, for recognising the same program again.

Two programs with one fingerprint have the same operations, layouts, plans, memory and
conditions of launching. What the specialisation said of divisors does not count, nor
do the conditions that follow from that alone: where neither width nor instruction
depends on a divisor, programs for different divisors are one program. bf16 and f16
count as one type, in names of instructions too: they have the same size, the same
instruction forms and the same rules, and nothing but numbers tells them apart.

It walks the dataclasses of which programs are made. What it does not know is an error,
not a part that is left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from argus.diagnostics import Span
from argus.ir.dtypes import DType
from argus.ir.ops import Tile
from argus.ir.program import LaunchRequirement, Program

_PLAIN = (int, float, bool, type(None))
_HALF = re.compile(r"b?f16")
_SKIPPED = ("facts", "requirements")


def fingerprint(program: Program, given: Iterable[LaunchRequirement]) -> str:
    """The hash, in hex. ``given``: the conditions that only repeat what was given.

    Raises TypeError for a program that holds what no program should.
    """
    known = set(given)
    writer = _Writer()
    for field in fields(program):
        if field.name not in _SKIPPED:
            writer.write(getattr(program, field.name))
    for requirement in program.requirements:
        if requirement not in known:
            writer.write(requirement)
    return writer.digest()


class _Writer:
    """Values as one text without ambiguity; objects by when they were first met."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._met: dict[int, int] = {}
        self._kept: list[object] = []  # an id means something while the object lives

    def digest(self) -> str:
        text = "\n".join(self._said)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def write(self, value: Any) -> None:
        kind: type[Any] = value.__class__
        if kind is str:
            # As Python writes it: without a line break, and with its end.
            self._said.append(repr(_HALF.sub("half", value)))
        elif kind in _PLAIN:
            self._said.append(f"{kind.__name__} {value!r}")
        elif kind is Span:
            self._said.append(repr(value))
        elif kind is tuple or kind is list:
            self._said.append(f"sequence {len(value)}")
            for item in value:
                self.write(item)
        elif kind is DType:
            self._said.append(f"type {_HALF.sub('half', value.name)}")
        elif kind is dict:
            self._said.append(f"mapping {len(value)}")
            for key, item in value.items():
                self.write(key)
                self.write(item)
        elif is_dataclass(value):
            self._object(value, kind)
        else:
            raise TypeError(f"a program holds a {kind.__qualname__}")

    def _object(self, value: Any, kind: type[Any]) -> None:
        """A dataclass; one that was met before is only referred to."""
        number = self._met.get(id(value))
        if number is not None:
            self._said.append(f"again {number}")
            return
        # Equal values may be one object here and two there: only what is told apart by
        # identity counts as met.
        if kind.__eq__ is object.__eq__:
            self._met[id(value)] = len(self._met)
            self._kept.append(value)
        names = _field_names(kind)
        self._said.append(f"{kind.__qualname__} {len(names)}")
        for name in names:
            self.write(getattr(value, name))


@cache
def _field_names(kind: type[Any]) -> tuple[str, ...]:
    # A tile's own number only tells it apart; here the first meeting does.
    skipped = ("id",) if kind is Tile else ()
    return tuple(f.name for f in fields(kind) if f.name not in skipped)
