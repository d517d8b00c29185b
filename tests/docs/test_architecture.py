"""Files that architecture.md names are there, so that its maps lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "tools", "benchmarks", "examples")
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_files_that_are_named_exist() -> None:
    files = [
        "/" + path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
    ]
    named = set(re.findall(r"`(?:[a-z]+ )?([\w/]+\.py)\b[^`]*`", TEXT))
    assert len(named) > 200
    assert not [n for n in named if not any(f.endswith("/" + n) for f in files)]
