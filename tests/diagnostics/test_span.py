"""Spans and source texts: how lines and columns are counted."""

import ast
import os
from pathlib import Path

import pytest

from argus.diagnostics import SourceText, Span, register_source, source_text


def node_of(source: SourceText, name: str) -> ast.Name:
    tree = ast.parse("\n".join(source.lines))
    (found,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name
    )
    return found


@pytest.mark.parametrize(
    ("line", "name", "column"),
    [
        ("a = b", "b", 5),
        ("größe = b", "b", 9),  # two-byte characters before it
        ("幅 = b", "b", 5),  # a three-byte one
        ("s = '🙂', b", "b", 10),  # a four-byte one
        ("größe = 1", "größe", 1),
    ],
)
def test_columns_count_characters(line: str, name: str, column: int) -> None:
    source = SourceText.of("k.py", f"pass\n{line}\n")
    span = source.span(node_of(source, name))
    assert span == Span("k.py", 2, column, 2, column + len(name))
    assert line[span.column - 1 : span.end_column - 1] == name


def test_a_node_of_several_lines() -> None:
    text = "x = f(\n    ä,\n)\n"
    source = SourceText.of("k.py", text)
    call = ast.parse(text).body[0]
    assert isinstance(call, ast.Assign)
    assert source.span(call.value) == Span("k.py", 1, 5, 3, 2)


def test_a_node_without_an_end() -> None:
    node = ast.Name("x", lineno=1, col_offset=4)
    assert SourceText.of("k.py", "y = x").span(node) == Span("k.py", 1, 5, 1, 5)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end: str) -> None:
    source = SourceText.of("k.py", f"a{end}b{end}")
    assert source.lines == ("a", "b", "")


def test_lines_are_those_of_the_parser() -> None:
    text = "a = 1\x0c\nb = '\u2028'\nc = 3\n"
    source = SourceText.of("k.py", text)
    assert source.span(ast.parse(text).body[2]).line == 3
    assert source.line(3) == "c = 3"


def test_a_byte_order_mark_is_no_column() -> None:
    assert SourceText.of("k.py", "\ufeffa = b").line(1) == "a = b"


@pytest.mark.parametrize("number", [-1, 0, 2])
def test_a_line_outside_the_source(number: int) -> None:
    assert SourceText.of("k.py", "a").line(number) is None


def test_joining() -> None:
    left, right = Span("k.py", 2, 5, 2, 9), Span("k.py", 1, 7, 1, 8)
    assert left.to(right) == right.to(left) == Span("k.py", 1, 7, 2, 9)
    assert left.to(Span("other.py", 1, 1, 1, 1)) == left


def test_a_registered_source_goes_before_the_file(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text("on disk")
    name = str(path)
    read = source_text(name)
    assert read is not None
    assert read.line(1) == "on disk"
    register_source(name, "parsed")
    again = source_text(name)
    assert again is not None
    assert again.line(1) == "parsed"


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text("one")
    before = source_text(str(path))
    path.write_text("two")
    os.utime(path, ns=(1, 1))
    after = source_text(str(path))
    assert before is not None
    assert after is not None
    assert (before.line(1), after.line(1)) == ("one", "two")


@pytest.mark.parametrize("name", ["", ".", "no/such/file.py", "nul\0.py", "x" * 5000])
def test_a_name_without_a_source(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argus.diagnostics.span._registered", {})  # of other tests
    assert source_text(name) is None


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"# \xe4", "# \ufffd"),  # not UTF-8
        (b"\xe4 # \xe4\r\n# coding: latin-1", "\ufffd # \ufffd"),  # too late
        (b"x = 1 #\n# coding: cp037", "x = 1 #"),  # not a comment line before it
        (b"# coding: no-such-code", "# coding: no-such-code"),
        (b"", ""),
    ],
)
def test_odd_files(tmp_path: Path, data: bytes, line: str) -> None:
    path = tmp_path / "k.py"
    path.write_bytes(data)
    read = source_text(str(path))
    assert read is not None
    assert read.line(1) == line


def test_a_declared_encoding_is_used(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_bytes(b"# coding: latin-1\ngr\xf6\xdfe = 1\n")
    read = source_text(str(path))
    assert read is not None
    assert read.line(2) == "größe = 1"
