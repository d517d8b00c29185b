import builtins

import pytest

from argus.agent.model.agent import ModelAgent
from argus.agent.model.provider import redacted
from argus.agent.model.settings import given_options, settings_of
from argus.diagnostics import ArgusError


def test_options_are_read_and_checked():
    given = given_options(["timeout=2.5", "max-tokens=800", "output=prompted"])
    found = settings_of("local", "http://127.0.0.1:8000/v1", given)
    assert (found.timeout, found.max_tokens, found.output) == (2.5, 800, "prompted")
    assert found.where == "local at http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("model", "url", "options"),
    [
        (None, None, []),
        ("", None, []),
        ("a:b", "ftp://host", []),
        ("a:b", "http://me:secret@host/v1", []),
        ("a:b", "http://host/v1?key=secret", []),
        ("a:b", None, ["timeout"]),
        ("a:b", None, ["colour=red"]),
        ("a:b", None, ["model=other"]),
        ("a:b", None, ["timeout=soon"]),
        ("a:b", None, ["attempts=0"]),
        ("a:b", None, ["price=cheap"]),
        ("a:b", None, ["key_env=sk-1234"]),
    ],
)
def test_mistakes_have_a_code_and_say_no_secret(model, url, options):
    with pytest.raises(ArgusError) as caught:
        settings_of(model, url, given_options(options))
    assert caught.value.code == "AG1061"
    assert "secret" not in str(caught.value)
    assert "sk-1234" not in str(caught.value)


@pytest.mark.parametrize("model", ["nobody:nothing", "no-provider", "openai:gpt-5"])
def test_a_model_that_cannot_be_used(model, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ArgusError) as caught:
        ModelAgent(settings_of(model, None, {}))
    assert caught.value.code == "AG1061"


def test_a_provider_whose_package_is_missing():
    with pytest.raises(ArgusError) as caught:
        ModelAgent(settings_of("mistral:some-model", None, {}))
    assert caught.value.code == "AG1060"


def test_pydantic_ai_is_not_there(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.partition(".")[0] == "pydantic_ai":
            raise ImportError("No module named 'pydantic_ai'")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ArgusError) as caught:
        ModelAgent(settings_of("openai:gpt-5", None, {}))
    assert caught.value.code == "AG1060"
    assert "pip install 'argus-gpu[agent]'" in str(caught.value)


def test_a_budget_of_money_needs_a_price(server, model):
    with pytest.raises(ArgusError) as caught:
        model(money=True)
    assert caught.value.code == "AG1061"
    assert model("price=2/8", money=True).asker.price(1_000_000, 1_000_000) == 10.0


def test_prices_of_known_models_are_listed(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-used-here")
    with ModelAgent(settings_of("openai:gpt-4o", None, {}), money=True) as agent:
        price = agent.asker.price(1_000_000, 0)
        assert price is not None and 0.5 < price < 50.0


def test_keys_are_taken_out_of_texts(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "abcdef0123456789")
    assert redacted("bad key abcdef0123456789!") == "bad key [SOME_API_KEY]!"
