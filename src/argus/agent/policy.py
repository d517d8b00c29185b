"""What the optimiser has learnt: a document of numbers and advice, kept for the user.

    policy = load(policy_file())
    policy.preference("memory", "tma")            # Statistic or None
    policy.effect("gemm", "roles", sizes, "BM=128")
    policy.changed(changes, base)                 # the document after some trials

Three parts. *Preferences*: mean reward of an optimisation at a bottleneck. *Effects*:
what the value of a knob, or of two knobs together, is worth in log speed-up, by family,
form and sizes (rounded to powers of two); at sizes that were never seen, those of
neighbouring sizes count, the nearer the more. *Advice*: sentences that cite trials.

The document changes by :class:`~argus.runs.records.Change` records only, so that the
record of a run tells its whole history. How changes are found is the matter of
``argus.agent.learning``.
"""

from __future__ import annotations

import fcntl
import math
import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from argus.diagnostics import fail
from argus.diagnostics.warning import warn
from argus.files import owned
from argus.files.documents import LONGEST, DocumentError, document
from argus.runs.folder import data_folder
from argus.runs.records import Change, StrictModel, Value

_KEPT_RUNS = 500
"""Names of merged runs that are remembered, so that none is merged twice."""
_NEAR = 2.0
"""Distance of sizes, in powers of two, at which what was learnt counts 60 %."""
_SETTLED = 8
"""More trials than that make an effect no more certain for other sizes."""
_DOUBT = 1.0
"""Trials that the belief "no effect" is worth."""

PREFERENCE, EFFECT, ADVICE = "preference", "effect", "advice"


_LARGEST = 30.0
"""Rewards and effects are logarithms of speed-ups: nothing is e**30 times as fast."""
_MOST = 10**9
_ENTRIES = 200_000

Key = Annotated[str, Field(pattern=r"^[^/]+/[^/]+", max_length=1000)]
EffectKey = Annotated[
    str,
    Field(
        pattern=r"^[^/]+/[^/]+/([^ =/]+=-?\d{1,3}( [^ =/]+=-?\d{1,3})*)?/.",
        max_length=1000,
    ),
]
"""family/form/place/feature, a place being names of dimensions with powers of two."""


def _bounded(value: float) -> float:
    return max(-_LARGEST, min(_LARGEST, value))


class Statistic(StrictModel):
    """A mean over ``count`` trials."""

    mean: float = Field(ge=-_LARGEST, le=_LARGEST)
    count: int = Field(ge=0, le=_MOST)

    @staticmethod
    def of(mean: float, count: int) -> Statistic:
        """The statistic, at most as large as one can be."""
        return Statistic(mean=_bounded(mean), count=min(count, _MOST))


class Advice(StrictModel):
    """A sentence; ``trials`` are those that it cites, of the run that gave it."""

    text: str = Field(max_length=10_000)
    trials: tuple[Annotated[int, Field(ge=0, le=_MOST)], ...] = Field(
        max_length=_ENTRIES
    )


class Policy(StrictModel):
    """The document. Keys are those of changes, without their first part."""

    version: Literal[1] = 1
    preferences: dict[Key, Statistic] = Field(default={}, max_length=_ENTRIES)
    effects: dict[EffectKey, Statistic] = Field(default={}, max_length=_ENTRIES)
    advice: dict[str, Advice] = Field(default={}, max_length=_ENTRIES)
    runs: dict[str, Annotated[int, Field(ge=0, le=_MOST)]] = Field(
        default={}, max_length=_ENTRIES
    )
    """Runs that were merged, with how many of their trials."""

    def preference(self, bottleneck: str, optimisation: str) -> Statistic | None:
        """Mean reward of the optimisation where that resource was the bottleneck."""
        return self.preferences.get(f"{bottleneck}/{optimisation}")

    def effect(self, family: str, form: str, place: str, feature: str) -> float:
        """Expected log speed-up of a feature ("BM=128", "BM=128 BN=256").

        Relative to other values of the same knobs; 0 where nothing is known. ``place``
        is from :func:`place_of`. Effects at other places count by their distance.
        """
        known = self._by_feature.get(f"{family}/{form}", {}).get(feature)
        if not known:
            return 0.0
        here = _coordinates(place)
        weighted = weights = 0.0
        for there, statistic in known:
            near = math.exp(-0.5 * (_distance(here, there) / _NEAR) ** 2)
            weight = near * min(statistic.count, _SETTLED)
            weighted += weight * statistic.mean
            weights += weight
        return weighted / (weights + _DOUBT)

    @cached_property
    def _by_feature(
        self,
    ) -> dict[str, dict[str, list[tuple[dict[str, float], Statistic]]]]:
        found: dict[str, dict[str, list[tuple[dict[str, float], Statistic]]]] = {}
        for key, statistic in self.effects.items():
            family, form, place, feature = key.split("/", 3)
            group = found.setdefault(f"{family}/{form}", {})
            group.setdefault(feature, []).append((_coordinates(place), statistic))
        return found

    def statistic(self, key: str) -> Statistic | None:
        """The number under a whole key ("preference/...", "effect/...")."""
        part, rest = key.split("/", 1)
        table = self.preferences if part == PREFERENCE else self.effects
        return table.get(rest)

    def changed(self, changes: Iterable[Change], base: Policy) -> Policy:
        """The document after changes of one run.

        A change cites all trials of its run that speak for it; ``base`` is the policy
        at the beginning of the run, whose counts they are added to.
        """
        tables = {PREFERENCE: dict(self.preferences), EFFECT: dict(self.effects)}
        advice = dict(self.advice)
        for change in changes:
            part, rest = change.key.split("/", 1)
            if isinstance(change.after, str):
                advice[rest] = Advice(text=change.after, trials=change.trials)
                continue
            old = base.statistic(change.key)
            count = (old.count if old else 0) + len(change.trials)
            tables[part][rest] = Statistic.of(change.after, count)
        return Policy(
            preferences=tables[PREFERENCE],
            effects=tables[EFFECT],
            advice=advice,
            runs=self.runs,
        )


def place_of(sizes: Mapping[str, int]) -> str:
    """Sizes rounded to powers of two, as a part of keys: "K=12 M=13 N=13"."""
    rounded = {d: round(math.log2(max(1, n))) for d, n in sizes.items()}
    return " ".join(f"{d}={rounded[d]}" for d in sorted(rounded))


def feature(pairs: Mapping[str, Value]) -> str:
    """The name of values of knobs together, as a part of keys."""
    return " ".join(f"{k}={pairs[k]}" for k in sorted(pairs))


def _coordinates(place: str) -> dict[str, float]:
    words = (word.partition("=") for word in place.split())
    return {name: float(number) for name, _, number in words}


def _distance(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    names = one.keys() | other.keys()
    squares = sum((one.get(n, 0.0) - other.get(n, 0.0)) ** 2 for n in names)
    return math.sqrt(squares)


# ---- the file ------------------------------------------------------------------------


def policy_file() -> Path:
    """Where the user's policy is kept."""
    return data_folder() / "policy.json"


def load(path: Path) -> Policy:
    """The policy in a file; an empty one where there is no file.

    A file that is not a policy is as good as none: an ArgusWarning (AG1004) says what
    is wrong with it. It stays where it is until something is learnt, and is then kept
    beside it (see :func:`merge`).
    """
    try:
        return _read(path)
    except FileNotFoundError:
        return Policy()
    except (OSError, DocumentError) as error:
        warn("AG1004", f"the policy {path} is not used: {error}")
        return Policy()


def _read(path: Path) -> Policy:
    """Raises OSError and DocumentError."""
    with owned.opened(path.parent) as folder:
        return document(Policy, owned.read(folder, path.name, LONGEST))


def merge(
    path: Path, run: str, trials: int, policy_at: Callable[[int], Policy]
) -> Policy:
    """Add what a run has learnt to the file, once; returns what is in it then.

    ``policy_at(n)`` is the run's policy after ``n`` of its ``trials``. What the file
    has of the run already (from before it was interrupted) is not added again. Another
    process may have written the file since the run began: then means are weighted by
    their counts. A file that is not a policy is kept under another name, which an
    ArgusWarning (AG1004) tells. Raises ArgusError AG0902 (cannot be written).
    """
    try:
        with owned.opened(path.parent, create=True) as folder, _locked(folder, path):
            now = _set_aside(folder, path)
            merged = now.runs.get(run, 0)
            if merged >= trials:
                return now
            after = _merged(now, policy_at(merged), policy_at(trials))
            runs = {**{n: c for n, c in now.runs.items() if n != run}, run: trials}
            kept = dict(list(runs.items())[-_KEPT_RUNS:])
            after = after.model_copy(update={"runs": kept})
            content = after.model_dump_json(indent=1).encode()
            owned.write(folder, path.name, content)
            return after
    except OSError as error:
        text = f"the policy {path} cannot be written"
        raise fail("AG0902", None, text, notes=[str(error)]) from error


def forget(path: Path) -> bool:
    """Remove the file; whether there was one. Raises ArgusError AG0902.

    Also one that cannot be read: forgetting is the way out of that.
    """
    if not os.path.exists(path):
        return False
    try:
        with owned.opened(path.parent) as folder, _locked(folder, path):
            path.unlink()
    except OSError as error:
        text = f"the policy {path} cannot be removed"
        raise fail("AG0902", None, text, notes=[str(error)]) from error
    return True


def _merged(now: Policy, base: Policy, learnt: Policy) -> Policy:
    return Policy(
        preferences=_numbers(now.preferences, base.preferences, learnt.preferences),
        effects=_numbers(now.effects, base.effects, learnt.effects),
        advice={
            **now.advice,
            **{k: a for k, a in learnt.advice.items() if base.advice.get(k) != a},
        },
    )


def _numbers(
    now: Mapping[str, Statistic],
    base: Mapping[str, Statistic],
    learnt: Mapping[str, Statistic],
) -> dict[str, Statistic]:
    after = dict(now)
    for key, new in learnt.items():
        old, present = base.get(key), now.get(key)
        if new == old:
            continue
        if present is None or present == old:
            after[key] = new
            continue
        own = max(1, new.count - (old.count if old else 0))
        count = present.count + own
        mean = (present.mean * present.count + new.mean * own) / count
        after[key] = Statistic.of(mean, count)
    return after


def _set_aside(folder: int, path: Path) -> Policy:
    """What is in the file; one that cannot be read makes room, and is not lost."""
    try:
        return _read(path)
    except FileNotFoundError:
        return Policy()
    except (DocumentError, owned.ForeignError) as error:
        other = f"{path.stem}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.unread"
        os.rename(path.name, other, src_dir_fd=folder, dst_dir_fd=folder)
        warn("AG1004", f"the policy {path} is kept as {other}: {error}")
        return Policy()


@contextmanager
def _locked(folder: int, path: Path) -> Generator[None]:
    name = path.with_suffix(".lock").name
    handle = owned.open_file(folder, name, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
