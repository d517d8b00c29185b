"""A client in this process, of a server whose files are those of the test."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from stand_ins import FakeBench, FakePages

from argus.agent.session import Judges
from argus.mcp.server import server_of
from mcp import Client

Use = Callable[[Client], Awaitable[None]]


def with_client(
    home: Path, bench: FakeBench, use: Use, mode: str = "auto", **options: Any
) -> None:
    """Files are read below the folder of the test."""

    async def main() -> None:
        judges = Judges(lambda gpu: bench)
        server = server_of(
            home / "runs", judges, FakePages(home), root=home.parent, **options
        )
        async with Client(server, mode=mode) as client:
            await use(client)

    asyncio.run(main())


async def answer(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    found = await client.call_tool(name, arguments)
    assert not found.is_error, found.content
    assert found.structured_content is not None
    return found.structured_content


async def failure(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    found = await client.call_tool(name, arguments)
    assert found.is_error
    data = json.loads(found.content[0].text)
    # A client checks structured content against the schema of answers.
    assert found.structured_content is None
    assert (data["version"], data["ok"]) == (1, False)
    return data["diagnostics"][0]


async def begin(client: Client, **more: Any) -> dict[str, Any]:
    given = {"task": "softmax", "shape": "64x256", "cold": True, **more}
    return await answer(client, "start", **given)
