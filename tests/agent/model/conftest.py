import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Modules that the tests of this folder share.
sys.path.insert(0, str(Path(__file__).parent))

from desk import Desk
from server import KEY, Server

from argus.agent.model.agent import ModelAgent
from argus.agent.model.settings import given_options, settings_of

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


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Orders for the small task, and a judge that knows its kernels."""
    return Desk(tmp_path)
