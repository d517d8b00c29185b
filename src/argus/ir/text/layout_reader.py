"""Reading layouts of registers and of shared memory (`words.py`)."""

from __future__ import annotations

from argus.ir.text.cursor import Cursor, TextError
from argus.ir.text.values import Values
from argus.layout import Fragment, Mode, SharedLayout

__all__ = ["read_fragment", "read_shared_layout"]


def read_fragment(v: Values) -> Fragment:
    """A layout of registers. Raises TextError, also for modes that contradict."""
    c = v.cursor
    shape = v.integers()
    threads = c.integer()
    c.expect("threads")
    by_thread = _modes(c)
    c.expect("|")
    regs = c.integer()
    c.expect("regs")
    at = c.at
    try:
        made = Fragment(shape, by_thread, _modes(c))
    except ValueError as error:
        if isinstance(error, TextError):
            raise
        c.at = at
        raise c.error(str(error)) from error
    if (made.num_threads, made.num_regs) != (threads, regs):
        c.at = at
        found = f"{made.num_threads} threads and {made.num_regs} registers"
        raise c.error(f"the modes make {found}")
    return made


def _modes(c: Cursor) -> tuple[Mode, ...]:
    """Digits up to a bar or the end; `1` alone where there are none."""
    found: list[Mode] = []
    while c.peek() not in ("|", ""):
        size = c.integer()
        if not found and size == 1 and c.peek() != "*":
            break
        c.expect("*")
        if c.has("-"):
            found.append(Mode(size))
            continue
        step = c.integer()
        c.expect("@")
        found.append(Mode(size, c.integer(), step))
    return tuple(found)


def read_shared_layout(c: Cursor, shape: tuple[int, ...]) -> SharedLayout:
    """How a buffer of a shape lies in memory. Raises TextError."""
    c.expect("(")
    at = c.at
    digits: list[tuple[tuple[int, int], ...]] = []
    for i in range(len(shape)):
        if i:
            c.expect(",")
        axis: list[tuple[int, int]] = []
        while c.peek() not in (",", ";"):
            size = c.integer()
            c.expect("*")
            axis.append((size, c.integer()))
        digits.append(tuple(axis))
    c.expect("; swizzle")
    swizzle = c.integer()
    c.expect(")")
    try:
        return SharedLayout(shape, tuple(digits), swizzle)
    except ValueError as error:
        c.at = at
        raise c.error(str(error)) from error
