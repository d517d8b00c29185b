"""How a run on whole tiles may end before its blocks do."""

from __future__ import annotations

__all__ = ["NotExecutable", "Stuck"]


class NotExecutable(Exception):  # noqa: N818 - a result, not a fault
    """The program does what this executor does not know; says what."""


class Stuck(Exception):  # noqa: N818 - a result, not a fault
    """Every role waits, a block takes too long, or an index is outside of its range.

    That is a tensor's, or that of the mbarriers of an array.
    """
