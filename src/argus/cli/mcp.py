"""`argus mcp`: the operations of `argus session` as tools for coding agents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from argus.cli.output import reporting


def mcp(
    root: Annotated[
        Path | None,
        typer.Option(
            "--root",
            metavar="FOLDER",
            help="Files are read below this folder only; else below the current one.",
        ),
    ] = None,
    execute: Annotated[
        bool,
        typer.Option(
            "--execute/--no-execute",
            help="Whether a task may execute Python: a PyTorch file, a reference.",
        ),
    ] = True,
) -> None:
    """Serve the operations of `argus session` as MCP tools, over stdin and stdout.

    For a client's list of servers: the command is `argus`, its argument `mcp`.
    """
    with reporting("mcp", as_json=False):
        from argus.diagnostics import fail
        from argus.files.settings import installed

        if not installed("mcp"):
            raise fail(
                "AG0906",
                None,
                "the tool server needs the package `mcp`",
                help="pip install 'argus-gpu[mcp]'",
            )
        if root is not None and not os.path.isdir(root):
            raise fail("AG0901", None, f"there is no folder `{root}`")
        if root is None and Path.cwd() == Path("/"):
            raise fail(
                "AG0908",
                None,
                "the server was started in `/`, and would read every file below it",
                help="say which folder by `argus mcp --root FOLDER`",
            )
        from argus.cli.report import ReportPages
        from argus.mcp.server import serve

        serve(ReportPages(), root, execute=execute)
