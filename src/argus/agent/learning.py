"""What a trial teaches: changes of the policy, each citing the trials it comes from.

Preferences are mean rewards. Effects are read off the surrogate of the run, fitted to
all of its times with the policy of its beginning as the prior. Advice is written by
rule where no model writes it: what paid, what did not, what was refused, and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from argus.agent.beliefs import observations
from argus.agent.policy import ADVICE, EFFECT, PREFERENCE, place_of
from argus.agent.rewards import gain, reward
from argus.agent.space import FORM
from argus.agent.state import START, RunState
from argus.agent.surrogate import DesignGrid, Surrogate, TimedDesign, prior, softened
from argus.runs.history import RunTrial
from argus.runs.records import Change, JudgeVerdict, Learned, factor

_MOVED = 0.004
"""Smaller changes of an effect are not worth a line in the record."""
_PAIR_WORTH = 0.008
"""Smaller effects of two knobs together are not kept."""
_OFTEN = 3
"""Trials after which advice is given."""
_CLEAR = 0.02
"""Mean gains within that are neither good nor bad."""


def learned(
    state: RunState, number: int, family: str, *, by_rule: bool = True
) -> Learned:
    """The event that ends a trial. All its other events were applied to the state.

    ``by_rule``: whether advice is written by rule; not where a model has written it.
    """
    trial = state.trials[number]
    verdict = trial.verdict
    proposal = trial.proposal
    parent = state.time_of(trial.parent)
    predicted = proposal.predicted_gain if proposal else 0.0
    if proposal is None or proposal.optimisation == START:
        return Learned(
            trial=number, reward=0.0, predicted_gain=0.0, actual_gain=None, changes=()
        )
    earned = reward(verdict, parent) if verdict else 0.0
    actual = gain(verdict, parent) if verdict else None
    trials = [*state.done, trial]
    rewards = {number: earned}
    rewards |= {t.number: t.learned.reward for t in state.done if t.learned is not None}
    changes: list[Change] = []
    if verdict is not None and verdict.status != "failed":
        changes += _preference(state, trials, trial, rewards)
        changes += _effects(state, trial, family)
        if by_rule:
            changes += _advice(state, trials, trial, family, rewards)
    return Learned(
        trial=number,
        reward=earned,
        predicted_gain=predicted,
        actual_gain=actual,
        changes=tuple(changes),
    )


# ---- numbers -------------------------------------------------------------------------


def _same(trials: Sequence[RunTrial], trial: RunTrial) -> list[RunTrial]:
    """Trials of the same optimisation at the same bottleneck."""
    return [t for t in trials if _kind(t) == _kind(trial) and t.verdict is not None]


def _kind(trial: RunTrial) -> tuple[str, str] | None:
    if trial.proposed is None or trial.proposal is None:
        return None
    return trial.proposed.bottleneck, trial.proposal.optimisation


def _preference(
    state: RunState,
    trials: Sequence[RunTrial],
    trial: RunTrial,
    rewards: dict[int, float],
) -> list[Change]:
    kind = _kind(trial)
    if kind is None:
        return []
    key = f"{PREFERENCE}/{kind[0]}/{kind[1]}"
    old, now = state.base.statistic(key), state.policy.statistic(key)
    mine = _same(trials, trial)
    total = sum(rewards[t.number] for t in mine)
    count = len(mine)
    if old is not None:
        total += old.mean * old.count
        count += old.count
    before = now.mean if now else None
    cited = tuple(t.number for t in mine)
    return [Change(key=key, before=before, after=total / count, trials=cited)]


def _effects(state: RunState, trial: RunTrial, family: str) -> list[Change]:
    """Effects of the form's knobs, where this trial moved them."""
    design = state.design(trial.number)
    if design is None:
        return []
    form = str(design.get(FORM, ""))
    seen = observations(state, form, also=trial)
    if len(seen) < 2:
        return []
    place = place_of(state.started.task.problem.sizes)
    designs = [d for d, _ in seen.values()]
    grid = DesignGrid(designs)
    believed = prior(grid, state.base, family, form, place)
    values = softened([y for _, y in seen.values()])
    data = [TimedDesign(i, y) for i, y in enumerate(values)]
    effects = Surrogate(grid, believed, data).effects
    holders = _holders(state, trial, form)
    changes: list[Change] = []
    for name, moved in effects.items():
        key = f"{EFFECT}/{family}/{form}/{place}/{name}"
        now = state.policy.statistic(key)
        after = moved + state.base.effect(family, form, place, name)
        if " " in name and now is None and abs(after) < _PAIR_WORTH:
            continue
        if abs(after - (now.mean if now else 0.0)) < _MOVED:
            continue
        wanted = name.split(" ")
        cited = tuple(n for n, have in holders if all(w in have for w in wanted))
        before = now.mean if now else None
        changes.append(Change(key=key, before=before, after=after, trials=cited))
    return changes


def _holders(state: RunState, trial: RunTrial, form: str) -> list[tuple[int, set[str]]]:
    """Trials of the form with the values that their designs hold."""
    found: list[tuple[int, set[str]]] = []
    for t in [*state.done, trial]:
        design = state.design(t.number)
        if design is not None and str(design.get(FORM, "")) == form:
            found.append((t.number, {f"{k}={v}" for k, v in design.items()}))
    return found


# ---- advice --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tally:
    gains: list[float]
    refused: Counter[str]
    cited: tuple[int, ...]


def _advice(
    state: RunState,
    trials: Sequence[RunTrial],
    trial: RunTrial,
    family: str,
    rewards: dict[int, float],
) -> list[Change]:
    """A sentence about the trial's optimisation, once enough is known of it."""
    kind = _kind(trial)
    mine = _same(trials, trial)
    if kind is None or len(mine) < _OFTEN:
        return []
    tally = _Tally(
        [
            rewards[t.number]
            for t in mine
            if t.verdict and t.verdict.status == "correct"
        ],
        Counter(_refusal(t.verdict) for t in mine if t.verdict and _refusal(t.verdict)),
        tuple(t.number for t in mine),
    )
    text = _sentence(
        family, kind[0], kind[1], tally, len(mine), _best_edit(mine, rewards)
    )
    rest = f"{family}/{kind[0]}/{kind[1]}"
    now = state.policy.advice.get(rest)
    if not text or (now is not None and now.text == text):
        return []
    before = now.text if now else None
    key = f"{ADVICE}/{rest}"
    return [Change(key=key, before=before, after=text, trials=tally.cited)]


def _refusal(verdict: JudgeVerdict) -> str:
    """The code of what a verdict found first; "" where the kernel was accepted."""
    if verdict.status in ("rejected", "refuted", "unbuildable", "unknown"):
        return verdict.findings[0].code if verdict.findings else verdict.status
    return verdict.status if verdict.status in ("wrong", "crashed", "hung") else ""


def _best_edit(trials: Sequence[RunTrial], rewards: dict[int, float]) -> str:
    best = max(trials, key=lambda t: rewards[t.number])
    return best.proposal.where if best.proposal else ""


def _sentence(
    family: str,
    bottleneck: str,
    optimisation: str,
    tally: _Tally,
    count: int,
    best: str,
) -> str:
    words: list[str] = []
    about = f"{family}, limited by {bottleneck}: {optimisation}"
    if tally.gains:
        mean, top = sum(tally.gains) / len(tally.gains), max(tally.gains)
        if top > _CLEAR:
            percent = 100 * (factor(top) - 1)
            words.append(f"{about} brought up to {percent:.0f} % ({best})")
        elif mean < -_CLEAR:
            percent = 100 * (1 - factor(mean))
            words.append(f"{about} cost {percent:.0f} % on average; try something else")
        else:
            words.append(f"{about} made no difference")
    for code, times in tally.refused.most_common(1):
        share = f"{times} of {count}"
        words.append(
            f"{about if not words else 'but'} was refused {share} times ({code})"
        )
    return ", ".join(words) + "." if words else ""


def advice_for(state: RunState, family: str, bottleneck: str) -> tuple[str, ...]:
    """The policy's sentences for a family at a bottleneck, then those for others."""
    own: list[str] = []
    near: list[str] = []
    for key, advice in sorted(state.policy.advice.items()):
        of, at, _ = key.split("/", 2)
        if of == family:
            (own if at == bottleneck else near).append(advice.text)
    return (*own, *near)
