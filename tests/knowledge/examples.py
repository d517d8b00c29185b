"""What Argus says of an entry's examples; run as a script, it writes that into them.

    python tests/knowledge/examples.py             every entry
    python tests/knowledge/examples.py tma wgmma   these

As a script it replaces the text block of each pitfall, and the `line=` of its code
block, by what the compiler says now, and reports examples that are not proved.
"""

from __future__ import annotations

import re
import sys
import time
from functools import cache
from pathlib import Path

from argus.compiler import build
from argus.diagnostics import ArgusError, Diagnostic, render
from argus.ir.program import Program
from argus.knowledge.entry import CodeBlock, KnowledgeEntry, Pitfall, read_entry
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request, placed_program
from argus.verify.expectations import Usage
from argus.verify.render.diagnostics import diagnostics
from argus.verify.verdict import Report
from argus.verify.verifier import verify

FOLDER = Path(__file__).parents[2] / "src" / "argus" / "knowledge" / "entries"


def kernels(code: CodeBlock, name: str) -> list[Kernel]:
    return _kernels(f"{name}.py", code.source)


@cache
def _kernels(file: str, source: str) -> list[Kernel]:
    return list(load_kernels(file, source).kernels.values())


@cache
def _placed(kernel: Kernel, target: str) -> Program:
    return placed_program(request(kernel, target))


def request(kernel: Kernel, target: str) -> Request:
    tensors = [t for t in kernel.signature.tensors if not t.optional]
    return Request(kernel, {t.name: t.dtypes[0] for t in tensors}, {}, target)


def placed(code: CodeBlock, name: str) -> list[Program]:
    return [_placed(k, code.target) for k in kernels(code, name)]


def reports(code: CodeBlock, name: str) -> list[Report]:
    """A proof of each kernel of a block; the machine code is used if it asks for it."""
    found: list[Report] = []
    for kernel in kernels(code, name):
        asked = request(kernel, code.target)
        usage = None
        if code.build:
            made = build(asked).cubin.usage
            usage = Usage(made.registers, made.spill_stores)
        found.append(verify(_placed(kernel, code.target), usage=usage))
    return found


def told(code: CodeBlock, name: str) -> list[Diagnostic]:
    """Everything that is wrong or slow with a block."""
    try:
        return [d for r in reports(code, name) for d in diagnostics(r)]
    except ArgusError as error:
        return list(error.diagnostics)


def matching(pitfall: Pitfall, name: str) -> Diagnostic | None:
    """What is told under the pitfall's rule, on its line if any is there."""
    found = [d for d in told(pitfall.code, name) if d.code == pitfall.rule]
    there = [d for d in found if line_of(d) == pitfall.line]
    return next(iter(there or found), None)


def line_of(diagnostic: Diagnostic) -> int:
    """Its line; 0 if it is about the whole kernel."""
    return 0 if diagnostic.span is None else diagnostic.span.line


def shown(diagnostic: Diagnostic) -> str:
    return render(diagnostic, width=88).strip() + "\n"


def entry_at(path: Path) -> KnowledgeEntry:
    return read_entry(path.read_text(encoding="utf-8"), path.stem)


def regenerate(path: Path) -> None:
    entry = entry_at(path)
    text = path.read_text(encoding="utf-8")
    for which, codes in (("before", entry.before), ("after", entry.after)):
        for code in codes:
            begin = time.perf_counter()
            try:
                found = [d for r in reports(code, entry.id) for d in diagnostics(r)]
            except ArgusError as error:
                found = list(error.diagnostics)
            seconds = time.perf_counter() - begin
            print(f"{entry.id} {which}: {seconds:.2f} s")
            for d in found:
                print(render(d) if d.severity == "error" else f"  slow: {d.message}")
    for pitfall in entry.pitfalls:
        begin = time.perf_counter()
        found = matching(pitfall, entry.id)
        seconds = time.perf_counter() - begin
        print(f"{entry.id} pitfall {pitfall.title!r}: {seconds:.2f} s")
        if found is None:
            print(f"  no {pitfall.rule}, but")
            for d in told(pitfall.code, entry.id):
                print(render(d))
            continue
        print(f"  {found.code} line {line_of(found)}: {found.message}")
        old = f"{pitfall.code.source}```\n"
        before, _, after = text.partition(old)
        head, _, info = before.rpartition("```python")
        info = re.sub(r"line=\d+", f"line={line_of(found)}", info)
        rest = re.sub(
            r"```text\n.*?^```$",
            lambda _: f"```text\n{shown(found)}```",  # noqa: B023
            after,
            count=1,
            flags=re.M | re.S,
        )
        text = f"{head}```python{info}{old}{rest}"
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    names = sys.argv[1:] or sorted(p.stem for p in FOLDER.glob("*.md"))
    for one in names:
        regenerate(FOLDER / f"{one}.md")
