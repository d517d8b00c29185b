"""Folders and files of this user; the cache's own tests try what others may plant."""

import os
from pathlib import Path

import pytest

from argus.diagnostics import ArgusError
from argus.files import owned
from argus.files.writing import write_text


def test_a_folder_is_made_with_its_parents_for_this_user(tmp_path: Path):
    before = os.umask(0)
    try:
        with owned.opened(tmp_path / "a" / "b", create=True) as folder:
            owned.write(folder, "file", b"x")
            assert owned.read(folder, "file", 1) == b"x"
            with pytest.raises(OSError, match="more than 0 bytes"):
                owned.read(folder, "file", 0)
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700
    assert os.listdir(tmp_path / "a" / "b") == ["file"]


def test_nothing_is_made_unless_asked(tmp_path: Path):
    with pytest.raises(FileNotFoundError), owned.opened(tmp_path / "a"):
        pass
    assert os.listdir(tmp_path) == []


def test_relative_paths_and_parents(tmp_path: Path, monkeypatch):
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    with owned.opened(Path("../b/./c"), create=True):
        assert (tmp_path / "b" / "c").is_dir()


def test_a_loop_of_links_ends(tmp_path: Path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(OSError, match="symbolic links"), owned.opened(tmp_path / "one"):
        pass


def test_a_file_is_no_folder(tmp_path: Path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(NotADirectoryError), owned.opened(path, create=True):
            pass


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd", "a\0b"])
def test_names_are_no_paths(tmp_path: Path, name: str):
    with owned.opened(tmp_path) as folder:
        with pytest.raises(ValueError, match="not the name"):
            owned.read(folder, name, 1)
        with pytest.raises(ValueError, match="not the name"):
            owned.write(folder, name, b"")


def test_a_write_that_fails_leaves_nothing(tmp_path: Path):
    (tmp_path / "there").mkdir()
    with owned.opened(tmp_path) as folder, pytest.raises(OSError):
        owned.write(folder, "there", b"x")
    assert os.listdir(tmp_path) == ["there"]


def test_no_descriptor_stays_open(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for path in (tmp_path, tmp_path / "link" / "new", tmp_path / "link"):
        with owned.opened(path, create=True):
            pass
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    for path in (tmp_path / "open", tmp_path / "open" / "x", tmp_path / "none" / "x"):
        with pytest.raises(OSError), owned.opened(path):
            pass
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_result_is_not_written_through_a_link(tmp_path: Path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "k.py").symlink_to(victim)
    write_text(tmp_path / "k.py", "new")
    assert victim.read_text() == "mine"
    assert not (tmp_path / "k.py").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["k.py", "victim"]
    with pytest.raises(ArgusError, match="AG0902"):
        write_text(tmp_path / "k.py" / "x", "new")
