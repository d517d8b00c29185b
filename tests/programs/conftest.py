"""What tests of programs share."""

import pytest


@pytest.fixture(autouse=True)
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where terms are equal, their proof is not held against many runs, too.

    Kernels of modules are run beside torch's here, and how a search goes is the subject
    of `tests/evaluation`. Where terms are not shown to be equal, it is as long as ever.
    """
    monkeypatch.setattr("argus.evaluation.equal.refuting._TRIALS", 4)
