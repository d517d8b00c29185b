"""Whatever a span says, a diagnostic is printed, safely and within its width."""

import re
import unicodedata

from hypothesis import example, given, settings
from hypothesis import strategies as st

from argus.diagnostics import (
    Diagnostic,
    Label,
    Span,
    register_source,
    render,
    render_all,
)
from argus.diagnostics.width import cells, window, wrap

ANY = st.characters()  # all of Unicode, lone surrogates too
TEXT = st.text(
    st.one_of(
        ANY, st.sampled_from("ab_ \t\r\n\0\x0b\x0c\x1b\x85\u2028\u202e幅é\u0301🙂")
    ),
    max_size=60,
)
NUMBER = st.one_of(st.integers(-2, 12), st.integers(-(2**70), 2**70))
SPAN = st.builds(
    Span, st.sampled_from(["<fuzz>", "<absent>"]), NUMBER, NUMBER, NUMBER, NUMBER
)
WIDTH = st.integers(-5, 130)


def register(text: str) -> None:
    register_source("<fuzz>", text)


@settings(max_examples=150)
@given(
    source=TEXT,
    span=SPAN,
    related=SPAN,
    message=TEXT,
    label=TEXT,
    note=TEXT,
    width=WIDTH,
)
@example("", Span("<fuzz>", 1, 1, 1, 1), Span("<fuzz>", 9, 9, 9, 9), "", "", "", 100)
@example("", Span("<fuzz>", 0, 0, 0, 0), Span("<fuzz>", 1, 5, 3, 1), "m", "l", "n", 100)
@example(
    "a\r\nb\r\n", Span("<fuzz>", 1, 1, 2, 2), Span("\n", 2, 1, 1, 1), "", "", "", 9
)
@example("a", Span("<fuzz>", 1, 9, 1, 12), Span("\ud800", 1, 1, 1, 1), "", "", "", 9)
def test_rendering_never_raises_and_is_safe(
    source: str,
    span: Span,
    related: Span,
    message: str,
    label: str,
    note: str,
    width: int,
) -> None:
    register(source)
    diagnostic = Diagnostic(
        "AG0101",
        message,
        span,
        label=label,
        notes=(note,),
        help=note,
        related=(Label(related, label),),
    )
    text = render(diagnostic, width=width)
    text.encode("utf-8")  # no lone surrogate
    assert text.startswith("error[AG0101]")
    for character in text.replace("\n", ""):
        assert unicodedata.category(character) not in ("Cc", "Zl", "Zp"), repr(text)
        assert character not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert render_all([diagnostic], width=width).startswith(text)
    colored = render(diagnostic, width=width, color=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == text


@settings(max_examples=150)
@given(
    source=st.text(st.sampled_from("ab_()\t é幅\u0301\n"), min_size=1, max_size=300),
    lines=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    columns=st.tuples(st.integers(1, 150), st.integers(1, 150)),
    width=st.integers(20, 130),
)
@example("\n\t\t幅\t", (2, 1), (5, 1), 20)  # marks past the end of a line that is cut
def test_source_stays_within_the_width_and_marks_stay_in_sight(
    source: str, lines: tuple[int, int], columns: tuple[int, int], width: int
) -> None:
    register(source)
    span = Span("<fuzz>", lines[0], columns[0], lines[1], columns[1])
    text = render(Diagnostic("AG0101", "m", span, label="a few words"), width=width)
    _, _, *rows = text.split("\n")  # the message and the place
    for row in rows:
        assert cells(row) <= width, repr(row)
        assert row == row.rstrip(" "), repr(row)
    if lines[0] <= len(re.split("\n", source)):
        assert any("^" in row for row in rows)


@given(
    before=st.text(st.sampled_from("ab é幅\u0301\t"), max_size=40).map(str.lstrip),
    name=st.text(st.sampled_from("xyz幅ö"), min_size=1, max_size=8),
    after=st.text(st.sampled_from("ab é"), max_size=20),
)
def test_marks_lie_under_what_they_mark(before: str, name: str, after: str) -> None:
    register(f"{before}{name}{after}")
    start = len(before) + 1
    span = Span("<fuzz>", 1, start, 1, start + len(name))
    rows = render(Diagnostic("AG0101", "m", span), width=400).split("\n")
    shown, marks = rows[3].removeprefix("1 | "), rows[4].removeprefix("  | ")
    left = cells(marks) - len(marks.lstrip())
    assert window(shown, left, marks.count("^")).strip("\u0301") == name
    assert marks.count("^") == cells(name)


@given(st.text(max_size=120), st.integers(1, 50))
def test_wrapping_keeps_the_words(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert lines
    for line in lines:
        assert cells(line) <= width or len(line.split()) <= 1


def test_marks_that_combine_take_no_cell() -> None:
    assert cells("e\u0301") == 1
    assert cells("幅") == 2
    assert cells("\t") == 4
    assert cells("\x1b") == 1
    assert window("幅a", 1, 2) == " a"
    assert window("a幅", 0, 2) == "a "
