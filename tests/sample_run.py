"""A run as the loop writes it, made by hand: what tests of its readers read."""

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
    Verdict,
)
from argus.runs.store import Store

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial"


def candidate(step: str, **design: Value) -> Candidate:
    return Candidate(
        source=(TUTORIAL / f"{step}.py").read_text(), kernel="gemm", design=design
    )


def correct(predicted: float, measured: float | None) -> Verdict:
    return Verdict(
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


REFUTED = Verdict(
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
    with Store(root).create(
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
        trials: list[tuple[str, str | None, Verdict, float]] = [
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
    number: int, what: str, name: str | None, verdict: Verdict, reward: float
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
