"""Which GPUs there are, and whether one still works: asked in a process of its own."""

from __future__ import annotations

from argus.diagnostics import ArgusError
from argus.evaluation.device import (
    device_uuid,
    run_on_device,
    torch_module,
)
from argus.evaluation.judge.gpu_lock import GpuLock
from argus.kernels.library import LIBRARY, Case
from argus.runtime.driver import cuda_driver, target_of


def devices() -> tuple[str, ...]:
    """Names of the GPUs that kernels can be run on; empty without driver or torch."""
    try:
        torch_module()
        driver = cuda_driver()
        infos = [driver.info(i) for i in range(driver.device_count)]
        for info in infos:
            target_of(info)
    except ArgusError:
        return ()
    return tuple(info.name for info in infos)


def healthy() -> bool:
    """Whether a kernel of the library gives the right result. An error is a no."""
    entry = LIBRARY["softmax"]
    try:
        with GpuLock(device_uuid()) as lock:
            lock.shared()
            return run_on_device(entry, Case("health", {"M": 64, "N": 1024})).ok
    except ArgusError:
        return False
