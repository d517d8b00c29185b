"""Every example of every entry is right, and every pitfall is caught as it says.

Right: it places, and the verifier proves it. Caught: the compiler or the verifier names
the rule on the line, and the text in the entry is what it says. `examples.py` in this
folder writes these texts.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from argus.knowledge import CodeBlock, KnowledgeEntry, Pitfall
from argus.runtime.build import build
from argus.verify.render.diagnostics import diagnostics
from argus.verify.verdict import Verdict
from few import EVERY

sys.path.insert(0, str(Path(__file__).parent))
from examples import FOLDER, entry_at, line_of, matching, placed, reports, shown, told

ENTRIES = [entry_at(path) for path in sorted(FOLDER.glob("*.md"))]
RIGHT = [
    pytest.param(e, code, id=f"{e.id} {which} {i}")
    for e in ENTRIES
    for which, codes in (("before", e.before), ("after", e.after))
    for i, code in enumerate(codes)
]
SLOW = ("persistent-grid", "Roles that walk in different orders")
"""A counterexample that Z3 looks for; others of its rule are found at once."""
WRONG = [
    pytest.param(e, p, id=f"{e.id}: {p.title}")
    for e in ENTRIES
    for p in e.pitfalls
    if EVERY or (e.id, p.title) != SLOW
]


@pytest.mark.parametrize(("entry", "code"), RIGHT)
def test_example_is_proved(entry: KnowledgeEntry, code: CodeBlock) -> None:
    assert code.target in entry.architectures or code in entry.before
    found = reports(code, entry.id)
    assert found
    for report in found:
        wrong = [d for d in diagnostics(report) if d.severity == "error"]
        assert not wrong, wrong[0]
        assert report.verdict is Verdict.PROVED
        assert all(a.kind == "assume" for a in report.assumptions), "nothing is trusted"


@pytest.mark.parametrize(("entry", "pitfall"), WRONG)
def test_pitfall_is_caught(entry: KnowledgeEntry, pitfall: Pitfall) -> None:
    found = matching(pitfall, entry.id)
    assert found is not None, [d.code for d in told(pitfall.code, entry.id)]
    assert found.code == pitfall.rule
    assert line_of(found) == pitfall.line
    now, then = shown(found), pitfall.shown
    if pitfall.code.build:
        # How many registers the machine code takes depends on the version of NVRTC.
        now, then = (re.sub(r"\d+", "#", text) for text in (now, then))
    assert now == then, "run tests/knowledge/examples.py"


@pytest.mark.compiler
@pytest.mark.parametrize(
    "id", ["split-k", "instruction-ordering", "tma-store", "ping-pong", "gather-fusion"]
)
def test_examples_build(id: str) -> None:
    from examples import kernels, request

    from argus.compiler import cuda_source

    (entry,) = (e for e in ENTRIES if e.id == id)
    for code in entry.after:
        for kernel in kernels(code, id):
            source = cuda_source(request(kernel, code.target))
            made = build(source.text, code.target)
            assert made.usage.spill_stores == 0


EXPECTED = [
    pytest.param(e, invariant, id=f"{e.id}: {invariant}")
    for e in ENTRIES
    for invariant in e.invariants
    if invariant.startswith("ag.expect")
]


@pytest.mark.compiler
@pytest.mark.parametrize(("entry", "invariant"), EXPECTED)
def test_expectations_hold_of_the_example(
    entry: KnowledgeEntry, invariant: str
) -> None:
    """What an entry says to expect can be written into its own kernel, and is met."""
    code = entry.after[0]
    head, rest = code.source.split("    M, ", 1)
    source = f"{head}    {invariant}\n    M, {rest}"
    machine = any(w in invariant for w in ("spills", "occupancy", "registers"))
    told = reports(
        code.model_copy(update={"source": source, "build": machine}), entry.id
    )
    assert [r.verdict for r in told] == [Verdict.PROVED]
    met = [o for r in told for o in r.obligations if o.rule == "AG0513"]
    assert len(met) >= invariant.count("=")


def test_before_and_after_differ_in_the_machine_program() -> None:
    """An entry whose change placing would undo teaches nothing."""
    from argus.ir.printer import print_program

    for entry in ENTRIES:
        before = [
            print_program(p) for code in entry.before for p in placed(code, entry.id)
        ]
        after = [
            print_program(p) for code in entry.after for p in placed(code, entry.id)
        ]
        assert before != after, entry.id
