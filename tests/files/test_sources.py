"""What a command has read it does not write over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from argus.diagnostics import ArgusError
from argus.files.reading import Reader
from argus.files.sources import sources_kept
from argus.files.writing import write_text


def _names(folder: Path) -> list[Path]:
    source = folder / "k.py"
    source.write_text("x = 1\n")
    (folder / "link.py").symlink_to(source)
    os.link(source, folder / "second.py")
    return [source, folder / "link.py", folder / "second.py", folder / "." / "k.py"]


@pytest.mark.parametrize("index", range(4))
def test_a_source_is_not_written_over_by_any_of_its_names(
    tmp_path: Path, index: int
) -> None:
    names = _names(tmp_path)
    with sources_kept():
        Reader().read(str(names[0]))
        with pytest.raises(ArgusError, match="AG0908"):
            write_text(names[index], "y = 2\n")
    assert names[0].read_text() == "x = 1\n"


def test_other_files_are_written_and_what_a_command_wrote_is_written_again(
    tmp_path: Path,
) -> None:
    source, *_ = _names(tmp_path)
    other = tmp_path / "out.py"
    with sources_kept():
        Reader().read(str(source))
        write_text(other, "y = 2\n")
        write_text(other, "y = 3\n")
    assert other.read_text() == "y = 3\n"


def test_a_program_may_write_what_it_read(tmp_path: Path) -> None:
    source, *_ = _names(tmp_path)
    with sources_kept():
        Reader().read(str(source))
    Reader().read(str(source))
    write_text(source, "y = 2\n")
    assert source.read_text() == "y = 2\n"
