"""Does what was learnt on some sizes help on others? A replay of measured times.

    PYTHONPATH=src python benchmarks/learning.py [--data benchmarks/h200/model.json]
        [--seeds 10] [--out benchmarks/learning.json]

The environment is a table: every design of a grid, at several sizes of a matrix
product, with its time as `model_data.py` measured it on the GPU. A trial looks one
design up. Planner, surrogate, rewards and policy are the optimiser's own; there is no
performance model and no knowledge base in the loop, so that what differs between the
arms is the policy alone:

    warm     the policy that runs on the training sizes have left behind
    cold     an empty policy
    random   designs drawn uniformly, none twice

What counts is the number of trials until the best kernel so far is within 2 % of the
best of the table, on sizes that the warm policy has never seen. All arms start from the
same poor design, which is the first trial.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from argus.agent.beliefs import Beliefs, Expectation
from argus.agent.interfaces import Lowering
from argus.agent.learning import learned
from argus.agent.loop import BATCH
from argus.agent.planner import Planner, begin
from argus.agent.policy import Policy
from argus.agent.pool import Pool
from argus.agent.space import FORM, Design, key
from argus.agent.state import RunState
from argus.model.data import read
from argus.runs.records import (
    Budget,
    Candidate,
    Event,
    Judged,
    JudgeVerdict,
    LibraryProblem,
    Lowered,
    Measured,
    Predicted,
    Problem,
    Proposed,
    Started,
    Task,
    Value,
)

HERE = Path(__file__).parent
DATA = HERE / "h200" / "model.json"
FORM_NAME = "gemm_sm90"
COUPLED = (("BM", "BN", "WARPGROUPS"), ("BK", "STAGES"))
"""Knobs that a move may change together: the grid has no others of some."""
OPTIMISATIONS = {
    "BM": "tile-shape",
    "BN": "tile-shape",
    "WARPGROUPS": "tile-shape",
    "BK": "tile-shape",
    "STAGES": "software-pipelining",
    "GROUP": "l2-rasterisation",
    "CLUSTER": "cluster-multicast",
    "TMA_STORE": "tma-store",
}
CLOSE = 1.02
TRAINING = 40
"""Trials of each training run."""
MOST = 150
"""Trials after which an episode is given up, and counts as that many."""

Table = dict[str, tuple[Design, float]]
"""Times in microseconds by the key of the design."""


@dataclass(frozen=True)
class Size:
    """A case of the table."""

    name: str
    sizes: dict[str, int]
    table: Table

    @property
    def best(self) -> float:
        """Time of the best design."""
        return min(t for _, t in self.table.values())

    @property
    def start(self) -> Design:
        """The poor design that all begin with: small tiles, little ahead."""

        def poor(design: Design) -> tuple[float, ...]:
            order = ("BM", "BN", "STAGES", "BK", "GROUP", "CLUSTER", "TMA_STORE")
            return tuple(float(design[k]) for k in order)  # type: ignore[arg-type]

        return min((d for d, _ in self.table.values()), key=poor)


@dataclass(frozen=True)
class Step:
    """A change of one knob, or of those that go together."""

    optimisation: str
    edit: Design
    where: str = ""
    depends_on: tuple[str, ...] = ()


class TableSpace:
    """The grid as a design space."""

    name = "gemm"

    def __init__(self, table: Table) -> None:
        self._table = table

    def moves(self, design: Design, problem: Problem) -> tuple[Step, ...]:
        """Designs of the table that differ in one knob or one coupled group."""
        found: list[Step] = []
        for other, _ in self._table.values():
            edit = {k: v for k, v in other.items() if design.get(k) != v}
            if len(edit) == 1 or (edit and any(edit.keys() <= {*c} for c in COUPLED)):
                found.append(Step(OPTIMISATIONS[next(iter(edit))], edit))
        return tuple(found)

    def apply(self, design: Design, edit: Mapping[str, Value]) -> Design:
        """The edited design."""
        return {**design, **edit}

    def invalid(self, design: Design, problem: Problem) -> str | None:
        """What was not measured does not exist."""
        return None if key(design) in self._table else "not in the table"

    def candidate(self, design: Design, problem: Problem) -> Candidate:
        """A candidate without a source."""
        return Candidate(source="", kernel="table", design=dict(design))

    def optimisations(self, design: Design) -> tuple[str, ...]:
        """None are told apart: nothing is known of them."""
        return ()

    def without(
        self, design: Design, optimisation: str, problem: Problem
    ) -> Design | None:
        """There is no ablation here."""
        return None

    def designs(self, problem: Problem) -> Iterator[Design]:
        """All of them."""
        return (d for d, _ in self._table.values())


class Nothing:
    """No knowledge base."""

    def expect(self, optimisation: str, features: dict[str, Value]) -> Expectation:
        """Nothing is expected."""
        return Expectation(0.0, 0.0)


class Episode:
    """One run on the table, in memory."""

    def __init__(self, size: Size, seed: int, policy: Policy) -> None:
        self.size = size
        problem = LibraryProblem(entry="gemm", sizes=size.sizes)
        self.space = TableSpace(size.table)
        start = self.space.candidate(size.start, problem)
        task = Task(name=size.name, problem=problem, start=start, family="gemm")
        self.state = RunState.begin(
            Started(
                task=task,
                agent="table",
                seed=seed,
                budget=Budget(),
                policy=policy.model_dump(),
                environment={},
            )
        )
        beliefs = Beliefs(self.space, problem, size.sizes, Nothing())
        self.planner = Planner(beliefs, Pool(self.space, problem, 0), {}, seed)
        self._candidates: dict[str, bytes] = {}
        self._apply(
            Proposed(
                trial=0,
                parent=None,
                bottleneck="",
                proposals=(begin(size.name),),
                probabilities=(1.0,),
                chosen=0,
            )
        )
        self._try(0, Lowering(start))

    def _apply(self, event: Event) -> None:
        self.state.apply(event, self._candidates.__getitem__)

    def _try(self, number: int, lowering: Lowering) -> float:
        candidate = lowering.candidate
        assert candidate is not None
        name = str(number)
        self._candidates[name] = candidate.model_dump_json().encode()
        self._apply(Lowered(trial=number, candidate=name))
        _, time = self.size.table[key(candidate.design)]
        measured = Measured(
            microseconds=time, low=time, high=time, samples=1, baselines={}, device=""
        )
        verdict = JudgeVerdict(
            status="correct",
            stage="done",
            measured=measured,
            predicted=Predicted(microseconds=time, bottleneck="tensor"),
        )
        self._apply(Judged(trial=number, verdict=verdict))
        self._apply(learned(self.state, number, self.space.name))
        return time

    def work(self, most: int, until: float = 0.0) -> int:
        """Do trials, up to ``most`` or a time; returns how many there were."""
        problem = self.state.started.task.problem
        while len(self.state.done) < most:
            planned: list[tuple[int, Design]] = []
            for _ in range(BATCH):
                number = len(self.state.trials)
                event = self.planner.plan(self.state, number, [d for _, d in planned])
                if event is None:
                    break
                self._apply(event)
                parent = self.state.design(event.parent or 0)
                assert parent is not None
                design = self.space.apply(parent, event.proposals[event.chosen].edit)
                planned.append((number, design))
            if not planned:
                break
            for number, design in planned:
                candidate = self.space.candidate(design, problem)
                if self._try(number, Lowering(candidate)) <= until:
                    return len(self.state.done)
        return most


def random_search(size: Size, seed: int) -> int:
    """Trials of uniform search without repetition, after the common start."""
    designs = [d for d in size.table if d != key(size.start)]
    random.Random(f"{seed}:{size.name}").shuffle(designs)
    for count, name in enumerate(designs, start=2):
        if size.table[name][1] <= CLOSE * size.best:
            return count
    raise AssertionError("the best is in the table")


def sizes_of(path: Path) -> list[Size]:
    """The sizes of the table whose grid is whole."""
    tables: dict[str, Table] = {}
    sizes: dict[str, dict[str, int]] = {}
    for m in read(path).measurements:
        if m.form != FORM_NAME or m.microseconds is None:
            continue
        design: Design = {FORM: FORM_NAME, **dict(sorted(m.statics.items()))}
        sizes[m.case] = dict(m.sizes)
        tables.setdefault(m.case, {})[key(design)] = (design, m.microseconds)
    largest = max(len(t) for t in tables.values())
    names = [n for n, t in tables.items() if len(t) > largest / 2]
    return [Size(n, sizes[n], tables[n]) for n in names]


def experiment(
    training: Sequence[Size], held_out: Sequence[Size], seed: int
) -> dict[str, dict[str, int]]:
    """Trials of each arm on each held-out size, for one seed."""
    policy = Policy()
    order = list(training)
    random.Random(seed).shuffle(order)
    for size in order:
        episode = Episode(size, seed, policy)
        episode.work(TRAINING)
        policy = episode.state.policy
    found: dict[str, dict[str, int]] = {"warm": {}, "cold": {}, "random": {}}
    for size in held_out:
        until = CLOSE * size.best
        for arm, start in (("warm", policy), ("cold", Policy())):
            found[arm][size.name] = Episode(size, seed, start).work(MOST, until)
        found["random"][size.name] = random_search(size, seed)
    return found


def summary(
    results: Sequence[dict[str, dict[str, int]]],
) -> dict[str, dict[str, float]]:
    """Of each arm: mean over sizes and seeds, and the spread between seeds."""
    arms: dict[str, dict[str, float]] = {}
    for arm in ("warm", "cold", "random"):
        per_seed = [statistics.mean(r[arm].values()) for r in results]
        arms[arm] = {
            "mean": statistics.mean(per_seed),
            "deviation": statistics.stdev(per_seed) if len(per_seed) > 1 else 0.0,
            "least": min(per_seed),
            "most": max(per_seed),
        }
    return arms


def main() -> int:
    """Run the experiment; exit code 1 if the bars are missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sizes = sizes_of(options.data)
    # Every second size, so that both halves hold large and small ones.
    training, held_out = sizes[1::2], sizes[::2]
    run = partial(experiment, training, held_out)
    with ProcessPoolExecutor(options.workers) as pool:
        results = list(pool.map(run, range(options.seeds)))
    arms = summary(results)
    fewer = 1 - arms["warm"]["mean"] / arms["cold"]["mean"]
    of_random = arms["warm"]["mean"] / arms["random"]["mean"]
    for arm, row in arms.items():
        print(
            f"{arm:<7} {row['mean']:6.1f} trials, ± {row['deviation']:.1f} between "
            f"seeds ({row['least']:.1f} to {row['most']:.1f})"
        )
    for size in held_out:
        means = [
            statistics.mean(r[arm][size.name] for r in results)
            for arm in ("warm", "cold", "random")
        ]
        good = sum(t <= CLOSE * size.best for _, t in size.table.values())
        print(
            f"  {size.name:<18} {means[0]:6.1f} {means[1]:6.1f} {means[2]:6.1f}"
            f"   {good} of {len(size.table)} designs are good"
        )
    print(f"warm needs {fewer:.0%} fewer than cold, {of_random:.0%} of random")
    if options.out:
        record = {
            "data": str(options.data.relative_to(HERE.parent))
            if options.data.is_relative_to(HERE.parent)
            else options.data.name,
            "close": CLOSE,
            "seeds": options.seeds,
            "batch": BATCH,
            "training": [s.name for s in training],
            "held_out": [s.name for s in held_out],
            "arms": arms,
            "fewer_than_cold": fewer,
            "share_of_random": of_random,
            "trials": results,
        }
        options.out.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if fewer >= 0.30 and of_random <= 0.5 and math.isfinite(fewer) else 1


if __name__ == "__main__":
    sys.exit(main())
