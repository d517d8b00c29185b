"""How a tool calls an operation: in a thread, telling its progress, errors as JSON.

An operation that fails is a tool error whose content is what ``--json`` would print:
``{"version": 1, "ok": false, "diagnostics": [...]}``.
"""

from __future__ import annotations

import functools
import json
import math
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, TextContent

from argus.agent.session import Desk, Judges
from argus.agent.session.pages import Pages
from argus.agent.session.sources import LONGEST, read_source
from argus.diagnostics import ArgusError, fail

if TYPE_CHECKING:
    from argus.diagnostics import Json

VERSION = 1
"""Of the errors' form; the same as that of ``--json``."""

Answer = TypeVar("Answer")


class Caller:
    """Calls operations for one server. ``folder`` is where the runs are.

    ``pages`` writes the reports of runs that end; None: nobody does.
    """

    def __init__(
        self, folder: Path, judges: Judges | None = None, pages: Pages | None = None
    ) -> None:
        self.folder = folder
        self.judges = judges or Judges()
        self.pages = pages

    async def call(
        self, context: Context[Any, Any], operation: Callable[[Desk], Answer]
    ) -> Answer:
        """Run an operation in a thread; what it tells goes to the client as progress.

        Raises OperationError for what is the caller's fault or the machine's.
        """
        tell, told = anyio.create_memory_object_stream[str](math.inf)

        def say(text: str) -> None:
            # The operation goes on, whether anybody listens or not.
            with suppress(RuntimeError, anyio.BrokenResourceError):
                anyio.from_thread.run_sync(tell.send_nowait, text)

        def work() -> Answer | Exception:
            try:
                return operation(Desk(self.folder, self.judges, say, self.pages))
            except Exception as error:  # noqa: BLE001 - raised below, out of the group
                return error

        done: list[Answer | Exception] = []
        async with anyio.create_task_group() as group:
            group.start_soon(_report, context, told)
            try:
                # Not left alone if the client gives up: it holds the run's lock, and
                # what it writes down is right in any case.
                done.append(await anyio.to_thread.run_sync(work))
            finally:
                tell.close()
        (found,) = done
        if isinstance(found, ArgusError):
            diagnostics: list[Json] = [d.to_json() for d in found.diagnostics]
            raise OperationError(diagnostics) from found
        if isinstance(found, Exception):
            raise found
        return found

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


class OperationError(Exception):
    """An operation could not be done. ``diagnostics`` as in ``--json``."""

    def __init__(self, diagnostics: list[Json]) -> None:
        super().__init__("the operation failed")
        self.diagnostics = diagnostics

    def result(self) -> CallToolResult:
        """What the client gets."""
        whole: dict[str, Any] = {
            "version": VERSION,
            "ok": False,
            "diagnostics": self.diagnostics,
        }
        text = json.dumps(whole, indent=1)
        return CallToolResult(
            content=[TextContent(type="text", text=text)],
            structured_content=whole,
            is_error=True,
        )


def answering(tool: Callable[..., Any]) -> Callable[..., Any]:
    """A tool whose failures are tool errors with the diagnostics; its signature stays.

    Whatever else is raised is a bug of Argus, and is told as one.
    """

    @functools.wraps(tool)
    async def called(*args: Any, **named: Any) -> Any:
        try:
            return await tool(*args, **named)
        except OperationError as failed:
            return failed.result()
        except Exception as error:  # noqa: BLE001 - told to the client, as on the CLI
            traceback.print_exception(error)  # on stderr, which is the server's log
            return _bug(error).result()

    return called


def _bug(error: Exception) -> OperationError:
    found = fail(
        "AG0913",
        None,
        "this is a bug in Argus, not in the kernel",
        notes=[f"{type(error).__name__}: {error}"],
        help="the server's stderr has the traceback; please report it",
    )
    return OperationError([d.to_json() for d in found.diagnostics])


def text_of(file: str, source: str) -> str:
    """The kernel that a tool was given: as a path, or as text.

    Raises ArgusError: AG0908 (neither or both), AG0901 and AG0902 (the file).
    """
    if bool(file) == bool(source):
        what = "neither `file` nor `source`" if not file else "both `file` and `source`"
        raise fail("AG0908", None, f"{what} is given", help="give one of them")
    if source:
        if len(source) > LONGEST:
            text = f"the source has more than {LONGEST} characters"
            raise fail("AG0902", None, text)
        return source
    return read_source(file)
