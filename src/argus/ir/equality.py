"""When two programs are the same: derived from the fields of what they are made of.

Two programs are equal if they differ in nothing but identities: which tile, buffer or
ring is meant where is compared one to one. ``Tile.id`` does not count, nor the order
in which settings and facts are listed. Places in a source are equal if they are on one
line of files of one name; what an author's trust covers is compared in full.
Numbers are equal if they are written alike: 0, 0.0, -0.0 and False are four.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from argus.diagnostics import Span
from argus.ir.ops import Tile, Trust
from argus.ir.program import Program
from argus.ir.text.words import file_name

__all__ = ["difference", "identical"]

_PLAIN = (bool, int, float, str, type(None))


def identical(a: object, b: object) -> bool:
    """Whether two expressions or attributes have one class and are written alike."""
    return a is b or (type(a) is type(b) and repr(a) == repr(b))


def difference(first: Program, second: Program) -> str | None:
    """The path to the first thing that differs, with both values; None if equal.

    Raises TypeError for a program that holds what no program should.
    """
    return next(_Comparison().differ("program", first, second), None)


class _Comparison:
    def __init__(self) -> None:
        self._met: dict[int, object] = {}  # id of either side -> the other side
        self._kept: list[object] = []  # an id means something while the object lives

    def differ(self, path: str, a: Any, b: Any) -> Iterator[str]:
        """Paths of what differs, outermost and first ones first."""
        if type(a) is not type(b):
            yield f"{path}: {a!r} is no {type(b).__name__}, which {b!r} is"
        elif isinstance(a, _PLAIN):
            if repr(a) != repr(b):
                yield f"{path}: {a!r} is not {b!r}"
        elif isinstance(a, Span):
            if (a.line, file_name(a)) != (b.line, file_name(b)):
                yield f"{path}: {a} is not {b}"
        elif isinstance(a, list | tuple):
            yield from self._sequences(path, a, b)
        elif isinstance(a, dict):
            yield from self._mappings(path, a, b)
        elif is_dataclass(a):
            yield from self._records(path, a, b)
        else:
            raise TypeError(f"{path}: {type(a).__name__} is no part of a program")

    def _mappings(self, path: str, a: Any, b: Any) -> Iterator[str]:
        yield from self._sequences(f"{path} keys", sorted(a), sorted(b))
        for key in sorted(a):
            if key in b:
                yield from self.differ(f"{path}[{key!r}]", a[key], b[key])

    def _sequences(self, path: str, a: Any, b: Any) -> Iterator[str]:
        for i, (x, y) in enumerate(zip(a, b, strict=False)):
            yield from self.differ(f"{path}[{i}]", x, y)
        if len(a) != len(b):
            yield f"{path}: {len(a)} is not {len(b)}"

    def _records(self, path: str, a: Any, b: Any) -> Iterator[str]:
        by_identity = type(a).__hash__ is object.__hash__
        if by_identity:
            known = (self._met.get(id(a)), self._met.get(id(b)))
            if known != (None, None):
                if known != (b, a):
                    yield f"{path}: {a!r} stands where another stood than {b!r}"
                return
            self._met[id(a)], self._met[id(b)] = b, a
            self._kept += [a, b]
        for field in fields(a):
            x, y = getattr(a, field.name), getattr(b, field.name)
            below = f"{path}.{field.name}"
            if isinstance(a, Tile) and field.name == "id":
                continue
            if isinstance(a, Trust) and field.name == "covers":
                for part in ("line", "column", "end_line", "end_column"):
                    at = f"{below}.{part}"
                    yield from self.differ(at, getattr(x, part), getattr(y, part))
                continue
            if isinstance(a, Program) and field.name == "file":
                continue  # its name is that of the spans
            yield from self.differ(below, x, y)
