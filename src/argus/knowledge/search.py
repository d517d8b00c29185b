"""Finding entries: by words (BM25), by what applies to a task, or by both.

BM25 is the Okapi form with k1 = 1.5 and b = 0.75 (Robertson and Zaragoza 2009, "The
Probabilistic Relevance Framework"). Words of titles, ids and knobs count several times.
Whether an entry applies multiplies its score; it never hides an entry, since a person
may well ask about what does not apply.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from argus.knowledge.conditions import ConditionOutcome, Value
from argus.knowledge.entry import KnowledgeEntry
from argus.knowledge.store import entry, load_entries

_K1, _B = 1.5, 0.75
_TITLE, _ID, _KNOB = 4, 6, 3
"""How many times a word of the title, the id or a knob counts."""
_APPLIES = {True: 1.25, None: 1.0, False: 0.4}
_CODE = re.compile(r"^```.*?^```$", re.M | re.S)
"""Blocks are not searched: most of their words are the same in all entries."""
_NOT_WORDS = frozenset(
    word
    for line in (
        "a an and are as at be by can for from has how i in is it of on or that the",
        "this to what when where which with",
    )
    for word in line.split()
)
_MEANS = {
    "sm": "multiprocessor",
    "sms": "multiprocessor",
    "cta": "block",
    "ctas": "block",
    "threadblock": "block",
    "gmem": "hbm",
    "dram": "hbm",
    "smem": "shared",
    "gemm": "product",
    "matmul": "product",
    "sdpa": "attention",
    "deadlock": "hang",
}
"""Words that people ask with, and those that entries use."""


@dataclass(frozen=True)
class Hit:
    """An entry that was found. ``applies`` is None where the features do not say."""

    entry: KnowledgeEntry
    score: float
    applies: bool | None
    why: str


def applicability(
    entry: KnowledgeEntry, features: Mapping[str, Value]
) -> ConditionOutcome:
    """Whether the entry applies: its architectures and its condition."""
    target = features.get("target")
    if target is not None and target not in entry.architectures:
        return ConditionOutcome(False, f"needs {' or '.join(entry.architectures)}")
    return entry.condition.evaluate(features)


def applicable(features: Mapping[str, Value]) -> tuple[KnowledgeEntry, ...]:
    """The entries whose conditions hold, the greatest typical gain first.

    What cannot be said for lack of a feature is not among them; :func:`search` with an
    empty query lists those, too.
    """
    found = [e for e in load_entries().values() if applicability(e, features).value]
    return tuple(sorted(found, key=lambda e: (-e.gain.middle, e.id)))


def search(
    query: str, features: Mapping[str, Value] | None = None, limit: int = 5
) -> tuple[Hit, ...]:
    """Entries for a query, the best first.

    Without any word in the query, all entries: those that apply before those of which
    it is not known, these before the others, by typical gain within each.
    """
    known = features or {}
    words = set(tokens(query))
    hits: list[Hit] = []
    for e in load_entries().values():
        outcome = applicability(e, known)
        score = _relevance(e.id, words) if words else math.exp(e.gain.middle)
        if score <= 0.0:
            continue
        factor = _APPLIES[outcome.value]
        hits.append(Hit(e, score * factor, outcome.value, outcome.why))
    order = {True: 0, None: 1, False: 2}

    def rank(hit: Hit) -> tuple[float, float, str]:
        group = 0 if words else order[hit.applies]
        return (group, -hit.score, hit.entry.id)

    return tuple(sorted(hits, key=rank)[:limit])


def tokens(text: str) -> list[str]:
    """Words in lower case, without endings that only bend them, and not letters."""
    found: list[str] = re.findall(r"[a-z][a-z0-9_.]*", text.lower())
    words = [w.strip("._") for w in found]
    return [
        _stem(_MEANS.get(w, w)) for w in words if len(w) > 1 and w not in _NOT_WORDS
    ]


def _stem(word: str) -> str:
    for ending in ("ations", "ation", "ising", "ised", "ing", "ers", "ed", "er", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word


@cache
def _index() -> tuple[dict[str, Counter[str]], Counter[str], float]:
    """Word counts of each entry, entries of each word, mean length."""
    counts: dict[str, Counter[str]] = {}
    for e in load_entries().values():
        count = Counter(tokens(_CODE.sub("", e.body)))
        for text, weight in (
            (e.title, _TITLE),
            (e.id.replace("-", " "), _ID),
            (" ".join(e.knobs), _KNOB),
            (e.applies_when, 1),
        ):
            for word in tokens(text):
                count[word] += weight
        counts[e.id] = count
    present = Counter(w for c in counts.values() for w in c)
    mean = sum(c.total() for c in counts.values()) / max(len(counts), 1)
    return counts, present, mean


def _relevance(id: str, words: Iterable[str]) -> float:
    counts, present, mean = _index()
    count, n = counts[id], len(counts)
    norm = _K1 * (1 - _B + _B * count.total() / mean)
    score = 0.0
    for word in words:
        often = count[word]
        if often:
            rare = math.log(1 + (n - present[word] + 0.5) / (present[word] + 0.5))
            score += rare * often * (_K1 + 1) / (often + norm)
    return score


def few_shot(ids: Iterable[str], *, pitfalls: bool = True) -> str:
    """The entries as one text for a language model. Raises KeyError for an unknown id.

    The examples in it are proved and the mistakes refuted by the tests, so that a model
    sees nothing in the language that is not so. Without ``pitfalls`` it is shorter.
    """
    return "\n\n".join(_shot(entry(id), pitfalls) for id in ids)


def _shot(e: KnowledgeEntry, pitfalls: bool) -> str:
    facts = [
        f"# {e.title} ({e.id})",
        f"Category: {e.category}. Targets: {', '.join(e.architectures)}.",
        f"Applies when: {e.applies_when}",
        f"Knobs: {', '.join(e.knobs) or 'none'}.",
        "Invariants: " + "; ".join(e.invariants),
        f"Typical speed-up: {math.exp(e.gain.low):.2f}x to "
        f"{math.exp(e.gain.high):.2f}x ({e.gain.basis}: {e.gain.source})",
    ]
    for label, ids in (("Needs", e.requires), ("Excludes", e.conflicts)):
        if ids:
            facts.append(f"{label}: {', '.join(ids)}.")
    body = e.body if pitfalls else e.body.partition("## Pitfalls")[0]
    return "\n".join(facts) + "\n\n" + body.rstrip()
