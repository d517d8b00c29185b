"""Each file in `bad/` makes exactly the mistakes that its comments announce.

    x = acd + 1  # expect: AG0101

The diagnostics must have these codes at these lines, and no others.
"""

import re
import sys
from pathlib import Path

import pytest

from argus.diagnostics import ArgusError, render_all
from argus.lang.kernel import load_kernels

sys.path.insert(0, str(Path(__file__).parent))
from support import HERE, program

FILES = sorted((HERE / "bad").glob("*.py"))
_EXPECT = re.compile(r"# expect: (AG\d{4}(?:, AG\d{4})*)")


def expected(text: str) -> set[tuple[int, str]]:
    return {
        (number, code)
        for number, line in enumerate(text.splitlines(), 1)
        for match in _EXPECT.finditer(line)
        for code in match[1].split(", ")
    }


def found(path: Path) -> set[tuple[int, str]]:
    with pytest.raises(ArgusError) as caught:
        for kernel in load_kernels(path).kernels.values():
            program(kernel)
    render_all(caught.value.diagnostics)
    spans = [(d.span, d.code) for d in caught.value.diagnostics]
    assert all(span is not None for span, _ in spans)
    return {(span.line, code) for span, code in spans if span is not None}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_mistake_is_named_at_its_line(path: Path) -> None:
    want = expected(path.read_text())
    assert want, "the file announces no mistake"
    assert found(path) == want


def test_there_are_files() -> None:
    assert len(FILES) >= 60
