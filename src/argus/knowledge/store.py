"""The packaged entries: read once per process."""

from __future__ import annotations

from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING

from argus.knowledge.entry import KnowledgeEntry, read_entry

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def load_entries() -> Mapping[str, KnowledgeEntry]:
    """All entries by id, in the order of their ids.

    Raises EntryError where a file is not an entry: the package is broken.
    """
    found: dict[str, KnowledgeEntry] = {}
    folder = resources.files("argus.knowledge").joinpath("entries")
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        if file.name.endswith(".md"):
            name = file.name.removesuffix(".md")
            found[name] = read_entry(file.read_text(encoding="utf-8"), name)
    return MappingProxyType(found)


def entry(id: str) -> KnowledgeEntry:
    """The entry of that id. Raises KeyError, which names the ids that look alike."""
    entries = load_entries()
    if id not in entries:
        import difflib

        near = difflib.get_close_matches(id, entries, n=3, cutoff=0.4)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise KeyError(f"there is no knowledge entry {id!r}{hint}")
    return entries[id]
