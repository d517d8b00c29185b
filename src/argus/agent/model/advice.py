"""Written advice by a model ("text gradients"): what trials teach, in a sentence.

It becomes a change of the policy that cites trials, like everything that is learnt. It
will stand in prompts of later runs, so it is one short line of plain text, about an
optimisation that was tried, citing trials that it was asked about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from argus.agent.interfaces import Advised
from argus.agent.model.answers import LONGEST_ADVICE, AdviceAnswer
from argus.agent.model.asking import Asker
from argus.agent.model.conversation import Conversation
from argus.agent.model.failures import ProviderFailed, UnusableAnswer
from argus.agent.model.meter import Meter, NoRoom
from argus.agent.model.prompts import advice_prompt
from argus.agent.model.provider import redacted
from argus.agent.policy import ADVICE
from argus.agent.state import START, RunState
from argus.runs.history import RunTrial
from argus.runs.records import Change

GENERAL = "general"


def advise(
    asker: Asker,
    conversation: Conversation,
    meter: Meter,
    state: RunState,
    trials: Sequence[RunTrial],
    family: str,
) -> Advised | None:
    """Ask for advice after some trials; None if none of them was judged.

    ``conversation`` is a new one. One request, without a second attempt: where it
    fails, advice by rule takes its place, and the failure says why.
    """
    tried = [t for t in trials if t.verdict is not None and _optimisation(t)]
    if not tried:
        return None
    prompt = advice_prompt(state, tried, state.policy)
    try:
        answer = asker.run(asker.ask(AdviceAnswer, conversation, prompt, meter))
        change = _change(answer, state, tried, family)
        found = Advised((change,) if change else ())
    except NoRoom as full:
        found = Advised(failure=f"advice by rule: budget: {full}")
    except (ProviderFailed, UnusableAnswer) as failed:
        found = Advised(failure=f"advice by rule: the model gave none: {failed}")
    return Advised(
        changes=found.changes,
        failure=found.failure,
        cost=conversation.cost,
        conversation=conversation.to_json(),
    )


def _change(
    answer: AdviceAnswer, state: RunState, tried: Sequence[RunTrial], family: str
) -> Change | None:
    """The change of the policy; None if it says nothing new.

    Raises :class:`UnusableAnswer` for advice that cites none of the trials, or about
    what was not tried.
    """
    numbers = {t.number for t in tried}
    cited = tuple(sorted(set(answer.trials) & numbers))
    if not cited:
        raise UnusableAnswer(
            f"it cites {sorted(answer.trials)[:8]}, asked were {numbers}"
        )
    about = answer.about.strip()
    if about != GENERAL and about not in {_optimisation(t) for t in tried}:
        raise UnusableAnswer(f"it is about `{about[:40]}`, which was not tried")
    text = plain(answer.text)
    if not text:
        raise UnusableAnswer("it is no plain text")
    rest = f"{family}/{_bottleneck(tried)}/{about}"
    now = state.policy.advice.get(rest)
    if now is not None and now.text == text:
        return None
    before = now.text if now else None
    return Change(key=f"{ADVICE}/{rest}", before=before, after=text, trials=cited)


def plain(text: str) -> str:
    """One line of printable text, without fences and headings."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    words = re.sub(r"`{3,}|#{2,}", "", printable).split()
    return redacted(" ".join(words))[:LONGEST_ADVICE]


def _optimisation(trial: RunTrial) -> str:
    proposal = trial.proposal
    if proposal is None or proposal.optimisation == START:
        return ""
    return proposal.optimisation


def _bottleneck(trials: Sequence[RunTrial]) -> str:
    found = Counter(t.proposed.bottleneck for t in trials if t.proposed is not None)
    return found.most_common(1)[0][0]
