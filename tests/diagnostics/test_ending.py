"""A user's function that does not end is ended, and nothing of others is."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from argus.diagnostics import ending
from argus.diagnostics.ending import REFERENCE, DidNotEnd, within

BODIES = {
    "a loop": "while True:\n        pass",
    "errors that are kept": (
        "while True:\n        try:\n            x = 1\n"
        "        except BaseException:\n            x = 2"
    ),
    "calls": "import math\n    while True:\n        math.sqrt(2.0)",
    "a finally that goes on": (
        "try:\n        while True:\n            pass\n"
        "    finally:\n        n = sum(range(1000))"
    ),
}


def written(body: str, file: str = "/somewhere/k.py") -> Callable[[], Any]:
    """A function of a user's file."""
    names: dict[str, Any] = {"__name__": REFERENCE}
    exec(compile(f"def f():\n    {body}\n", file, "exec"), names)
    return names["f"]


@pytest.mark.parametrize("name", BODIES)
def test_what_computes_on_is_ended(name: str) -> None:
    begin = time.thread_time()
    with pytest.raises(DidNotEnd, match=r"within 0\.1 s .* at line \d of k\.py"):
        within(0.1, written(BODIES[name]))
    assert time.thread_time() - begin < 5
    # Nothing is left over that would be raised later.
    assert sum(range(200_000)) == 19999900000
    assert ending._watcher.calls == {}


def test_results_and_errors_are_those_of_the_function() -> None:
    assert within(5, written("return 3")) == 3
    with pytest.raises(ZeroDivisionError):
        within(5, written("1 / 0"))


def test_what_ends_just_in_time_is_let_be() -> None:
    """However near the limit it ends: a result, or DidNotEnd, and nothing later."""
    body = "import time\n    t = time.thread_time\n    end = t() + {}\n"
    body += "    while t() < end:\n        pass\n    return 1"
    for seconds in (0.24, 0.25, 0.251, 0.252, 0.255, 0.26):
        with contextlib.suppress(DidNotEnd):
            assert within(0.01, written(body.format(seconds))) == 1
        assert sum(range(200_000)) == 19999900000


def test_lines_of_argus_are_not_interrupted() -> None:
    """What Argus does for the function is never left half done."""
    own = os.path.join(os.path.dirname(ending.__file__), "made_up.py")
    text = "def f(t=__import__('time').thread_time):\n    end = t() + 0.6\n"
    text += "    while t() < end:\n        pass\n    return 'whole'\n"
    names: dict[str, Any] = {}
    exec(compile(text, own, "exec"), names)
    assert within(0.1, names["f"]) == "whole"


def test_one_that_did_not_end_is_not_called_again() -> None:
    function = written("while True:\n        pass")
    key = ("text", function.__code__)
    with pytest.raises(DidNotEnd) as first:
        within(0.1, function, key)
    begin = time.thread_time()
    with pytest.raises(DidNotEnd) as again:
        within(0.1, function, key)
    assert str(again.value) == str(first.value)
    assert time.thread_time() - begin < 0.05
    assert within(5, written("return 1"), ("other text", function.__code__)) == 1


def test_threads_are_told_apart() -> None:
    made: list[object] = []

    def run(function: Callable[[], Any]) -> None:
        try:
            made.append(within(0.2, function))
        except DidNotEnd as why:
            made.append(type(why))

    waits = written("import time\n    time.sleep(1.5)\n    return 'waited'")
    threads = [
        threading.Thread(target=run, args=(f,))
        for f in (written(BODIES["a loop"]), waits)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(made) == {DidNotEnd, "waited"}


def test_a_fork_watches_anew() -> None:
    assert within(5, written("return 1")) == 1
    child = os.fork()
    if child == 0:
        code = 1
        try:
            within(0.1, written(BODIES["a loop"]))
        except DidNotEnd:
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
