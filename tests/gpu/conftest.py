"""What the tests on a GPU share: kernels are launched without proving them first.

Proofs are the subject of `tests/verifier`; here their time would be that of the device.
"""

import pytest


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_CHECK", "0")
