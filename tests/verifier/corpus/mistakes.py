"""Reads kernels with mistakes: how they are written down, and what is expected.

A file of kernels holds right kernels, and under a line the ways to get it wrong:

    b = ag.load(B[n:, k:], (BN, BK))
    # or AG0301 (wrong tile): b = ag.load(B[n:, k + BK :], (BN, BK))
    acc = ag.dot(a, b.T, acc)  # shows AG0301

Each `# or CODE (class): text` is one mistake: the text stands for the line of code
above (comment lines that follow and begin with `#   ` go on with it). It is refuted by
CODE at a line marked `# shows CODE` (behind it or just above), or at the wrong line.
Without any of them the kernel must be proved. A wrong kernel may also be written as
such, for mistakes of more than one line; the mark is where it is to be refuted:

    acc = ag.dot(a, b.T, acc)  # refuted AG0301 (transposed operand)

Comments of their own `# target sm_80` and `# facts 1` choose how the kernels of the
file are specialised (sm_90a; rows are multiples of 16 elements). Nothing is verified
here.
"""

from __future__ import annotations

import ast
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from argus.ir.program import Program
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request, placed_program

_OR = re.compile(r"^(\s*)# or (AG\d{4}) \(([^)]+)\):\s?(.*)$")
_MORE = re.compile(r"^\s*#   (.*)$")
_SHOWS = re.compile(r"#.*?\bshows ((?:AG\d{4},? ?)+)")
_REFUTED = re.compile(r"# refuted (AG\d{4}) \(([^)]+)\)")
_SETTING = re.compile(r"^# (target|facts) (\w+)$", re.MULTILINE)


@dataclass(frozen=True)
class Mistake:
    """A kernel that is to be refuted by ``rule`` at one of ``lines``.

    ``kind`` is the class of the mistake, ``at`` its line in the file.
    """

    file: Path
    kernel: str
    rule: str
    kind: str
    at: int
    lines: tuple[int, ...]
    source: str

    @property
    def name(self) -> str:
        """For reports."""
        return f"{self.file.stem}-{self.kernel}-{self.at}-{self.rule}"


def kernels_of(file: Path) -> list[tuple[str, int, int]]:
    """Name, first and last line of each kernel of a file."""
    tree = ast.parse(file.read_text())
    return [
        (node.name, node.decorator_list[0].lineno, node.end_lineno or node.lineno)
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(d) == "ag.kernel" for d in node.decorator_list)
    ]


def mistakes_of(file: Path) -> list[Mistake]:
    """Every mistake that is written down in a file."""
    lines = file.read_text().splitlines()
    found: list[Mistake] = []
    spans = kernels_of(file)
    for i, line in enumerate(lines):
        kernel, first, last = _kernel_at(spans, i + 1)
        if (said := _REFUTED.search(line)) is not None:
            rule, kind = said.groups()
            text = "\n".join(lines)
            found.append(Mistake(file, kernel, rule, kind, i + 1, (i + 1,), text))
        if (said := _OR.match(line)) is not None:
            _, rule, kind, text = said.groups()
            target = _above(lines, i)
            made = [text] if text else []
            for more in lines[i + 1 :]:
                if (further := _MORE.match(more)) is None:
                    break
                made.append(further.group(1))
            source = lines.copy()
            indent = lines[target][: -len(lines[target].lstrip())]
            changed = [f"{indent}{m}" for m in made]
            source[target : target + 1] = changed
            moved = len(changed) - 1
            shown = [
                n + 1 + (moved if n > target else 0)
                for n in range(first - 1, last)
                if n != target and rule in _shown(lines, n)
            ]
            own = range(target + 1, target + 1 + len(changed))
            found.append(
                Mistake(
                    file, kernel, rule, kind, i + 1, (*shown, *own), "\n".join(source)
                )
            )
    return found


def _kernel_at(spans: list[tuple[str, int, int]], line: int) -> tuple[str, int, int]:
    """The kernel that a line belongs to: the last one that begins before it."""
    found = [s for s in spans if s[1] <= line]
    return found[-1] if found else ("", 1, 0)


def _above(lines: list[str], i: int) -> int:
    while lines[i].strip().startswith("#"):
        i -= 1
    return i


def _shown(lines: list[str], n: int) -> list[str]:
    """The codes that are marked at a line: behind it, or in a comment just above."""
    marked = [lines[n]]
    if n and lines[n - 1].strip().startswith("# shows"):
        marked.append(lines[n - 1])
    if lines[n].strip().startswith("#"):
        return []
    found = [m for line in marked if (m := _SHOWS.search(line)) is not None]
    return [code for m in found for code in re.findall(r"AG\d{4}", m.group(1))]


def right_kernels(file: Path) -> list[str]:
    """Names of the kernels of a file that are not written down as wrong."""
    wrong = {m.kernel for m in mistakes_of(file) if _REFUTED.search(_line(m))}
    return [name for name, _, _ in kernels_of(file) if name not in wrong]


def _line(m: Mistake) -> str:
    return m.file.read_text().splitlines()[m.at - 1]


def placed(source: str, kernel: str) -> Program:
    """The placed program of one kernel of a source text, as its settings say."""
    settings = dict(_SETTING.findall(source))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.py"
        path.write_text(source)
        return placed_program(request(load_kernels(path).kernels[kernel], settings))


def request(kernel: Kernel, settings: dict[str, str]) -> Request:
    """The specialisation of a kernel for its first element types."""
    tensors = kernel.signature.tensors
    facts = int(settings.get("facts", "16"))
    dims = {d for t in tensors for d in t.dims if isinstance(d, str)}
    strides = {f"{t.name}_s{i}" for t in tensors for i in range(len(t.dims) - 1)}
    innermost = {t.dims[-1] for t in tensors}
    known = {d: facts if d in innermost else 1 for d in dims}
    return Request(
        kernel,
        {t.name: t.dtypes[0] for t in tensors},
        {},
        settings.get("target", "sm_90a"),
        known | dict.fromkeys(strides, facts),
    )
