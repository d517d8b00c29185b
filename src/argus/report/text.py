"""Texts of strangers on a page: sources, answers of models, file names.

The template escapes what HTML would read as markup. Here is the rest: characters that
are not to be seen, or that turn the order of those that are, become visible; what is
very long is cut, and says so.
"""

from __future__ import annotations

import re
from typing import Any

LONGEST = 60_000
"""Characters of one text that are shown."""

# C0 and C1 controls but for tab and line ends; lone surrogates; marks of direction
# (Unicode Annex 9) and other invisible characters; the byte order mark; non-characters.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200b-\u200f"
    "\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]"
)


def visible(text: str) -> str:
    """The text with hidden characters as their numbers, cut where it is too long."""
    over = len(text) - LONGEST
    if over > 0:
        text = f"{text[:LONGEST]}\n... {over} characters more are left out"
    return _HIDDEN.sub(lambda m: f"\u27e8U+{ord(m[0]):04X}\u27e9", text)


def finalised(value: Any) -> Any:
    """What a template prints: plain strings made visible; markup of ours as it is."""
    return visible(value) if type(value) is str else value
