"""Shared by the tests of tags: kernels by file or source, and what is said of them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from argus.ir.program import Program
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.tags import obligations
from argus.verify.verdict import Obligation, Verdict

ROOT = Path(__file__).parents[3]


def placed(
    text: str, name: str | None = None, target: str = "sm_90a", **statics: object
) -> Program:
    """The placed program of a kernel in a source text (the first one by default)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.py"
        path.write_text(text)
        kernels = load_kernels(path).kernels
        kernel = kernels[name] if name else next(iter(kernels.values()))
        dtypes = {t.name: t.dtypes[0] for t in kernel.signature.tensors}
        return placed_program(Request(kernel, dtypes, statics, target))


def failing(program: Program) -> list[Obligation]:
    """What is not proved, refuted first."""
    found = list(obligations(program))
    assert found, "nothing was to be shown"
    bad = [o for o in found if o.verdict is not Verdict.PROVED]
    return sorted(bad, key=lambda o: o.verdict)


def told(bad: list[Obligation]) -> str:
    """Failing obligations as text, for assertions."""
    return "\n".join(
        f"{o.rule} line {o.span.line} {o.verdict}: {o.claim} {o.reason}" for o in bad
    )
