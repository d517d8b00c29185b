"""What tests of programs share."""

import pytest


@pytest.fixture(autouse=True)
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs are not held against many runs, too.

    Kernels of modules are run beside torch's here, and how a search goes is the subject
    of `tests/evaluation`. Where terms are not shown to be equal, there are two searches
    for a difference, not six.
    """
    monkeypatch.setattr("argus.evaluation.equal.refuting._TRIALS", 4)
    monkeypatch.setattr("argus.evaluation.equal.proof._SEARCHES", 1)
