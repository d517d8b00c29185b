"""Terminals that take ASCII only, and other small sets of characters."""

import io
import os
import subprocess
import sys

import pytest

from argus.cli.streams import speak, spelt
from few import few

ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [("3.5 µs ×2", "3.5 us x2"), ("é → ü", "e -> u"), ("┌─┐ 漢", "+-+ ?")],
)
def test_what_is_lacking_is_spelt(text: str, shown: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    speak(stream)
    stream.write(text)
    stream.flush()
    assert raw.getvalue().decode("ascii") == shown


def test_every_character_has_a_spelling_in_ascii() -> None:
    for code in (*range(0x80, 0x3000), 0x1F600, 0xD800):
        assert spelt(chr(code)).isascii() and spelt(chr(code))


def test_a_command_on_an_ascii_terminal(tmp_path) -> None:
    path = tmp_path / "köln.py"
    path.write_text(
        "import argus as ag\nfrom argus import f32\n\n\n@ag.kernel\n"
        'def k(X: f32["M"]):\n    """Größe."""\n    X[0:] = ag.zeros((3,), 漢)\n',
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-c", "from argus.cli import main; main()", "check", path],
        capture_output=True,
        env={**os.environ, **ASCII},
        check=False,
    )
    assert done.returncode == 1, done.stderr
    shown = (done.stdout + done.stderr).decode("ascii")
    assert "error[AG0101]" in shown
    assert "AG0913" not in shown


CLOSED = [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"]


@pytest.mark.parametrize("closed", few(CLOSED, "2>&-", "<&- >&- 2>&-"))
def test_closed_streams(tmp_path, closed: str) -> None:
    """What nobody reads is not printed, and the exit code is as ever."""
    path = tmp_path / "k.py"
    path.write_text(
        "import argus as ag\nfrom argus import f32\n\n\n@ag.kernel\n"
        'def k(X: f32["M"]):\n    X[0:] = ag.zeros((3,), nothing)\n'
    )
    code = "from argus.cli import main; main()"
    command = f'"$0" -c "{code}" check "$1" {closed}'
    words = ["sh", "-c", command, sys.executable, str(path)]
    done = subprocess.run(words, capture_output=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert b"AG0913" not in done.stdout + done.stderr
