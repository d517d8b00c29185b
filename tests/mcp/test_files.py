"""Which files a server reads for its clients, and what it executes: attacks."""

import os
from pathlib import Path
from typing import Any

import pytest
from talking_to import answer, begin, failure, with_client

from argus.files.reading import Reader
from mcp import Client

SECRET = "kept for me alone"


def outside_of(root: Path, kind: str) -> str:
    """A path that leads out of ``root``, or to what is no file, in one of the ways."""
    secret = root.parent / f"{root.name}-secret"
    secret.write_text(SECRET)
    (root / "inside").mkdir(exist_ok=True)
    way = root / "way"
    match kind:
        case "absolute":
            return str(secret)
        case "parent":
            return f"../{secret.name}"
        case "detour":
            return f"inside/../../{secret.name}"
        case "absolute parent":
            return f"{root}/inside/../../{secret.name}"
        case "link":
            way.symlink_to(secret)
        case "relative link":
            way.symlink_to(f"../{secret.name}")
        case "link of a folder":
            way.symlink_to(root.parent)
            return f"way/{secret.name}"
        case "link to a link":
            (root / "inside" / "other").symlink_to(secret)
            way.symlink_to("inside/other")
        case "hard link":
            way.hardlink_to(secret)
        case "proc":
            return f"/proc/self/root{secret}"
        case "home":
            return "~root/.bashrc"
        case "pipe":
            os.mkfifo(way)
        case "folder":
            return "inside"
        case "root":
            return "."
        case "slash":
            return "/"
        case "prefix":
            return f"{root}-secret"
        case "device":
            return "/dev/zero"
        case "zero byte":
            return "k\0.py"
        case "long":
            return "k" * 5000
        case "huge":
            with way.open("wb") as file:
                file.truncate(1 << 40)
        case "binary":
            way.write_bytes(b"\xff\xfe\x00")
        case _:
            raise AssertionError(kind)
    return "way"


WAYS = {
    "absolute": "AG0915",
    "parent": "AG0915",
    "detour": "AG0915",
    "absolute parent": "AG0915",
    "link": "AG0915",
    "relative link": "AG0915",
    "link of a folder": "AG0915",
    "link to a link": "AG0915",
    "hard link": "AG0915",
    "proc": "AG0915",
    "home": "AG0901",
    "pipe": "AG0901",
    "folder": "AG0901",
    "root": "AG0915",
    "slash": "AG0915",
    "prefix": "AG0915",
    "device": "AG0915",
    "zero byte": "AG0902",
    "long": "AG0902",
    "huge": "AG0902",
    "binary": "AG0902",
}


def test_files_are_read_below_the_root_only(home, bench, tmp_path: Path):
    async def use(client: Client) -> None:
        await begin(client)
        for kind, code in WAYS.items():
            path = outside_of(tmp_path, kind)
            for name in ("check", "explain", "submit"):
                found = await failure(client, name, file=path)
                assert found["code"] == code, (kind, found)
                assert SECRET not in str(found)
            (tmp_path / "way").unlink(missing_ok=True)
        path = outside_of(tmp_path, "link")
        for task in (
            str(tmp_path / "way"),
            f"../{tmp_path.name}-secret",
            "x/../../y.py",
        ):
            found = await failure(client, "start", task=task)
            assert found["code"] in ("AG0915", "AG0909"), task
        # In the folder, by any name for it.
        (tmp_path / "inside" / "k.py").write_text("x = 1")
        for path in (
            "inside/k.py",
            "inside/../inside/k.py",
            str(tmp_path / "inside/k.py"),
        ):
            assert (await answer(client, "check", file=path))["run"]

    with_client(home, bench, use)
    kept = [
        p for p in home.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()
    ]
    assert kept == []


def test_a_root_that_is_a_link_is_the_folder_it_leads_to(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "k.py").write_text("here")
    (tmp_path / "link").symlink_to("real")
    reader = Reader(tmp_path / "link")
    for path in ("k.py", tmp_path / "link" / "k.py", tmp_path / "real" / "k.py"):
        assert reader.read(str(path)) == "here"


def test_what_is_swapped_while_it_is_opened_is_not_read(tmp_path: Path, monkeypatch):
    """Every step of the way is the one that was looked at."""
    (tmp_path / "root" / "a").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    for folder in ("root/a", "out"):
        (tmp_path / folder / "k.py").write_text(folder)
    real = os.open

    def swapping(path: Any, flags: int, *args: Any, **named: Any) -> int:
        if path == "k.py":  # the folder was opened: now a link takes its place
            (tmp_path / "root" / "a").rename(tmp_path / "moved")
            (tmp_path / "root" / "a").symlink_to(tmp_path / "out")
            monkeypatch.setattr(os, "open", real)
        return real(path, flags, *args, **named)

    monkeypatch.setattr(os, "open", swapping)
    assert Reader(tmp_path / "root").read("a/k.py") == "root/a"


TORCH = """
open({sentinel!r}, "w").close()
class Model: ...
def get_inputs(): return []
"""
FILE = """
import argus as ag
open({sentinel!r}, "w").close()
@ag.kernel
def copy(X: ag.f32["N"], Y: ag.f32["N"]): ...
@ag.reference
def reference(X): return X
"""


@pytest.mark.parametrize("text", [TORCH, FILE])
@pytest.mark.parametrize("by", ["server", "argument"])
def test_a_server_that_executes_nothing(home, bench, tmp_path: Path, text, by):
    sentinel = tmp_path / "executed"
    (tmp_path / "task.py").write_text(text.format(sentinel=str(sentinel)))

    async def use(client: Client) -> None:
        more = {} if by == "server" else {"execute": False}
        found = await failure(client, "start", task="task.py", **more)
        assert found["code"] == "AG0916"
        assert "--no-execute" in found["message"]
        assert (await begin(client, **more))["run"]

    with_client(home, bench, use, execute=by != "server")
    assert not sentinel.exists()
