"""What is here, and what will therefore not work: the facts of `argus doctor`.

Looks, and changes nothing. Imports no optional package, survives a machine without a
driver, and never raises for what it finds missing: that is a fact like the others.
"""

import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from argus.diagnostics import ArgusError
from argus.files.settings import installed
from argus.isa.registry import has_family
from argus.runs.folder import data_folder
from argus.runtime import nvrtc
from argus.runtime.cache import cache_directory, default_cache
from argus.runtime.driver import CudaDriver, DeviceInfo, cuda_driver
from argus.targets import TARGETS, target_for_capability

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class EnvironmentFact:
    """One thing that was looked at.

    ``fail``: something that Argus is for does not work at all. ``warn``: an optional
    part does not. ``consequence`` says what will not work, and why; None if all does.
    """

    name: str
    state: State
    found: str
    consequence: str | None = None


def facts() -> tuple[EnvironmentFact, ...]:
    """Everything, in the order in which it is needed."""
    return (
        EnvironmentFact("python", "ok", platform.python_version()),
        _package("numpy", "nothing works without arrays", missing="fail"),
        _nvrtc(),
        *_driver(),
        _package(
            "torch",
            "kernels take torch tensors, and become torch operators, only with torch: "
            "pip install 'argus-gpu[torch]'",
            missing="warn",
        ),
        *(_extra(*words) for words in _EXTRAS),
        _nvcc(),
        _cache(),
        EnvironmentFact("runs", "ok", str(data_folder())),
    )


_EXTRAS = (
    ("pydantic-ai", "pydantic_ai", "agent", "no language model can write kernels"),
    ("mcp", "mcp", "mcp", "`argus mcp` has no tools for coding agents"),
    ("ray", "ray", "ray", "kernels are judged on this machine only"),
)
"""What a package is called, its module, the extra that brings it, what lacks it."""


def _extra(name: str, module: str, extra: str, lacking: str) -> EnvironmentFact:
    """A package that one part wants; without it all else works."""
    if not installed(module):
        help_ = f"{lacking}: pip install 'argus-gpu[{extra}]'"
        return EnvironmentFact(name, "ok", "not installed", help_)
    return EnvironmentFact(name, "ok", "installed")


def _package(name: str, consequence: str, missing: State) -> EnvironmentFact:
    if not installed(name):
        return EnvironmentFact(name, missing, "not installed", consequence)
    # Imported here: it takes longer than a warm start, and only this command wants it.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return EnvironmentFact(name, "ok", version(name))
    except PackageNotFoundError:
        return EnvironmentFact(name, "ok", "of unknown version")


def _nvrtc() -> EnvironmentFact:
    try:
        major, minor = nvrtc.loaded_version()
        known = nvrtc.supported_architectures()
    except ArgusError as error:
        return EnvironmentFact(
            "nvrtc", "fail", _words(error), "no kernel can be built: NVRTC is missing"
        )
    found = f"{major}.{minor} (wheel {nvrtc.installed_version() or 'not installed'})"
    lacking = [name for name, target in TARGETS.items() if target.number not in known]
    if lacking:
        return EnvironmentFact(
            "nvrtc", "warn", found, f"it cannot build for {', '.join(lacking)}"
        )
    return EnvironmentFact("nvrtc", "ok", found)


def _driver() -> Iterator[EnvironmentFact]:
    try:
        driver = cuda_driver()
    except ArgusError as error:
        yield EnvironmentFact(
            "driver",
            "warn",
            _words(error),
            "kernels cannot run or be timed here; parsing, verifying, interpreting and "
            "building need no GPU",
        )
        return
    yield _guarded("driver", lambda: _driver_version(driver))
    for index in range(driver.device_count):
        yield _guarded(f"device {index}", lambda i=index: _device(driver.info(i)))


def _guarded(name: str, look: Callable[[], EnvironmentFact]) -> EnvironmentFact:
    try:
        return look()
    except ArgusError as error:
        return EnvironmentFact(
            name, "fail", _words(error), "the driver does not answer"
        )


def _driver_version(driver: CudaDriver) -> EnvironmentFact:
    version = driver.version()
    found = f"CUDA {version[0]}.{version[1]}, {driver.device_count} device(s)"
    if version[0] < 13:
        return EnvironmentFact(
            "driver", "fail", found, "binaries of CUDA 13 need a driver of CUDA 13"
        )
    return EnvironmentFact("driver", "ok", found)


def _device(info: DeviceInfo) -> EnvironmentFact:
    major, minor = info.capability
    found = (
        f"{info.name}, sm_{major}{minor}, {info.multiprocessors} multiprocessors, "
        f"{info.memory / 2**30:.0f} GiB"
    )
    name = f"device {info.index}"
    target = target_for_capability(info.capability)
    if target is None:
        return EnvironmentFact(
            name, "warn", found, "no target of this version runs on it"
        )
    lacking = [f"no {x}" for f, x in _PARTS.items() if not has_family(f, target.name)]
    if not lacking:
        return EnvironmentFact(name, "ok", found)
    *first, last = lacking
    what = f"{', '.join(first)} and {last}" if first else last
    return EnvironmentFact(
        name, "warn", found, f"kernels with target {target.name} only: it has {what}"
    )


_PARTS = {"wgmma": "wgmma", "tma": "TMA", "cluster": "clusters"}
"""Families of instructions that kernels may want, and what people call them."""


def _nvcc() -> EnvironmentFact:
    path = shutil.which("nvcc")
    if path is None:
        return EnvironmentFact(
            "nvcc",
            "ok",
            "not found",
            "exported .cu files cannot be compiled here; nothing else needs it",
        )
    return EnvironmentFact("nvcc", "ok", path)


def _cache() -> EnvironmentFact:
    try:
        folder = cache_directory()
        why = default_cache().store.writable()
    except ArgusError as error:
        return EnvironmentFact("cache", "fail", _words(error), "no kernel can be built")
    if folder is None:
        off = default_cache().store.limit == 0
        found = "turned off by ARGUS_CACHE_LIMIT_MB" if off else "no home folder"
        return EnvironmentFact(
            "cache", "warn", found, "every process builds its kernels again"
        )
    if why is not None:
        return EnvironmentFact(
            "cache",
            "warn",
            f"{folder}: {why}",
            "every process builds its kernels again",
        )
    return EnvironmentFact("cache", "ok", str(folder))


def _words(error: ArgusError) -> str:
    first = error.diagnostics[0]
    return f"{first.code}: {first.message}"
