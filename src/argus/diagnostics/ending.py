"""A user's function has to end: a limit on the seconds for which it computes.

    within(SECONDS, lambda: reference(**arguments), key)

A thread of its own looks at the clocks of the threads that call such functions. Where
one has computed for too long, an exception is raised in it (as Python does for Ctrl-C),
and only while a line of the user's is the innermost: what Argus, numpy or torch were
about to change is not left half done. What waits without computing, such as `sleep`,
goes on until it returns; Ctrl-C ends it, and says where it was.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from types import FrameType
from typing import TypeVar

from argus.diagnostics.user_code import is_users, place

__all__ = ["REFERENCE", "SECONDS", "DidNotEnd", "within"]

REFERENCE = "argus_reference"
"""The name of the module that a reference's file is executed as."""

SECONDS = 30.0
"""For which a reference may compute, on arrays or on terms of their elements."""
_USUAL, _OFTEN = 0.25, 0.005
"""Seconds between looks at the clocks; at the lines of a function that is too late."""

T = TypeVar("T")


class DidNotEnd(Exception):  # noqa: N818 - a result, not a fault
    """A function computed for too long; says for how long, and where it was."""


class _TooLong(BaseException):
    """Raised in the thread: no `except Exception` of the user's keeps it."""


@dataclass(eq=False)
class _Call:
    """A function that runs. ``latest``: when it is too late, by its thread's clock."""

    thread: int = field(default_factory=threading.get_ident)
    latest: float = 0.0
    raised: bool = False
    clock: int = field(init=False)

    def __post_init__(self) -> None:
        self.clock = time.pthread_getcpuclockid(self.thread)

    @property
    def late(self) -> bool:
        return time.clock_gettime(self.clock) > self.latest


def within(seconds: float, call: Callable[[], T], key: Hashable = None) -> T:
    """What a function returns. Raises DidNotEnd if it computes for longer than that.

    ``key`` names the function, its text included: one that did not end once in this
    process is not called again. A call within another has the limit of that one.
    """
    if key is not None and key in _endless:
        raise DidNotEnd(_endless[key])
    if threading.get_ident() in _watcher.calls:
        return call()
    one = _Call()
    one.latest = time.clock_gettime(one.clock) + seconds
    try:
        _watcher.enter(one)
        try:
            return call()
        finally:
            _watcher.leave(one)
    except _TooLong as error:
        _watcher.leave(one)  # it may be raised while the line above begins
        said = f"did not end within {seconds:g} s of computing{place(error)}"
        if key is not None:
            _endless[key] = said
        raise DidNotEnd(said) from None


_endless: dict[Hashable, str] = {}


class _Watcher:
    """The thread that looks at clocks; it sleeps while no function runs."""

    def __init__(self) -> None:
        self.calls: dict[int, _Call] = {}
        self.lock = threading.Lock()
        self.busy = threading.Event()
        self.started = False

    def enter(self, one: _Call) -> None:
        with self.lock:
            self.calls[one.thread] = one
            if not self.started:
                self.started = True
                name = "argus-user-time"
                threading.Thread(target=self._watch, name=name, daemon=True).start()
            self.busy.set()

    def leave(self, one: _Call) -> None:
        with self.lock:
            if self.calls.pop(one.thread, None) is one and one.raised:
                _raise(one.thread, None)  # it ended by itself just now

    def _watch(self) -> None:
        while True:
            self.busy.wait()
            time.sleep(_USUAL)
            while late := self._late():
                for one in late:
                    self._end(one)
                time.sleep(_OFTEN)
            with self.lock:
                if not self.calls:
                    self.busy.clear()

    def _late(self) -> list[_Call]:
        with self.lock:
            return [one for one in self.calls.values() if one.late]

    def _end(self, one: _Call) -> None:
        """Raise in its thread, if a line of the user's is the innermost there.

        No other thread runs Python meanwhile: the frame cannot change.
        """
        with self.lock:
            if self.calls.get(one.thread) is not one:
                return
            frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
            frame = frames.get(one.thread)
            if frame is not None and _is_users(frame):
                one.raised = True
                _raise(one.thread, _TooLong)


def _is_users(frame: FrameType) -> bool:
    """Whether a line is the user's, in a file or in what has none."""
    named = frame.f_globals.get("__name__") == REFERENCE
    return named or is_users(frame.f_code.co_filename)


def _raise(thread: int, error: type[BaseException] | None) -> None:
    """Let an exception be raised in a thread; None: take it back."""
    what = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)


_watcher = _Watcher()


def _forked() -> None:
    """A process that is made by a fork has none of the threads."""
    global _watcher
    _watcher = _Watcher()


os.register_at_fork(after_in_child=_forked)
