"""Every library entry on the device, against the fp64 oracle.

Outputs are poisoned with NaN, inputs compared afterwards, data fresh for each seed.
Needs torch, and only `PYTHONPATH=src` beside this repository.
"""

import pytest

from argus.evaluation.device import find_device, run_on_device
from argus.kernels.library import LIBRARY, Case, LibraryEntry
from argus.runtime.driver import target_of

pytestmark = pytest.mark.gpu


CASES = [
    pytest.param(entry, one, id=f"{entry.name}-{one.name}")
    for entry in LIBRARY.values()
    for one in (*entry.small, *entry.odd, *entry.large)
]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("entry", "one"), CASES)
def test_case(entry: LibraryEntry, one: Case, seed: int) -> None:
    torch = pytest.importorskip("torch")
    device = find_device()
    assert device is not None, "there is a device, but torch or a target is missing"
    if target_of(device).name not in entry.targets:
        pytest.skip(f"{entry.name} has no form for {device.name}")
    verdict = run_on_device(entry, one, seed=seed)
    torch.cuda.empty_cache()
    assert verdict.ok, "\n".join(verdict.why())
