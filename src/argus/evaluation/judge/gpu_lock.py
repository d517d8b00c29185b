"""A lock on one GPU: shared to compare results, exclusive to measure times.

    with GpuLock(uuid) as lock:
        lock.shared()            # other processes may compute meanwhile
        ...
        lock.exclusive()         # no other process holds the lock
        ...
        lock.shared()

Advisory locks on files (flock), so that they hold between all judges of a machine, also
of other runs and users, and fall with a process that is killed. A process that does not
take the lock is not kept out. The files lie where all users write, so that nothing is
believed of them: they are opened for reading and hold nothing. What is no file (a link,
a pipe, one that may not be read) is reported, and this user's processes then share a
lock among themselves. A process that holds a lock for ever costs others the time that
`Limits.wait` says.
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from pathlib import Path
from types import TracebackType

from argus.diagnostics.warning import warn
from argus.files import owned


class GpuLock:
    """The lock of one GPU, named by its UUID. Entering the context locks nothing.

    Waits without a limit. Raises OSError where there can be no lock files at all.
    """

    def __init__(self, gpu: str, folder: Path | None = None) -> None:
        self._folder = folder or Path(tempfile.gettempdir())
        self._name = "".join(c for c in gpu if c.isalnum() or c == "-")
        self._files: list[int] = []

    def __enter__(self) -> GpuLock:
        self._files = [self._opened("turn"), self._opened("gate")]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for file in self._files:
            os.close(file)
        self._files = []

    def shared(self) -> None:
        """Take the shared GPU lock, in the place of the one that is held."""
        self._lock(fcntl.LOCK_SH)

    def exclusive(self) -> None:
        """Take the exclusive GPU lock; requests that come later wait for this one."""
        self._lock(fcntl.LOCK_EX)

    def _lock(self, operation: int) -> None:
        """Release what is held, pass the gate, and take the lock.

        Without the gate, shared locks that come and go could keep out an exclusive one
        for ever. A process that kept its lock while it waits at the gate could deadlock
        with the process that passed the gate and waits for that lock.
        """
        lock, gate = self._files
        fcntl.flock(lock, fcntl.LOCK_UN)
        fcntl.flock(gate, fcntl.LOCK_EX)
        try:
            fcntl.flock(lock, operation)
        finally:
            fcntl.flock(gate, fcntl.LOCK_UN)

    def _opened(self, what: str) -> int:
        name = f"argus-gpu-{self._name}.{what}"
        try:
            return _shared(self._folder / name)
        except OSError as error:
            warn(
                "AG0914",
                f"{self._folder / name} is no lock that users can share, so that the "
                f"kernels of others may disturb times: {error}",
            )
        own = self._folder / f"argus-{os.geteuid()}"
        with owned.opened(own, create=True) as folder:
            return owned.open_file(folder, name, os.O_RDWR | os.O_CREAT)


def _shared(path: Path) -> int:
    """A file that every user can lock and nobody needs to write."""
    safe = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    while True:
        try:
            file = os.open(path, safe)
        except FileNotFoundError:
            try:
                file = os.open(path, safe | os.O_CREAT | os.O_EXCL, 0o444)
            except FileExistsError:  # made meanwhile, or a link to nowhere
                if path.is_symlink():
                    raise
                continue
            os.fchmod(file, 0o444)  # whatever the umask
        if stat.S_ISREG(os.fstat(file).st_mode):
            return file
        os.close(file)
        raise OSError(f"{path} is no regular file")
