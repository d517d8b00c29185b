"""A process for a test to kill: forked from one that has loaded most of Argus.

    process = Forked(target, "argument")
    assert process.told() == "ready"

``target`` is called with a pipe to the test, then the arguments. It stands in a module
that the process can import, with the environment of the test.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from argus.evaluation.judge.process import context


def _run(
    pipe: Connection,
    environment: Mapping[str, str],
    target: Callable[..., object],
    *arguments: object,
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    target(pipe, *arguments)


class Forked:
    def __init__(self, target: Callable[..., object], *arguments: object) -> None:
        self._pipe, theirs = context().Pipe()
        self._process = context().Process(
            target=_run,
            args=(theirs, dict(os.environ), target, *arguments),
            daemon=True,
        )
        self._process.start()
        theirs.close()

    def told(self) -> Any:
        """The next that it sends; EOFError if it ends without another word."""
        assert self._pipe.poll(60), "nothing is told"
        return self._pipe.recv()

    def tell(self, word: object = None) -> None:
        self._pipe.send(word)

    def runs(self) -> bool:
        return self._process.is_alive()

    def interrupt(self) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGINT)

    def kill(self) -> None:
        """With SIGKILL; it is gone when this returns."""
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def ended(self) -> int | None:
        """Its exit code, once it has ended."""
        self._process.join(60)
        self._pipe.close()
        return self._process.exitcode
