"""The tool server: operations of the optimiser for coding agents (MCP)."""
