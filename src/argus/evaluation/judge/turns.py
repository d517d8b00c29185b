"""One GPU and several processes: results side by side, times alone.

    with Turn(uuid) as turn:
        turn.share()             # others may compute meanwhile
        ...
        turn.alone()             # nobody else who takes turns
        ...
        turn.share()

Advisory locks on files (flock), so that they hold between all judges of a machine, also
of other runs, and fall with a process that is killed. Who does not ask is not kept out.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path
from types import TracebackType


class Turn:
    """A place in the queue for one GPU, named by its UUID. Entering it takes no turn.

    Waits without a limit. Raises OSError where there can be no lock files.
    """

    def __init__(self, gpu: str, folder: Path | None = None) -> None:
        self._folder = folder or Path(tempfile.gettempdir())
        self._name = "".join(c for c in gpu if c.isalnum() or c == "-")
        self._files: list[int] = []

    def __enter__(self) -> Turn:
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

    def share(self) -> None:
        """Wait until nobody is alone on the GPU."""
        self._next(fcntl.LOCK_SH)

    def alone(self) -> None:
        """Wait until nobody else uses the GPU; those who come later wait for this."""
        self._next(fcntl.LOCK_EX)

    def _next(self, how: int) -> None:
        """Give back what there is, queue at the gate, and be the one who waits.

        Without the gate, sharers that come and go could keep out a lone one for ever.
        Who kept its turn while it queues would wait for one who waits for it.
        """
        turn, gate = self._files
        fcntl.flock(turn, fcntl.LOCK_UN)
        fcntl.flock(gate, fcntl.LOCK_EX)
        try:
            fcntl.flock(turn, how)
        finally:
            fcntl.flock(gate, fcntl.LOCK_UN)

    def _opened(self, what: str) -> int:
        path = self._folder / f"argus-gpu-{self._name}.{what}"
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(path, flags, 0o666)
        # For other users, too, whatever the umask; only the owner may say so.
        if os.fstat(file).st_uid == os.getuid():
            os.fchmod(file, 0o666)
        return file
