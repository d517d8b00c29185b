"""The loop of a run: plan, select, lower, validate, learn, until there is an end.

    optimiser = Optimiser.begin(store, task, space, judge, agent, ...)
    outcome = optimiser.go()

Trials are planned in batches, so that what needs no GPU runs side by side. Each step is
written down before the next begins, and the state is what was written: a run that was
cut off goes on where it stood. Who proposes, lowers and judges is decided elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from argus.agent.ablation import ablate, measure_again
from argus.agent.budget import INTERRUPTED, StoppingRules, cost_of, enough, spent
from argus.agent.interfaces import (
    Advised,
    Advisor,
    BatchAgent,
    BudgetLeft,
    CandidateJudge,
    Heard,
    Hears,
    Lowering,
    LoweringAgent,
    Plans,
    ProposalOrder,
    Stopping,
)
from argus.agent.learning import advice_for, learned
from argus.agent.planner import begin
from argus.agent.policy import merge
from argus.agent.remembering import RememberingJudge
from argus.agent.space import Design, SearchSpace
from argus.agent.state import RunState, same_source
from argus.runs.history import RunTrial, history, total
from argus.runs.records import (
    Asked,
    Budget,
    Candidate,
    Cost,
    Event,
    Finished,
    Judged,
    JudgeVerdict,
    Lowered,
    Proposed,
    Resumed,
)
from argus.runs.store import Run

BATCH = 4
"""Trials that are planned together."""


@dataclass(frozen=True)
class Options:
    """How a run goes. ``budget`` None is that of the record.

    ``policy`` is the file that learns from it; None: nobody does, and nobody learns
    from a run that is cold. ``ablate``: whether the best kernel is taken apart at the
    end.
    """

    budget: Budget | None = None
    batch: int = BATCH
    stop: StoppingRules = field(default_factory=StoppingRules)
    policy: Path | None = None
    ablate: bool = True


class Optimiser:
    """One run in progress. Events are given to ``watch`` after they were written."""

    def __init__(
        self,
        run: Run,
        space: SearchSpace,
        planner: Plans,
        judge: CandidateJudge,
        agent: LoweringAgent,
        options: Options | None = None,
        watch: Callable[[Event, RunState], None] | None = None,
    ) -> None:
        self._run = run
        self._space = space
        self._planner = planner
        self._judge = RememberingJudge(judge)
        self._agent = agent
        self._options = options or Options()
        self._watch = watch
        stamped = run.stamped()
        self.state = RunState.rebuild([s.event for s in stamped], run.get)
        self._earlier = history(stamped).seconds
        self._began = time.monotonic()
        self._task = self.state.started.task
        # What requests took that are written down, by trial and by what about.
        self._heard: dict[tuple[int, str], list[Cost]] = {}

    # ---- the whole of it

    def go(self) -> Finished:
        """Work until there is an end, and say which. Ctrl-C is an end, too."""
        try:
            reason = self._work()
            self.settle()
        except KeyboardInterrupt:
            reason = INTERRUPTED
        return self.finish(reason)

    def _work(self) -> str:
        while True:
            reason = self.reason()
            if reason is not None and not self.state.open:
                return reason
            if not self.propose(self._room()):
                return "nothing left to try"
            self.lower()
            self.validate()
            self.learn()

    def reason(self) -> str | None:
        """Why the run should end now; None if it should not."""
        stopped = self._agent.stopped if isinstance(self._agent, Stopping) else None
        return (
            spent(self._budget, self.state, self._seconds / 60)
            or enough(self.state, self._options.stop)
            or stopped
        )

    @property
    def _budget(self) -> Budget:
        return self._options.budget or self.state.budget

    @property
    def _seconds(self) -> float:
        """Wall-clock time of all processes that worked on the run."""
        return self._earlier + time.monotonic() - self._began

    def left(self) -> BudgetLeft:
        """What may still be spent."""
        budget, cost = self._budget, self.state.spent
        minutes = budget.minutes
        return BudgetLeft(
            tokens=None if budget.tokens is None else budget.tokens - cost.tokens,
            usd=None if budget.usd is None else budget.usd - cost.usd,
            seconds=None if minutes is None else 60 * minutes - self._seconds,
        )

    def _room(self) -> int:
        """Trials of the present batch: batches begin at multiples of their size."""
        first = len(self.state.done)
        size = 1 if first == 0 else self._options.batch
        left = size - (first - 1) % size if first else 1
        if self._budget.trials is not None:
            left = min(left, self._budget.trials - first)
        return max(left, len(self.state.open))

    # ---- its steps

    def propose(self, count: int) -> bool:
        """Plan until ``count`` trials are open; whether any is."""
        state = self.state
        while len(state.open) < count:
            number = len(state.trials)
            if number == 0:
                start = begin(self._task.name)
                event = Proposed(
                    trial=0,
                    parent=None,
                    bottleneck="",
                    proposals=(start,),
                    probabilities=(1.0,),
                    chosen=0,
                )
            else:
                planned = self._planner.plan(state, number, self._pending())
                if planned is None:
                    break
                event = planned
            self._write(event)
        return bool(state.open)

    def lower(self) -> None:
        """Let the agent carry out what was proposed."""
        waiting = [t for t in self.state.open if t.lowered is None]
        fresh = [t for t in waiting if t.parent is not None]
        for trial in waiting:
            if trial.parent is None:
                self.lowered(trial.number, Lowering(self._task.start))
        if not fresh:
            return
        orders = [self.order(t) for t in fresh]
        if isinstance(self._agent, BatchAgent):

            def done(place: int, lowering: Lowering) -> None:
                self.lowered(fresh[place].number, lowering)

            self._agent.lower_all(orders, self._judge, done)
        else:
            for trial, order in zip(fresh, orders, strict=True):
                self.lowered(trial.number, self._agent.lower(order, self._judge))

    def lowered(self, number: int, lowering: Lowering) -> None:
        """Write down what an agent made of a trial's proposal."""
        name = None
        if lowering.candidate is not None:
            name = self._run.put(lowering.candidate.model_dump_json())
        self._write(
            Lowered(
                trial=number,
                candidate=name,
                attempts=lowering.attempts,
                failure=lowering.failure,
                cost=self._rest(number, "kernel", lowering.cost),
                note=lowering.note,
                conversation=self._kept(lowering.conversation),
                lost=lowering.lost,
            )
        )

    def validate(self) -> None:
        """Let the judge say what was made."""
        open_ = [t for t in self.state.open if t.judged is None]
        waiting = [t for t in open_ if t.number in self.state.candidates]
        candidates = [self.state.candidates[t.number] for t in waiting]
        if not candidates:
            return
        verdicts = self._judge.judged(
            self._task.problem, candidates, self.state.programs()
        )
        for trial, verdict in zip(waiting, verdicts, strict=True):
            self.judged(trial.number, verdict)

    def judged(self, number: int, verdict: JudgeVerdict) -> None:
        """Write down the verdict on a trial's candidate."""
        self._write(Judged(trial=number, verdict=verdict, cost=cost_of(verdict)))

    def learn(self) -> None:
        """Rewards, and what they change in the policy.

        Advice comes from the agent if it gives any, once for all trials of the batch,
        and is written down with the last of them.
        """
        trials = self.state.open
        advised = self._advised(trials)
        by_rule = advised is None or bool(advised.failure)
        for trial in trials:
            event = learned(self.state, trial.number, self._space.name, by_rule=by_rule)
            if advised is not None and trial is trials[-1]:
                event = event.model_copy(
                    update={
                        "changes": (*event.changes, *advised.changes),
                        "cost": self._rest(trial.number, "advice", advised.cost),
                        "note": advised.failure,
                        "conversation": self._kept(advised.conversation),
                    }
                )
            self._write(event)

    def _advised(self, trials: Sequence[RunTrial]) -> Advised | None:
        if not isinstance(self._agent, Advisor):
            return None
        hears = self._hears(trials[-1].number, "advice")
        return self._agent.advise(
            self.state, trials, self._space.name, self.left(), hears
        )

    def _hears(self, trial: int, about: Literal["kernel", "advice"]) -> Hears:
        """Writes down requests to a model, for a trial, as they come back."""
        costs = self._heard[trial, about] = []

        def write(heard: Heard) -> None:
            self._write(
                Asked(
                    trial=trial,
                    about=about,
                    request=heard.request,
                    conversation=self._run.put(heard.conversation),
                    cost=heard.cost,
                    priced=heard.priced,
                )
            )
            costs.append(heard.cost)

        return write

    def _rest(self, trial: int, about: str, cost: Cost) -> Cost:
        """Of what an agent took, that which is not written down yet."""
        known = total(self._heard.pop((trial, about), ()))
        return Cost(
            gpu_seconds=max(0.0, cost.gpu_seconds - known.gpu_seconds),
            tokens=max(0, cost.tokens - known.tokens),
            usd=max(0.0, cost.usd - known.usd),
        )

    def _kept(self, conversation: str) -> str | None:
        """The artefact of a conversation."""
        return self._run.put(conversation) if conversation else None

    def finish(self, reason: str) -> Finished:
        """End the run, and let the user's policy know what was learnt."""
        best = self.state.best
        event = Finished(reason=reason, best=best.number if best else None)
        self._write(event)
        path = self._options.policy
        if path is not None and not self.state.cold:
            done = len(self.state.done)
            merge(path, self._run.id, done, self.state.policy_at)
        return event

    def settle(self) -> None:
        """Measure the best kernels side by side, then take the best one apart."""
        for event in measure_again(self.state, self._task.problem, self._judge):
            self._write(event)
        if not self._options.ablate:
            return
        for event in ablate(
            self.state, self._task.problem, self._space, self._judge, self._run.put
        ):
            self._write(event)

    # ---- what agents are told

    def order(self, trial: RunTrial) -> ProposalOrder:
        """The order to carry out a trial's proposal."""
        proposed = trial.proposed
        assert proposed is not None and proposed.parent is not None
        state = self.state
        return ProposalOrder(
            task=self._task,
            parent=state.candidates[proposed.parent],
            verdict=state.verdict_of(proposed.parent),
            proposal=proposed.proposals[proposed.chosen],
            advice=advice_for(state, self._space.name, proposed.bottleneck),
            seed=state.started.seed,
            tried=self._tried,
            left=self.left(),
            hears=self._hears(trial.number, "kernel"),
        )

    def _tried(self, candidate: Candidate) -> bool:
        name = same_source(candidate)
        return any(same_source(c) == name for c in self.state.candidates.values())

    def _pending(self) -> list[Design]:
        """Designs that open trials will try."""
        found: list[Design] = []
        for trial in self.state.open:
            parent = None if trial.parent is None else self.state.design(trial.parent)
            if parent is not None and trial.proposal is not None:
                found.append(self._space.apply(parent, trial.proposal.edit))
        return found

    def _write(self, event: Event) -> None:
        self._run.append(event)
        self.state.apply(event, self._run.get)
        if self._watch is not None:
            self._watch(event, self.state)


def resume(
    run: Run,
    environment: dict[str, str],
    budget: Budget | None = None,
    *,
    cold: bool = False,
) -> None:
    """Write down that a run goes on, and with which limits if they are others.

    ``cold``: from now on it teaches nothing. To be called before its optimiser is made.
    """
    run.append(Resumed(environment=environment, budget=budget, cold=cold))
