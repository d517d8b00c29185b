"""What can go wrong between us and a provider, over real connections."""

import json
import time
from dataclasses import replace

import pytest
from pydantic_ai.exceptions import UserError
from server import KEY, call, completion, kernel, raw, status, text
from small_kernels import BETTER

from argus.agent.interfaces import BudgetLeft, Heard
from argus.agent.model.agent import ModelAgent
from argus.agent.model.settings import settings_of
from argus.runs.records import Lowered

GOOD = kernel(BETTER)


def errors(lowering) -> list[str]:
    """Why each request of a lowering brought nothing; "" where it did."""
    return [turn["error"] for turn in json.loads(lowering.conversation)["turns"]]


def test_a_good_answer(server, model, desk):
    server.say(kernel(BETTER, {"BM": 4, "BN": 256}))
    made = model().lower(desk.order(), desk.judge)
    assert made.candidate is not None
    assert made.candidate.source == BETTER
    assert made.candidate.kernel == "double"
    assert made.candidate.statics == {"BM": 4, "BN": 256}
    assert made.candidate.design == {}
    assert (made.failure, made.attempts, made.note) == ("", (), "As proposed.")
    assert made.cost.tokens == 1100
    (request,) = server.requests
    assert request["model"] == "test"
    assert request["max_completion_tokens"] == 16_000
    assert server.keys == [f"Bearer {KEY}"]


BROKEN = {
    "malformed JSON": (call('{"source": "abc'), "Invalid JSON"),
    "another schema": (call({"kernel": "x"}), "rationale: Field required"),
    "no source": (call({"rationale": "Done."}), "`source` is empty"),
    "no reason": (call({"rationale": " ", "source": "x"}), "`rationale` is empty"),
    "a list": (call([1, 2]), "not of the form"),
    "another tool": (
        completion(
            {
                "tool_calls": [
                    {
                        "id": "t",
                        "type": "function",
                        "function": {"name": "run_shell", "arguments": "{}"},
                    }
                ]
            }
        ),
        "Unknown tool name: 'run_shell'",
    ),
    "words": (text("Here is the kernel: ..."), "Invalid JSON"),
    "nothing": (text(""), "include your response"),
    "cut off": (call('{"source": "abc', finish="length"), "token limit"),
    "10 MB": (kernel("#" * 10_000_000), "at most 100000 characters"),
    "wide statics": (
        kernel(BETTER, {f"N{i}": 1 for i in range(100)}),
        "at most 64 items",
    ),
    "statics of a kind that there is not": (
        call(
            {"rationale": "x", "source": "y", "statics": [{"name": "a", "value": []}]}
        ),
        "not of the form",
    ),
    "filtered": (completion({"content": None}, finish="content_filter"), "filter"),
    "half a character": (
        call('{"rationale": "\\ud800", "source": "x"}'),
        "hex escape",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_answer_that_cannot_be_used_goes_back(name, server, model, desk):
    reply, why = BROKEN[name]
    server.say(reply, GOOD)
    made = model().lower(desk.order(), desk.judge)
    assert made.candidate is not None and made.candidate.source == BETTER
    (attempt,) = made.attempts
    assert attempt.findings[0].code == "AG1062"
    assert why in attempt.summary
    assert len(attempt.summary) < 1000
    # The model is told, and does not see the answer again.
    assert why in server.asked(1)
    assert len(server.requests[1]["messages"]) == len(server.requests[0]["messages"])
    # What it cost is counted, whatever it was.
    assert made.cost.tokens == 2200
    assert len(made.conversation) < 500_000


RESPONSES = {
    "no choices": raw(json.dumps({**json.loads(GOOD.body), "choices": []})),
    "an error with status 200": raw('{"error": {"message": "overloaded"}}'),
    "a page": raw("<html>502 Bad Gateway</html>"),
    "not UTF-8": raw(b"\xff\xfe" + GOOD.body),
    "null": raw("null"),
    "a list": raw("[]"),
    "empty": raw(""),
}


@pytest.mark.parametrize("name", RESPONSES)
def test_a_response_that_is_none_costs_an_attempt_or_a_retry(name, server, model, desk):
    server.say(RESPONSES[name], GOOD)
    made = model().lower(desk.order(), desk.judge)
    assert made.candidate is not None, made.failure
    first, second = errors(made)
    assert first and not second


def test_a_rate_limit_is_waited_for(server, model, desk):
    server.say(status(429, {"retry-after": "1"}), GOOD)
    made = model("longest_wait=2").lower(desk.order(), desk.judge)
    assert made.candidate is not None
    assert server.times[1] - server.times[0] >= 1.0
    assert errors(made)[0].startswith("status 429")
    assert made.attempts == ()


def test_a_provider_that_asks_for_too_long_has_failed(server, model, desk):
    server.say(status(429, {"retry-after": "3600"}), GOOD)
    made = model().lower(desk.order(), desk.judge)
    assert made.candidate is None
    assert "status 429" in made.failure and "wait 3600 s" in made.failure
    assert server.left == 1


@pytest.mark.parametrize("code", [408, 500, 502, 503, 529])
def test_errors_of_the_server_are_tried_again_a_few_times(code, server, model, desk):
    server.say(status(code), GOOD)
    assert model().lower(desk.order(), desk.judge).candidate is not None
    server.say(*[status(code)] * 5)
    made = model().lower(desk.order(), desk.judge)
    assert made.candidate is None
    assert f"status {code}" in made.failure and "asked 3 times" in made.failure
    assert server.left == 2
    assert made.cost.tokens == 0


@pytest.mark.parametrize("code", [400, 401, 402, 403, 404, 422])
def test_what_is_refused_is_not_sent_again(code, server, model, desk):
    server.say(status(code, said=f"bad key {KEY}"), GOOD)
    made = model().lower(desk.order(), desk.judge)
    assert made.candidate is None
    assert f"the provider failed: status {code}" in made.failure
    assert server.left == 1
    assert KEY not in made.failure + made.conversation
    assert "[OPENAI_API_KEY]" in made.failure


def test_a_slow_answer(server, model, desk):
    slow = kernel(BETTER, delay=30.0)
    server.say(slow, GOOD)
    began = time.monotonic()
    made = model("timeout=0.3").lower(desk.order(), desk.judge)
    assert made.candidate is not None
    assert time.monotonic() - began < 5
    assert "no answer within 0.3 s" in errors(made)[0] or "timed out" in errors(made)[0]


def test_an_answer_that_drips_is_slow_too(server, model, desk):
    server.say(raw(GOOD.body, drip=0.05), GOOD)
    made = model("timeout=0.4").lower(desk.order(), desk.judge)
    assert made.candidate is not None
    assert "no answer within 0.4 s" in errors(made)[0]


def test_a_connection_that_is_reset_in_the_middle(server, model, desk):
    server.say(raw(GOOD.body, cut=40), GOOD)
    made = model().lower(desk.order(), desk.judge)
    assert made.candidate is not None
    assert errors(made)[0]


def test_a_response_without_end_is_not_read(server, model, desk):
    server.say(raw(b" " * (17 << 20)), GOOD)
    made = model().lower(desk.order(), desk.judge)
    assert made.candidate is None
    assert "longer than any answer" in made.failure
    assert server.left == 1


def test_what_is_no_text_can_be_written_down(server, model, desk):
    """Half of a character in all that a server says: JSON can hold it, files cannot."""
    half = "\ud800"
    function = {"name": half, "arguments": "{}"}
    tool = {"id": "t", "type": "function", "function": function}
    server.say(
        completion({"tool_calls": [tool]}), text(half), status(400, said=f"no {half}")
    )
    heard: list[Heard] = []
    made = model().lower(replace(desk.order(), hears=heard.append), desk.judge)
    assert made.failure == "the provider failed: status 400: no ?"
    assert [h.request for h in heard] == [1, 2, 3]
    assert heard[-1].conversation == made.conversation
    assert made.conversation.encode()
    Lowered(
        trial=1, candidate=None, attempts=made.attempts, failure=made.failure
    ).model_dump_json()


def test_nobody_listens(server, model, desk):
    agent = model("retries=1")
    server.__exit__()
    made = agent.lower(desk.order(), desk.judge)
    assert made.candidate is None
    assert "the provider failed: Connection error" in made.failure
    assert "asked 2 times" in made.failure


def test_tokens_are_estimated_where_nobody_counts_them(server, model, desk):
    server.say(kernel(BETTER, usage=None))
    made = model().lower(desk.order(), desk.judge)
    (turn,) = json.loads(made.conversation)["turns"]
    assert turn["estimated"] is True
    assert made.cost.tokens > len(turn["prompt"]) / 5


def test_money_is_counted_where_the_price_is_known(server, model, desk):
    server.say(GOOD, GOOD)
    made = model("price=2/10").lower(desk.order(), desk.judge)
    assert made.cost.usd == pytest.approx(0.003)
    made = model().lower(desk.order(), desk.judge)
    assert made.cost.usd == 0.0
    assert json.loads(made.conversation)["turns"][0]["usd"] is None


def test_no_request_that_would_exceed_the_budget_is_sent(server, model, desk):
    server.say(GOOD)
    agent = model()
    made = agent.lower(desk.order(left=BudgetLeft(tokens=2000)), desk.judge)
    assert made.candidate is None
    assert made.failure == "budget: 2000 tokens are left, and a request needs more"
    assert agent.stopped == "budget: tokens"
    assert server.requests == []
    assert made.conversation == ""


def test_the_budget_ends_a_conversation_in_the_middle(server, model, desk):
    server.say(text("no"), text("no"), GOOD)
    made = model().lower(desk.order(left=BudgetLeft(tokens=5000)), desk.judge)
    assert made.failure == "budget: 3900 tokens are left, and a request needs more"
    assert made.cost.tokens == 1100
    assert server.left == 2


def test_the_length_of_an_answer_is_limited(server, model, desk):
    server.say(GOOD, GOOD)
    model("max_tokens=700").lower(desk.order(), desk.judge)
    model().lower(desk.order(left=BudgetLeft(tokens=9000)), desk.judge)
    assert server.requests[0]["max_completion_tokens"] == 700
    assert 400 <= server.requests[1]["max_completion_tokens"] < 4000


@pytest.mark.parametrize("output", ["native", "prompted", "tool"])
def test_other_ways_to_ask_for_the_form(output, server, model, desk):
    said = json.dumps({"rationale": "As proposed.", "source": BETTER})
    server.say(GOOD if output == "tool" else text(said))
    made = model(f"output={output}").lower(desk.order(), desk.judge)
    assert made.candidate is not None
    (request,) = server.requests
    assert ("response_format" in request) == (output != "tool")


def test_no_key_is_needed_and_none_is_made_up(server, model, desk, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    server.say(GOOD)
    assert model().lower(desk.order(), desk.judge).candidate is not None
    assert server.keys == ["Bearer api-key-not-set"]


def test_the_key_can_have_another_name(server, model, desk, monkeypatch):
    monkeypatch.setenv("MY_SERVER_KEY", "another-key-0123")
    server.say(GOOD)
    made = model("key_env=MY_SERVER_KEY").lower(desk.order(), desk.judge)
    assert server.keys == ["Bearer another-key-0123"]
    assert "another-key-0123" not in made.conversation


def test_a_provider_that_pydantic_ai_knows(server, desk, monkeypatch):
    """By its name: the provider's own variables, and listed prices."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    server.say(
        raw(GOOD.body.replace(b'"model": "test"', b'"model": "gpt-4o-2024-08-06"')),
        raw(GOOD.body.replace(b'"model": "test"', b'"model": "a name of a proxy"')),
    )
    settings = settings_of("openai-chat:gpt-4o", None, {})
    with ModelAgent(settings, money=True) as agent:
        known = agent.lower(desk.order(), desk.judge)
        proxied = agent.lower(desk.order(), desk.judge)
    assert known.candidate is not None and proxied.candidate is not None
    # 1000 tokens in and 100 out: a fraction of a cent, and not nothing.
    assert 0.0005 < known.cost.usd < 0.05
    assert proxied.cost.usd == pytest.approx(known.cost.usd)
    assert server.keys == [f"Bearer {KEY}"] * 2


def test_settings_that_a_model_cannot_have(server, model, desk, monkeypatch):
    agent = model()

    class Unable:
        async def run(self, *args, **more):
            raise UserError("Native structured output is not supported by this model.")

    monkeypatch.setattr(agent.asker, "_agent", lambda *_: Unable())
    made = agent.lower(desk.order(), desk.judge)
    assert "the request cannot be made: Native structured output" in made.failure
    assert (made.attempts, server.requests) == ((), [])
