"""Answers that are programs, attacks, or too much: the real judge refuses each of them.

Nothing of an answer is executed: a file that every one of them would make is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from server import call, kernel
from small_kernels import BETTER, START

from argus.evaluation.judge import LocalJudge

BODY = START.partition("@ag.kernel")[2].partition("@ag.reference")[0]


def attacks(sentinel: str) -> dict[str, str]:
    """Sources by what they try. All are meant to write the file `sentinel`."""
    make = f"open({sentinel!r}, 'w').write('x')"
    head = "import argus as ag\nfrom argus import f32\n"
    good = f"{head}\n\n@ag.kernel{BODY}"
    return {
        "a program": f"import os\nos.system('touch {sentinel}')\n",
        "a program with a kernel": f"import os\n{good}\nos.system('{sentinel}')\n",
        "a call at the top": f"{good}\n{make}\n",
        "a call in a default": good.replace("BM: int = 1", f"BM: int = {make}"),
        "a call in an annotation": good.replace('f32["M N"], Y', f"({make}), Y"),
        "a decorator": good.replace("@ag.kernel", f"@(lambda f: {make})\n@ag.kernel"),
        "a class": f"{good}\n\nclass C:\n    {make}\n",
        "a comprehension": good.replace(
            "    M, N", f"    [{make} for _ in (1,)]\n    M, N"
        ),
        "a call in the kernel": good.replace("    M, N", f"    {make}\n    M, N"),
        "exec": good.replace("    M, N", f"    exec({make!r})\n    M, N"),
        "dunder import": good.replace(
            "    M, N", f"    __import__('os').system('touch {sentinel}')\n    M, N"
        ),
        "attributes to the interpreter": good.replace(
            "    M, N",
            "    ag.kernel.__globals__['__builtins__']"
            f"['open']({sentinel!r}, 'w')\n    M, N",
        ),
        "an inline function": f"{head}\n\n@ag.inline\ndef f(x):\n    {make}\n"
        f"    return x\n\n\n@ag.kernel{BODY.replace('x + x', 'f(x)')}",
        "another module": good.replace(
            "import argus as ag", f"import argus as ag\nfrom {sentinel!r} import x"
        ),
        "a relative import": f"from ..evaluation.judge import worker\n{good}",
        "a star": f"from os import *\n{good}",
        "main": f"{good}\n\nif __name__ != '__main__':\n    {make}\n",
        "an encoding": f"# -*- coding: rot13 -*-\n{make}\n",
        "null bytes": good.replace("M, N = X.shape", "M, N = X.shape\0"),
        "right to left": good.replace("x + x", "x + x  # \u202e" + make),
        "look-alikes": good.replace(
            "import argus as ag", "import ａrgus as ag\nimport ｏs"
        ),
        "deep nesting": good.replace("x + x", "x + " + "(" * 3000 + "x" + ")" * 3000),
        "many signs": good.replace("x + x", "x + " + "-" * 60_000 + "x"),
        "a long power": good.replace("BM: int = 1", "BM: int = 9 ** 9 ** 9"),
        "a long loop": good.replace(
            "    x = ag", "    for q in ag.static_range(10 ** 9):\n        x = ag"
        ),
        "long lines": good + "# " + "y" * 90_000 + "\n",
        "it trusts": good.replace(
            "    x = ag", '    ag.trust("me")\n    x = ag'
        ).replace("j * BN :]", "j * BN + 1 :]"),
        "another kernel": good.replace("def double", "def triple"),
        "other tensors": good.replace("Y: f32", "Z: f32").replace("Y[", "Z["),
        "it writes its input": good.replace("Y[i", "X[i"),
        "prose": "Sure! Here is the improved kernel you asked for.",
        "fences": f"```python\n{good}```\n",
    }


HARMLESS = ("right to left", "long lines")
"""Comments: they are the kernel that was given, which is no answer either."""


@pytest.fixture(scope="module")
def judge() -> Iterator[LocalJudge]:
    with LocalJudge(gpus=()) as judge:
        yield judge


def test_no_attack_is_accepted_or_executed(server, model, desk, judge, tmp_path: Path):
    sentinel = tmp_path / "executed"
    sources = attacks(str(sentinel))
    names = list(sources)

    def answer(body):
        prompt = body["messages"][1]["content"]
        return kernel(sources[names[int(prompt.partition("attack ")[2].split()[0])]])

    server.answer = answer
    agent = model("attempts=1", "parallel=8")
    (start,) = judge.check(desk.task.problem, [desk.task.start])
    orders = [
        desk.order(where=f"attack {i} .", verdict=start) for i in range(len(names))
    ]
    made = agent.lower_all(orders, judge)
    found = {
        name: tuple((v.status, v.summary) for v in lowering.attempts)
        for name, lowering in zip(names, made, strict=True)
    }
    accepted = {name for name, attempts in found.items() if not attempts}
    assert accepted == set()
    harmless = {n for n, ((status, _),) in found.items() if status == "duplicate"}
    assert harmless == set(HARMLESS)
    others = {status for n, ((status, _),) in found.items() if n not in HARMLESS}
    assert others <= {"rejected", "refuted", "hung"}, found
    assert not sentinel.exists()
    assert agent.stopped is None
    # The service is as it was: the next kernel is accepted.
    server.answer = lambda body: kernel(BETTER)
    assert agent.lower(desk.order(), judge).attempts == ()


def test_statics_are_values_and_nothing_else(server, model, desk, judge, tmp_path):
    sentinel = tmp_path / "executed"
    for name, value in {
        "BM": f"open({str(sentinel)!r}, 'w')",
        "../../etc/passwd": 1,
        "__class__": 1,
        "BN": -64,
        "BM; import os": 1,
    }.items():
        server.say(kernel(BETTER, {name: value}))
    agent = model("attempts=1")
    made = agent.lower_all([desk.order() for _ in range(5)], judge)
    assert [m.attempts[0].status for m in made] == ["rejected"] * 5
    assert not sentinel.exists()


def test_extra_fields_are_not_kept(server, model, desk):
    """A path, a design or a verdict in an answer have nowhere to go."""
    answer = {
        "rationale": "As proposed.",
        "source": BETTER,
        "kernel": "other",
        "path": "../../.bashrc",
        "design": {"form": "roles"},
        "status": "correct",
    }
    server.say(call(answer))
    made = model().lower(desk.order(), desk.judge)
    assert made.candidate is not None
    assert (made.candidate.kernel, made.candidate.design) == ("double", {})
