"""Reading entries: all that are needed are packaged; what is no entry is refused."""

from __future__ import annotations

import ast
import re
import time

import pytest

from argus.diagnostics import CATALOGUE
from argus.knowledge import (
    EntryError,
    entry,
    few_shot,
    load_entries,
    read_entry,
    store,
)

_NAMES = """
software-pipelining cp-async tma mma-tensor-cores wgmma split-k stream-k
warp-specialisation persistent-grid cluster-multicast ping-pong l2-rasterisation
swizzling vectorised-access unrolling epilogue-fusion tma-store register-budget
register-operand online-softmax exp2-folding lazy-rescale gather-fusion tail-masking
instruction-ordering launch-bounds stagger-k guarded-loads tile-shape
"""
IDS = set(_NAMES.split())
"""What planner, families and reports call the optimisations."""


def test_every_optimisation_has_an_entry() -> None:
    assert set(load_entries()) == IDS


def test_references_between_entries_exist() -> None:
    for e in load_entries().values():
        assert {*e.requires, *e.conflicts} <= IDS - {e.id}, e.id
        named = set(re.findall(r"`([a-z]+(?:-[a-z0-9]+)+)`", e.body))
        assert named <= IDS, (e.id, named - IDS)


def test_conflicts_go_both_ways() -> None:
    entries = load_entries()
    for e in entries.values():
        assert not set(e.requires) & set(e.conflicts), e.id
        assert all(e.id in entries[c].conflicts for c in e.conflicts), e.id


def test_what_is_required_exists_on_the_same_targets() -> None:
    """An entry is for no target for which one that it requires is not."""
    entries = load_entries()
    for e in entries.values():
        for needed in e.requires:
            assert set(e.architectures) <= set(entries[needed].architectures), e.id


def test_codes_in_entries_exist() -> None:
    for e in load_entries().values():
        text = e.body + " ".join(e.invariants)
        assert set(re.findall(r"AG\d{4}", text)) <= set(CATALOGUE), e.id


def test_invariants_are_words_or_statements_of_the_language() -> None:
    for e in load_entries().values():
        for invariant in e.invariants:
            if "ag." in invariant:
                call = ast.parse(invariant, mode="eval").body
                assert isinstance(call, ast.Call), invariant
                words = ast.unparse(call.func)
                assert words in ("ag.check", "ag.expect", "ag.assume", "ag.require")


def test_entries_say_something() -> None:
    for e in load_entries().values():
        assert len(e.why.split()) >= 60, e.id
        assert len(e.how.split()) >= 30, e.id
        assert all(len(p.text.split()) >= 6 for p in e.pitfalls), e.id
        assert e.body.isascii() or set(re.findall(r"[^\x00-\x7f]", e.body)) <= set("µ")


def test_a_gain_is_a_range_and_unmeasured_ones_are_nothing() -> None:
    for e in load_entries().values():
        assert -1.0 <= e.gain.low <= e.gain.high <= 3.2, e.id
        assert (e.gain.basis == "unmeasured") == (e.gain.low == e.gain.high == 0), e.id


def test_measured_gains_quote_the_repository() -> None:
    for e in load_entries().values():
        assert e.gain.basis != "measured" or "benchmarks/h200" in e.gain.source, e.id


def test_conditions_only_ask_for_what_features_have() -> None:
    """Names that tasks, judge and families give (agent/tasks/features.py)."""
    facts = {"entry", "target", "form", "bottleneck", "intensity"}
    options = {"bias", "relu", "residual", "gather", "causal"}
    counted = {"bank_conflicts", "access_bytes", "spill_bytes"}
    for e in load_entries().values():
        knobs = {n for n in e.condition.names if n.isupper()}
        assert e.condition.names - knobs <= facts | options | counted, e.id


def test_loading_is_fast() -> None:
    load_entries()  # pydantic builds its validators once
    store.load_entries.cache_clear()
    begin = time.perf_counter()
    assert len(load_entries()) == len(IDS)
    assert time.perf_counter() - begin < 0.25  # 0.03 s on a quiet core


def test_unknown_entry_suggests() -> None:
    with pytest.raises(KeyError, match="did you mean swizzling"):
        entry("swizzle")


def test_few_shot_has_code_and_counterexamples() -> None:
    text = few_shot(["tma", "swizzling"])
    assert text.count("## Pitfalls") == 2
    assert "error[AG0301]" in text
    assert "Applies when: " in text
    short = few_shot(["tma", "swizzling"], pitfalls=False)
    assert "## After" in short and "error[" not in short
    with pytest.raises(KeyError):
        few_shot(["nothing"])


# ------------------------------------------------------------------- what is refused

GOOD = """+++
id = "thing"
title = "A thing"
category = "local"
architectures = ["sm_90a"]
applies_when = 'M > 1'
invariants = ["it holds"]

[gain]
low = 0.0
high = 0.1
basis = "derived"
source = "twenty characters at least"
+++

## Why

Because.

## How in the language

So.

## Before

```python
a = 1
```

## After

```python target=sm_80 build
a = 2
```

## Pitfalls

### One

Words.

```python rule=AG0301 line=3
a = 3
```

```text
told
```
"""


def test_an_entry_is_read() -> None:
    e = read_entry(GOOD, "thing")
    assert (e.why, e.how) == ("Because.", "So.")
    assert e.before[0].source == "a = 1\n"
    assert (e.after[0].target, e.after[0].build) == ("sm_80", True)
    (pitfall,) = e.pitfalls
    assert (pitfall.title, pitfall.text) == ("One", "Words.")
    assert (pitfall.rule, pitfall.line, pitfall.shown) == ("AG0301", 3, "told\n")
    assert e.condition.evaluate({"M": 2}).value is True


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("+++\nid", "id", "front matter"),
        ('id = "thing"', 'id = "other"', "the id is other"),
        ('category = "local"', 'category = "locale"', "category"),
        ('architectures = ["sm_90a"]', 'architectures = ["sm_70"]', "architectures"),
        ("M > 1", "M >", "not an expression"),
        ("M > 1", "f(M)", "cannot stand in a condition"),
        ("low = 0.0", "low = 0.2", "low is greater than high"),
        ("low = 0.0", "low = x", "thing"),
        ("title", "titel", "titel"),
        ("## After", "## Later", "sections"),
        ("```python\na = 1\n```", "", "before"),
        ("target=sm_80", "target=sm_70", "no target sm_70"),
        ("```text\ntold\n```", "", "has blocks"),
        (" line=3", "", "names no rule or no line"),
        (" line=3", " line=x", "thing"),
    ],
)
def test_what_is_no_entry_is_refused(old: str, new: str, why: str) -> None:
    assert old in GOOD
    with pytest.raises(EntryError, match=re.escape(why)) as caught:
        read_entry(GOOD.replace(old, new, 1), "thing")
    assert str(caught.value).startswith("thing: ")
