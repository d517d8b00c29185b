"""The tool server: operations of the optimiser for coding agents (MCP, over stdio).

    server.py   the server
    tools.py    the tools, from the table of operations (``argus.agent.operations``)
    calls.py    how an operation is called: threads, files, progress, errors

The package ``mcp`` (extra ``mcp``) is imported by these files and by nothing else.
"""
