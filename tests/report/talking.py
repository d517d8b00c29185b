"""Runs in which a language model was asked, made by hand: every sort of answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sample_run
from argus.runs.records import (
    Asked,
    Budget,
    Cost,
    Event,
    Judged,
    JudgeVerdict,
    Learned,
    Lowered,
    Proposal,
    Proposed,
    Resumed,
    Started,
)
from argus.runs.store import Run, RunStore

HOSTILE = (
    sample_run.HOSTILE
    + '<a href="javascript:alert(1)">free tokens</a> </details></section></main>'
    + "NUL \x00, turned \u202e, half \ud800, {{ 7 * 7 }} &lt; <!-- -->"
)
LONG = "x" * 150_000
"""A line that no screen is as wide as."""
NESTED = '{"rationale": ' + "[" * 90_000


def turn(prompt: str, answer: object, **more: Any) -> dict[str, Any]:
    """A request as the record has it; an answer that is no text fills the form."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    told = {"tokens": 1100, "usd": 0.0036, "seconds": 2.31, "estimated": False}
    whole = {"prompt": prompt, "answer": text, "error": "", "outcome": "answered"}
    return {**whole, **told, **more}


def kernel(source: str, said: str = "As proposed.", **more: object) -> dict[str, Any]:
    """An answer with a kernel."""
    return {"rationale": said, "source": source, **more}


def talk(turns: Sequence[dict[str, Any]], instructions: str = "Rules.") -> str:
    """A conversation as the model agent writes it."""
    whole = {"model": "test", "instructions": instructions, "turns": list(turns)}
    return json.dumps(whole)


def asked(run: Run, trial: int, about: Any, turns: Sequence[dict[str, Any]]) -> str:
    """Write an event for each request; returns the artefact of the whole."""
    name = ""
    for number in range(1, len(turns) + 1):
        name = run.put(talk(turns[:number]))
        cost = Cost(tokens=turns[number - 1]["tokens"], usd=turns[number - 1]["usd"])
        run.append(
            Asked(
                trial=trial, about=about, request=number, conversation=name, cost=cost,
            )
        )  # fmt: skip
    return name


def begun(root: Path) -> Run:
    """A run of a model whose start kernel is judged."""
    run = RunStore(root).create(
        Started(
            task=sample_run.TASK, agent="model", seed=1,
            budget=Budget(trials=9, tokens=90_000, usd=2.0), policy={},
            environment={"model": "test", "device": "no GPU"},
        )
    )  # fmt: skip
    run.append(proposed(0))
    made = run.put(sample_run.NAIVE.model_dump_json())
    run.append(Lowered(trial=0, candidate=made))
    run.append(Judged(trial=0, verdict=sample_run.correct(2500.0, None)))
    run.append(learned(0))
    return run


def proposed(trial: int) -> Event:
    offer = Proposal(
        optimisation="swizzling" if trial else "start", where="", predicted_gain=0.4
    )
    return Proposed(
        trial=trial, parent=0 if trial else None, bottleneck="latency",
        proposals=(offer,), probabilities=(1.0,), chosen=0,
    )  # fmt: skip


def learned(trial: int, conversation: str | None = None) -> Event:
    return Learned(
        trial=trial, reward=0.5, predicted_gain=0.4, actual_gain=None, changes=(),
        conversation=conversation,
    )  # fmt: skip


def make(root: Path, refuted: JudgeVerdict) -> str:
    """Killed after an answer; then a refuted kernel, a silent provider, a good one;
    then answers that are none, all of them hostile; then an answer and no more."""
    prompt = f"Task: a gemm.\n\n{HOSTILE}\n" + "A line of the prompt.\n" * 40
    wrong, right = sample_run.shifted(), sample_run.repaired()
    back = f"Your kernel is wrong.\n\nAG0301: {HOSTILE}\nCounterexample: {{}}"
    with begun(root) as run:
        run.append(proposed(1))
        asked(run, 1, "kernel", [turn(prompt, kernel("lost = 1\n", "Killed here."))])
        run.append(Resumed(environment={}))
        statics = [{"name": "BM", "value": 64}, {"name": HOSTILE, "value": HOSTILE}]
        turns = [
            turn(prompt, kernel(wrong.source, HOSTILE, statics=statics)),
            turn(
                back, "", error="status 503: busy", outcome="failed", tokens=0, usd=0.0
            ),
            turn("as before", kernel(right.source, invariants=[HOSTILE])),
        ]
        name = asked(run, 1, "kernel", turns)
        run.append(
            Lowered(
                trial=1, candidate=run.put(right.model_dump_json()),
                attempts=(refuted,), conversation=name,
            )
        )  # fmt: skip
        run.append(Judged(trial=1, verdict=sample_run.correct(900.0, None)))
        said = {"about": "swizzling", "text": HOSTILE, "trials": [1]}
        run.append(learned(1, asked(run, 1, "advice", [turn("Trials: 1", said)])))
        run.append(proposed(2))
        why = "Your last answer could not be used: "
        no = JudgeVerdict(
            status="rejected", stage="parse", summary="AG1062: it is none"
        )
        odd = [HOSTILE, LONG, NESTED, "", kernel(HOSTILE + "\n" + LONG)]
        turns = [
            turn(
                prompt if not i else f"{prompt}\n\n{why}{i}", answer, error=HOSTILE,
                outcome="unusable",
            )
            for i, answer in enumerate(odd)
        ]  # fmt: skip
        name = asked(run, 2, "kernel", turns)
        run.append(
            Lowered(
                trial=2, candidate=None, attempts=(no,) * 5, conversation=name,
                failure=sample_run.HOSTILE,
            )
        )  # fmt: skip
        run.append(learned(2))
        run.append(proposed(3))
        asked(run, 3, "kernel", [turn(prompt, {"applies": False, "rationale": "No."})])
        return run.id


def make_large(root: Path) -> str:
    """Sixty trials of many requests, each with long texts that are all markup."""
    with begun(root) as run:
        for trial in range(1, 61):
            run.append(proposed(trial))
            turns = [turn("&<" * 30_000, kernel('"<\n' * 30_000))]
            turns += [
                turn("'" * 9_000 + str(i), kernel("\x00&" * 9_000 + str(i)))
                for i in range(9)
            ]
            name = run.put(talk(turns, instructions="<" * 100_000))
            run.append(Lowered(trial=trial, candidate=None, conversation=name))
            run.append(learned(trial))
        return run.id
