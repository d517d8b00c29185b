"""Sources on a page: differences, and a kernel beside the CUDA C++ made from it.

The printed code names the line that each part of it comes from (`// kernel.py:35:`),
and that connects the two sides.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Literal

from argus.codegen.writer import comment
from argus.runs.records import Candidate

LONGEST = 400
"""Characters of a line that are shown."""
_MOST = 1500
"""Lines of one text that are shown."""
_COMPARED = 3000
"""Lines of sources that are compared. The library's longest kernel has 160."""
HUES = 9
"""Colours of the marks that connect lines; the page's style has as many."""


@dataclass(frozen=True)
class DiffLine:
    """A line of a difference: added, removed, the same, or where lines are left out."""

    kind: Literal["add", "del", "same", "gap"]
    text: str


@dataclass(frozen=True)
class KnobDifference:
    """A parameter whose value differs; "" where there was none."""

    name: str
    before: str
    after: str


def knobs(before: Candidate, after: Candidate) -> tuple[KnobDifference, ...]:
    """Parameters of the design, or static ones, that differ."""
    a = {**before.statics, **before.design}
    b = {**after.statics, **after.design}
    return tuple(
        KnobDifference(name, str(a.get(name, "")), str(b.get(name, "")))
        for name in {**a, **b}
        if a.get(name) != b.get(name)
    )


def difference(before: str, after: str, most: int = _MOST) -> tuple[DiffLine, ...]:
    """Lines that differ, with three lines around them; () where nothing does."""
    old, new = before.splitlines(), after.splitlines()
    if old == new:
        return ()
    if max(len(old), len(new)) > _COMPARED:  # what that takes grows with the square
        text = f"too long to compare: {len(old)} and {len(new)} lines"
        return (DiffLine("gap", text),)
    lines = difflib.unified_diff(old, new, lineterm="", n=3)
    found: list[DiffLine] = []
    for number, line in enumerate(lines):
        if number < 2:  # names of the files
            continue
        if len(found) >= most:
            found.append(DiffLine("gap", "the rest is left out"))
            break
        match line[:1]:
            case "+":
                found.append(DiffLine("add", line[1:][:LONGEST]))
            case "-":
                found.append(DiffLine("del", line[1:][:LONGEST]))
            case "@":
                found.append(DiffLine("gap", _where(line)))
            case _:
                found.append(DiffLine("same", line[1:][:LONGEST]))
    return tuple(found)


def _where(line: str) -> str:
    at = re.match(r"@@ -\d+(?:,\d+)? \+(\d+)", line)
    return f"line {at[1]}" if at else ""


# ----------------------------------------------------------- a source and its CUDA


@dataclass(frozen=True)
class KernelLine:
    """A line of the kernel. ``hue`` where CUDA is made from it, which it leads to."""

    number: int
    text: str
    hue: int | None


@dataclass(frozen=True)
class Piece:
    """Lines of CUDA that are made from a line of the kernel (0: from none)."""

    line: int
    text: str
    hue: int | None
    first: bool
    """Whether it is the first piece of its line."""


@dataclass(frozen=True)
class KernelBesideCuda:
    """A kernel beside its CUDA. ``prelude``: device functions, in front of it."""

    lines: tuple[KernelLine, ...]
    pieces: tuple[Piece, ...]
    prelude: str
    mapped: tuple[int, ...]


def side_by_side(source: str, cuda: str, file: str) -> KernelBesideCuda:
    """Connect the two by the marks in the CUDA; ``file``: how marks name the source."""
    prelude, kernel = _parted(cuda)
    mark = re.compile(rf"^\s*{re.escape(comment(f'{file}:'))}(\d+): ")
    groups: list[tuple[int, list[str]]] = [(0, [])]
    for line in kernel.splitlines()[:_MOST]:
        found = mark.match(line)
        if found:
            groups.append((int(found[1]), []))
        elif not line.strip() and groups[-1][1]:
            groups.append((0, []))
            continue
        groups[-1][1].append(line[:LONGEST])
    mapped = sorted({n for n, _ in groups if n})
    hues = {n: i % HUES for i, n in enumerate(mapped)}
    seen: set[int] = set()
    pieces: list[Piece] = []
    for number, texts in groups:
        if not texts:
            continue
        pieces.append(
            Piece(number, "\n".join(texts), hues.get(number), number not in seen)
        )
        seen.add(number)
    lines = source.splitlines()[:_MOST]
    shown = tuple(
        KernelLine(i, t[:LONGEST], hues.get(i)) for i, t in enumerate(lines, 1)
    )
    return KernelBesideCuda(shown, tuple(pieces), prelude, tuple(mapped))


def _parted(cuda: str) -> tuple[str, str]:
    """Device functions, and the kernel itself."""
    at = cuda.find('extern "C"')
    return (cuda[:at].rstrip(), cuda[at:]) if at > 0 else ("", cuda)
