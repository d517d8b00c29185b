"""Names of files, and of what stands in them, are only text where they are shown."""

from __future__ import annotations

import io
import json
from urllib.parse import urlsplit

import pytest

from argus.cli.output import Output
from argus.cli.progress import Progress
from argus.diagnostics import Span
from argus.verify.render import sarif

NAMES = [
    "a\x1b[2J\x1b]0;title\x07b",
    "a\nproved: everything",
    "a\r\x9b31mb",
    "a\u202egnp.b",
    "a\u2028b",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_line_stays_a_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Output("check", as_json=False).line(name)
    shown = capsys.readouterr().out
    assert shown.endswith("\n") and shown.count("\n") == 1
    assert shown[:-1].isprintable()


@pytest.mark.parametrize("name", NAMES)
def test_on_a_terminal_source_is_printable(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr("sys.stdout", stream)
        Output("explain", as_json=False).raw(name)
        if stream.isatty():
            assert all(line.isprintable() for line in stream.getvalue().split("\n"))
        else:
            assert stream.getvalue() == f"{name}\n"


def test_brackets_are_not_markup() -> None:
    doing = ["[red]a[/nothing]", NAMES[0]]
    line = Progress(Output("optimize", as_json=False), _doing=doing).__rich__()
    assert line.plain.startswith("[red]a[/nothing]") and "\x1b" not in line.plain


@pytest.mark.parametrize("name", [*NAMES, "a b#c?d%20.py", "http://x/y.py"])
@pytest.mark.parametrize("folder", ["", "/somewhere/"])
def test_the_address_of_a_file_is_an_address(name: str, folder: str) -> None:
    location = sarif._location(Span(folder + name, 1, 1, 1, 2))
    place = json.loads(json.dumps(location))["physicalLocation"]["artifactLocation"]
    parts = urlsplit(place["uri"])
    assert place["uri"].isascii() and place["uri"].isprintable()
    assert not parts.query and not parts.fragment and not parts.netloc
