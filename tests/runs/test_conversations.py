"""Conversations of a run, also of older records and of what was cut off."""

import json
from pathlib import Path

import pytest

import sample_run
from argus.runs.conversations import Said, dollars, read, requests, talks
from argus.runs.history import History, history
from argus.runs.records import Asked, Cost, Lowered, Resumed
from argus.runs.store import Run, RunStore


def said(*answers: str, **more: object) -> str:
    turns = [{"prompt": "p", "answer": a, "error": "", **more} for a in answers]
    return json.dumps({"model": "m", "instructions": "i", "turns": turns})


def asked(run: Run, request: int, talk: str, usd: float | None = 0.25) -> None:
    run.append(
        Asked(
            trial=1,
            about="kernel",
            request=request,
            conversation=run.put(talk),
            cost=Cost(tokens=10, usd=usd or 0.0),
            priced=usd is not None,
        )
    )


def found(run: Run) -> History:
    return history(run.stamped())


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    sample_run.make(tmp_path, finish=False)
    return RunStore(tmp_path)


def test_a_conversation_that_was_cut_off_and_the_one_after_it(store: RunStore) -> None:
    with store.open("latest") as run:
        before = found(run).cost.tokens
        asked(run, 1, said("a"))
        asked(run, 2, said("a", "b"))
        run.append(Resumed(environment={}))
        asked(run, 1, said("c"))
        (lost, under_way) = talks(found(run).trials[1])
        assert not lost.ended and not under_way.ended
        end = run.put(said("c"))
        run.append(Lowered(trial=1, candidate=None, conversation=end))
        (lost, kept) = talks(found(run).trials[1])
        assert [t.ended for t in (lost, kept)] == [False, True]
        first, second = read(run.get(lost.artefact)), read(run.get(kept.artefact))
        assert isinstance(first, Said) and isinstance(second, Said)
        assert [t.answer for t in first.turns] == ["a", "b"]
        assert [t.answer for t in second.turns] == ["c"]
        total = requests(found(run), run.get)
        assert total is not None
        assert (total.count, total.usd, total.priced) == (3, 0.75, True)
        assert total.tokens == before + 30
        one = requests(found(run), run.get, found(run).trials[1])
        assert one is not None and one.words == "3 requests, 30 tokens, $0.75"
        assert requests(found(run), run.get, found(run).trials[2]) is None


def test_older_records_count_what_stands_in_their_conversations(
    store: RunStore,
) -> None:
    with store.open("latest") as run:
        assert requests(found(run), run.get) is None
        for trial, talk in ((1, said("a", "b", usd=0.1)), (2, "no JSON")):
            name = run.put(talk)
            run.append(Lowered(trial=trial, candidate=None, conversation=name))
        total = requests(found(run), run.get)
        assert total is not None and (total.count, total.unread) == (2, 1)
        assert "2 requests and those of 1 conversation that cannot" in total.words


def test_a_price_that_is_not_known_is_said(store: RunStore) -> None:
    with store.open("latest") as run:
        asked(run, 1, said("a"), usd=None)
        total = requests(found(run), run.get)
        assert total is not None and total.money == "at a price that is not known"
        asked(run, 2, said("a", "b"), usd=1.5)
        total = requests(found(run), run.get)
        assert total is not None
        assert total.money == "$1.50 and what is not known of prices"


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"\xff", b'{"turns": 1}', b'{"turns": [1]}']
)
def test_what_is_no_conversation(raw: bytes) -> None:
    assert read(raw) is None


def test_amounts() -> None:
    assert [dollars(x) for x in (0.0, 0.0036, 1.25)] == ["$0.00", "$0.0036", "$1.25"]
