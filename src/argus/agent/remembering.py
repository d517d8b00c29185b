"""A judge that remembers: no candidate is checked twice, no program judged twice.

Cheap before dear: only what passes the check is evaluated, and a candidate that prints
the program of an earlier one is a no-op edit, which is said without running it.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.agent.interfaces import CandidateJudge
from argus.agent.state import same_source
from argus.runs.records import Candidate, JudgeVerdict, Problem


class RememberingJudge:
    """Checks once, evaluates what is new and passed. Memory lasts as long as it."""

    def __init__(self, judge: CandidateJudge) -> None:
        self._judge = judge
        self._checked: dict[str, JudgeVerdict] = {}

    def check(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        """Verdicts of the check, remembered where they say something."""
        names = [same_source(c) for c in candidates]
        new = {
            n: c
            for n, c in zip(names, candidates, strict=True)
            if n not in self._checked
        }
        fresh = self._judge.check(problem, list(new.values())) if new else []
        answers = dict(zip(new, fresh, strict=True))
        self._checked |= {n: v for n, v in answers.items() if v.status != "failed"}
        return [answers.get(n) or self._checked[n] for n in names]

    def evaluate(
        self, problem: Problem, candidates: Sequence[Candidate]
    ) -> list[JudgeVerdict]:
        """The judge's own evaluation, whatever is remembered."""
        return self._judge.evaluate(problem, candidates) if candidates else []

    def judged(
        self, problem: Problem, candidates: Sequence[Candidate], known: dict[str, int]
    ) -> list[JudgeVerdict]:
        """Verdicts in order. ``known``: programs that were judged, and their trials."""
        verdicts = self.check(problem, candidates)
        programs = {p: f"trial {n}" for p, n in known.items()}
        wanted: list[int] = []
        for i, verdict in enumerate(verdicts):
            earlier = programs.get(verdict.program) if verdict.program else None
            if earlier is not None:
                text = f"the program of {earlier}: the edit changes nothing"
                verdicts[i] = verdict.model_copy(
                    update={"status": "duplicate", "summary": text}
                )
            elif verdict.status == "correct":
                wanted.append(i)
                if verdict.program:
                    programs[verdict.program] = "another candidate of this batch"
        found = self.evaluate(problem, [candidates[i] for i in wanted])
        for i, verdict in zip(wanted, found, strict=True):
            verdicts[i] = _whole(verdicts[i], verdict)
        return verdicts


def _whole(checked: JudgeVerdict, evaluated: JudgeVerdict) -> JudgeVerdict:
    """The evaluation, with what only the check said."""
    seconds = dict(checked.seconds)
    for stage, spent in evaluated.seconds.items():
        seconds[stage] = seconds.get(stage, 0.0) + spent
    update = {
        "predicted": evaluated.predicted or checked.predicted,
        "resources": evaluated.resources or checked.resources,
        "program": evaluated.program or checked.program,
        "seconds": seconds,
    }
    return evaluated.model_copy(update=update)
