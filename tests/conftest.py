"""What all tests share: the groups, and golden files.

Tests without a marker need nothing; `compiler` needs NVRTC, which is a dependency and
so never missing; `gpu` needs a CUDA device and is skipped where there is none.

A golden test compares text with a file in `golden/` beside it. To accept new text:
`pytest --update-golden`, then read the diff before committing it.

Whatever the tests build is kept in a cache of this run alone, never in the user's; it
lies in a folder that goes with the run (own_folder.py).

Hypothesis draws the same examples in each run, so that a run says something of a change
and nothing of luck (once in a hundred runs Z3 forgets its time limit). To look for new
ones: `HYPOTHESIS_PROFILE=default pytest`.
"""

import gc
import os
import signal
import sys
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path

import hypothesis
import pytest

import own_folder

# Before numpy is imported: tests run in several processes already.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Before torch is imported: it would look for garbage after each graph that it compiles.
os.environ.setdefault("TORCH_DYNAMO_RUN_GC_AFTER_COMPILE", "0")

# How long one example takes says nothing on a machine that does other work.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

GoldenCheck = Callable[[str, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what golden tests produce into their files",
    )


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell's background job: tests of Ctrl-C want it to arrive.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Tests start many processes, which would compile all modules again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if "PYTEST_XDIST_WORKER" in os.environ:
        return  # a worker: it has the environment of the process that started it
    folder = own_folder.enter(config)
    os.environ["ARGUS_CACHE_DIR"] = str(folder / "cache")


@cache
def _why_no_gpu() -> str | None:
    """Why GPU tests cannot run here; None if they can."""
    from cuda.bindings import driver

    try:
        (status,) = driver.cuInit(0)
    except RuntimeError as error:  # cuda-bindings found no driver library
        return f"no CUDA driver: {error}"
    if status != driver.CUresult.CUDA_SUCCESS:
        return f"cuInit: {status.name}"
    status, count = driver.cuDeviceGetCount()
    if status != driver.CUresult.CUDA_SUCCESS:
        return f"cuDeviceGetCount: {status.name}"
    return None if count else "the driver sees no device"


def pytest_collection_finish() -> None:
    """What is imported by now stays: garbage is looked for in what tests make.

    Walking through all of torch time and again took a fifth of the tests of programs.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(400_000, 20, 100)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if not on_gpu:
        return
    why = _why_no_gpu()
    if why is None:
        return
    for item in on_gpu:
        item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session", autouse=True)
def disks_are_not_waited_for() -> Generator[None]:
    """Tests kill processes, not machines: what is written need not lie on a disk.

    In this process and those that it forks; waiting took half a minute of a run.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        patch.setattr("argus.runs.store._SYNCHRONOUS", "OFF")
        yield


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> GoldenCheck:
    """`golden(name, text)`: `text` is what `golden/name` beside the test holds."""
    folder = request.path.parent / "golden"
    update = bool(request.config.getoption("--update-golden"))

    def check(name: str, text: str) -> None:
        path: Path = folder / name
        if update:
            folder.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        if not path.exists():
            pytest.fail(f"{path} is missing; run pytest --update-golden")
        assert text == path.read_text(encoding="utf-8"), f"{path} differs"

    return check
