"""Numbers that somebody typed: an option, a part of a name, a variable."""

MOST_DIGITS = 18
"""Digits of a whole number that is read; it fits 64 bits then."""


def natural(text: str, digits: int = MOST_DIGITS) -> int | None:
    """The number that ``text`` writes in decimal digits; None for anything else.

    What Python alone takes for digits ("²") is no number, nor what is
    longer than ``digits``, of which Python would raise from some length on.
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= digits):
        return None
    return int(text)
