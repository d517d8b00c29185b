"""Programs from their text: the other direction of :mod:`argus.ir.printer`.

    parse_program(print_program(program))

gives an equal program (:func:`argus.ir.equality.difference` finds nothing). A word
that is not known, a name that is not declared and a number that contradicts the rest
are errors, :class:`TextError`, with line and column. Whether the program makes sense
is asked by :func:`argus.ir.check.check`.

Places in the source are lines of files of which the text has the name.
"""

from __future__ import annotations

import re
import textwrap

from argus.ir.placement import MmaStep
from argus.ir.program import Program
from argus.ir.text.body import Body, Line
from argus.ir.text.cursor import Cursor, TextError
from argus.ir.text.declared import Declared, first_line
from argus.ir.text.values import NameScope

__all__ = ["TextError", "parse_program"]


def parse_program(text: str) -> Program:
    """The program that a text states; unplaced, or placed and not checked.

    Lines may be indented together. Raises TextError for what is no program.
    """
    parts = _parts(textwrap.dedent(text))
    if not 2 <= len(parts) <= 3:
        raise TextError(
            f"a program has two or three parts with empty lines between, not"
            f" {len(parts)}", 1, 1,
        )  # fmt: skip
    (first, *head), body, *tail = parts
    program = first_line(first.text.strip(), first.number)
    scope = NameScope(program.file)
    head = [x for x in head if not _is_file(scope, x.cursor())]
    line = str(program.span.line)
    Declared(program, scope).read(
        [(x.cursor(), x.source) for x in _sourced(scope, head, line)]
    )
    for part in tail:
        _details(scope, part)
    program.body = Body(scope, _sourced(scope, body, line)).whole()
    return program


def _parts(text: str) -> list[list[Line]]:
    parts: list[list[Line]] = [[]]
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip(" "):
            parts[-1].append(Line(number, line))
        elif parts[-1]:
            parts.append([])
    return parts if parts[-1] else parts[:-1]


def _sourced(scope: NameScope, lines: list[Line], source: str) -> list[Line]:
    """Lines with the number on the left taken out, which counts for those below."""
    found: list[Line] = []
    for line in lines:
        number = re.match(rf" *({scope.places})(?= )", line.text)
        text = line.text
        if number is not None:
            source = number[1]
            text = " " * number.end() + text[number.end() :]
        found.append(Line(line.number, text, source))
    return found


def _is_file(scope: NameScope, c: Cursor) -> bool:
    """Take a line that declares another file."""
    if not c.has("file"):
        return False
    letter = c.match("[a-z]", "a letter")[0]
    if letter in scope.files:
        raise c.error(f"a second file {letter}")
    c.expect(":")
    scope.files[letter] = c.text[c.at :]
    return True


def _details(scope: NameScope, lines: list[Line]) -> None:
    for line in lines:
        c = line.cursor()
        if c.has("from", "line"):
            source = c.match(scope.places, "a line")[0]
            c.expect(":")
            scope.lines[_tile(c)] = source
            while c.has(","):
                scope.lines[_tile(c)] = source
        else:
            c.expect("steps")
            name = _tile(c)
            c.expect(":")
            steps: list[MmaStep] = []
            while c.has("("):
                steps.append(MmaStep(c.integer(), c.integer(), c.integer()))
                c.expect(")")
            scope.steps[name] = tuple(steps)
        c.end()


def _tile(c: Cursor) -> str:
    return c.match(r"%([^\W\d]\w*|`[^`]*`)(\.\d+)?", "a tile")[0]
