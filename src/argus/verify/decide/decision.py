"""The result of deciding a condition."""

from dataclasses import dataclass, field

from argus.verify.verdict import Verdict


@dataclass(frozen=True)
class Decision:
    """``model`` gives a value to every symbol where the condition is refuted."""

    verdict: Verdict
    method: str
    reason: str = ""
    model: dict[str, int] = field(default_factory=dict[str, int])
