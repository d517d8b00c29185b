"""The tools, through a real client: in this process, and over stdio."""

import asyncio
import inspect
import json
import math
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer
from stand_ins import WRONG
from talking_to import answer, begin, failure, with_client

from argus.agent import session
from argus.agent.operation import Operation, Parameter
from argus.agent.operations import OPERATIONS
from argus.agent.session import results
from argus.cli.session import command_of
from argus.cli.session import session as group
from command_line import Commands
from mcp import Client, MCPError, StdioServerParameters


def test_every_tool_once_and_its_answer_is_of_its_schema(home, bench):
    async def use(client: Client) -> None:
        tools = {t.name: t for t in (await client.list_tools()).tools}
        assert list(tools) == list(OPERATIONS)
        assert client.instructions is not None and "`start`" in client.instructions
        for tool in tools.values():
            assert tool.description and len(tool.description) > 40
            assert tool.input_schema["additionalProperties"] is False
            for one in tool.input_schema["properties"].values():
                assert "description" in one or "default" in one
        seen: set[str] = set()

        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            jsonschema.validate(arguments, tools[name].input_schema)
            found = await answer(client, name, **arguments)
            schema = tools[name].output_schema
            assert schema is not None
            jsonschema.validate(found, schema)
            seen.add(name)
            return found

        started = await call(
            "start", task="softmax", sizes={"M": 64, "N": 256}, trials=3, cold=True
        )
        run = started["run"]
        proposed = await call("next", run=run)
        source = proposed["draft"]["source"]
        await call("knowledge", query="online", run=run)
        assert (await call("check", source=source, run=run))["ok"]
        await call("build", source=source)
        await call("explain", topic="AG0301")
        await call("test", source=source, statics={"WARPS": 2})
        await call("bench", source=source)
        await call("profile")
        await call("submit", source=source, note="done", tokens=5)
        await call("status", run=run)
        end = await call("finish", run=run)
        assert end["report"] == str(home / run)
        assert (await call("status", run=run))["report"] == end["report"]
        assert seen == set(OPERATIONS)

    with_client(home, bench, use)
    assert bench.closed  # with the server


def test_tools_and_commands_and_functions_have_the_same_parameters(home, bench):
    whole = typer.main.get_command(group)
    commands = whole.commands  # type: ignore[attr-defined]
    assert list(commands) == list(OPERATIONS)

    async def use(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            one = OPERATIONS[tool.name]
            own = {p.name for p in one.parameters}
            kernel = {"file", "source"} if one.kernel else set[str]()
            assert set(tool.input_schema["properties"]) == own | kernel
            names = {p.name for p in commands[tool.name].params} - {"help"}
            files = {w.name for w in one.writes} | {"json_output"}
            assert names - files == own | (kernel - {"source"})
            if one.record:
                assert set(inspect.signature(session.StartRequest).parameters) == own
                continue
            given = set(inspect.signature(one.function).parameters) - {"desk"}
            assert given == own | (kernel - {"file"}), tool.name

    with_client(home, bench, use)


def test_an_operation_is_a_row_and_a_function(home, bench, monkeypatch):
    """What is added to the table is a command and a tool without another line."""
    from argus.agent.session import asking

    def weigh(desk: session.Desk, run: str = "latest", least: int = 1) -> results.Found:
        with desk.looking(run) as at:
            return results.Found(run=at.run.id, query="x" * least, entries=())

    row = Operation(
        "weigh",
        "asking",
        says="Weigh a run.",
        brief="Weigh.",
        answers="its weight",
        parameters=(
            Parameter("run", str, "latest", "A run.", short="-r"),
            Parameter("least", int, 1, "At least.", least=1, most=9),
        ),
    )
    monkeypatch.setitem(weigh.__globals__, "session", session)
    monkeypatch.setattr(asking, "weigh", weigh, raising=False)
    monkeypatch.setitem(OPERATIONS, "weigh", row)

    async def use(client: Client) -> None:
        await begin(client)
        assert (await answer(client, "weigh", least=3))["query"] == "xxx"
        assert (await failure(client, "weigh", least=10))["code"] == "AG0908"

    with_client(home, bench, use)
    app = typer.Typer()
    app.command("weigh")(command_of(row))
    app.command("other")(lambda: None)
    done = Commands().invoke(app, ["weigh", "--least", "4", "--json"])
    assert json.loads(done.stdout)["query"] == "xxxx"


def test_failures_are_errors_with_the_same_json(home, bench, tmp_path: Path):
    async def use(client: Client) -> None:
        assert (await failure(client, "status"))["code"] == "AG1001"
        assert (await failure(client, "start", task="softmx"))["code"] == "AG0909"
        begun = await begin(client)
        found = await failure(client, "submit", source="x")
        assert found["code"] == "AG1032"
        assert begun["run"] in found["help"]
        assert (await failure(client, "check"))["code"] == "AG0908"
        both = await failure(client, "check", source="x", file="y")
        assert both["code"] == "AG0908"
        missing = str(tmp_path / "none.py")
        assert (await failure(client, "check", file=missing))["code"] == "AG0901"
        assert (await failure(client, "check", file="/dev/zero"))["code"] == "AG0915"
        # A wrong kernel is an answer and no error.
        source = (await answer(client, "next"))["draft"]["source"]
        wrong = await answer(client, "check", source=source + WRONG)
        assert wrong["ok"] is False
        assert wrong["verdict"]["findings"][0]["counterexample"]

    with_client(home, bench, use)


def test_arguments_that_there_are_not(home, bench):
    async def use(client: Client) -> None:
        for name, arguments in (
            ("start", {"task": "softmax", "trails": 3}),
            ("start", {"task": "softmax", "trials": 0}),
            ("explain", {"stage": "ptx"}),
            ("submit", {"source": "x", "tokens": -1}),
        ):
            data = await failure(client, name, **arguments)
            assert data["code"] == "AG0908"
            assert set(arguments) & {n.split(":")[0] for n in data["notes"]}
        found = await client.call_tool("delete", {})
        assert found.is_error

    with_client(home, bench, use)


def test_a_bug_is_told_as_one(home, bench, monkeypatch, capsys):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("oh")

    async def use(client: Client) -> None:
        await begin(client)
        monkeypatch.setattr(bench, "check", broken)
        source = (await answer(client, "next"))["draft"]["source"]
        found = await failure(client, "check", source=source)
        assert found["code"] == "AG0913"
        assert found["notes"][0] == "RuntimeError: oh"
        assert (await answer(client, "status"))["state"] == "open"

    with_client(home, bench, use)
    assert "Traceback" in capsys.readouterr().err


def test_numbers_that_json_does_not_have(home, bench, monkeypatch):
    """A kernel whose outputs are infinite: JSON has no word for its error."""
    real = bench.simulate

    def infinite(*given: Any) -> list[Any]:
        return [v.model_copy(update={"error": math.inf}) for v in real(*given)]

    async def use(client: Client) -> None:
        await begin(client)
        monkeypatch.setattr(bench, "simulate", infinite)
        found = await client.call_tool("test", {"source": "x = 1"})
        assert found.structured_content is not None
        assert found.structured_content["verdict"]["error"] is None
        assert "Infinity" not in found.model_dump_json()
        whole = json.loads(found.content[0].text)
        assert whole == found.structured_content

    with_client(home, bench, use)


def test_progress_is_told(home, bench):
    told: list[str] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    async def use(client: Client) -> None:
        arguments = {"task": "softmax", "shape": "64x256"}
        await client.call_tool("start", arguments, progress_callback=progress)
        assert "judging the kernel of the start" in told
        await client.call_tool("next", {}, progress_callback=progress)
        assert told[-1] == "planned"

    with_client(home, bench, use)


def test_calls_side_by_side(home, bench, monkeypatch):
    """Questions do not wait for a submission; another submission is told to."""
    monkeypatch.setattr("argus.agent.session.desk._PATIENCE", 0.1)
    judged = threading.Event()

    async def use(client: Client) -> None:
        await begin(client)
        bench.gate = lambda: judged.wait(60)
        source = (await answer(client, "next"))["draft"]["source"]
        submitting = asyncio.create_task(answer(client, "submit", source=source))
        for _ in range(100):
            await asyncio.sleep(0.02)
            if (await answer(client, "status"))["state"] == "busy":
                break
        assert (await answer(client, "check", source=source))["ok"]
        refused = await failure(client, "submit", source=source)
        assert refused["code"] == "AG1002"
        assert not submitting.done()
        judged.set()
        assert (await submitting)["trial"] == 1
        assert len((await answer(client, "status"))["trials"]) == 2

    with_client(home, bench, use)


def test_a_client_that_gives_up_loses_the_answer_and_nothing_else(home, bench):
    judged = threading.Event()

    async def use(client: Client) -> None:
        await begin(client)
        bench.gate = lambda: judged.wait(60)
        source = (await answer(client, "next"))["draft"]["source"]
        with pytest.raises(MCPError):
            await client.call_tool(
                "submit", {"source": source}, read_timeout_seconds=0.3
            )
        judged.set()
        for _ in range(100):
            await asyncio.sleep(0.05)
            found = await answer(client, "status")
            if found["state"] == "open" and len(found["trials"]) == 2:
                break
        assert [r["status"] for r in found["trials"]] == ["correct", "correct"]
        assert (await answer(client, "next"))["trial"] == 2

    with_client(home, bench, use, "legacy")


def test_the_package_is_optional(monkeypatch):
    from argus.cli.app import app

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = Commands().invoke(app, ["mcp"])
    assert done.exit_code == 2
    assert "pip install 'argus-gpu[mcp]'" in done.stderr


def test_nothing_but_the_server_imports_the_package():
    code = "import sys, argus.cli.app, argus.agent.session; print('mcp' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


@pytest.mark.compiler
def test_a_session_over_stdio(tmp_path: Path):
    """A process of its own, the real judge and planner; no GPU."""
    program = shutil.which("argus", path=str(Path(sys.executable).parent))
    assert program is not None
    env = {
        "ARGUS_HOME": str(tmp_path / "home"),
        "ARGUS_CACHE_DIR": os.environ["ARGUS_CACHE_DIR"],
        "CUDA_VISIBLE_DEVICES": "",
        "PATH": os.environ["PATH"],
    }
    sentinel = tmp_path / "executed"
    server = StdioServerParameters(
        command=program, args=["mcp"], env=env, cwd=str(tmp_path)
    )

    async def main() -> None:
        async with Client(server, read_timeout_seconds=240) as client:
            begun = await answer(
                client, "start", task="softmax", shape="64x256", trials=2
            )
            assert begun["where"] == "no GPU: times are predicted"
            asked = await answer(client, "next")
            source = asked["draft"]["source"]
            evil = f"open({str(sentinel)!r}, 'w').close()\n{source}"
            refused = await answer(client, "check", source=evil)
            assert refused["verdict"]["status"] == "rejected"
            tested = await answer(client, "test", source=evil)
            assert tested["verdict"]["status"] == "rejected"
            # By its path, relative to where the server was started.
            (tmp_path / "k.py").write_text(source)
            checked = await answer(client, "check", file="k.py")
            assert checked["ok"] and checked["proved"] > 5
            found = await answer(client, "profile", file="k.py")
            assert found["occupancy"]["blocks"] > 0
            assert sum(found["instructions"].values()) > 50 or found["notes"][1:]
            dry = await answer(client, "bench", file="k.py")
            assert (dry["kind"], dry["left"]["trials"]) == ("predicted", 1)
            text = await answer(client, "explain", file="k.py", stage="cuda")
            assert "__global__" in text["text"]
            done = await answer(client, "submit", file="k.py", note="the draft")
            assert done["verdict"]["status"] == "correct"
            assert done["reason_to_stop"] == "budget: trials"
            assert (await answer(client, "next"))["proposal"] is None
            end = await answer(client, "finish", ablate=False)
            assert end["best"]["kind"] == "predicted"
            assert "plot-trajectory" in Path(end["report"]).read_text()

    asyncio.run(main())
    assert not sentinel.exists()
