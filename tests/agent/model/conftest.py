import ssl
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

# Modules that the tests of this folder share.
sys.path.insert(0, str(Path(__file__).parent))

from desk import Desk, small_task
from server import KEY, Server

from argus.agent.model.agent import ModelAgent
from argus.agent.model.settings import given_options, settings_of
from argus.runs.records import Task

QUICK = ("timeout=5", "backoff=0.01", "longest_wait=0.5", "retries=2")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A model's server, and the key that it is given."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Server() as server:
        yield server


@pytest.fixture
def model(server: Server) -> Iterator[Callable[..., ModelAgent]]:
    """`model("timeout=1", money=True)`: an agent that asks the server."""
    made: list[ModelAgent] = []

    def make(*options: str, money: bool = False) -> ModelAgent:
        given = given_options([*QUICK, *options])
        settings = settings_of("openai:test", server.url, given)
        made.append(ModelAgent(settings, money=money))
        return made[-1]

    yield make
    for agent in made:
        agent.close()


@pytest.fixture(scope="session", autouse=True)
def certificates_are_read_once() -> Iterator[None]:
    """Each client reads them, though no server here has one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return small_task(tmp_path_factory.mktemp("task"))


@pytest.fixture
def desk(task: Task) -> Desk:
    """Orders for the small task, and a judge that knows its kernels."""
    return Desk(task)
