"""A case on a GPU: compile, launch on poisoned outputs, judge against fp64.

Needs torch and a CUDA device, and says so where one is missing. Nothing is timed here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from argus.calls import prepare_call
from argus.diagnostics import ArgusError, fail
from argus.evaluation.arrays import TorchArrays
from argus.evaluation.oracle import Inputs, OracleVerdict, judge, make_inputs
from argus.files.settings import installed
from argus.kernels.entry import choose
from argus.kernels.library import Case, KernelChoice, LibraryEntry
from argus.runtime.driver import DeviceInfo, cuda_driver, target_of
from argus.runtime.launch import LoadedKernel, PreparedLaunch


@dataclass(frozen=True)
class DeviceCall:
    """A case ready to launch: call ``prepared`` as often as wanted."""

    choice: KernelChoice
    inputs: Inputs
    loaded: LoadedKernel
    prepared: PreparedLaunch


def torch_module() -> Any:
    """Torch with a CUDA device.

    Raises ArgusError: AG0906 (no torch), AG0903 (torch sees no device).
    """
    if not installed("torch"):
        raise fail(
            "AG0906",
            None,
            "torch is not installed",
            help="pip install 'argus-gpu[torch]'",
        )
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise fail("AG0903", None, "torch sees no CUDA device")
    return torch


def device_uuid() -> str:
    """What names torch's first device on this machine. Raises like `torch_module`."""
    return str(torch_module().cuda.get_device_properties(0).uuid)


def free_memory() -> int:
    """Bytes that are free on torch's current device. Raises like `torch_module`."""
    return int(torch_module().cuda.mem_get_info()[0])


def find_device() -> DeviceInfo | None:
    """The first CUDA device; None where there is no driver, device, target or torch."""
    try:
        info = cuda_driver().info(0)
        target_of(info)
        torch_module()
    except ArgusError:
        return None
    return info


def require_device(what: str) -> DeviceInfo:
    """The first CUDA device.

    Raises ArgusError AG0903, AG0906 or AG0911, which says that ``what`` needs one.
    """
    try:
        info = cuda_driver().info(0)
        torch_module()
    except ArgusError as error:
        first = error.diagnostics[0]
        raise fail(
            first.code,
            None,
            f"{what} needs a GPU: {first.message}",
            notes=["`argus doctor` says what was found here"],
            help=first.help,
        ) from error
    return info


def prepare(
    entry: LibraryEntry,
    case: Case,
    *,
    seed: int = 0,
    statics: Mapping[str, object] | None = None,
) -> DeviceCall:
    """Draw inputs on the device and compile for them; nothing is launched.

    Raises ArgusError: what compiling and binding find, and see :func:`require_device`.
    """
    target = target_of(require_device(f"running `{entry.name}`")).name
    choice = choose(entry, case, target)
    inputs = make_inputs(entry, case, TorchArrays(seed))
    named = {
        **inputs.arrays,
        **choice.scalars,
        **choice.statics,
        **(statics or {}),
    }
    # Outputs are judged here; `argus check` proves.
    loaded, values = prepare_call(choice.kernel, (), named, checking=False)
    return DeviceCall(choice, inputs, loaded, loaded.prepare(*values))


def run_on_device(
    entry: LibraryEntry,
    case: Case,
    *,
    seed: int = 0,
    statics: Mapping[str, object] | None = None,
) -> OracleVerdict:
    """Launch a case once and judge its outputs.

    Raises ArgusError: see :func:`prepare`, and AG0811 where the kernel fails.
    """
    call = prepare(entry, case, seed=seed, statics=statics)
    launch_and_wait(call.prepared)
    return judge(entry, case, call.inputs)


def launch_and_wait(prepared: Callable[[], object]) -> None:
    """Launch and synchronise.

    Raises ArgusError AG0811 with the driver's words if the kernel faulted.
    """
    torch = torch_module()
    prepared()
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:  # torch.AcceleratorError is one
        raise fail(
            "AG0811",
            None,
            "the kernel failed on the device",
            notes=[str(error).splitlines()[0]],
        ) from error
