"""The server: tools over stdio, until the client closes its end."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from pydantic import ValidationError, create_model

from argus import __version__
from argus.agent.session import Judges
from argus.agent.session.pages import Pages
from argus.files.reading import Reader
from argus.mcp.calls import Caller, refused
from argus.mcp.tools import tools_of
from argus.runs.folder import data_folder

INSTRUCTIONS = """\
Argus optimises GPU kernels written in its tile language. You write the kernels; Argus
says what to try, proves them, finds every mistake with a counterexample, and measures
them (or predicts their times where there is no GPU, and says so).

1. `start` a run for a task. Its answer has the rules and the kernel to start from.
2. `next` says what to try, on which kernel. `explain` with the topic "language" is the
   reference of the language; `knowledge` with the id of an entry shows how an
   optimisation is written.
3. Write the new kernel file. `check` it until it is proved; `build`, `test`, `profile`
   and `bench` say more.
4. `submit` it, or `next` with a reason to skip it. Then go on with 2.
5. When `next` has no proposal, or you are done, `finish`. Its answer says where the
   `report` is, a page for the person who asked for the kernel: tell them.

Each operation names the run; "latest" is the session that was begun last.
"""


def server_of(
    folder: Path | None = None,
    judges: Judges | None = None,
    pages: Pages | None = None,
    *,
    root: Path | None = None,
    execute: bool = True,
) -> MCPServer[Any]:
    """A server with a tool for each operation. ``folder``: where the runs are kept.

    ``pages`` writes the reports of runs that end; None: nobody does. ``root`` is the
    folder below which clients name files, the current one if there is none.
    ``execute``: whether a task may execute Python (a PyTorch file, a reference).
    """
    reader = Reader(root or Path())
    runs = folder or data_folder() / "runs"
    caller = Caller(runs, judges, pages, reader, execute=execute)

    @asynccontextmanager
    async def lifespan(_: MCPServer[Any]) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            caller.close()

    return MCPServer(
        "argus",
        title="Argus",
        description="Optimise GPU kernels: propose, prove, measure.",
        instructions=INSTRUCTIONS,
        version=__version__,
        lifespan=lifespan,
        log_level="WARNING",
        tools=[
            _strict(StrictTool.from_function(tool, name=name, annotations=effects))
            for name, (tool, effects) in tools_of(caller).items()
        ],
    )


class StrictTool(Tool):
    """A tool that tells wrong arguments in the form of all its errors."""

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,
    ) -> Any:
        """See `Tool.run`."""
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            return refused(self.name, error)
        return await super().run(arguments, context, convert_result)


def _strict(tool: Tool) -> Tool:
    """The tool, which refuses what it has no argument for: a misspelt limit is none."""
    given = tool.fn_metadata.arg_model
    strict = create_model(given.__name__, __base__=given)
    strict.model_config = {**given.model_config, "extra": "forbid"}
    strict.model_rebuild(force=True)
    tool.fn_metadata.arg_model = strict
    tool.parameters = strict.model_json_schema(by_alias=True)
    return tool


def serve(pages: Pages, root: Path | None = None, *, execute: bool = True) -> None:
    """Serve over stdin and stdout until the client is gone. Arguments: see above."""
    server_of(pages=pages, root=root, execute=execute).run("stdio")
