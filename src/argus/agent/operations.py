"""The operations of a session, once: from this table come commands, tools, documents.

    OPERATIONS["check"].call(desk, {"source": text, "run": "latest"})   -> Checked

    cli/session.py      `argus session NAME`, its options, help and exit code
    mcp/tools.py        the tool NAME, its arguments and the schema of its answer
    docs/agents.md      the table (tools/document_operations.py)

An operation is a function of `argus.agent.session`, of the same name and with these
parameters; what it answers is the model in its signature. Who adds one writes that
function and a row here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from argus.agent.operation import (
    Numbers,
    Operation,
    Parameter,
    Values,
    Words,
    WrittenFile,
)
from argus.targets import TARGETS

_TARGETS = " or ".join(reversed(TARGETS)) + "."

MOST = 10**9
"""No limit or number of anything is larger."""


def _right(answer: Any) -> bool:
    return answer.ok


def _correct(answer: Any) -> bool:
    return answer.verdict.status == "correct"


def _source(part: str) -> Callable[[Any], str | None]:
    """The text of a kernel that an answer may have."""

    def text(answer: Any) -> str | None:
        found = getattr(answer, part)
        return None if found is None else found.source

    return text


_RUN = Parameter(
    "run",
    str,
    "latest",
    'A run, by a part of its name; "latest" is the last session.',
    short="-r",
    metavar="RUN",
)
_KERNEL = Parameter(
    "kernel",
    str | None,
    None,
    "The kernel, where the file has several and it is not clear.",
    short="-k",
    metavar="K",
)
_STATICS = Parameter(
    "statics",
    Values,
    None,
    "Static parameters that override the file's defaults.",
    option="--set",
    metavar="NAME=VALUE",
)
_COMMON = (_RUN, _KERNEL, _STATICS)


def _limit(name: str, kind: Any, least: int = 0, help_: str = "") -> Parameter:
    return Parameter(name, kind, None, help_, least=least, most=MOST)


START = Operation(
    "start",
    "beginning",
    says="Begin a run for a task: judges the kernel that it starts from.\n\n"
    "Returns the task in words, sizes, tensors, the start kernel's source and time, "
    "the speed of light, the budget and the rules of the game.",
    brief="Begin: a task, its limits.",
    answers="the task in words, sizes, tensors, the start kernel with its time, the "
    "speed of light, the rules",
    trial="the first",
    costs="GPU",
    moves=True,
    right=_correct,
    record="StartRequest",
    parameters=(
        Parameter(
            "task",
            str,
            "",
            "A library kernel (gemm, softmax, rmsnorm, attention, grouped), a kernel "
            "file with an @ag.reference function (which the judge executes), or a "
            "PyTorch file with Model and get_inputs (which is executed).",
            metavar="[FILE|NAME]",
            argument=True,
        ),
        Parameter(
            "shape",
            str | None,
            None,
            'All sizes of a library kernel, "4096x4096x1024".',
            metavar="AxBxC",
        ),
        Parameter(
            "sizes",
            Numbers,
            None,
            "Sizes by dimension.",
            option="--size",
            metavar="DIM=N",
        ),
        Parameter(
            "options",
            list[str] | None,
            None,
            "Of a library kernel: bias, relu, causal, ...",
            option="--option",
            metavar="WORD",
        ),
        _KERNEL,
        Parameter(
            "dtypes",
            Words,
            None,
            "Element types by tensor.",
            option="--dtype",
            metavar="NAME=TYPE",
        ),
        Parameter("target", str | None, None, _TARGETS, metavar="ARCH"),
        Parameter("part", str, "", "Which task of a PyTorch file, by its name."),
        _limit("trials", int | None, 1, "60 with a GPU, 24 without."),
        _limit("minutes", float | None),
        _limit("gpu_seconds", float | None),
        _limit("tokens", int | None),
        _limit("usd", float | None),
        Parameter("seed", int, 0, least=0, most=2**32 - 1),
        Parameter("cold", bool, False, "Neither use nor change what was learnt."),
        Parameter(
            "resume",
            str,
            "",
            "Open this run again, instead of a task.",
            metavar="RUN",
        ),
        Parameter(
            "execute",
            bool,
            True,
            "Whether Python may be executed: a PyTorch file, a reference.",
            "A server that forbids it does so in any case.",
        ),
    ),
    writes=(
        WrittenFile(
            "write", "--write", "Write the start kernel here.", _source("start")
        ),
    ),
)

NEXT = Operation(
    "next",
    "running",
    says="What to try next: the open proposal, or a new one if there is none.\n\n"
    "Returns the chosen proposal with ranked alternatives, invariants to assert, the "
    "expected speed-up, advice from earlier runs, the knowledge entry, the source to "
    "change and a draft. Without a proposal the run should end (see `reason`).",
    brief="What to try, and on which kernel.",
    answers="the chosen proposal and ranked alternatives, invariants to assert, "
    "expected speed-up, advice, the knowledge entry, the source to change, a draft",
    trial="opens one",
    moves=True,
    parameters=(
        _RUN,
        Parameter(
            "skip",
            str,
            "",
            "Why the open proposal is given up; then the next.",
            metavar="WHY",
        ),
    ),
    writes=(
        WrittenFile(
            "write", "--write", "Write the kernel to change.", _source("parent")
        ),
        WrittenFile(
            "draft",
            "--draft",
            "Write what the edit gives by itself.",
            _source("draft"),
        ),
    ),
)

KNOWLEDGE = Operation(
    "knowledge",
    "asking",
    says="Search what is known of optimisations: when they apply, what they bring.\n\n"
    "An entry's text says how it is written in the language, with examples that are "
    "proved and pitfalls with the counterexample that each one produces.",
    brief="Search what is known of optimisations.",
    answers="entries for some words, best first, with whether each applies to the "
    "run's kernel; by its id, an entry's whole text",
    parameters=(
        Parameter(
            "query",
            str,
            "",
            "Words, or an entry's id for its whole text.",
            metavar="[WORDS]",
            argument=True,
        ),
        Parameter(
            "run",
            str,
            "",
            "Whose kernel to evaluate conditions on; may be empty.",
            short="-r",
            metavar="RUN",
        ),
        Parameter("limit", int, 5, least=1, most=50, short="-n"),
        Parameter("full", bool, False, "With the texts."),
    ),
)

CHECK = Operation(
    "check",
    "asking",
    says="Prove a kernel for the run's task. Costs nothing of the budget.\n\n"
    "Every mistake comes with a counterexample: the sizes, block, thread, iteration "
    "and element where it goes wrong, and the line.",
    brief="What is proved, what is wrong.",
    answers="obligations proved, every mistake with a counterexample, whether the edit "
    "changes anything",
    kernel="wanted",
    right=_right,
    parameters=_COMMON,
)

BUILD = Operation(
    "build",
    "asking",
    says="Prove a kernel and compile it: registers, shared memory, spills.",
    brief="Registers, shared memory, spills.",
    answers="registers, shared memory, spills",
    kernel="wanted",
    right=_right,
    parameters=_COMMON,
)

EXPLAIN = Operation(
    "explain",
    "asking",
    says="A kernel as the compiler sees it, what a code means, or the language.\n\n"
    "Without a kernel or a topic it is the kernel to change.",
    brief="A kernel at a stage; a code.",
    answers="a kernel at a stage (tile, placed, cuda, sass), what a code means, the "
    "language's reference (`language`)",
    kernel="optional",
    right=lambda answer: not answer.findings,
    parameters=(
        _RUN,
        Parameter(
            "stage",
            Literal["tile", "placed", "cuda", "sass"],
            "placed",
            "tile: typed. placed: with layouts, instructions, waits. cuda: CUDA C++. "
            "sass: machine code.",
            short="-s",
        ),
        Parameter(
            "topic",
            str,
            "",
            'A code such as AG0301, or "language": its reference.',
        ),
        _KERNEL,
        _STATICS,
    ),
)

TEST = Operation(
    "test",
    "asking",
    says="Whether a kernel computes the right thing: at small sizes, not timed.",
    brief="Is the result right? No time.",
    answers="whether the result is right, in the interpreter at small sizes",
    kernel="wanted",
    right=_right,
    parameters=_COMMON,
)

BENCH = Operation(
    "bench",
    "asking",
    says="A dry run of `submit`: the judge's verdict and time, and no trial.\n\n"
    "Measured on a GPU, predicted without one (`kind` says which). A few times for "
    "each proposal, and within the run's budget.",
    brief="A dry run: judged, no trial.",
    answers="all that `submit` would say of the kernel, as a dry run",
    costs="GPU",
    kernel="wanted",
    moves=True,
    right=_right,
    parameters=_COMMON,
)

PROFILE = Operation(
    "profile",
    "asking",
    says="Where the time would go, by the performance model, and what accesses cost."
    "\n\nBottleneck, occupancy, bank conflicts, sectors, instructions of the machine "
    "code. Without a kernel it is the one to change. Nothing is run.",
    brief="Where the time would go.",
    answers="the model's parts and bottleneck, occupancy, bank conflicts, sectors, "
    "instructions by kind",
    kernel="optional",
    right=_right,
    parameters=_COMMON,
)

SUBMIT = Operation(
    "submit",
    "running",
    says="The answer to the open proposal: judged for good, and learnt from.\n\n"
    "Returns the verdict, the reward, whether it is the new best, and advice.",
    brief="The answer that counts.",
    answers="the verdict that counts, reward, new best, what was learnt",
    trial="ends it",
    costs="GPU",
    kernel="wanted",
    moves=True,
    right=_correct,
    parameters=(
        _RUN,
        Parameter("note", str, "", "What was done, for the record."),
        Parameter(
            "instead",
            str,
            "",
            "Id of the knowledge entry that you carried out, if it is not the "
            "proposal's: that one is learnt from.",
            metavar="ENTRY",
        ),
        Parameter(
            "tokens",
            int,
            0,
            "What you spent on it, if you know.",
            least=0,
            most=MOST,
        ),
        Parameter("usd", float, 0.0, least=0, most=MOST),
        _KERNEL,
        _STATICS,
    ),
)

STATUS = Operation(
    "status",
    "ending",
    says="Where a run stands: trials, the best kernel with its source, the budget.",
    brief="Trials, best kernel, budget.",
    answers="trials, best kernel with its source, budget, whether it is time to stop, "
    "where the report is",
    parameters=(_RUN,),
    writes=(
        WrittenFile(
            "best", "--best", "Write the best kernel here.", _source("best_source")
        ),
    ),
)

FINISH = Operation(
    "finish",
    "ending",
    says="End a run: measure the best kernels side by side, take the best one apart."
    "\n\nWhat the run has learnt helps the next. `report` is a page about it, for "
    "people.",
    brief="Measure again, take apart, end.",
    answers="the best kernels measured again side by side, the best one taken apart, "
    "the [report](report.md) written",
    costs="GPU",
    moves=True,
    parameters=(_RUN, Parameter("ablate", bool, True, "Take the best kernel apart.")),
    writes=(
        WrittenFile(
            "output",
            "--out",
            "Write the best kernel here.",
            _source("best_source"),
            short="-o",
        ),
    ),
)

OPERATIONS = {
    operation.name: operation
    for operation in (
        START, NEXT, KNOWLEDGE, CHECK, BUILD, EXPLAIN, TEST, BENCH, PROFILE, SUBMIT,
        STATUS, FINISH,
    )
}  # fmt: skip
"""By name, in the order in which they are used."""
