"""Numbers in words, as people read them."""

from __future__ import annotations


def duration(microseconds: float) -> str:
    """A time: "0.0341 µs", "7.59 µs", "131.8 µs", "84.7 ms"."""
    if microseconds >= 10_000:
        return f"{microseconds / 1000:.1f} ms"
    digits = 1 if microseconds >= 100 else 2 if microseconds >= 0.1 else 4
    return f"{microseconds:.{digits}f} µs"


def factor(value: float) -> str:
    """A ratio: "1.66×", "14.05×", "231×"."""
    return f"{value:.2f}×" if value < 100 else f"{value:,.0f}×"


def share(part: float, whole: float) -> str:
    """A percentage: "62%"; "< 1 %" for what is less."""
    percent = 100 * part / whole
    return f"{percent:.0f}%" if percent >= 1 else "< 1 %"


def seconds(value: float) -> str:
    """A while: "14 s", "2 min 5 s", "1 h 3 min"."""
    whole = round(value)
    if whole < 60:
        return f"{value:.1f} s" if value < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def plural(count: int, word: str) -> str:
    """A count with its word: "1 trial", "3 trials"."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
