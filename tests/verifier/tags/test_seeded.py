"""One bug each, written into a kernel of the library, the tutorial or the examples.

Each seed replaces a piece of source, and names the code that is expected and how the
line begins at which it is expected. Where several obligations fail, one of them must be
that one.
"""

from __future__ import annotations

import pytest

from argus.verify.verdict import Verdict
from verifier.tags import seeds_documents, seeds_library
from verifier.tags.check_tags import ROOT, failing, placed, told
from verifier.tags.seed import Seed

SEEDS = (*seeds_documents.SEEDS, *seeds_library.SEEDS)


@pytest.mark.parametrize("seed", SEEDS, ids=[s.name for s in SEEDS])
def test_seed(seed: Seed) -> None:
    source = (ROOT / seed.file).read_text()
    for old, new in seed.text:
        assert old in source, f"{seed.file} no longer contains {old!r}"
        source = source.replace(old, new)
    bad = failing(placed(source, seed.kernel, "sm_90a", **seed.statics))
    refuted = [o for o in bad if o.verdict is Verdict.REFUTED]
    assert refuted, told(bad)
    lines = source.splitlines()
    fitting = [
        o
        for o in refuted
        if o.rule == seed.rule and lines[o.span.line - 1].strip().startswith(seed.line)
    ]
    assert fitting, told(bad)
    for o in refuted:
        assert o.counterexample is not None
        assert o.counterexample.sizes, "a counterexample names sizes"
