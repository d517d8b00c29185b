"""The frontend: a kernel's source text to a program that is not placed yet.

module.py       a file's declarations: constants, functions, imports
signature.py    the parameters of a kernel
reading.py      the entry point, `specialise`: kernel + types + static values -> Program
statements.py   assignments, with, assert; control.py: for and if
expressions.py  names, operators, calls; tiles.py: operators on tiles
builtins/       one handler for each function and method of the language
values.py       what an expression can be at compile time
broadcast.py    how dimension names of operands meet
carry.py        values that loops and branches carry
idioms.py       what newcomers write, and how it is said here
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argus.lang.frontend.reading import specialise

__all__ = ["specialise"]


def __getattr__(name: str) -> object:
    # Reading a file's declarations must not load everything else.
    if name == "specialise":
        from argus.lang.frontend import reading

        return reading.specialise
    raise AttributeError(name)
