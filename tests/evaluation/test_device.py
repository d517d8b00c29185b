"""What a machine without a usable GPU is told."""

import pytest

from argus.diagnostics import ArgusError
from argus.evaluation.device import find_device, require_device
from argus.runtime.driver import DeviceInfo, target_of


def _info(*capability: int) -> DeviceInfo:
    return DeviceInfo(0, "a GPU", (capability[0], capability[1]), 132, 1 << 30)


def test_targets_of_devices() -> None:
    assert target_of(_info(9, 0)).name == "sm_90a"
    assert target_of(_info(8, 0)).name == "sm_80"
    assert target_of(_info(8, 9)).name == "sm_80"
    for capability in ((7, 5), (10, 0), (12, 0)):
        with pytest.raises(ArgusError) as caught:
            target_of(_info(*capability))
        assert caught.value.code == "AG0905"


def test_without_a_gpu_it_says_what_needs_one() -> None:
    if find_device() is not None:
        pytest.skip("there is a GPU")
    with pytest.raises(ArgusError) as caught:
        require_device("timing")
    assert caught.value.code in ("AG0903", "AG0904", "AG0906", "AG0911")
    assert "timing needs a GPU" in str(caught.value)
