"""A public class of the compiler has a name that no other class has."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import argus

ROOT = Path(argus.__file__).parent

AUTHORS = ("lang/names/",)
"""Names that authors write: stubs of what the compiler has under the same names."""


def _names() -> dict[str, list[str]]:
    """Where each public class is defined; a private one is a matter of its file."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if file.startswith(AUTHORS):
            continue
        # The line tells, and 900 files need not be parsed.
        for name in re.findall(r"^ *class ([A-Za-z]\w*)[(:\[]", path.read_text(), re.M):
            found[name].append(file)
    return found


def test_each_class_has_a_name_of_its_own() -> None:
    found = _names()
    assert len(found) > 500, "the walk misses the package"
    assert not {name: at for name, at in found.items() if len(at) > 1}
