"""What the optimiser exchanges and keeps: problems, candidates, verdicts, events.

Frozen pydantic models: each has a JSON form and a JSON schema, which are what is
stored, what tools are told, and what crosses process borders. Nothing is computed here,
and nothing of the compiler is imported.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from argus.targets import DEFAULT_TARGET

Value = bool | int | float | str
"""A static parameter or an option: a literal, or the name of an inline function."""


class StrictModel(BaseModel):
    """Base of all: immutable, and unknown fields are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def plain(self) -> dict[str, Any]:
        """As values of JSON: a number that JSON does not have (infinity) is null."""
        return json.loads(self.model_dump_json())


def factor(gain: float) -> float:
    """The speed-up of which ``gain`` is the logarithm; a finite number for any gain."""
    return math.exp(max(-_LARGEST_GAIN, min(_LARGEST_GAIN, gain)))


_LARGEST_GAIN = 700.0
"""The logarithm of nearly the largest float."""


# ---- what is to be computed ----------------------------------------------------------


class LibraryProblem(StrictModel):
    """A case of a library entry (``argus.kernels.library``): its reference judges."""

    kind: Literal["library"] = "library"
    entry: str
    sizes: dict[str, int]
    options: dict[str, Value] = {}
    target: str = DEFAULT_TARGET


class FileProblem(StrictModel):
    """A kernel file of the user with its `@ag.reference` function.

    ``reference`` is the text of the file that holds the reference: the user's own code,
    which is executed (in the judge's process). A candidate's file never is.
    ``settled``: static parameters that are not searched, and why: another value changes
    the result, or it is not known whether it does.
    """

    kind: Literal["file"] = "file"
    name: str
    kernel: str
    reference: str
    sizes: dict[str, int]
    dtypes: dict[str, str] = {}
    scalars: dict[str, float] = {}
    target: str = DEFAULT_TARGET
    settled: dict[str, str] = {}


Problem = Annotated[LibraryProblem | FileProblem, Field(discriminator="kind")]


class Candidate(StrictModel):
    """A kernel that claims to solve a problem.

    ``source`` is a whole kernel file (data: parsed, never executed), ``kernel`` the
    name in it, ``statics`` its static parameters where they differ from the defaults.
    ``design`` is the point of the family's design space that made it (``form`` and
    knobs); empty where someone wrote the source by hand.
    """

    source: str
    kernel: str
    statics: dict[str, Value] = {}
    design: dict[str, Value] = {}


class Task(StrictModel):
    """What `argus optimize` was asked: a problem, and the kernel it starts from.

    ``family`` is the design space that the built-in agent searches ("gemm", ...;
    "statics" for a kernel that belongs to none). ``features`` are the facts that
    conditions of knowledge entries are evaluated on (sizes, types, target, ...).
    """

    name: str
    problem: Problem
    start: Candidate
    family: str
    features: dict[str, Value] = {}


# ---- what is said of a candidate -----------------------------------------------------

Status = Literal[
    "rejected",  # not a program of the language, or the target cannot do it
    "duplicate",  # the same program as one that was judged before: a no-op edit
    "refuted",  # the verifier shows a case in which it is wrong
    "unknown",  # the verifier could not decide
    "unbuildable",  # NVRTC, spills, serialised wgmma, ignored register budget
    "wrong",  # ran, and its outputs or inputs are not what they should be
    "crashed",  # a fault of the device, or of the process
    "hung",  # killed at the time limit
    "quarantined",  # faster than the hardware can be: not believed
    "failed",  # the judge itself could not do its work; says nothing of the candidate
    "correct",
]

Stage = Literal["parse", "verify", "build", "run", "compare", "time", "done"]


class Finding(StrictModel):
    """One mistake: a diagnostic as people and models read it.

    ``text`` is the rendered diagnostic with the source; ``counterexample`` the record
    of ``argus.verify.render.data`` where there is one.
    """

    code: str
    message: str
    line: int | None = None
    text: str = ""
    counterexample: dict[str, object] | None = None


class Predicted(StrictModel):
    """What the performance model says. ``parts``: microseconds of each resource."""

    microseconds: float
    bottleneck: str
    parts: dict[str, float] = {}


class Measured(StrictModel):
    """Times of the candidate and of baselines, interleaved in one process on one GPU.

    Microseconds; ``low`` and ``high`` are the 95 % confidence interval of the median.
    """

    microseconds: float
    low: float
    high: float
    samples: int
    baselines: dict[str, float]
    device: str


class Resources(StrictModel):
    """Of one block: threads, bytes of shared memory, registers per thread, spills."""

    threads: int
    shared_bytes: int
    registers: int | None = None
    spill_bytes: int | None = None


class EqualityRecord(StrictModel):
    """Whether a candidate computes what a kernel that is right does, for all sizes.

    ``other`` names that kernel. Where it is not known, ``reason`` says why, and tests
    alone speak for the candidate. ``axioms`` are what "equal" rests on beyond what
    every proof does: real arithmetic, for one. ``line`` is that of the candidate.
    """

    verdict: Literal["equal", "refuted", "unknown"]
    other: str
    reason: str = ""
    line: int | None = None
    axioms: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """Why it is not known to be equal."""
        at = "" if self.line is None else f", at line {self.line}"
        return f"not proved equal to {self.other}: {self.reason}{at}"

    @property
    def words(self) -> str:
        """For people."""
        match self.verdict:
            case "equal":
                return f"proved equal to {self.other}, in real arithmetic"
            case "refuted":
                return f"not equal to {self.other}: {self.reason}"
            case "unknown":
                return f"tested only, {self.why}"


class JudgeVerdict(StrictModel):
    """What the judge says of a candidate; ``stage`` is the last that it reached."""

    status: Status
    stage: Stage
    findings: tuple[Finding, ...] = ()
    summary: str = ""
    error: float | None = None
    predicted: Predicted | None = None
    measured: Measured | None = None
    resources: Resources | None = None
    limit_microseconds: float | None = None
    """The speed-of-light bound of the problem on the device."""
    not_driven: tuple[str, ...] = ()
    """Conditions that no run without a GPU has made turn out in a way that they may."""
    equality: EqualityRecord | None = None
    """None where it was not asked: something else ended the candidate before."""
    program: str = ""
    """SHA-256 of the CUDA C++ without comments: the same for a no-op edit."""
    seconds: dict[str, float] = {}

    @property
    def microseconds(self) -> float | None:
        """The measured time, else the predicted one, of a correct candidate."""
        if self.status != "correct":
            return None
        if self.measured is not None:
            return self.measured.microseconds
        return self.predicted.microseconds if self.predicted else None


# ---- what the planner does -----------------------------------------------------------


class Proposal(StrictModel):
    """An optimisation that the planner offers for the present best kernel.

    ``optimisation`` is the id of a knowledge entry; ``edit`` the change of the design
    (form and knobs) that it stands for, empty where only a model can carry it out.
    ``predicted_gain`` is the natural logarithm of the expected speed-up; ``score`` what
    the sampling used.
    """

    optimisation: str
    where: str
    edit: dict[str, Value] = {}
    invariants: tuple[str, ...] = ()
    predicted_gain: float
    depends_on: tuple[str, ...] = ()
    reason: str = ""
    score: float = 0.0


class Change(StrictModel):
    """One update of the policy: a number or a piece of advice, before and after.

    ``key`` as in the policy document, such as ``preference/memory/cluster-multicast``;
    ``trials`` are those that it cites.
    """

    key: str = Field(pattern=r"^(preference|effect|advice)/.")
    before: float | str | None
    after: float | str
    trials: tuple[int, ...]


class Cost(StrictModel):
    """What a trial took beside wall-clock time."""

    gpu_seconds: float = 0.0
    tokens: int = 0
    usd: float = 0.0


class Budget(StrictModel):
    """Limits of a run; None is no limit."""

    trials: int | None = None
    minutes: float | None = None
    gpu_seconds: float | None = None
    tokens: int | None = None
    usd: float | None = None


# ---- events: the append-only record of a run -----------------------------------------


class Started(StrictModel):
    """First event of a run. ``environment``: versions, device or "no GPU".

    ``cold``: nothing that was learnt before is used, and nothing is taught; that holds
    for the whole run, also where it goes on later.
    """

    event: Literal["started"] = "started"
    task: Task
    agent: str
    seed: int
    budget: Budget
    policy: dict[str, object]
    environment: dict[str, str]
    cold: bool = False

    @model_validator(mode="before")
    @classmethod
    def _cold_in_words(cls, data: Any) -> Any:
        """Sessions said it in words before there was a field for it."""
        if not isinstance(data, dict):
            return data
        given = cast("dict[str, Any]", data)
        environment = given.get("environment")
        if "cold" in given or not isinstance(environment, dict):
            return given
        words = cast("dict[str, Any]", environment).get("policy")
        return {**given, "cold": words == "neither used nor changed"}


class Resumed(StrictModel):
    """The run goes on after it was cut off; an unfinished trial is done again.

    ``budget``: the limits from now on; None: they stay as they were. ``cold``: the run
    is to teach nothing from now on; one that began cold is so without it.
    """

    event: Literal["resumed"] = "resumed"
    environment: dict[str, str]
    budget: Budget | None = None
    cold: bool = False


class Proposed(StrictModel):
    """What the planner offered for a trial, ranked, with sampling probabilities."""

    event: Literal["proposed"] = "proposed"
    trial: int
    parent: int | None
    bottleneck: str
    proposals: tuple[Proposal, ...]
    probabilities: tuple[float, ...]
    chosen: int

    @model_validator(mode="after")
    def _fits(self) -> Proposed:
        if len(self.probabilities) != len(self.proposals):
            raise ValueError("each proposal has a probability")
        if not 0 <= self.chosen < max(1, len(self.proposals)):
            raise ValueError("the chosen proposal is none of them")
        return self


class Probed(StrictModel):
    """A kernel that an external agent asked about without submitting it.

    ``trial`` is the one that was open, None between two. ``cost`` counts as any other.
    """

    event: Literal["probed"] = "probed"
    trial: int | None
    operation: Literal["check", "build", "test", "bench"]
    candidate: str
    verdict: JudgeVerdict
    cost: Cost = Cost()


class Asked(StrictModel):
    """A request to a language model has come back, with an answer or without one.

    Written at once, so that what was paid for is on record whatever comes next.
    ``about``: the kernel of the trial, or advice after it. ``request`` is its number in
    its conversation, from 1, and ``conversation`` the artefact with all that was said
    until then. ``cost`` is that of this request alone; ``priced``: whether its money is
    known.
    """

    event: Literal["asked"] = "asked"
    trial: int
    about: Literal["kernel", "advice"]
    request: int
    conversation: str
    cost: Cost = Cost()
    priced: bool = True


class Lowered(StrictModel):
    """What the lowering agent made of the chosen proposal.

    ``candidate`` is the artefact with its JSON; None with a ``failure`` where there is
    none. ``attempts`` are verdicts of its inner loop, each of which went back to it.
    ``note`` is what the agent says of its kernel; ``conversation`` the artefact with
    what was asked and answered, where the agent is a language model. ``cost`` is what
    no :class:`Asked` says. ``lost``: nobody carried the proposal out, so that the
    failure says nothing of it.
    """

    event: Literal["lowered"] = "lowered"
    trial: int
    candidate: str | None
    attempts: tuple[JudgeVerdict, ...] = ()
    failure: str = ""
    cost: Cost = Cost()
    note: str = ""
    conversation: str | None = None
    lost: bool = False


class Judged(StrictModel):
    """The judge's verdict of the trial's candidate."""

    event: Literal["judged"] = "judged"
    trial: int
    verdict: JudgeVerdict
    cost: Cost = Cost()


class Learned(StrictModel):
    """The reward of a trial and what changed in the policy.

    Where a language model writes advice, ``conversation`` (an artefact) is that of
    asking it, ``cost`` what no :class:`Asked` says of it, and ``note`` says why it
    wrote none.
    """

    event: Literal["learned"] = "learned"
    trial: int
    reward: float
    predicted_gain: float
    actual_gain: float | None
    changes: tuple[Change, ...]
    cost: Cost = Cost()
    note: str = ""
    conversation: str | None = None


class Ablated(StrictModel):
    """The final kernel without one optimisation, judged like any candidate."""

    event: Literal["ablated"] = "ablated"
    optimisation: str
    candidate: str
    verdict: JudgeVerdict
    cost: Cost = Cost()


class Finished(StrictModel):
    """Last event. ``reason``: "budget: trials", "no progress", "interrupted", ..."""

    event: Literal["finished"] = "finished"
    reason: str
    best: int | None


Event = Annotated[
    Started
    | Resumed
    | Proposed
    | Probed
    | Asked
    | Lowered
    | Judged
    | Learned
    | Ablated
    | Finished,
    Field(discriminator="event"),
]
