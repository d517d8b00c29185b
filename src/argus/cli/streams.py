"""Terminals that cannot show every character: what stands for the others.

Under ``LANG=C`` a stream may take ASCII only, or another small set. A character that it
does not have is spelt with those it has, `µs` as `us`; what has no spelling is `?`.
Nothing that is printed raises for the sake of its text.
"""

import codecs
import io
import os
import sys
import unicodedata

_SPELT = {
    "µ": "u", "μ": "u", "×": "x", "·": "*", "−": "-", "–": "-", "—": "-", "…": "...",
    "≤": "<=", "≥": ">=", "≠": "!=", "→": "->", "←": "<-", "↑": "^", "↓": "v",
    "▶": ">", "█": "#", "▏": "|", "▎": "|", "▍": "|", "▌": "|", "▋": "|", "▊": "|",
    "▉": "#", "│": "|", "┃": "|", "║": "|", "─": "-", "━": "-", "═": "-", "✓": "+",
    "✗": "x", "•": "*", "‘": "'", "’": "'", "“": '"', "”": '"', "∞": "inf", "²": "^2",
    "°": "deg", "±": "+-",
}  # fmt: skip


def spelt(character: str) -> str:
    """ASCII for a character."""
    if character in _SPELT:
        return _SPELT[character]
    if "─" <= character <= "╿":
        return "+"  # corners and crossings of boxes
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore")
    return plain.decode() or "?"


def _spell(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(map(spelt, wrong)), error.end


def ensure() -> None:
    """Streams where the caller closed some, as `argus check FILE >&-` does.

    Python has None for them, which nothing can be printed to.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def speak(*streams: object) -> None:
    """Let text streams spell what they cannot encode."""
    codecs.register_error("argus.spell", _spell)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="argus.spell")
