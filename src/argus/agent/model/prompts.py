"""What is said to a language model. Texts only; sizes are bounded.

The instructions are the same for all requests of a kind, so that providers can cache
them. Everything about one proposal is in the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache

from argus.agent.interfaces import ProposalOrder
from argus.agent.model.reference import LANGUAGE, language_reference
from argus.agent.policy import Policy
from argus.agent.rewards import gain
from argus.agent.space import FORM
from argus.agent.spaces import SPACES
from argus.agent.state import RunState
from argus.runs.history import RunTrial
from argus.runs.records import FileProblem, JudgeVerdict, Problem

LONGEST_EXAMPLE = 16_000
"""Characters of knowledge entries in a prompt; pitfalls are left out beyond."""
MOST_ADVICE = 8
"""Sentences of the policy in a prompt."""
MOST_TRIALS = 12
"""Trials that advice is asked about."""

_TASK = """\
You improve GPU kernels that are written in Argus, a tile-level language with the
syntax of Python. A kernel is parsed and compiled, and never executed as Python. You
get a kernel, what limits it, and one proposal. Carry out that proposal and nothing
else.
"""

_KEEP = """\
Keep the name of the kernel, its tensors and scalars with their names, order, types
and dimensions, and what it computes. Static parameters, inline functions and the
body are yours. Answer with the whole file. If the proposal makes no sense for this
kernel, say so instead of changing something else.
"""

_ADVICE = """\
You advise whoever improves GPU kernels written in Argus, a tile-level language. You
see the latest trials of one run: what was proposed for a kernel, what became of it,
and the advice so far. Write what the next trials should do or avoid, and why, in
one or two plain sentences that will still be true for other sizes. Cite the trials
that show it. Say only what the trials show.
"""


@cache
def instructions() -> str:
    """The part that is the same for all kernels: rules, and the language in short."""
    rules = f"{_TASK}\n{LANGUAGE}\n{_KEEP}"
    return f"{rules}\nThe language:\n\n{language_reference()}\n"


def advice_instructions() -> str:
    """The part that is the same for all advice."""
    return _ADVICE


def proposal_prompt(order: ProposalOrder) -> str:
    """An order as a prompt: task, kernel, what limits it, proposal, advice, example."""
    proposal = order.proposal
    parts = [
        _task(order),
        f"The kernel `{order.parent.kernel}`:\n\n```python\n{order.parent.source}```",
    ]
    if order.parent.statics:
        values = ", ".join(f"{k}={v!r}" for k, v in order.parent.statics.items())
        parts.append(f"It is compiled with {values}.")
    parts.append(_verdict(order.verdict))
    said = [f"Proposal: {proposal.optimisation}: {proposal.where}"]
    if proposal.edit:
        edit = ", ".join(f"{k}={v!r}" for k, v in proposal.edit.items())
        said.append(f"In the terms of the planner: {edit}")
        said += _form(order)
    if proposal.invariants:
        said.append("What must hold afterwards:")
        said += [f"- {text}" for text in proposal.invariants]
        said.append(
            "State those that are statements of the language in the kernel, and list "
            "them in `invariants`."
        )
    if proposal.depends_on:
        said.append(f"It builds on: {', '.join(proposal.depends_on)}.")
    if proposal.reason:
        said.append(f"Why: {proposal.reason}")
    parts.append("\n".join(said))
    if order.advice:
        sentences = "\n".join(f"- {text}" for text in order.advice[:MOST_ADVICE])
        parts.append(f"What earlier trials taught:\n{sentences}")
    example = _example(order)
    if example:
        parts.append(
            "What is known of this optimisation. Its kernels are examples for another "
            f"task; they are proved.\n\n{example}"
        )
    return "\n\n".join(parts)


def _form(order: ProposalOrder) -> list[str]:
    """What another form of the family is, where the proposal is to take one."""
    form = order.proposal.edit.get(FORM)
    forms = SPACES[order.task.family].forms
    if not isinstance(form, str) or form not in forms:
        return []
    has = ", ".join(forms[form].optimisations)
    return [f"The form `{form}` is: {forms[form].title}. It has {has or 'none'}."]


def retry_prompt(why: str) -> str:
    """After an attempt that was refused or could not be read."""
    return (
        f"{why}\n\nCorrect this and answer again with the whole file. If it cannot be "
        "corrected, answer that the proposal does not apply."
    )


def _task(order: ProposalOrder) -> str:
    problem: Problem = order.task.problem
    sizes = ", ".join(f"{k} = {v}" for k, v in problem.sizes.items())
    text = f"Task: {order.task.name}. Target {problem.target}; {sizes}."
    if isinstance(problem, FileProblem) and problem.dtypes:
        types = ", ".join(f"{k}: {v}" for k, v in problem.dtypes.items())
        text += f" Element types: {types}."
    return text


def _verdict(verdict: JudgeVerdict | None) -> str:
    if verdict is None:
        return "It was not judged yet."
    said: list[str] = []
    if verdict.measured is not None:
        measured = verdict.measured
        said.append(f"It takes {measured.microseconds:.1f} us on {measured.device}.")
        said += [f"{n} takes {t:.1f} us." for n, t in measured.baselines.items()]
    if verdict.predicted is not None:
        found = verdict.predicted
        parts = ", ".join(f"{k} {v:.1f}" for k, v in found.parts.items())
        said.append(
            f"The performance model predicts {found.microseconds:.1f} us, limited by "
            f"{found.bottleneck}"
            + (f" (us of each resource: {parts})." if parts else ".")
        )
    if verdict.limit_microseconds is not None:
        said.append(f"The hardware needs {verdict.limit_microseconds:.1f} us at least.")
    if verdict.resources is not None:
        used = verdict.resources
        said.append(
            f"A block has {used.threads} threads, {used.shared_bytes} bytes of shared "
            f"memory, {used.registers} registers per thread."
        )
    if verdict.status != "correct":
        said.append(f"The verdict on it is: {verdict.status}. {verdict.summary}")
    return " ".join(said) or "Nothing is known of its speed."


def _example(order: ProposalOrder) -> str:
    """What the knowledge base has for a proposal; "" if that is nothing.

    Its own entry with pitfalls; or, where the proposal is another form, without them
    and with what else the form has and the kernel has not, as far as there is room.
    """
    found: list[str] = []
    room = LONGEST_EXAMPLE
    more = _brings(order)
    for optimisation in (order.proposal.optimisation, *more):
        text = _entry(optimisation, pitfalls=not more)
        if len(text) > room:
            text = _entry(optimisation, pitfalls=False)
        if text and len(text) <= room:
            found.append(text)
            room -= len(text)
    return "\n\n".join(found)


def _entry(optimisation: str, *, pitfalls: bool) -> str:
    from argus import knowledge

    try:
        return knowledge.few_shot([optimisation], pitfalls=pitfalls)
    except KeyError:  # the planner's own, such as another value of a knob
        return ""


def _brings(order: ProposalOrder) -> list[str]:
    """Optimisations of the form that is proposed, the most useful first."""
    from argus import knowledge

    form = order.proposal.edit.get(FORM)
    family = SPACES[order.task.family]
    if not isinstance(form, str) or form not in family.forms:
        return []
    has = family.optimisations(order.parent.design) if order.parent.design else ()
    known = knowledge.load_entries()
    new = [
        o
        for o in family.forms[form].optimisations
        if o in known and o not in has and o != order.proposal.optimisation
    ]
    return sorted(new, key=lambda o: -known[o].gain.middle)


# ---- advice --------------------------------------------------------------------------


def advice_prompt(state: RunState, trials: Sequence[RunTrial], policy: Policy) -> str:
    """What happened lately, and what is advised already."""
    task = state.started.task
    lines = [f"Task: {task.name}. Target {task.problem.target}.", "", "Trials:"]
    lines += [_trial(state, t) for t in trials[-MOST_TRIALS:]]
    if policy.advice:
        lines += ["", "Advice so far:"]
        found = list(policy.advice.items())[-MOST_ADVICE:]
        lines += [f"- {key}: {advice.text}" for key, advice in found]
    return "\n".join(lines)


def _trial(state: RunState, trial: RunTrial) -> str:
    proposal, verdict = trial.proposal, trial.verdict
    assert trial.proposed is not None and proposal is not None
    said: dict[str, object] = {
        "trial": trial.number,
        "changes the kernel of trial": trial.parent,
        "limited by": trial.proposed.bottleneck,
        "optimisation": proposal.optimisation,
        "where": proposal.where[:200],
    }
    if trial.lowered is not None:
        if trial.lowered.note:
            said["note"] = trial.lowered.note[:300]
        if trial.lowered.failure:
            said["failure"] = trial.lowered.failure[:300]
        refused = [v.summary[:200] for v in trial.lowered.attempts]
        if refused:
            said["refused before"] = refused
    if verdict is not None:
        said["verdict"] = verdict.status
        if verdict.status != "correct":
            said["because"] = verdict.summary[:300]
        gained = gain(verdict, state.time_of(trial.parent))
        if gained is not None:
            said["log speed-up"] = round(gained, 3)
    return "- " + json.dumps(said, ensure_ascii=False)
