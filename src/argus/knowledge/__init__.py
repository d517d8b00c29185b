"""The knowledge base: what is known of optimisations, and the search over it.

    entry("tma").after                      examples that are proved
    search("bank conflicts", features)      ranked, with whether each applies and why
    applicable(features)                    those whose conditions hold
    few_shot(("tma", "wgmma"))              text for a language model

Entries are packaged files, ``entries/*.md``; docs/knowledge.md says how to write one.
Nothing of the compiler is imported; that examples compile is shown by the tests.
"""

from argus.knowledge.conditions import (
    Condition,
    ConditionError,
    ConditionOutcome,
    parse,
)
from argus.knowledge.entry import (
    CodeBlock,
    EntryError,
    Gain,
    KnowledgeEntry,
    Pitfall,
    read_entry,
)
from argus.knowledge.search import Hit, applicability, applicable, few_shot, search
from argus.knowledge.store import entry, load_entries

__all__ = [
    "CodeBlock",
    "Condition",
    "ConditionError",
    "ConditionOutcome",
    "EntryError",
    "Gain",
    "Hit",
    "KnowledgeEntry",
    "Pitfall",
    "applicability",
    "applicable",
    "entry",
    "few_shot",
    "load_entries",
    "parse",
    "read_entry",
    "search",
]
