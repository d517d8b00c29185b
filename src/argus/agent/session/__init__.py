"""The external agent: a coding agent that writes kernels, an operation at a time.

    desk = Desk(data_folder() / "runs")
    begun = start(desk, StartRequest(task="softmax", shape="64x256"))
    asked = next_(desk, begun.run)          what to try, and the kernel to change
    check(desk, text, begun.run)            is it right, and where is it not
    submit(desk, text, begun.run)           the verdict that counts
    finish(desk, begun.run)

    beginning.py   start                      sources.py     a file as a candidate
    running.py     next, submit               describing.py  a task in words
    ending.py      status, finish             views.py       records as answers
    asking.py      everything else            results.py     the answers' schema
    desk.py        opening runs               at.py          where a run stands
    judges.py      who judges                 pages.py       who writes the report

`argus.agent.operations` is the table of them, from which the command line (`argus
session`) and the tool server (`argus mcp`) are made.
"""

from argus.agent.session.asking import (
    bench,
    build,
    check,
    explain,
    knowledge,
    profile,
    test,
)
from argus.agent.session.beginning import StartRequest, start
from argus.agent.session.desk import Desk
from argus.agent.session.ending import finish, status
from argus.agent.session.judges import Judges
from argus.agent.session.running import next_, submit

__all__ = [
    "Desk",
    "Judges",
    "StartRequest",
    "bench",
    "build",
    "check",
    "explain",
    "finish",
    "knowledge",
    "next_",
    "profile",
    "start",
    "status",
    "submit",
    "test",
]
