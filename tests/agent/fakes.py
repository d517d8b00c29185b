"""A design space whose times are a formula, and a judge that knows the formula."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from argus.agent.beliefs import Beliefs, Expectation
from argus.agent.builtin import BuiltinAgent
from argus.agent.loop import Optimiser, Options
from argus.agent.planner import Planner, PlannerSettings
from argus.agent.policy import Policy
from argus.agent.pool import Pool
from argus.agent.space import Design
from argus.runs.records import (
    Budget,
    Candidate,
    Finding,
    JudgeVerdict,
    LibraryProblem,
    Measured,
    Predicted,
    Problem,
    Started,
    Task,
    Value,
)
from argus.runs.store import Run, RunStore

FORMS: dict[str, dict[str, tuple[Value, ...]]] = {
    "naive": {"TILE": (32, 64, 128)},
    "ring": {"TILE": (32, 64, 128), "STAGES": (2, 3, 4, 6)},
    "full": {
        "TILE": (32, 64, 128, 256),
        "WIDE": (32, 64, 128, 256),
        "STAGES": (2, 3, 4, 6),
        "GROUP": (1, 4, 8, 16),
        "CLUSTER": (1, 2, 4),
        "LATE": (False, True),
    },
}
DEFAULTS: dict[str, dict[str, Value]] = {
    "naive": {"TILE": 64},
    "ring": {"TILE": 64, "STAGES": 3},
    "full": {
        "TILE": 64,
        "WIDE": 64,
        "STAGES": 2,
        "GROUP": 1,
        "CLUSTER": 1,
        "LATE": False,
    },
}
IDS = {
    "TILE": "tile-shape",
    "WIDE": "tile-shape",
    "STAGES": "software-pipelining",
    "GROUP": "l2-rasterisation",
    "CLUSTER": "cluster-multicast",
    "LATE": "instruction-ordering",
}
OF_FORM = {"naive": (), "ring": ("cp-async",), "full": ("tma", "wgmma")}
NEXT = {"naive": ("ring", "full"), "ring": ("full",), "full": ()}
VIA = {"ring": "cp-async", "full": "wgmma"}
GAINS = {
    "cp-async": 0.5,
    "tma": 0.4,
    "wgmma": 0.6,
    "cluster-multicast": 0.05,
    "l2-rasterisation": 0.05,
    "tile-shape": 0.05,
    "software-pipelining": 0.1,
    "instruction-ordering": 0.02,
}
SHARED = 1200
"""What a block has; see :func:`shared`."""


@dataclass(frozen=True)
class FakeMove:
    optimisation: str
    edit: dict[str, Value]
    where: str
    depends_on: tuple[str, ...] = ()


class FakeSpace:
    """Three forms, one step from each to the next. `invalid` knows half of it."""

    name = "fake"

    def moves(self, design: Design, problem: Problem) -> tuple[FakeMove, ...]:
        found: list[FakeMove] = []
        form = str(design["form"])
        for other in NEXT[form]:
            edit = {"form": other, **DEFAULTS[other]}
            found.append(FakeMove(VIA[other], edit, f"{form} to {other}"))
        for knob, values in FORMS[form].items():
            for value in values:
                if value != design[knob]:
                    found.append(FakeMove(IDS[knob], {knob: value}, f"{knob}={value}"))
        return tuple(
            m
            for m in found
            if self.invalid(self.apply(design, m.edit), problem) is None
        )

    def apply(self, design: Design, edit: Design) -> dict[str, Value]:
        form = str(edit.get("form", design["form"]))
        kept = design if design["form"] == form else {}
        knobs = {
            k: edit.get(k, kept.get(k, default))
            for k, default in DEFAULTS[form].items()
        }
        return {"form": form, **knobs}

    def invalid(self, design: Design, problem: Problem) -> str | None:
        return "too large" if shared(design) > 1.6 * SHARED else None

    def candidate(self, design: Design, problem: Problem) -> Candidate:
        statics = {k: v for k, v in design.items() if k != "form"}
        source = f"# {design['form']}"
        return Candidate(
            source=source, kernel="k", statics=statics, design=dict(design)
        )

    def optimisations(self, design: Design) -> tuple[str, ...]:
        form = OF_FORM[str(design["form"])]
        on = [IDS[k] for k in ("GROUP", "CLUSTER") if design.get(k, 1) != 1]
        return (*form, *on)

    def without(
        self, design: Design, optimisation: str, problem: Problem
    ) -> Design | None:
        off = {"l2-rasterisation": "GROUP", "cluster-multicast": "CLUSTER"}
        if optimisation in off:
            return {**design, off[optimisation]: 1}
        if optimisation in OF_FORM["full"]:  # they came together, and go together
            return self.apply(design, {"form": "ring"})
        return None

    def designs(self, problem: Problem) -> Iterator[Design]:
        for form, knobs in FORMS.items():
            for values in product(*knobs.values()):
                design = {"form": form, **dict(zip(knobs, values, strict=True))}
                if self.invalid(design, problem) is None:
                    yield design


def number(design: Design, knob: str) -> float:
    value = design.get(knob, 0)
    assert isinstance(value, int | float)
    return float(value)


def shared(design: Design) -> float:
    """Bytes that a design takes, for what `FakeJudge` refuses."""
    tile = number(design, "TILE") + number(design, "WIDE")
    return number(design, "STAGES") * tile


def truth(design: Design, sizes: dict[str, int]) -> float:
    """Microseconds: knobs have effects, some together, and the sizes shift one."""
    base = {"naive": 900.0, "ring": 500.0, "full": 200.0}[str(design["form"])]
    base *= (sizes["M"] / 4096) ** 3
    if design["form"] != "full":
        return base * (1 + 0.1 * abs(math.log2(number(design, "TILE") / 64)))
    tile = math.log2(number(design, "TILE"))
    wide = math.log2(number(design, "WIDE"))
    area = abs(tile + wide - 15)
    slow = 0.10 * area + (0.05 if tile > wide else 0.0)
    slow += {2: 0.12, 3: 0.05, 4: 0.0, 6: 0.02}[int(number(design, "STAGES"))]
    want = 3.0 if sizes["M"] >= 4096 else 2.0
    slow += 0.03 * abs(math.log2(number(design, "GROUP")) - want)
    cluster = int(number(design, "CLUSTER"))
    slow += {1: 0.06, 2: 0.0, 4: 0.03}[cluster]
    slow += 0.0 if design["LATE"] == (cluster > 1) else 0.02
    return base * math.exp(slow)


@dataclass
class FakeJudge:
    """Counts what it is asked. ``on_device`` gives measured times, else predicted."""

    on_device: bool = True
    before: Callable[[int], None] | None = None
    checks: int = 0
    evaluations: list[Candidate] = field(default_factory=list[Candidate])

    def _check(self, problem: Problem, candidate: Candidate) -> JudgeVerdict:
        design = candidate.design
        program = hashlib.sha256(
            (candidate.source + repr(sorted(candidate.statics.items()))).encode()
        ).hexdigest()
        if design.get("form") == "full" and shared(design) > SHARED:
            return JudgeVerdict(
                status="rejected",
                stage="parse",
                findings=(Finding(code="AG0501", message="too much shared memory"),),
            )
        time = truth(design, problem.sizes)
        return JudgeVerdict(
            status="correct",
            stage="build",
            predicted=Predicted(microseconds=1.1 * time, bottleneck="tensor"),
            program=program,
        )

    def check(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        self.checks += len(candidates)
        return [self._check(problem, c) for c in candidates]

    def evaluate(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        found: list[JudgeVerdict] = []
        for candidate in candidates:
            if self.before is not None:
                self.before(len(self.evaluations))
            self.evaluations.append(candidate)
            verdict = self._check(problem, candidate)
            if self.on_device and verdict.status == "correct":
                time = truth(candidate.design, problem.sizes)
                measured = Measured(
                    microseconds=time,
                    low=time,
                    high=time,
                    samples=50,
                    baselines={"torch": 190.0},
                    device="a formula",
                )
                verdict = verdict.model_copy(
                    update={
                        "measured": measured,
                        "stage": "done",
                        "seconds": {"time": 0.5},
                    }
                )
            found.append(verdict)
        return found


class FakeKnowledge:
    def expect(self, optimisation: str, features: dict[str, Value]) -> Expectation:
        return Expectation(GAINS[optimisation], 0.1, True, (f"inv {optimisation}",))


def problem_of(size: int = 8192) -> LibraryProblem:
    return LibraryProblem(entry="gemm", sizes={"M": size})


def task_of(problem: LibraryProblem) -> Task:
    space = FakeSpace()
    start = space.candidate({"form": "naive", **DEFAULTS["naive"]}, problem)
    return Task(name="fake", problem=problem, start=start, family="fake")


def started_of(
    problem: LibraryProblem, seed: int, trials: int, policy: Policy | None = None
) -> Started:
    return Started(
        task=task_of(problem),
        agent="builtin",
        seed=seed,
        budget=Budget(trials=trials),
        policy=(policy or Policy()).model_dump(),
        environment={},
    )


def planner_of(
    problem: LibraryProblem, seed: int, settings: PlannerSettings | None = None
) -> Planner:
    space = FakeSpace()
    beliefs = Beliefs(space, problem, problem.sizes, FakeKnowledge())
    pool = Pool(space, problem, seed=0)
    return Planner(beliefs, pool, {}, seed, settings)


def optimiser_of(
    run: Run, judge: FakeJudge, options: Options | None = None
) -> Optimiser:
    started = run.started()
    problem = started.task.problem
    assert isinstance(problem, LibraryProblem)
    space = FakeSpace()
    planner = planner_of(problem, started.seed)
    return Optimiser(run, space, planner, judge, BuiltinAgent(space), options)


def new_run(
    store: RunStore, *, size: int = 8192, seed: int = 0, trials: int = 20
) -> Run:
    return store.create(started_of(problem_of(size), seed, trials))
