"""Variables of the environment: an empty one is not set, and one place reads them."""

import ast
import sys
from pathlib import Path

import pytest

import argus
from argus.compiler import checking
from argus.diagnostics import ArgusError
from argus.files.settings import (
    folder,
    installed,
    setting,
    standard_folder,
    switch,
    whole,
)
from argus.runs.folder import data_folder

PACKAGE = Path(argus.__file__).parent
NAMES = ("ARGUS_", "XDG_", "HOME")


def test_an_empty_variable_is_not_set(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("X", "")
    assert setting("X") is None
    assert switch("X", usual=True) is True
    assert whole("X", "bytes") is None
    assert folder("X") is None
    monkeypatch.setenv("HOME", str(tmp_path))
    assert standard_folder("X", "a") == tmp_path / "a"
    monkeypatch.setenv("X", "relative/path")
    assert standard_folder("X", "a") == tmp_path / "a"
    monkeypatch.setenv("ARGUS_CHECK", "")
    assert checking()
    monkeypatch.setenv("ARGUS_HOME", "")
    monkeypatch.setenv("XDG_DATA_HOME", "")
    assert data_folder() == tmp_path / ".local" / "share" / "argus"


def test_without_a_home(monkeypatch):
    def nobody(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setenv("HOME", "")
    monkeypatch.delenv("ARGUS_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr("argus.files.settings.pwd.getpwuid", nobody)
    assert standard_folder("XDG_CACHE_HOME", ".cache") is None
    with pytest.raises(ArgusError, match="AG0902"):
        data_folder()


@pytest.mark.parametrize("text", ["2", "true", " 1"])
def test_a_switch_is_0_or_1(monkeypatch, text: str):
    monkeypatch.setenv("X", text)
    with pytest.raises(ArgusError, match="AG0908"):
        switch("X", usual=True)


def test_one_place_reads_them():
    """Elsewhere each reader would decide for itself what an empty one means."""
    found: list[str] = []
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        named = any(name in text for name in NAMES)
        if not named or file == PACKAGE / "files" / "settings.py":
            continue
        for node in ast.walk(ast.parse(text)):
            match node:
                case (
                    ast.Call(
                        func=ast.Attribute(attr="get" | "getenv" | "pop"),
                        args=[ast.Constant(value=str(name)), *_],
                    )
                    | ast.Subscript(slice=ast.Constant(value=str(name)))
                ) if name.startswith(NAMES):
                    found.append(f"{file}:{node.lineno} {name}")
    assert found == []


def test_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that something keeps from being found is not installed."""

    class Keeps:
        def find_spec(self, name: str, *others: object) -> None:
            if name == "kept_away":
                raise ModuleNotFoundError(name)

    assert installed("json")
    assert not installed("absent_for_sure")
    monkeypatch.setattr("sys.meta_path", [Keeps(), *sys.meta_path])
    assert not installed("kept_away")
    monkeypatch.setitem(sys.modules, "emptied", None)
    assert not installed("emptied")
