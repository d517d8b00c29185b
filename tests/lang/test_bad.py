"""Each file in `bad/` makes exactly the mistakes that its comments announce.

    x = acd + 1  # expect: AG0101

The diagnostics must have these codes at these lines, and no others. A file that names
a target is placed for it, too, where the facts that it states hold (all else is a
multiple of 16); the others are only read:

    # target: sm_90a
    # facts: A_s0=1

`golden/mistakes.txt` holds what each file is told: the source under the caret, label,
message, notes, help. `pytest --update-golden` rewrites it.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support import HERE, program

from argus.diagnostics import CATALOGUE, ArgusError, Diagnostic, render_all
from argus.lang.kernel import load_kernels
from argus.lower import place

FILES = sorted((HERE / "bad").glob("*.py"))
PACKAGE = HERE.parents[1] / "src" / "argus"
_EXPECT = re.compile(r"# expect: (AG\d{4}(?:, AG\d{4})*)")
_TARGET = re.compile(r"^# target: (\w+)$", re.MULTILINE)
_FACT = re.compile(r"^# facts: (\w+)=(\d+)$", re.MULTILINE)
_CODE = re.compile(r'"(AG0[0-6]\d{2})"')


def expected(text: str) -> set[tuple[int, str]]:
    return {
        (number, code)
        for number, line in enumerate(text.splitlines(), 1)
        for match in _EXPECT.finditer(line)
        for code in match[1].split(", ")
    }


def compile_file(path: Path) -> None:
    """Read every kernel of a file, and place it where the file names a target."""
    text = path.read_text()
    target = _TARGET.search(text)
    facts = {name: int(divisor) for name, divisor in _FACT.findall(text)}
    for kernel in load_kernels(path).kernels.values():
        if target is None:
            program(kernel, facts=facts)
        else:
            place(program(kernel, target=target[1], facts=facts))


def diagnostics(path: Path) -> tuple[Diagnostic, ...]:
    with pytest.raises(ArgusError) as caught:
        compile_file(path)
    render_all(caught.value.diagnostics)
    return caught.value.diagnostics


def described(diagnostic: Diagnostic, source: list[str]) -> str:
    """One diagnostic on a few lines: what is underlined, and what is said of it."""
    span = diagnostic.span
    assert span is not None
    line = source[span.line - 1]
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    marked = line[span.column - 1 : end].partition("  # ")[0]
    label = f" <- {diagnostic.label}" if diagnostic.label else ""
    parts = [f"{diagnostic.code} | {marked} |{label}", f"  {diagnostic.message}"]
    parts += [f"  note: {note}" for note in diagnostic.notes]
    parts += [f"  help: {diagnostic.help}"] if diagnostic.help else []
    return "\n".join(parts)


def message(path: Path) -> str:
    source = path.read_text().splitlines()
    return "\n".join(
        [f"{path.stem}.py", *(described(d, source) for d in diagnostics(path))]
    )


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_mistake_is_named_at_its_line(path: Path) -> None:
    want = expected(path.read_text())
    assert want, "the file announces no mistake"
    found = diagnostics(path)
    assert all(d.span is not None for d in found)
    assert {(d.span.line, d.code) for d in found if d.span is not None} == want


def test_messages(golden: Callable[[str, str], None]) -> None:
    golden("mistakes.txt", "\n\n".join(message(path) for path in FILES) + "\n")


def test_there_are_files() -> None:
    assert len(FILES) >= 150


READERS = {"verify", "model", "equivalence", "evaluation"}
"""Parts that judge or replay a placed program: their examples are the kernels that they
refute, in tests of their own (AG03xx, most of AG04xx, AG0511 to AG0513)."""
AT_LAUNCH = {"AG0390", "AG0506", "AG0509"}
"""Raised when a kernel is built or launched: tests/runtime has their examples, and
tests/verifier/presentation that of a kernel that is not proved."""
WITHOUT_FILE = {"AG0002", "AG0011", "AG0021", "AG0601"}
"""Mistakes that no line of a kernel file makes: the tests below make them."""


def raised() -> set[str]:
    """Codes AG00xx to AG06xx of mistakes that keep a kernel from being placed."""
    return {
        code
        for path in sorted(PACKAGE.rglob("*.py"))
        if not {"catalogue", *READERS} & set(path.relative_to(PACKAGE).parts)
        for code in _CODE.findall(path.read_text())
    }


def test_every_code_that_is_raised_has_an_example() -> None:
    shown = {c for p in FILES for _, c in expected(p.read_text())}
    assert raised() - shown - AT_LAUNCH - WITHOUT_FILE == set()
    assert not shown & (AT_LAUNCH | WITHOUT_FILE), "has an example: leave it out"


def test_launch_codes_have_examples_beside_the_runtime() -> None:
    folders = (HERE.parent / "runtime", HERE.parent / "verifier" / "presentation")
    texts = "".join(p.read_text() for f in folders for p in f.glob("*.py"))
    assert {c for c in AT_LAUNCH if c not in texts} == set()


def test_every_code_shown_is_in_the_catalogue() -> None:
    shown = {c for p in FILES for _, c in expected(p.read_text())}
    assert shown <= CATALOGUE.keys()


def test_codes_without_a_file(tmp_path: Path) -> None:
    import argus as ag
    from argus.requests import target_named

    empty = tmp_path / "empty.py"
    empty.write_text("import argus as ag\n")
    makers = {
        "AG0002": lambda: load_kernels(tmp_path / "missing.py"),
        "AG0011": lambda: load_kernels(empty),
        "AG0021": lambda: ag.zeros((4,), ag.f32),
        "AG0601": lambda: target_named("sm_1"),
    }
    assert makers.keys() == WITHOUT_FILE
    for code, make in makers.items():
        with pytest.raises(ArgusError) as caught:
            make()
        assert caught.value.code == code
