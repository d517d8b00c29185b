"""What tests of programs share."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs are not held against many runs, too.

    Kernels of modules are run beside torch's here, and how a search goes is the subject
    of `tests/evaluation`: each is held against two runs, and where terms are not shown
    to be equal, there are no more searches for a difference.
    """
    from argus.evaluation.equal import proof

    runs: Any = vars(proof)["_Runs"]
    searched = runs.searched

    def few_only(self: Any, *given: Any, few: bool = False) -> Any:
        return searched(self, *given, few=True) if few else None

    monkeypatch.setattr(runs, "searched", few_only)
    monkeypatch.setattr("argus.evaluation.equal.refuting._TRIALS", 2)
