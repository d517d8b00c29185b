"""Whole runs with a model: record, budgets, failing providers, kill and resume."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from desk import going_on
from server import KEY, Reply, Server, advice, call, kernel, status
from small_kernels import BETTER, EXPECTING, REFUTED, SAME

from argus.agent.assemble import optimiser_of
from argus.agent.loop import Options, resume
from argus.agent.model.meter import SHORTEST, few_tokens
from argus.cli.app import app
from argus.runs.history import history
from argus.runs.records import Budget, Cost, Learned, Lowered, Started
from argus.runs.store import Run, RunStore
from command_line import Commands
from forked import Forked

TUTORIAL = Path(__file__).parents[3] / "docs" / "tutorial"
ADVICE = "A ring hides the latency of loads; begin with it."


def asks_advice(body: dict) -> bool:
    return "You advise" in body["messages"][0]["content"]


def begin(store: RunStore, desk, budget: Budget) -> Run:
    return store.create(
        Started(
            task=desk.task,
            agent="model",
            seed=0,
            budget=budget,
            policy={},
            environment={},
        )
    )


def lowered(run: Run) -> list[Lowered]:
    """What became of proposals, by trial: they are written as they are settled."""
    found = [e for e in run.events() if isinstance(e, Lowered) and e.trial > 0]
    return sorted(found, key=lambda e: e.trial)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")


# ---- the command ---------------------------------------------------------------------


def test_the_command_makes_a_gemm_faster(server, tmp_path: Path, monkeypatch):
    """`argus optimize FILE --agent model`, with the real judge and no GPU."""
    ring = (TUTORIAL / "step2_ring.py").read_text()
    wrong = (TUTORIAL / "step1_naive.py").read_text()
    wrong = wrong.replace("B[bn * BN :, k:]", "B[bn * BN :, k + 8 :]")
    attempts: list[int] = []

    def answer(body: dict) -> Reply:
        if asks_advice(body):
            return advice(ADVICE, [1, 2])
        attempts.append(len(body["messages"]))
        if len(attempts) == 1:
            return kernel(wrong)
        return kernel(ring, {"BM": 64, "BN": 64, "BK": 32, "STAGES": 3})

    server.answer = answer
    home, best = tmp_path / "home", tmp_path / "best.py"
    monkeypatch.setenv("ARGUS_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "80")
    command = [
        "optimize",
        str(TUTORIAL / "step1_naive.py"),
        "--size",
        "M=128",
        "--size",
        "N=128",
    ]
    command += ["--size", "K=256", "--agent", "model", "--model", "openai:test"]
    command += ["--base-url", server.url, "--trials", "2", "--no-ablate"]
    command += ["--model-option", "price=1/2", "--usd", "5", "--out", str(best)]
    done = Commands().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert f"kernels by openai:test at {server.url}" in " ".join(done.stdout.split())
    assert "times are predicted" in done.stdout
    assert "ag.ring" in best.read_text()
    with RunStore(home / "runs").read("latest") as run:
        found = history(run.stamped())
        assert found.finished is not None and found.finished.reason == "budget: trials"
        start, made = found.trials
        assert made.microseconds < 0.7 * start.microseconds
        assert [v.status for v in made.lowered.attempts] == ["refuted"]
        assert made.lowered.note == "As proposed."
        # What was said is kept: prompts and answers, and what they took.
        said = json.loads(run.get(made.lowered.conversation))
        assert said["model"] == f"openai:test at {server.url}"
        assert "def gemm(" in said["turns"][0]["prompt"]
        assert "AG0301" in said["turns"][1]["prompt"]
        assert "ag.ring" in said["turns"][1]["answer"]
        # Each request is an event of its own, and counts once.
        asked = [(e.about, e.request, e.cost.tokens, e.priced) for e in made.asked]
        assert asked == [
            ("kernel", 1, 1100, True),
            ("kernel", 2, 1100, True),
            ("advice", 1, 1100, True),
        ]
        assert made.asked[1].conversation == made.lowered.conversation
        assert made.asked[2].conversation == made.learned.conversation
        assert made.lowered.cost == made.learned.cost == Cost()
        assert made.cost.tokens == found.cost.tokens == 3300
        assert made.cost.usd == found.cost.usd == pytest.approx(3 * 0.0012)
        (change,) = [c for c in made.learned.changes if c.key.startswith("advice/")]
        assert (change.after, change.trials) == (ADVICE, (1,))
        assert found.started.environment["model"].startswith("openai:test")
    assert ADVICE in (home / "policy.json").read_text()
    folder = tmp_path / "exported"
    shown = Commands().invoke(app, ["runs", "show", "--trial", "1"])
    assert "As proposed." in shown.output, shown.output
    assert "3 requests, 3,300 tokens, $0.0036" in shown.output
    shown = Commands().invoke(app, ["runs", "show", "--json"])
    assert json.loads(shown.output)["asked"] == {
        "models": [f"openai:test at {server.url}"],
        "requests": 3,
        "tokens": 3300,
        "usd": pytest.approx(0.0036),
        "conversations_unread": 0,
    }
    exported = Commands().invoke(app, ["runs", "export", "--out", str(folder)])
    assert exported.exit_code == 0, exported.output
    assert {p.name for p in folder.glob("trial-*-*.json")} == {
        "trial-001-kernel.json",
        "trial-001-advice.json",
    }
    # The key went to the server, and nowhere else.
    assert set(server.keys) == {f"Bearer {KEY}"}
    for path in [*home.rglob("*"), *folder.rglob("*")]:
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--model", "openai:test"], "AG0908"),
        (["--agent", "model", "--base-url", "URL"], "AG1061"),
        (["--agent", "model", "--model", "x", "--base-url", "nowhere"], "AG1061"),
        (["--agent", "model", "--model", "nobody:nothing"], "AG1061"),
        (["--agent", "model", "--model", "x", "--model-option", "a=b"], "AG1061"),
        (
            ["--agent", "model", "--model", "x", "--base-url", "URL", "--usd", "1"],
            "AG1061",
        ),
    ],
)
def test_mistakes_of_the_user_begin_no_run(
    words, code, server, tmp_path: Path, monkeypatch
):
    monkeypatch.setenv("ARGUS_HOME", str(tmp_path))
    words = [server.url if w == "URL" else w for w in words]
    task = ["optimize", "softmax", "--shape", "64x256", "--trials", "2", "--json"]
    done = Commands().invoke(app, [*task, *words])
    assert done.exit_code == 2, done.output
    assert json.loads(done.output)["diagnostics"][0]["code"] == code
    assert RunStore(tmp_path / "runs").names() == []
    assert server.requests == []


# ---- the loop, with a judge that knows the kernels -----------------------------------


def test_a_run_says_what_became_of_each_trial(server, model, desk, store):
    seen: list[str] = []

    def answer(body: dict) -> Reply:
        if asks_advice(body):
            return status(500)
        if len(body["messages"]) > 2:
            return call({"applies": False, "rationale": "It cannot be corrected."})
        seen.append(body["messages"][1]["content"])
        made = [BETTER, REFUTED, SAME, EXPECTING]
        return kernel(made[len(seen) - 1])

    server.answer = answer
    with begin(store, desk, Budget(trials=5)) as run:
        agent = model("parallel=1", "retries=0")
        optimiser = optimiser_of(run, desk.judge, agent, Options(ablate=False))
        end = optimiser.go()
        assert end.reason == "budget: trials"
        statuses = [t.verdict and t.verdict.status for t in optimiser.state.done]
        assert statuses == ["correct", "correct", None, None, "correct"]
        failures = [e.failure for e in lowered(run)]
        assert failures[0] == "" and "does not apply" in failures[1]
        # All ideas of a batch are about the same kernel, and each is another one.
        proposals = [t.proposal for t in optimiser.state.done[1:]]
        assert len({(p.optimisation, repr(p.edit)) for p in proposals}) == 4
        # The model had no advice to give: that is said, and rules give it instead.
        notes = [e.note for e in run.events() if isinstance(e, Learned)]
        assert notes[:-1] == [""] * 4
        assert notes[-1].startswith("advice by rule: the model gave none: status 500")


def test_what_a_model_wrote_is_changed_further(server, model, desk, store):
    """A kernel that no design space knows is a parent like any other."""
    sources = iter([BETTER, *[EXPECTING + f"# {i}\n" for i in range(9)]])
    server.answer = lambda body: (
        advice(ADVICE, [1]) if asks_advice(body) else kernel(next(sources))
    )
    with begin(store, desk, Budget(trials=4)) as run:
        options = Options(batch=1, ablate=False)
        optimiser = optimiser_of(run, desk.judge, model(), options)
        optimiser.go()
        parents = [t.parent for t in optimiser.state.done]
        assert parents[:2] == [None, 0]
        assert parents[2] == 1
        trial = optimiser.state.trials[2]
        assert trial.proposal.edit == {}
        # What was learnt in the first trial is in the prompt of the second.
        prompts = [
            json.loads(run.get(e.conversation))["turns"][0]["prompt"]
            for e in lowered(run)
        ]
        assert ADVICE not in prompts[0] and ADVICE in prompts[1]
        assert "BM: int = 4" in prompts[1]


def test_a_budget_of_tokens_ends_the_run(server, model, desk, store):
    server.answer = lambda body: kernel(BETTER + f"# {len(server.requests)}\n")
    with begin(store, desk, Budget(trials=50, tokens=12_000)) as run:
        optimiser = optimiser_of(run, desk.judge, model(), Options(ablate=False))
        end = optimiser.go()
        assert end.reason == "budget: tokens"
        assert 0 < optimiser.state.spent.tokens <= 12_000
        assert len(optimiser.state.done) < 20
        name = run.id
    # More tokens, and it goes on.
    with store.open(name) as run:
        before = history(run.stamped()).cost.tokens
        resume(run, {}, Budget(trials=50, tokens=30_000))
        optimiser = optimiser_of(run, desk.judge, model(), Options(ablate=False))
        assert optimiser.go().reason == "budget: tokens"
        assert before < optimiser.state.spent.tokens <= 30_000


def test_a_failing_provider_ends_the_run_and_it_can_go_on(server, model, desk, store):
    server.answer = lambda body: status(401, said=f"wrong key {KEY}")
    with begin(store, desk, Budget(trials=9)) as run:
        optimiser = optimiser_of(run, desk.judge, model(), Options(ablate=False))
        end = optimiser.go()
        assert end.reason.startswith("provider: no answer in 4 trials in a row")
        assert "status 401" in end.reason and KEY not in end.reason
        assert len(optimiser.state.done) == 5
        assert {e.failure.partition(":")[0] for e in lowered(run)} == {
            "the provider failed"
        }
        lost = {t.proposal.optimisation for t in optimiser.state.done[1:]}
        name = run.id
    server.answer = lambda body: (
        advice(ADVICE, [5]) if asks_advice(body) else kernel(BETTER)
    )
    with store.open(name) as run:
        resume(run, {})
        optimiser = optimiser_of(run, desk.judge, model(), Options(ablate=False))
        end = optimiser.go()
        assert end.reason == "budget: trials"
        assert optimiser.state.best.number >= 5
        # Nobody has tried what was proposed before, so it is proposed again.
        again = {t.proposal.optimisation for t in optimiser.state.done[5:]}
        assert lost & again


def child(store: RunStore, server: Server) -> Forked:
    return Forked(going_on, store.root, server.url)


def wait_for(server: Server, count: int) -> None:
    deadline = time.monotonic() + 60
    while sum(not asks_advice(r) for r in server.requests) < count:
        assert time.monotonic() < deadline, "the model was not asked"
        time.sleep(0.02)


def test_killed_and_interrupted_while_the_model_thinks(server, model, desk, store):
    def answer(body: dict) -> Reply:
        if asks_advice(body):
            return advice(ADVICE, [1])
        number = sum(not asks_advice(r) for r in server.requests)
        slow = 50.0 if number in (2, 4) else 0.0
        return kernel(BETTER + f"# {number}\n", delay=slow)

    server.answer = answer
    with begin(store, desk, Budget(trials=5)):
        pass
    # Killed in the second trial's request: the first is kept, the second lost.
    process = child(store, server)
    wait_for(server, 2)
    process.kill()
    with store.read("latest") as run:
        assert [e.trial for e in lowered(run)] == [1]
    # It goes on with the second trial. Ctrl-C in the third's request is a clean end.
    process = child(store, server)
    wait_for(server, 4)
    process.interrupt()
    assert process.told() == "interrupted"
    assert process.ended() == 0
    with store.read("latest") as run:
        assert [e.trial for e in lowered(run)] == [1, 2]
        assert history(run.stamped()).finished.reason == "interrupted"
    # How it goes on to its end is the same in this process.
    with store.open("latest") as run:
        resume(run, {})
        options = Options(batch=1, ablate=False)
        optimiser = optimiser_of(run, desk.judge, model("parallel=1"), options)
        assert optimiser.go().reason == "budget: trials"
    with store.read("latest") as run:
        assert [e.trial for e in lowered(run)] == [1, 2, 3, 4]
        assert all(e.candidate for e in lowered(run))


def test_what_was_paid_for_outlives_a_kill(server, model, desk, store):
    """The first answer has come and is refused; the second request is under way."""

    def answer(body: dict) -> Reply:
        if asks_advice(body):
            return advice(ADVICE, [1])
        number = sum(not asks_advice(r) for r in server.requests)
        source = REFUTED if number == 1 else BETTER + f"# {number}\n"
        return kernel(source, delay=50.0 if number == 2 else 0.0)

    server.answer = answer
    with begin(store, desk, Budget(trials=2)):
        pass
    process = child(store, server)
    wait_for(server, 2)
    process.kill()
    with store.read("latest") as run:
        (paid,) = history(run.stamped()).trials[1].asked
        assert (paid.about, paid.request, paid.cost.tokens) == ("kernel", 1, 1100)
        said = json.loads(run.get(paid.conversation))
        (turn,) = said["turns"]
        assert "j * BN + 1" in turn["answer"] and turn["outcome"] == "answered"
        assert lowered(run) == []
    # A budget with room for that request, and not for another one beside it.
    limit = few_tokens(len(said["instructions"]) + len(turn["prompt"])) + 2 * SHORTEST
    limit += few_tokens(3000)
    with store.open("latest") as run:
        resume(run, {}, Budget(trials=3, tokens=limit))
        options = Options(batch=1, ablate=False)
        optimiser = optimiser_of(run, desk.judge, model(), options)
        assert optimiser.left().tokens == limit - 1100
        assert optimiser.go().reason == "budget: tokens"
        assert [e.failure for e in lowered(run)] == [
            f"budget: {limit - 1100} tokens are left, and a request needs more"
        ]
        assert len(server.requests) == 2
        resume(run, {}, Budget(trials=3))
    # With more, it goes on; every answer that came is counted, and once.
    with store.open("latest") as run:
        resume(run, {})
        optimiser = optimiser_of(run, desk.judge, model(), options)
        assert optimiser.go().reason == "budget: trials"
    with store.read("latest") as run:
        found = history(run.stamped())
        answered = len(server.requests) - 1
        assert answered == 3, "a refused kernel, a kernel, advice"
        assert found.cost.tokens == 1100 * answered
        assert found.trials[1].cost.tokens == 1100
        assert sum(t.cost.tokens for t in found.trials) == found.cost.tokens
