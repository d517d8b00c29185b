"""Tasks from the library: an entry with sizes, started from the naive kernel."""

from __future__ import annotations

from collections.abc import Mapping

from argus.agent.spaces import space_for
from argus.agent.tasks.features import library_features
from argus.diagnostics import fail
from argus.kernels.library import LibraryEntry, entry_named
from argus.requests import target_named
from argus.runs.records import LibraryProblem, Task, Value
from argus.targets import DEFAULT_TARGET


def library_task(
    entry: str,
    sizes: Mapping[str, int],
    options: Mapping[str, Value] | None = None,
    target: str | None = None,
) -> Task:
    """The task of a library entry at some sizes.

    ``sizes``: by dimension, all of the entry's (of attention, ``G`` and ``T`` may be
    left out: they are ``H`` and ``S``). ``options`` are those of its cases: ``bias``,
    ``relu``, ``residual``, ``causal``, ``gather``.

    Raises ArgusError: AG0909 (no such entry), AG0908 (sizes or options that it does not
    have), AG0601 and AG0602 (target).
    """
    found = entry_named(entry)
    chosen = target_named(target or DEFAULT_TARGET).name
    if target is None and chosen not in found.targets:
        chosen = found.targets[0]
    if chosen not in found.targets:
        raise fail(
            "AG0602",
            None,
            f"`{entry}` has no form for {chosen}",
            help=f"its targets are {', '.join(found.targets)}",
        )
    problem = LibraryProblem(
        entry=entry,
        sizes=_sizes(found, sizes),
        options=_options(found, options or {}),
        target=chosen,
    )
    return problem_task(problem)


def problem_task(problem: LibraryProblem) -> Task:
    """The task of a problem of the library, started from its family's naive kernel."""
    family = space_for(problem)
    design = family.start(problem)
    why = family.invalid(design, problem)
    if why is not None:
        raise fail(
            "AG1018", None, f"there is no kernel to start `{problem.entry}` from: {why}"
        )
    start = family.candidate(design, problem)
    return Task(
        name=_name(problem),
        problem=problem,
        start=start,
        family=family.name,
        features=library_features(problem, start),
    )


def _sizes(entry: LibraryEntry, given: Mapping[str, int]) -> dict[str, int]:
    names = list(entry.large[0].sizes)
    extra = entry.further
    for name, value in given.items():
        if name not in names and name not in extra:
            raise fail(
                "AG0908",
                None,
                f"`{entry.name}` has no size `{name}`",
                help=f"its sizes are {', '.join(names)}",
            )
        if value < 1:
            raise fail("AG0908", None, f"the size {name}={value} is not positive")
    whole = dict(given)
    for name, like in entry.usual.items():
        if name not in whole and like in whole:
            whole[name] = whole[like]
    missing = [n for n in names if n not in whole]
    if missing:
        raise fail(
            "AG0908",
            None,
            f"the size `{missing[0]}` of `{entry.name}` is not given",
            help=f"its sizes are {', '.join(names)}",
        )
    return {n: whole[n] for n in (*names, *extra) if n in whole}


def _options(entry: LibraryEntry, given: Mapping[str, Value]) -> dict[str, Value]:
    known = {w for c in (*entry.small, *entry.large) for w in c.options if w.islower()}
    known |= set(entry.epilogues)
    for name in given:
        if name not in known:
            raise fail(
                "AG0908",
                None,
                f"`{entry.name}` has no option `{name}`",
                help=f"it has {', '.join(sorted(known)) or 'none'}",
            )
    # An option counts by being there: one that is false is left out.
    return {k: v for k, v in given.items() if v is not False and v != 0}


def _name(problem: LibraryProblem) -> str:
    shape = "x".join(map(str, problem.sizes.values()))
    words = "".join(f" {w}" for w in problem.options if w.islower())
    return f"{problem.entry} {shape}{words}"
