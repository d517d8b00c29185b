"""A run as the loop writes it, made by hand: what tests of its readers read."""

import json
from pathlib import Path

from argus.runs.records import (
    Ablated,
    Budget,
    Candidate,
    Change,
    Cost,
    Event,
    Finding,
    Finished,
    Judged,
    JudgeVerdict,
    Learned,
    LibraryProblem,
    Lowered,
    Measured,
    Predicted,
    Proposal,
    Proposed,
    Resources,
    Started,
    Task,
    Value,
)
from argus.runs.store import RunStore

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial"


def candidate(step: str, **design: Value) -> Candidate:
    return Candidate(
        source=(TUTORIAL / f"{step}.py").read_text(), kernel="gemm", design=design
    )


def correct(predicted: float, measured: float | None) -> JudgeVerdict:
    return JudgeVerdict(
        status="correct",
        stage="done",
        error=1.5e-3,
        predicted=Predicted(
            microseconds=predicted,
            bottleneck="tensor",
            parts={"tensor": 0.8 * predicted, "memory": 0.3 * predicted},
        ),
        measured=measured
        and Measured(
            microseconds=measured,
            low=0.99 * measured,
            high=1.01 * measured,
            samples=50,
            baselines={"cuBLAS": 190.0},
            device="NVIDIA H200",
        ),
        resources=Resources(threads=288, shared_bytes=200_000, registers=168),
        limit_microseconds=139.0,
    )


REFUTED = JudgeVerdict(
    status="refuted",
    stage="verify",
    findings=(
        Finding(
            code="AG0301",
            message="elements that do not share K are multiplied",
            line=35,
            text="error[AG0301]: elements that do not share K are multiplied",
        ),
    ),
)
NAIVE = candidate("step1_naive", form="naive", BM=64)
RING = candidate("step2_ring", form="ring", BM=128)
BEST = candidate("step6_cluster", form="cluster", BM=128, STAGES=4)

TASK = Task(
    name="gemm 4096x4096x4096",
    problem=LibraryProblem(entry="gemm", sizes={"M": 4096, "N": 4096, "K": 4096}),
    start=NAIVE,
    family="gemm",
    features={"entry": "gemm", "M": 4096, "N": 4096, "K": 4096},
)


def make(root: Path, *, measured: bool = True, finish: bool = True) -> str:
    """Write the run into the store at ``root``; returns its name."""
    with RunStore(root).create(
        Started(
            task=TASK,
            agent="builtin",
            seed=3,
            budget=Budget(trials=4),
            policy={},
            environment={"argus": "0.1.0", "device": "NVIDIA H200"},
        )
    ) as run:
        made = [run.put(c.model_dump_json()) for c in (NAIVE, RING, BEST)]
        time = [2600.0, None, 185.0] if measured else [None] * 3
        trials: list[tuple[str, str | None, JudgeVerdict, float]] = [
            ("", made[0], correct(2500.0, time[0]), 0.0),
            ("cp-async", made[1], REFUTED, -1.0),
            ("cluster-multicast", made[2], correct(180.0, time[2]), 2.64),
            ("split-k", None, REFUTED, 0.0),
        ]
        for number, (what, name, verdict, reward) in enumerate(trials):
            for event in _events(number, what, name, verdict, reward):
                run.append(event)
        if finish:
            slower = correct(200.0, 201.0 if measured else None)
            run.append(
                Ablated(
                    optimisation="cluster-multicast",
                    candidate=made[1],
                    verdict=slower,
                )
            )
            run.append(Finished(reason="budget: trials", best=2))
        return run.id


def _events(
    number: int, what: str, name: str | None, verdict: JudgeVerdict, reward: float
) -> list[Event]:
    offers = [
        Proposal(
            optimisation=what,
            where="main loop",
            edit={"STAGES": 4},
            predicted_gain=0.5,
            reason="loads wait for the product",
        ),
        Proposal(optimisation="tile-shape", where="tiles", predicted_gain=0.1),
    ]
    events: list[Event] = [
        Proposed(
            trial=number,
            parent=0 if number else None,
            bottleneck="latency",
            proposals=tuple(offers if what else []),
            probabilities=(0.75, 0.25) if what else (),
            chosen=0,
        ),
        Lowered(
            trial=number,
            candidate=name,
            failure="" if name else "no design",
            cost=Cost(tokens=10),
        ),
    ]
    if name is not None:
        cost = Cost(gpu_seconds=1.5)
        events.append(Judged(trial=number, verdict=verdict, cost=cost))
    change = Change(
        key=f"preference/latency/{what}", before=0.0, after=reward, trials=(number,)
    )
    events.append(
        Learned(
            trial=number,
            reward=reward,
            predicted_gain=0.5,
            actual_gain=reward if verdict.status == "correct" else None,
            changes=(change,) if what else (),
        )
    )
    return events


# ------------------------------------------------ a run of a model, with mistakes in it

HOSTILE = (
    "</script><script>document.title = 'taken'</script><img src=x onerror=alert(1)>"
)
"""What a model may write anywhere. It must stay text."""


def shifted() -> Candidate:
    """A kernel with a mistake that the verifier finds: B is one column further on."""
    wrong = NAIVE.source.replace("B[bn * BN :, k:]", "B[bn * BN :, k + 1 :]")
    assert wrong != NAIVE.source
    return Candidate(source=f"# {HOSTILE}\n{wrong}", kernel="gemm")


def repaired() -> Candidate:
    """The same without the mistake."""
    right = shifted().source.replace("k + 1 :", "k:")
    return Candidate(source=right, kernel="gemm")


def check_verdict(candidate: Candidate) -> JudgeVerdict:
    """What the judge says before anything is built: real findings."""
    from argus.evaluation.judge.checking import Clock, check
    from argus.evaluation.judge.limits import Job

    def enter(stage: str, within: str = "") -> None:
        pass

    return check(
        Job(kind="check", problem=TASK.problem, candidate=candidate), Clock(enter)
    ).verdict


def make_eventful(root: Path, refuted: JudgeVerdict) -> str:
    """A run in which a model's kernel was refuted, repaired, and one never came.

    ``refuted`` is the verdict of :func:`shifted`. All texts are hostile.
    """
    started = Started(
        task=TASK.model_copy(update={"name": f"gemm {HOSTILE}"}),
        agent="model",
        seed=1,
        budget=Budget(trials=5, tokens=9000, usd=1.5),
        policy={"preferences": {}, "effects": {}, "advice": {"a": {}}},
        environment={"argus": "0.1.0", "device": HOSTILE},
    )
    with RunStore(root).create(started) as run:
        wrong, right = shifted(), repaired()
        steps: list[tuple[str, Candidate | None, JudgeVerdict | None]] = [
            ("", NAIVE, correct(2500.0, 2600.0)),
            ("swizzling", wrong, refuted),
            ("swizzling", right, correct(900.0, 950.0)),
            ("split-k", None, None),
            ("cp-async", RING, _crashed()),
        ]
        for number, (what, made, verdict) in enumerate(steps):
            name = run.put(made.model_dump_json()) if made is not None else None
            talk = run.put(_conversation()) if number == 2 else None
            for event in _model_events(number, what, name, verdict, refuted, talk):
                run.append(event)
        run.append(Finished(reason="budget: tokens", best=2))
        return run.id


def _crashed() -> JudgeVerdict:
    said = Finding(code="AG1015", message=f"crashed {HOSTILE}", text=HOSTILE)
    return JudgeVerdict(
        status="crashed", stage="run", findings=(said,), summary=HOSTILE
    )


def _conversation() -> str:
    """As the model agent keeps it: an answer that was refused, then the right one."""
    answers = [{"rationale": "x", "source": c.source} for c in (shifted(), repaired())]
    turns = [{"prompt": HOSTILE, "answer": json.dumps(a), "error": ""} for a in answers]
    return json.dumps({"model": "m", "instructions": HOSTILE, "turns": turns})


def _model_events(
    number: int,
    what: str,
    name: str | None,
    verdict: JudgeVerdict | None,
    refuted: JudgeVerdict,
    conversation: str | None,
) -> list[Event]:
    offer = Proposal(
        optimisation=what or "start",
        where=HOSTILE,
        edit={},
        invariants=(HOSTILE,),
        predicted_gain=0.4,
        reason=f"because \u202e{HOSTILE}",
    )
    events: list[Event] = [
        Proposed(
            trial=number,
            parent=0 if number else None,
            bottleneck="latency",
            proposals=(offer,),
            probabilities=(1.0,),
            chosen=0,
        ),
        Lowered(
            trial=number,
            candidate=name,
            attempts=(refuted,) if number == 2 else (),
            failure="" if name else HOSTILE,
            cost=Cost(tokens=1500, usd=0.02),
            note=HOSTILE,
            conversation=conversation,
        ),
    ]
    if verdict is not None:
        cost = Cost(gpu_seconds=2.0)
        events.append(Judged(trial=number, verdict=verdict, cost=cost))
    change = Change(
        key=f"advice/gemm/latency/{what}", before=None, after=HOSTILE, trials=(number,)
    )
    learned = Learned(
        trial=number,
        reward=0.5,
        predicted_gain=0.4,
        actual_gain=0.9 if number == 2 else None,
        changes=(change,) if number else (),
        note=HOSTILE if number == 3 else "",
    )
    return [*events, learned]
