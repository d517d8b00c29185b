"""One folder for a test run: all that tests keep or leave behind goes with it.

Processes that tests kill clean nothing up, so every process of the run gets its own
TMPDIR. A run that is killed itself leaves its folder to the next one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from multiprocessing.util import Finalize
from pathlib import Path

import pytest

PREFIX = "argus-tests-"
NEW = 60.0
"""Seconds for which a folder may be one that is just being made."""


def enter(config: pytest.Config) -> Path:
    """Make the folder and let TMPDIR be it, until pytest is done with ``config``.

    It is removed when the process ends. Pytest's own folders (`tmp_path`) stay where
    they are: it keeps the last three.
    """
    usual = tempfile.gettempdir()
    sweep(Path(usual))
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    # Not before multiprocessing has removed its own folder (-100): it complains, then.
    Finalize(None, _remove, (folder, lock), exitpriority=-200)
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    if "PYTEST_DEBUG_TEMPROOT" not in os.environ:
        patch.setenv("PYTEST_DEBUG_TEMPROOT", usual)
    patch.setenv("TMPDIR", str(folder))
    patch.setattr(tempfile, "tempdir", None)  # asks the environment again
    return folder


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def sweep(root: Path) -> None:
    """Remove folders of runs that were killed: nobody holds their locks any more."""
    for folder in root.glob(f"{PREFIX}*"):
        try:
            if time.time() - folder.stat().st_ctime < NEW:
                continue
            lock = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:  # somebody else's, or gone by now
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)
