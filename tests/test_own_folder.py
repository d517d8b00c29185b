"""A test run leaves nothing in the folder for temporary files, whatever tests do."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import own_folder

LEAKS = """
import os, subprocess, sys, tempfile
from multiprocessing.util import get_temp_dir
from pathlib import Path

def test_of_another_process(tmp_path):
    tempfile.mkdtemp()
    code = "import os, tempfile; tempfile.mkstemp(); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    assert len(os.listdir(tempfile.gettempdir())) == 2
    assert os.environ["ARGUS_CACHE_DIR"].startswith(tempfile.gettempdir())
    assert not str(tmp_path).startswith(tempfile.gettempdir())
    get_temp_dir()
    if "WAIT" in os.environ:
        print("there", flush=True)
        sys.stdin.readline()
"""


def started(folder: Path, **env: str) -> subprocess.Popen[str]:
    """A test run of its own, with this suite's conftest, and ``folder`` as TMPDIR."""
    test = folder.parent / "test_leaks.py"
    test.write_text(LEAKS)
    words = ["-q", "-s", "-p", "no:cacheprovider", "-p", "conftest", "-c", os.devnull]
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    mine = {
        **os.environ,
        "TMPDIR": str(folder),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    for name in ("PYTEST_DEBUG_TEMPROOT", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        mine.pop(name, None)
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *words, "--rootdir", folder.parent, test],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**mine, **env},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "t"
    found.mkdir()
    return found


def left(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if not p.name.startswith("pytest-of-")]


def test_what_tests_leave_behind_goes_with_the_run(folder: Path) -> None:
    run = started(folder)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 0, out
    assert "1 passed" in out.splitlines()[-1], out  # and nobody complains at the end
    assert left(folder) == []


def test_what_a_killed_run_leaves_goes_with_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_folder, "NEW", 0.0)
    run = started(folder, WAIT="1")
    assert run.stdout is not None and run.stdin is not None
    assert any(line.startswith("there") for line in run.stdout)
    own_folder.sweep(folder)
    (mine,) = left(folder)
    assert mine.startswith(own_folder.PREFIX)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    own_folder.sweep(folder)
    assert left(folder) == []
