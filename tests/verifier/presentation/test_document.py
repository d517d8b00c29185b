"""The counterexample of docs/verification.md is the one that is found."""

import re
import sys
from pathlib import Path

from argus.diagnostics import render_all
from argus.verify.order.axioms import AXIOMS
from argus.verify.render.diagnostics import diagnostics
from argus.verify.verifier import verify

sys.path.insert(0, str(Path(__file__).parent))
from reports import placed

TEXT = (Path(__file__).parents[3] / "docs" / "verification.md").read_text()


def _any_case(text: str) -> str:
    """Which pair is shown does not matter: several are wrong."""
    return re.sub(r"= -?\d+", "= n", text)


def block(head: str) -> str:
    found = re.search(rf"^```{head}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_the_counterexample(tmp_path: Path) -> None:
    program = placed(tmp_path, block("python argus name=shifted"))
    report = verify(program, only=["tags"])
    said = render_all(diagnostics(report), width=120)
    for line in block("text proof=shifted").splitlines():
        assert _any_case(line) in _any_case(said)


def test_every_axiom_is_listed() -> None:
    assert all(f"| {axiom.name} |" in TEXT for axiom in AXIOMS)
