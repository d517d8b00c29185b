"""Families of cases of which a few are tried by default, and all before a release.

    @pytest.mark.parametrize("name", few(CASES, "plain", "causal"))

`ARGUS_TESTS=all make test` tries all. Cases that are left out by default pass the code
that those beside them pass: they differ in sizes, in numbers, or in which two of what
the others try meet.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

EVERY = os.environ.get("ARGUS_TESTS") == "all"


def few(cases: Iterable[T], *kept: T) -> list[T]:
    """Those that are kept, in the order of all cases; all with ``ARGUS_TESTS=all``."""
    every = list(cases)
    unknown = [case for case in kept if case not in every]
    assert not unknown, f"no such cases: {unknown}"
    return every if EVERY else [case for case in every if case in kept]


def spread(cases: Sequence[T], step: int) -> Sequence[T]:
    """The first, and each ``step``-th after it; all with ``ARGUS_TESTS=all``."""
    return cases[:: 1 if EVERY else step]


def rest(*cases: T) -> tuple[T, ...]:
    """Cases within a table that are tried with ``ARGUS_TESTS=all`` alone."""
    return cases if EVERY else ()
