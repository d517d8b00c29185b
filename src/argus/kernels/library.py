"""What the library has, found in the folders of `argus.kernels`.

Each folder is a family of kernels. A part of it is a module with an agreed name, and
exports one constant; a family has those parts that make sense for it:

    kernel.py    the kernels themselves, in the language
    forms/       kernel files on the way from the naive kernel to those
    entry.py     ENTRIES: sizes, inputs, references, choices, baselines (`entry.py`)
    space.py     SPACES: what `argus optimize` searches (`space.py`)
    op.py        functions on torch tensors, the names in its `__all__` (`argus.ops`)

Whoever wants all parts of a kind asks :func:`parts`, so that a new family is a folder
and nothing else. Entries are data: importing them compiles nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

import argus.kernels
from argus.diagnostics import fail
from argus.kernels.entry import Argument, Case, KernelChoice, LibraryEntry, Work

if TYPE_CHECKING:
    from argus.kernels.space import DesignSpace

__all__ = [
    "FAMILIES",
    "LIBRARY",
    "Argument",
    "Case",
    "KernelChoice",
    "LibraryEntry",
    "Work",
    "design_spaces",
    "entry_named",
    "parts",
]

FAMILIES = tuple(
    sorted(m.name for m in iter_modules(argus.kernels.__path__) if m.ispkg)
)
"""Names of the folders."""


def parts(kind: str) -> Iterator[ModuleType]:
    """The modules called ``kind`` of all families that have one, by family."""
    for family in FAMILIES:
        name = f"argus.kernels.{family}.{kind}"
        if find_spec(name) is not None:
            yield import_module(name)


def design_spaces() -> tuple[DesignSpace, ...]:
    """Those of all families."""
    return tuple(space for part in parts("space") for space in part.SPACES)


LIBRARY: dict[str, LibraryEntry] = {
    e.name: e for p in parts("entry") for e in p.ENTRIES
}
"""Entries by name."""


def entry_named(name: str) -> LibraryEntry:
    """The entry of that name. Raises ArgusError AG0909 where there is none."""
    if name in LIBRARY:
        return LIBRARY[name]
    close = difflib.get_close_matches(name, LIBRARY, n=1)
    every = f"`argus list` shows the {len(LIBRARY)} that there are"
    raise fail(
        "AG0909",
        None,
        f"there is no library kernel `{name}`, and no such file",
        help=f"did you mean `{close[0]}`?" if close else every,
    )
