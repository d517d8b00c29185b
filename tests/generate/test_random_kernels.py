"""Random kernels through everything that needs no GPU; nothing proved may be wrong.

`ARGUS_RANDOM=2000 pytest tests/generate` looks at more of them, and
`benchmarks/random_kernels.py` does the same in many processes, and on a GPU.
"""

from __future__ import annotations

import ast
import os
from collections import Counter

import pytest

from argus.diagnostics import ArgusError
from few import EVERY
from generate import FAMILIES, GUARDS, generate, mutate
from generate.changes import KINDS
from generate.examine import examine
from generate.running import launched_sizes, request_of

COUNT = int(os.environ.get("ARGUS_RANDOM", "22"))


@pytest.fixture
def few_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are right: where terms are open there are two searches, not seven."""
    monkeypatch.setattr("argus.evaluation.equal.proof._SEARCHES", 0)


@pytest.mark.usefixtures("few_searches")
@pytest.mark.parametrize("seed", range(COUNT))
def test_a_random_kernel_is_judged_rightly(seed: int) -> None:
    """The first seeds take each family in turn."""
    names = list(FAMILIES)
    family = names[seed] if seed < len(names) else None
    generated = generate(seed, family)
    found = examine(generated)
    assert found.problems == [], generated.source
    # The generator makes right kernels.
    assert found.wrong == [], generated.source


def test_the_same_seed_gives_the_same_kernel() -> None:
    assert [generate(s) for s in range(20)] == [generate(s) for s in range(20)]


def test_most_kernels_are_accepted() -> None:
    refused: Counter[str] = Counter()
    for seed in range(60):
        try:
            request_of(generate(seed))
        except ArgusError as error:
            refused.update(error.codes)
    assert sum(refused.values()) <= 6, refused


def test_kernels_combine_features() -> None:
    features = [generate(seed).features for seed in range(300)]
    assert sum(len(f) >= 4 for f in features) > 200
    every = Counter(name for f in features for name in f)
    assert {"TMA", "cp.async", "turns", "cluster", "persistent", "registers"} <= {
        *every
    }


def test_mutants_parse_and_differ() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(40):
        generated = generate(seed)
        mutant = mutate(generated, seed)
        kinds[mutant.kind] += 1
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(
            ast.parse(generated.source)
        )
        assert mutant == mutate(generated, seed)
        before, after = (
            ast.dump(ast.parse(text).body[-1])
            for text in (generated.source, mutant.source)
        )
        assert before == after, "the reference has changed"
    assert len(kinds) >= len(KINDS) - 3


ORDERED = ("barrier_rings", "barrier_products", "handoffs")
"""Families whose kernels all write waits and arrivals themselves."""


@pytest.mark.parametrize("seed", range(6 if EVERY else 4))
def test_a_kernel_without_a_guard_is_not_proved_and_wrong(seed: int) -> None:
    """Each kind of change of order in turn, in kernels of each family in turn."""
    generated = generate(seed, ORDERED[seed % len(ORDERED)])
    kind = list(GUARDS)[seed % len(GUARDS)]
    mutant = mutate(generated, seed, {kind: GUARDS[kind]})
    found = examine(mutant.generated, schedules=2, render=False)
    assert found.problems == [], mutant.source


def test_every_kind_of_guard_has_places() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(60):
        generated = generate(seed, families=ORDERED)
        kinds[mutate(generated, seed, GUARDS).kind] += 1
    assert set(kinds) == set(GUARDS)


def test_sizes_that_a_launch_refuses_are_left_out() -> None:
    """A depth of 0: the inputs are empty, and the output is not."""
    found = [
        (g, [dict(s) for s in g.sizes if dict(s) not in launched_sizes(g)])
        for g in (generate(seed, families=["products"]) for seed in range(120))
    ]
    refused = [(g, sizes) for g, left_out in found for sizes in left_out]
    assert refused and all(sizes["K"] == 0 for _, sizes in refused)
    assert any(0 in sizes.values() for g, _ in found for sizes in launched_sizes(g))
