"""What the operations of a session answer: the schema of ``--json`` and of the tools.

Times are microseconds and say whether they were measured on a GPU or predicted by the
performance model. Fields are only ever added; one that changes its meaning gets another
name.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from argus.runs.records import (
    Budget,
    Cost,
    EqualityRecord,
    Predicted,
    Resources,
    Status,
    StrictModel,
    Value,
)

Kind = Literal["measured", "predicted"]


# ---- parts ---------------------------------------------------------------------------


class Tensor(StrictModel):
    """An argument of the kernel."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    role: Literal["input", "index", "output"]


class Time(StrictModel):
    """How long a kernel takes, and where that is from."""

    microseconds: float
    kind: Kind
    low: float | None = Field(
        default=None, description="95 % interval of a measured time."
    )
    high: float | None = None
    device: str = ""


class Source(StrictModel):
    """A whole kernel file. ``statics`` cannot be written as defaults in it."""

    kernel: str = Field(description="The kernel's name in the file.")
    source: str
    statics: dict[str, Value] = Field(
        default={},
        description="Static parameters to pass beside the file; submitting a file "
        "passes them by itself.",
    )


class Mistake(StrictModel):
    """One finding of the compiler, the verifier or the judge."""

    code: str = Field(description="`explain` says what a code means.")
    message: str
    line: int | None = None
    text: str = Field(default="", description="With the source and the data's path.")
    counterexample: dict[str, object] | None = Field(
        default=None,
        description="Where it goes wrong: sizes, block, thread, iteration, the element "
        "that is wanted and the one that is there, and whether that was replayed.",
    )


class Article(StrictModel):
    """An entry of the knowledge base, in short."""

    id: str
    title: str
    applies: bool | None = Field(description="To the run's kernel; null: not known.")
    why: str = ""
    score: float = 0.0
    knobs: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    invariants: tuple[str, ...] = ()
    typical_speedup: tuple[float, float] = (1.0, 1.0)
    basis: str = ""
    body: str = Field(
        default="", description="Why, how, examples and pitfalls: Markdown."
    )


class Idea(StrictModel):
    """A proposal of the planner."""

    optimisation: str = Field(description="Id of the knowledge entry.")
    where: str
    edit: dict[str, Value] = Field(
        description="Form and static parameters that it sets; empty: only whoever "
        "writes source can carry it out."
    )
    invariants: tuple[str, ...] = Field(description="To be added as assertions.")
    predicted_speedup: float
    depends_on: tuple[str, ...] = ()
    reason: str = ""
    probability: float = Field(default=0.0, description="With which it was drawn.")


class Left(StrictModel):
    """What is left of the budget; null is no limit."""

    trials: int | None = None
    minutes: float | None = None
    gpu_seconds: float | None = None
    tokens: int | None = None
    usd: float | None = None
    dry_runs: int = Field(description="Calls of `bench` before the next submission.")


class Row(StrictModel):
    """A trial in a few words."""

    trial: int
    parent: int | None
    optimisation: str
    status: Status | None
    microseconds: float | None
    kind: Kind | None
    reward: float | None
    note: str = ""


class Judgement(StrictModel):
    """What a check, a test, a dry run or a submission found."""

    status: Status
    stage: str = Field(description="The last stage that was reached.")
    summary: str
    findings: tuple[Mistake, ...] = ()
    error: float | None = Field(default=None, description="Of the outputs, relative.")
    time: Time | None = Field(default=None, description="Of a correct kernel.")
    predicted: Predicted | None = None
    resources: Resources | None = None
    equality: EqualityRecord | None = Field(
        default=None, description="With the kernel that says what is right, as terms."
    )
    baselines: dict[str, float] = Field(default={}, description="Measured beside it.")
    limit_microseconds: float | None = Field(
        default=None, description="No kernel can be faster: the speed of light."
    )


# ---- answers -------------------------------------------------------------------------


class StartedRun(StrictModel):
    """`start`: the run and its task."""

    run: str
    task: str
    description: str = Field(description="What is to be computed, in words.")
    reference: str = Field(default="", description="A user's reference function.")
    sizes: dict[str, int]
    options: dict[str, Value]
    scalars: dict[str, float]
    tensors: tuple[Tensor, ...]
    target: str
    where: str = Field(description="The GPU; or that times are predicted.")
    start: Source
    verdict: Judgement = Field(description="Of the kernel that the run starts from.")
    budget: Budget
    rules: tuple[str, ...]
    notes: tuple[str, ...] = ()


class Next(StrictModel):
    """`next`: what to try. Without ``proposal`` the run should end: see ``reason``."""

    run: str
    trial: int | None
    reason: str = Field(default="", description="Why there is no proposal.")
    bottleneck: str = ""
    proposal: Idea | None = None
    alternatives: tuple[Idea, ...] = ()
    advice: tuple[str, ...] = ()
    knowledge: tuple[Article, ...] = ()
    parent_trial: int | None = None
    parent_time: Time | None = None
    parent: Source | None = Field(default=None, description="The kernel to change.")
    draft: Source | None = Field(
        default=None,
        description="What the edit gives if nothing else is changed; a kernel of "
        "another form, where the proposal is one.",
    )
    left: Left
    notes: tuple[str, ...] = ()


class Found(StrictModel):
    """`knowledge`: entries, the best first."""

    run: str | None
    query: str
    entries: tuple[Article, ...]


class CheckedObligation(StrictModel):
    """What was to be proved, in one line of the source."""

    rule: str
    claim: str
    line: int
    verdict: str
    method: str
    slow: bool = Field(description="About speed: wrong, it does not make it wrong.")
    reason: str = ""


class Checked(StrictModel):
    """`check`: what is proved of a file, and where it is wrong."""

    run: str
    ok: bool
    verdict: Judgement
    obligations: tuple[CheckedObligation, ...] = Field(
        default=(),
        description="Those that are not proved, and those about speed that fail.",
    )
    proved: int = Field(default=0, description="How many obligations are proved.")
    assumptions: tuple[str, ...] = ()
    specialisation: str = Field(
        default="",
        description="The one that calls with the task's arguments choose, in words: "
        "of others nothing is said.",
    )
    changes_nothing: bool = Field(
        default=False, description="The program is one that was judged before."
    )


class Built(StrictModel):
    """`build`: what the machine code of a proved file takes."""

    run: str
    ok: bool
    verdict: Judgement
    threads: int | None = None
    registers: int | None = Field(default=None, description="Per thread.")
    shared_bytes: int | None = Field(default=None, description="Per block.")
    spill_bytes: int | None = Field(default=None, description="Per thread.")


class Explained(StrictModel):
    """`explain`: a kernel at a stage, what a code means, or the language."""

    what: str
    text: str
    findings: tuple[Mistake, ...] = ()


class Tested(StrictModel):
    """`test`: whether a file computes the right thing, at small sizes, in no time."""

    run: str
    ok: bool
    verdict: Judgement
    where: str = "the interpreter, at small sizes"


class Benched(StrictModel):
    """`bench`: the judge's answer as a dry run, which is no trial."""

    run: str
    ok: bool
    verdict: Judgement
    kind: Kind
    speedup_over_best: float | None = None
    left: Left


class Counted(StrictModel):
    """The worst access of a kind: ``value`` where ``ideal`` would do."""

    value: int
    ideal: int
    line: int
    role: str
    what: str
    why: str = ""


class Occupancy(StrictModel):
    """Resident blocks of a multiprocessor."""

    blocks: int
    limited_by: str
    limits: dict[str, int]


class Profiled(StrictModel):
    """`profile`: where the time goes, by the model; what accesses cost, counted."""

    run: str
    ok: bool
    predicted: Predicted | None = None
    share: dict[str, float] = Field(
        default={}, description="Of the predicted time, by resource."
    )
    limit_microseconds: float | None = None
    occupancy: Occupancy | None = None
    resources: Resources | None = None
    cluster: int | None = None
    bank_conflicts: Counted | None = Field(default=None, description="Wavefronts.")
    sectors: Counted | None = Field(
        default=None, description="Of 32 bytes, per request."
    )
    access_bytes: Counted | None = Field(default=None, description="Least, per thread.")
    uncounted: tuple[str, ...] = ()
    instructions: dict[str, int] = Field(
        default={}, description="In the machine code, by kind; not how many run."
    )
    notes: tuple[str, ...] = ()
    findings: tuple[Mistake, ...] = ()


class Submitted(StrictModel):
    """`submit`: the verdict that counts, and what the run learnt."""

    run: str
    trial: int
    verdict: Judgement
    reward: float
    speedup_over_parent: float | None = None
    predicted_speedup: float
    new_best: bool
    best_trial: int | None
    best: Time | None
    learned: tuple[str, ...] = Field(default=(), description="Changes of the policy.")
    advice: tuple[str, ...] = ()
    recognised: bool = Field(
        description="Whether the kernel is a point of the task's design space, so that "
        "its numbers teach the planner."
    )
    left: Left
    reason_to_stop: str = ""
    notes: tuple[str, ...] = ()


class Standing(StrictModel):
    """`status`: where a run stands."""

    run: str
    task: str
    state: Literal["open", "busy", "finished"] = Field(
        description="busy: another process is working on it."
    )
    finished: str = Field(default="", description="Why it ended.")
    open_trial: int | None = None
    proposal: Idea | None = None
    trials: tuple[Row, ...]
    start: Time | None
    best_trial: int | None
    best: Time | None
    best_source: Source | None = None
    baselines: dict[str, float] = Field(default={}, description="Measured beside it.")
    limit_microseconds: float | None = None
    spent: Cost
    minutes: float
    left: Left
    reason_to_stop: str = ""
    report: str | None = Field(
        default=None,
        description="The page about a run that has ended, one HTML file; null: "
        "`argus report RUN` writes one.",
    )
    notes: tuple[str, ...] = ()


class Taken(StrictModel):
    """The best kernel without some optimisations."""

    without: tuple[str, ...]
    status: Status
    microseconds: float | None
    slower: float | None = Field(
        default=None, description="Its time over that of the best."
    )


class Ended(StrictModel):
    """`finish`: the end of a run."""

    run: str
    reason: str
    trials: int
    best_trial: int | None
    best: Time | None
    best_source: Source | None
    start: Time | None
    baselines: dict[str, float] = Field(default={}, description="Measured beside it.")
    limit_microseconds: float | None = None
    ablation: tuple[Taken, ...] = ()
    policy: str = Field(default="", description="The file that learnt from the run.")
    report: str | None = Field(
        default=None,
        description="The page about the run, one HTML file: tell the person who asked "
        "for the kernel where it is. null: a note says why there is none.",
    )
    notes: tuple[str, ...] = ()
