"""How a tool calls an operation: in a thread, telling its progress, errors as JSON.

An operation that fails is a tool error whose text is what ``--json`` would print:
``{"version": 1, "ok": false, "diagnostics": [...]}``. It has no structured content:
that is what a tool's output schema describes, which is the schema of an answer, and
clients that check one against the other would show their users that it is not one, and
nothing of the error.
"""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, TextContent
from pydantic import ValidationError

from argus.agent.operation import Operation
from argus.agent.session import Desk, Judges
from argus.agent.session.pages import Pages
from argus.diagnostics import ArgusError, bug, fail
from argus.files.reading import LONGEST, Reader

if TYPE_CHECKING:
    from argus.diagnostics import Json
    from argus.runs.records import StrictModel

VERSION = 1
"""Of the errors' form; the same as that of ``--json``."""


class Caller:
    """Calls operations for one server. ``folder`` is where the runs are.

    ``pages`` writes the reports of runs that end; None: nobody does. ``reader`` reads
    the files that clients name. ``execute``: whether tasks may execute Python.
    """

    def __init__(
        self,
        folder: Path,
        judges: Judges | None = None,
        pages: Pages | None = None,
        reader: Reader | None = None,
        *,
        execute: bool = True,
    ) -> None:
        self.folder = folder
        self.judges = judges or Judges()
        self.pages = pages
        self.reader = reader or Reader(Path())
        self.execute = execute

    async def call(
        self,
        context: Context[Any, Any],
        operation: Operation,
        given: Mapping[str, Any],
    ) -> CallToolResult:
        """Do an operation in a thread; what it tells goes to the client as progress.

        Returns its answer, or the tool error for what is the caller's fault, the
        machine's, or a bug of Argus.
        """
        tell, told = anyio.create_memory_object_stream[str](math.inf)

        def say(text: str) -> None:
            # The operation goes on, whether anybody listens or not.
            with suppress(RuntimeError, anyio.BrokenResourceError):
                anyio.from_thread.run_sync(tell.send_nowait, text)

        def work() -> CallToolResult:
            try:
                desk = Desk(
                    self.folder,
                    self.judges,
                    say,
                    self.pages,
                    reader=self.reader,
                    execute=self.execute,
                )
                answer = operation.call(desk, self._arguments(operation, given))
                return _answered(answer)
            except ArgusError as error:
                return failed([d.to_json() for d in error.diagnostics])
            except Exception as error:  # noqa: BLE001 - told to the client, as on the CLI
                traceback.print_exception(error)  # on stderr: the server's log
                found = bug(error, help="the server's stderr has it; please report it")
                return failed([found.to_json()])

        done: list[CallToolResult] = []
        async with anyio.create_task_group() as group:
            group.start_soon(_report, context, told)
            try:
                # Not left alone if the client gives up: it holds the run's lock, and
                # what it writes down is right in any case.
                done.append(await anyio.to_thread.run_sync(work))
            finally:
                tell.close()
        return done[0]

    def _arguments(
        self, operation: Operation, given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The operation's arguments: a kernel that is a path is read.

        Raises ArgusError: AG0908 (neither or both of path and text), AG0902 (too long),
        and what reading raises.
        """
        found = dict(given)
        if not operation.kernel:
            return found
        file, source = found.pop("file"), found["source"]
        if file and source:
            raise fail("AG0908", None, "both `file` and `source` are given")
        if not file and not source and operation.kernel == "wanted":
            text = "neither `file` nor `source` is given"
            raise fail("AG0908", None, text, help="give one of them")
        if len(source) > LONGEST:
            text = f"the source has more than {LONGEST} characters"
            raise fail("AG0902", None, text)
        return {**found, "source": self.reader.read(file) if file else source}

    def close(self) -> None:
        """End the judges' processes."""
        self.judges.close()


async def _report(
    context: Context[Any, Any], told: MemoryObjectReceiveStream[str]
) -> None:
    """Pass on what an operation tells, until it has ended."""
    steps = 0
    async with told:
        async for text in told:
            steps += 1
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await context.report_progress(float(steps), None, text)


def _answered(answer: StrictModel) -> CallToolResult:
    """The answer in its schema, and the same as text."""
    plain = answer.plain()
    text = json.dumps(plain, indent=2, ensure_ascii=False)
    content = [TextContent(type="text", text=text)]
    return CallToolResult(content=list(content), structured_content=plain)


def failed(diagnostics: list[Json]) -> CallToolResult:
    """The tool error for some diagnostics, in the form of ``--json``."""
    whole = {"version": VERSION, "ok": False, "diagnostics": diagnostics}
    text = json.dumps(whole, indent=1)
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def refused(tool: str, error: ValidationError) -> CallToolResult:
    """The tool error for arguments that are not of the tool's schema."""
    notes: list[str] = []
    for one in error.errors(include_url=False, include_input=False)[:20]:
        place = ".".join(str(part) for part in one["loc"])
        notes.append(f"{place}: {one['msg']}")
    found = fail(
        "AG0908",
        None,
        f"these are no arguments of the tool `{tool}`",
        notes=notes,
        help="its input schema says what it takes",
    )
    return failed([d.to_json() for d in found.diagnostics])
