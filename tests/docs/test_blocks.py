"""Code in the documents is true: kernels place, commands parse, quotes are quotes.

Info strings of fenced blocks:

    python argus                a kernel file; imports of the language are implied
    python argus body           statements in the kernel `STANDARD` below
    ... target=sm_80            for another target than sm_90a
    ... error=AG0204            raises that code, and no other
    sh                          every line is a valid `argus`, `make`, `pip` or `python`
    text explain=PATH           every line is one of `argus explain PATH`; a line that
                                ends with ` ...` is the beginning of one
    text check=NAME             is what placing the block named NAME is told
    text refuted=NAME           lines that `argus check` prints for the block named NAME
    python argus name=NAME      gives a block its name
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
from kernel_files import ROOT
from typer.core import TyperGroup

from argus.cli.app import app
from argus.compiler import cuda_source
from argus.diagnostics import ArgusError, render
from argus.ir.printer import print_program
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request, placed_program
from command_line import Commands

DOCUMENTS = sorted(
    [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/*.md")]
)
PARTS = ("src", "tests", "tools", "docs", "examples", "benchmarks")
HEAD = "import argus as ag\nfrom argus import bf16, f16, f32, i8, i32, i64, u8\n\n\n"
STANDARD = """@ag.kernel
def k(A: bf16["M K"], B: bf16["N K"], C: bf16["M N"], X: f32["M N"], V: f32["N"],
      I: i32["P"], Flag: i32["F"], alpha: f32 = 1.0,
      *, BM: int = 64, BN: int = 64, BK: int = 64, STAGES: int = 2):
    M, K = A.shape
    N = B.shape[0]
    Flag[0:1] = 1
"""


@dataclass(frozen=True)
class Block:
    document: str
    line: int
    words: tuple[str, ...]
    text: str

    def option(self, name: str) -> str | None:
        found = [w.partition("=")[2] for w in self.words if w.startswith(f"{name}=")]
        return found[0] if found else None

    def source(self) -> str:
        if "body" in self.words:
            indented = "".join(f"    {x}\n" if x else "\n" for x in self.lines())
            return HEAD + STANDARD + indented
        return self.text if "import argus" in self.text else HEAD + self.text

    def lines(self) -> list[str]:
        return self.text.splitlines()


def blocks() -> list[Block]:
    found: list[Block] = []
    for path in DOCUMENTS:
        name = str(path.relative_to(ROOT))
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"^```(\S[^\n]*)\n(.*?)^```$", text, re.M | re.S):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(name, line, tuple(match[1].split()), match[2]))
    return found


BLOCKS = blocks()


def parameters(*words: str) -> list[object]:
    chosen = [b for b in BLOCKS if b.words[: len(words)] == words]
    return [pytest.param(b, id=f"{b.document}:{b.line}") for b in chosen]


def request(kernel: Kernel, target: str) -> Request:
    tensors = [t for t in kernel.signature.tensors if not t.optional]
    return Request(kernel, {t.name: t.dtypes[0] for t in tensors}, {}, target)


def place_all(source: str, target: str, name: str = "<document>") -> None:
    for kernel in load_kernels(name, source).kernels.values():
        # Printed too: what placing accepts must be code that can be generated.
        placed_program(request(kernel, target))
        cuda_source(request(kernel, target))


@pytest.mark.parametrize("block", parameters("python", "argus"))
def test_kernel_is_placed(block: Block) -> None:
    target = block.option("target") or "sm_90a"
    code = block.option("error")
    if code is None:
        place_all(block.source(), target)
        return
    with pytest.raises(ArgusError) as caught:
        place_all(block.source(), target)
    assert set(caught.value.codes) == {code}


@pytest.mark.parametrize("block", parameters("sh"))
def test_commands_are_valid(block: Block) -> None:
    for line in block.lines():
        command, *arguments = shlex.split(line, comments=True) or [""]
        match command:
            case "argus":
                _parse(arguments)
            case "make":
                targets = (ROOT / "Makefile").read_text(encoding="utf-8")
                assert all(re.search(f"^{t}:", targets, re.M) for t in arguments), line
            case "python":
                assert (ROOT / arguments[0]).is_file(), line
            case "pip" | "nvcc" | "./a.out" | "":
                pass
            case _:
                pytest.fail(f"unknown command: {line}")


def _parse(arguments: list[str]) -> None:
    """Parse a command line as `argus` does, without running it."""
    group = typer.main.get_command(app)
    with group.make_context("argus", arguments[:0], resilient_parsing=True) as context:
        name, command, rest = group.resolve_command(context, list(arguments))
        if name == "--help":
            return
        while isinstance(command, TyperGroup):
            name, command, rest = command.resolve_command(context, list(rest))
        assert command is not None
        command.make_context(name, list(rest), parent=context)
    for argument in rest:
        if argument.endswith(".py"):
            assert (ROOT / argument).is_file(), argument


@pytest.mark.parametrize(
    "block",
    [p for p in parameters("text") if p.values[0].option("explain") is not None],
)
def test_quotes_of_placed_programs(block: Block) -> None:
    path = block.option("explain")
    (kernel,) = load_kernels(ROOT / path).kernels.values()
    target = block.option("target") or "sm_90a"
    lines = print_program(placed_program(request(kernel, target))).splitlines()
    whole = {_plain(line) for line in lines}
    for line in map(_plain, block.lines()):
        if line in ("", "..."):
            continue
        if line.endswith(" ..."):
            assert any(w.startswith(line[:-4]) for w in whole), line
        else:
            assert line in whole, line


def _plain(line: str) -> str:
    """A line without indentation and source line number."""
    return re.sub(r"^\s*(\d+\s+)?", "", line).rstrip()


@pytest.mark.parametrize(
    "block", [p for p in parameters("text") if p.values[0].option("check") is not None]
)
def test_quotes_of_diagnostics(block: Block) -> None:
    name = block.option("check")
    (subject,) = [b for b in BLOCKS if b.option("name") == name]
    with pytest.raises(ArgusError) as caught:
        place_all(subject.source(), "sm_90a", name)
    shown = "\n\n".join(render(d) for d in caught.value.diagnostics)
    assert shown.strip() == block.text.strip()


@pytest.mark.parametrize(
    "block",
    [p for p in parameters("text") if p.values[0].option("refuted") is not None],
)
def test_quotes_of_proofs(block: Block, tmp_path: Path, monkeypatch) -> None:
    name = block.option("refuted")
    (subject,) = [b for b in BLOCKS if b.option("name") == name]
    monkeypatch.chdir(tmp_path)
    Path(f"{name}.py").write_text(subject.source())
    env = {"COLUMNS": "80", "NO_COLOR": "1"}
    ran = Commands().invoke(app, ["check", f"{name}.py"], env=env)
    assert ran.exit_code == 1
    assert block.text in ran.output


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_and_files_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", re.sub("`[^`]*`", "", text)):
        assert (path.parent / link).exists(), link
    known = {p.name for part in PARTS for p in (ROOT / part).rglob("*.py")}
    for name in re.findall(r"`(?:[\w.]+/)*(\w+\.py)`", text):
        assert name in known, name
