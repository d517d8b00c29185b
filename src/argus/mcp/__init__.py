"""The tool server: operations of the optimiser for coding agents (MCP, over stdio).

    server.py   the server: one tool for each operation of ``argus.agent.session``
    tools.py    the tools' arguments and descriptions
    calls.py    how an operation is called: threads, progress, errors

The package ``mcp`` (extra ``mcp``) is imported by these files and by nothing else.
"""
