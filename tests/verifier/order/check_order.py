"""Shared by the tests of order: kernels from sources, and what is said of them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from argus.ir.program import Program
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.order import obligations
from argus.verify.verdict import Obligation, Verdict

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent


def placed(
    text: str,
    name: str | None = None,
    target: str = "sm_90a",
    facts: Mapping[str, int] | None = None,
    **statics: object,
) -> Program:
    """The placed program of a kernel in a source text (the first one by default).

    ``facts``: known divisors of sizes, 16 of those that it does not name.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.py"
        path.write_text(text)
        kernels = load_kernels(path).kernels
    kernel = kernels[name] if name else next(iter(kernels.values()))
    tensors = kernel.signature.tensors
    dtypes = {t.name: t.dtypes[0] for t in tensors}
    dims = {d for t in tensors for d in t.dims if isinstance(d, str)}
    known = {**dict.fromkeys(dims, 16), **(facts or {})}
    return placed_program(Request(kernel, dtypes, statics, target, known))


def source_of(kernel: str) -> str:
    """The source of one kernel of `kernels/by_hand.py`, by itself."""
    head, *kernels = (HERE / "kernels" / "by_hand.py").read_text().split("@ag.kernel\n")
    (body,) = (k for k in kernels if k.startswith(f"def {kernel}("))
    return head + "@ag.kernel\n" + body


def failing(program: Program) -> list[Obligation]:
    """What is not proved, refuted first."""
    found = list(obligations(program))
    assert found, "nothing was to be shown"
    bad = [o for o in found if o.verdict is not Verdict.PROVED]
    return sorted(bad, key=lambda o: o.verdict)


def told(bad: list[Obligation]) -> str:
    """Failing obligations as text, for assertions."""
    lines: list[str] = []
    for o in bad:
        why = o.counterexample.message if o.counterexample else o.reason
        lines.append(f"{o.rule} line {o.span.line} {o.verdict}: {why}")
    return "\n".join(lines)
