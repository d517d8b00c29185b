"""Lines of C++ with indentation. Knows no operation and no name."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

INDENT = "  "


class Writer:
    """Collects lines; a part of it can be written later than what follows it."""

    def __init__(self, depth: int = 0) -> None:
        self._lines: list[str | list[str]] = []
        self._depth = depth

    def line(self, text: str) -> None:
        """One line at the current depth."""
        self._lines.append(INDENT * self._depth + text)

    def lines(self, texts: Iterable[str]) -> None:
        """Several lines at the current depth."""
        for text in texts:
            self.line(text)

    def blank(self) -> None:
        """A blank line, unless there is one already or a block has just begun."""
        last = next((x for x in reversed(self._lines) if isinstance(x, str)), "{")
        if last and not last.endswith("{"):
            self._lines.append("")

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
        while self._lines and self._lines[-1] == "":
            self._lines.pop()
        self.line(tail)

    def reserve(self) -> Reserved:
        """A place for lines that are known only later."""
        place: list[str] = []
        self._lines.append(place)
        return Reserved(place, self._depth)

    def text(self) -> str:
        """Everything, each line ended; a blank line after what was reserved."""
        flat: list[str] = []
        reserved = False
        for item in self._lines:
            if isinstance(item, list):
                flat += item
                reserved |= bool(item)
                continue
            if reserved and item.strip() not in ("", "}"):
                flat.append("")
            reserved = False
            flat.append(item)
        return "".join(f"{line}\n" for line in flat)


class Reserved:
    """A place in a writer."""

    def __init__(self, place: list[str], depth: int) -> None:
        self._place = place
        self._depth = depth

    def line(self, text: str) -> None:
        """One more line at the depth of the place."""
        self._place.append(INDENT * self._depth + text)
