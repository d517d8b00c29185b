"""Lines of C++ with indentation. Knows no operation and no name.

The one place where text becomes lines. Code and comments are different things here:
code is what the printer says, and a line of it that could be more than one line, or
that hides a part of itself, is refused; a comment says what an author wrote, whatever
that is, and is made one line of printable ASCII that nothing continues.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass

from argus.codegen.errors import CodegenError
from argus.codegen.names import MARK

INDENT = "  "
LONGEST_COMMENT = 300
"""Characters of a comment; the rest of a longer one is left out."""

# A backslash at its end continues a line, `//` and `/*` hide what follows, `??/` is a
# backslash to compilers that know trigraphs.
_HIDDEN = re.compile(r"[^ -~]|\\|//|/\*|\*/|\?\?")


def comment(text: str) -> str:
    """``text`` as a comment: one line of printable ASCII, which ends where it ends.

    White space becomes one blank, other characters what Python writes for them.
    """
    flat = " ".join(text.split())
    plain = "".join(c if " " <= c <= "~" else ascii(c)[1:-1] for c in flat)
    if len(plain) > LONGEST_COMMENT:
        plain = f"{plain[:LONGEST_COMMENT]} ..."
    # Also safe for who puts it into a comment of the other kind.
    plain = plain.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
    return f"// {plain.rstrip(chr(92) + ' ')}".rstrip()


def literal(text: str) -> str:
    """``text`` as a C++ string literal in UTF-8: any text, with the same bytes."""

    def one(byte: int) -> str:
        character = chr(byte)
        if character in '"\\?':  # `??` would begin a trigraph
            return f"\\{character}"
        return character if " " <= character <= "~" else f"\\{byte:03o}"

    return '"' + "".join(map(one, text.encode("utf-8", "surrogatepass"))) + '"'


@dataclass(frozen=True, slots=True)
class _Line:
    depth: int
    code: str
    comment: str = ""


class Writer:
    """Collects lines; a part of it can be written later than what follows it."""

    def __init__(self, depth: int = 0) -> None:
        self._lines: list[_Line | list[_Line]] = []
        self._depth = depth

    def line(self, code: str, note: str | None = None) -> None:
        """One line of code at the current depth, ``note`` as a comment behind it.

        Raises CodegenError for code that is not one visible line.
        """
        self._lines.append(_line(self._depth, code, note))

    def lines(self, codes: Iterable[str]) -> None:
        """Several lines of code at the current depth."""
        for code in codes:
            self.line(code)

    def comment(self, text: str) -> None:
        """A comment line; ``text`` is anything."""
        self._lines.append(_Line(self._depth, "", comment(text)))

    def blank(self) -> None:
        """A blank line, unless there is one already or a block has just begun."""
        last = next((x for x in reversed(self._lines) if isinstance(x, _Line)), None)
        begun = last is None or (last.code.endswith("{") and not last.comment)
        if not begun and not _empty(last):
            self._lines.append(_Line(0, ""))

    @contextmanager
    def block(self, head: str | None, tail: str = "}") -> Generator[None]:
        """``head {``, the lines of the with-body one step deeper, ``tail``.

        An empty head opens a bare scope; None goes on after a tail that opened one.
        """
        if head is not None:
            self.line(f"{head} {{" if head else "{")
        self._depth += 1
        yield
        self._depth -= 1
        while self._lines and _empty(self._lines[-1]):
            self._lines.pop()
        self.line(tail)

    def reserve(self) -> Reserved:
        """A place for lines that are known only later."""
        place: list[_Line] = []
        self._lines.append(place)
        return Reserved(place, self._depth)

    def code(self) -> str:
        """All code, without the comments."""
        return "".join(f"{line.code}\n" for line in self._flat())

    def text(self, spell: Callable[[str], str]) -> str:
        """Everything, each line ended; ``spell`` replaces the marks in code."""
        return "".join(f"{_shown(line, spell)}\n" for line in self._flat())

    def _flat(self) -> list[_Line]:
        """The lines in order; a blank line after what was reserved."""
        flat: list[_Line] = []
        reserved = False
        for item in self._lines:
            if isinstance(item, list):
                flat += item
                reserved |= bool(item)
                continue
            if reserved and not _empty(item) and item.code != "}":
                flat.append(_Line(0, ""))
            reserved = False
            flat.append(item)
        return flat


class Reserved:
    """A place in a writer."""

    def __init__(self, place: list[_Line], depth: int) -> None:
        self._place = place
        self._depth = depth

    def line(self, code: str) -> None:
        """One more line of code at the depth of the place, as `Writer.line`."""
        self._place.append(_line(self._depth, code))

    def comment(self, text: str) -> None:
        """One more comment line."""
        self._place.append(_Line(self._depth, "", comment(text)))


def _line(depth: int, code: str, note: str | None = None) -> _Line:
    hidden = _HIDDEN.search(MARK.sub("", code))
    if hidden is not None:
        raise CodegenError(f"{hidden[0]!a} in a line of code: {code!a}")
    return _Line(depth, code, "" if note is None else comment(note))


def _empty(item: _Line | list[_Line] | None) -> bool:
    return isinstance(item, _Line) and not item.code and not item.comment


def _shown(line: _Line, spell: Callable[[str], str]) -> str:
    between = "  " if line.code and line.comment else ""
    text = f"{spell(line.code)}{between}{line.comment}"
    return INDENT * line.depth + text if text else ""
