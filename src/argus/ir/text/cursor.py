"""Reading a line of a program's text word by word."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TypeVar

from argus.ir.text.words import uncomment

__all__ = ["Cursor", "TextError"]

T = TypeVar("T")

_TOKEN = re.compile(
    r"""
    [%$]? ( [^\W\d]\w*\.\d+ | `[^`]*`(\.\d+)? )   # names, the second one of its kind
  | [%$][^\W\d]\w*                                # %tile, $buffer
  | %\d+                                          # an axis
  | '([^'\\]|\\.)*' | "([^"\\]|\\.)*"
  | \d+\.\d+(e[+-]?\d+)? | \d+e[+-]\d+            # floats
  | \d+\.[^\W\d]\w*                               # a component of an argument's tag
  | \w+(\.\w+)*
  | \.\. | <- | -> | // | [<>=!]=
  | .
    """,
    re.VERBOSE,
)
_SPACE = re.compile(r" *")


class TextError(ValueError):
    """Text that is no program. ``line`` and ``column`` count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.line = line
        self.column = column


class Cursor:
    """A place in a line; ``number`` is the line's, for messages."""

    def __init__(self, text: str, number: int, at: int = 0) -> None:
        self.text = text
        self.number = number
        self.at = self._skip(at)

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return at if found is None else found.end()

    def peek(self) -> str:
        """The next token; nothing at the end of the line."""
        found = _TOKEN.match(self.text, self.at)
        return "" if found is None else found[0]

    def error(self, message: str) -> TextError:
        """An error here."""
        return TextError(message, self.number, self.at + 1)

    def unexpected(self, wanted: str) -> TextError:
        """What stands here is not what should."""
        found = repr(self.peek()) if self.peek() else "the end of the line"
        return self.error(f"{found} where {wanted} is expected")

    def next(self, wanted: str = "a word") -> str:
        """Take the next token. Raises TextError at the end of the line."""
        token = self.peek()
        if not token:
            raise self.unexpected(wanted)
        self.at = self._skip(self.at + len(token))
        return token

    def has(self, *tokens: str) -> bool:
        """Take these tokens if they come next."""
        start = self.at
        for token in tokens:
            if self.peek() != token:
                self.at = start
                return False
            self.next()
        return True

    def expect(self, text: str) -> None:
        """Take the words of a text. Raises TextError where another one stands."""
        wanted = Cursor(text, 0)
        while token := wanted.peek():
            if not self.has(token):
                raise self.unexpected(repr(token))
            wanted.next()

    def match(self, pattern: str, wanted: str) -> re.Match[str]:
        """Take a token that is wholly of a form."""
        found = re.fullmatch(pattern, self.peek())
        if found is None:
            raise self.unexpected(wanted)
        self.next()
        return found

    def integer(self) -> int:
        """Take an integer, which may have a sign."""
        sign = -1 if self.has("-") else 1
        return sign * int(self.match(r"[0-9]+", "an integer")[0])

    def name(self, wanted: str = "a name") -> str:
        """Take a name as it is written, with backquotes."""
        return self.match(r"[^\W\d]\w*(\.\d+)?|`[^`]*`(\.\d+)?", wanted)[0]

    def plain(self, wanted: str = "a name") -> str:
        """Take a name that means itself, and has no number."""
        return self.match(r"[^\W\d]\w*|`[^`]*`", wanted)[0].strip("`")

    def string(self) -> str:
        """Take a string: a plain word, or one as Python writes it."""
        token = self.peek()
        if token[:1] in ("'", '"') and len(token) > 1:
            self.next()
            return str(ast.literal_eval(token))
        return self.match(r"[^\W\d]\w*(\.\w+)*", "a word or a quoted text")[0]

    def several(self, read: Callable[[], T], start: str, end: str) -> list[T]:
        """Take what is read, with commas between, from one token to another."""
        self.expect(start)
        found: list[T] = []
        while not self.has(end):
            if found:
                self.expect(",")
            found.append(read())
        return found

    def comment(self) -> str | None:
        """Take the rest of the line if it is a comment."""
        if not self.text.startswith("# ", self.at):
            return None
        rest = self.text[self.at + 2 :]
        self.at = len(self.text)
        return uncomment(rest)

    def end(self) -> None:
        """Raises TextError if something is left."""
        if self.peek():
            raise self.unexpected("the end of the line")
