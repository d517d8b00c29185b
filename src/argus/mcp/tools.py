"""The tools: one for each operation, with the arguments that an agent fills in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp.types import ToolAnnotations
from pydantic import Field

from argus.agent import session
from argus.agent.session import results as r
from argus.mcp.calls import Caller, text_of

Run = Annotated[
    str,
    Field(description='A run, by a part of its name; "latest" is the last session.'),
]
File = Annotated[
    str, Field(description="Path of a kernel file. Parsed, never executed.")
]
Text = Annotated[
    str, Field(description="The kernel file itself, as text, instead of a path.")
]
Kernel = Annotated[
    str | None,
    Field(description="The kernel, where the file has several and it is not clear."),
]
Statics = Annotated[
    dict[str, bool | int | float | str] | None,
    Field(description="Static parameters that override the file's defaults."),
]
Ctx = Context[Any, Any]

ASKING = ToolAnnotations(read_only_hint=True, open_world_hint=False)
MOVING = ToolAnnotations(
    read_only_hint=False,
    destructive_hint=False,
    idempotent_hint=False,
    open_world_hint=False,
)


def tools_of(caller: Caller) -> dict[str, tuple[Callable[..., Any], ToolAnnotations]]:
    """The tools by name, with what clients may know of their effects."""

    async def start(
        ctx: Ctx,
        task: Annotated[
            str,
            Field(
                description="A library kernel (gemm, softmax, rmsnorm, attention, "
                "grouped), a kernel file with an @ag.reference function (which the "
                "judge executes), or a PyTorch file with Model and get_inputs (which "
                "is executed)."
            ),
        ] = "",
        shape: Annotated[
            str | None,
            Field(description='All sizes of a library kernel, "4096x4096x1024".'),
        ] = None,
        sizes: Annotated[
            dict[str, int] | None, Field(description="Sizes by dimension.")
        ] = None,
        options: Annotated[
            list[str] | None,
            Field(description="Of a library kernel: bias, relu, causal, ..."),
        ] = None,
        kernel: Kernel = None,
        dtypes: Annotated[
            dict[str, str] | None, Field(description="Element types by tensor.")
        ] = None,
        target: Annotated[str | None, Field(description="sm_90a or sm_80.")] = None,
        part: Annotated[
            str, Field(description="Which task of a PyTorch file, by its name.")
        ] = "",
        trials: Annotated[
            int | None, Field(ge=1, description="60 with a GPU, 24 without.")
        ] = None,
        minutes: Annotated[float | None, Field(ge=0)] = None,
        gpu_seconds: Annotated[float | None, Field(ge=0)] = None,
        tokens: Annotated[int | None, Field(ge=0)] = None,
        usd: Annotated[float | None, Field(ge=0)] = None,
        seed: Annotated[int, Field(ge=0)] = 0,
        cold: Annotated[
            bool, Field(description="Neither use nor change what was learnt.")
        ] = False,
        resume: Annotated[
            str, Field(description="Open this run again, instead of a task.")
        ] = "",
    ) -> r.Started:
        """Begin a run for a task: judges the kernel that it starts from.

        Returns the task in words, sizes, tensors, the start kernel's source and time,
        the speed of light, the budget and the rules of the game.
        """
        asked = session.Asked(
            task=task,
            shape=shape,
            sizes=sizes or {},
            options=tuple(options or ()),
            kernel=kernel,
            dtypes=dtypes or {},
            target=target,
            part=part,
            trials=trials,
            minutes=minutes,
            gpu_seconds=gpu_seconds,
            tokens=tokens,
            usd=usd,
            seed=seed,
            cold=cold,
            resume=resume,
        )
        return await caller.call(ctx, lambda desk: session.start(desk, asked))

    async def next_(
        ctx: Ctx,
        run: Run = "latest",
        skip: Annotated[
            str, Field(description="Why the open proposal is given up; then the next.")
        ] = "",
    ) -> r.Next:
        """What to try next: the open proposal, or a new one if there is none.

        Returns the chosen proposal with ranked alternatives, invariants to assert, the
        expected speed-up, advice from earlier runs, the knowledge entry, the source to
        change and a draft. Without a proposal the run should end (see `reason`).
        """
        return await caller.call(ctx, lambda desk: session.next_(desk, run, skip))

    async def knowledge(
        ctx: Ctx,
        query: Annotated[
            str, Field(description="Words, or an entry's id for its whole text.")
        ] = "",
        run: Annotated[
            str,
            Field(description="Whose kernel to evaluate conditions on; may be empty."),
        ] = "",
        limit: Annotated[int, Field(ge=1, le=50)] = 5,
        full: Annotated[bool, Field(description="With the texts.")] = False,
    ) -> r.Found:
        """Search what is known of optimisations: when they apply, what they bring.

        An entry's text says how it is written in the language, with examples that are
        proved and pitfalls with the counterexample that each one produces.
        """
        return await caller.call(
            ctx, lambda desk: session.knowledge(desk, query, run, limit, full=full)
        )

    async def check(
        ctx: Ctx,
        file: File = "",
        source: Text = "",
        run: Run = "latest",
        kernel: Kernel = None,
        statics: Statics = None,
    ) -> r.Checked:
        """Prove a kernel for the run's task. Costs nothing of the budget.

        Every mistake comes with a counterexample: the sizes, block, thread, iteration
        and element where it goes wrong, and the line.
        """
        return await caller.call(
            ctx,
            lambda desk: session.check(
                desk, text_of(file, source), run, kernel=kernel, statics=statics
            ),
        )

    async def build(
        ctx: Ctx,
        file: File = "",
        source: Text = "",
        run: Run = "latest",
        kernel: Kernel = None,
        statics: Statics = None,
    ) -> r.Built:
        """Prove a kernel and compile it: registers, shared memory, spills."""
        return await caller.call(
            ctx,
            lambda desk: session.build(
                desk, text_of(file, source), run, kernel=kernel, statics=statics
            ),
        )

    async def explain(
        ctx: Ctx,
        file: File = "",
        source: Text = "",
        run: Run = "latest",
        stage: Annotated[
            Literal["tile", "placed", "cuda", "sass"],
            Field(
                description="tile: typed. placed: with layouts, instructions, waits. "
                "cuda: CUDA C++. sass: machine code."
            ),
        ] = "placed",
        topic: Annotated[
            str,
            Field(description='A code such as AG0301, or "language": its reference.'),
        ] = "",
        kernel: Kernel = None,
        statics: Statics = None,
    ) -> r.Explained:
        """A kernel as the compiler sees it, what a code means, or the language.

        Without a file, a source or a topic it is the kernel to change.
        """
        return await caller.call(
            ctx,
            lambda desk: session.explain(
                desk,
                text_of(file, source) if file or source else "",
                run,
                stage=stage,
                topic=topic,
                kernel=kernel,
                statics=statics,
            ),
        )

    async def test(
        ctx: Ctx,
        file: File = "",
        source: Text = "",
        run: Run = "latest",
        kernel: Kernel = None,
        statics: Statics = None,
    ) -> r.Tested:
        """Whether a kernel computes the right thing: at small sizes, not timed."""
        return await caller.call(
            ctx,
            lambda desk: session.test(
                desk, text_of(file, source), run, kernel=kernel, statics=statics
            ),
        )

    async def bench(
        ctx: Ctx,
        file: File = "",
        source: Text = "",
        run: Run = "latest",
        kernel: Kernel = None,
        statics: Statics = None,
    ) -> r.Benched:
        """A dry run of `submit`: the judge's verdict and time, and no trial.

        Measured on a GPU, predicted without one (`kind` says which). A few times for
        each proposal, and within the run's budget.
        """
        return await caller.call(
            ctx,
            lambda desk: session.bench(
                desk, text_of(file, source), run, kernel=kernel, statics=statics
            ),
        )

    async def profile(
        ctx: Ctx,
        file: File = "",
        source: Text = "",
        run: Run = "latest",
        kernel: Kernel = None,
        statics: Statics = None,
    ) -> r.Profiled:
        """Where the time would go, by the performance model, and what accesses cost.

        Bottleneck, occupancy, bank conflicts, sectors, instructions of the machine
        code. Without a file or a source it is the kernel to change. Nothing is run.
        """
        return await caller.call(
            ctx,
            lambda desk: session.profile(
                desk,
                text_of(file, source) if file or source else "",
                run,
                kernel=kernel,
                statics=statics,
            ),
        )

    async def submit(
        ctx: Ctx,
        file: File = "",
        source: Text = "",
        run: Run = "latest",
        note: Annotated[str, Field(description="What was done, for the record.")] = "",
        instead: Annotated[
            str,
            Field(
                description="Id of the knowledge entry that you carried out, if it is "
                "not the proposal's: that one is learnt from."
            ),
        ] = "",
        tokens: Annotated[
            int, Field(ge=0, description="What you spent on it, if you know.")
        ] = 0,
        usd: Annotated[float, Field(ge=0)] = 0.0,
        kernel: Kernel = None,
        statics: Statics = None,
    ) -> r.Submitted:
        """The answer to the open proposal: judged for good, and learnt from.

        Returns the verdict, the reward, whether it is the new best, and advice.
        """
        return await caller.call(
            ctx,
            lambda desk: session.submit(
                desk,
                text_of(file, source),
                run,
                kernel=kernel,
                statics=statics,
                note=note,
                instead=instead,
                tokens=tokens,
                usd=usd,
            ),
        )

    async def status(ctx: Ctx, run: Run = "latest") -> r.Standing:
        """Where a run stands: trials, the best kernel with its source, the budget."""
        return await caller.call(ctx, lambda desk: session.status(desk, run))

    async def finish(
        ctx: Ctx,
        run: Run = "latest",
        ablate: Annotated[
            bool, Field(description="Take the best kernel apart.")
        ] = True,
    ) -> r.Ended:
        """End a run: measure the best kernels side by side, take the best one apart.

        What the run has learnt helps the next. `report` is a page about it, for people.
        """
        return await caller.call(
            ctx, lambda desk: session.finish(desk, run, ablate=ablate)
        )

    return {
        "start": (start, MOVING),
        "next": (next_, MOVING),
        "knowledge": (knowledge, ASKING),
        "check": (check, ASKING),
        "build": (build, ASKING),
        "explain": (explain, ASKING),
        "test": (test, ASKING),
        "bench": (bench, MOVING),
        "profile": (profile, ASKING),
        "submit": (submit, MOVING),
        "status": (status, ASKING),
        "finish": (finish, MOVING),
    }
