"""`argus mcp`: the operations of `argus session` as tools for coding agents."""

from __future__ import annotations

from argus.cli.output import reporting


def mcp() -> None:
    """Serve the operations of `argus session` as MCP tools, over stdin and stdout.

    For a client's list of servers: the command is `argus`, its argument `mcp`.
    """
    with reporting("mcp", as_json=False):
        from importlib.util import find_spec

        from argus.diagnostics import fail

        if find_spec("mcp") is None:
            raise fail(
                "AG0906",
                None,
                "the tool server needs the package `mcp`",
                help="pip install 'argus-gpu[mcp]'",
            )
        from argus.cli.report import Pages
        from argus.mcp.server import serve

        serve(Pages())
