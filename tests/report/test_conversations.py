"""What a model was asked: all of it is there, as text, within bounds."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
import talking
from pages import whole

import sample_run
from argus.report.attempts import form
from argus.report.room import Room, weight


@pytest.fixture(scope="session")
def shown(talkative: str, read: Callable[[str], Any]) -> str:
    return " ".join(read(talkative).sections["conversations"].split())


def test_is_whole(talkative: str, read) -> None:
    whole(talkative, read)
    found = read(talkative)
    assert "details" not in found.open
    assert {f"asked-1-{n}" for n in (1, 2, 3)} | {"asked-2-1"} <= set(found.ids)
    assert "#conversations" in found.links and "#asked-2-1" in found.links


def test_what_was_asked_and_what_it_took(shown: str) -> None:
    assert shown.startswith(
        "What the model was asked 11 requests, 11,000 tokens, $0.0360."
    )
    assert "trial 1 swizzling unfinished 1 request, 1,100 tokens, $0.0036" in shown
    assert (
        "Killed here." in shown and "its whole source, 9 characters lost = 1" in shown
    )
    assert "trial 1 swizzling 3 requests, 2,200 tokens, $0.0072" in shown
    assert "Request 1 1,100 tokens, $0.0036, 2.3 s the prompt, " in shown
    assert "End: a kernel, correct" in shown
    assert "trial 1 advice 1 request" in shown and "(about swizzling, from" in shown
    assert "It does not apply. No." in shown


def test_what_went_back(shown: str) -> None:
    begin = shown.index("trial 1 swizzling 3 requests")
    talk = shown[begin : shown.index("trial 1 advice")]
    places = [
        talk.index(words)
        for words in (
            "Request 1",
            "the prompt, ",
            "Answer refuted",
            "AG0301: elements that do not share K are multiplied",
            "in full, under counterexamples",
            "Request 2",
            "What went back to the model Your kernel is wrong. AG0301: ",
            "Counterexample: {}",
            "No usable answer: status 503: busy",
            "Request 3",
            "The same was asked again. Answer accepted As proposed.",
        )
    ]
    assert places == sorted(places)
    # Of a prompt that is sent again, with a word on the answer, only that word.
    assert "What went back to the model Your last answer could not be used: 1" in shown
    assert shown.count("A line of the prompt.") == 40 * 4


def test_the_counterexample_is_where_it_leads(talkative: str, read) -> None:
    assert "#met-attempt-1-of-trial-1" in read(talkative).links
    assert 'id="met-attempt-1-of-trial-1"' in talkative
    assert "Attempt 1 of trial 1" in read(talkative).sections["counterexamples"]


def test_what_it_changes(talkative: str) -> None:
    begin = talkative.index('id="asked-1-2"')
    talk = talkative[begin : talkative.index('id="asked-1-3"')]
    changed = re.findall(r'<span class="(add|del)">([^<]*)</span>', talk)
    wrong = "        b = ag.load(B[bn * BN :, k + 1 :], (BN, BK))"
    # Against the kernel that it was given, then against its own answer before.
    assert ("add", wrong) in changed and ("del", wrong) in changed


class TestStrangers:
    def test_nothing_becomes_markup(self, talkative: str, shown: str, read) -> None:
        found = read(talkative)
        assert {"script", "img", "iframe"} & set(found.tags) == set()
        assert [x for x in found.links if "javascript" in x] == []
        assert sample_run.HOSTILE in shown
        assert '<a href="javascript:alert(1)">free tokens</a>' in shown
        assert "{{ 7 * 7 }} &lt; <!-- -->" in shown

    def test_what_is_hidden_is_shown(self, talkative: str) -> None:
        for character in "\x00\u202e\ud800":
            assert character not in talkative
            assert f"⟨U+{ord(character):04X}⟩" in talkative

    def test_a_long_line_is_cut_and_it_is_said(
        self, shown: str, talkative: str
    ) -> None:
        assert "130,000 characters more are not on this page." in shown
        assert "x" * 20_001 not in talkative
        assert re.search(r"argus runs export \S+ --out FOLDER", shown)
        assert "There is more than a page can hold" in shown

    def test_answers_that_are_not_of_the_form(self) -> None:
        odd = ("", "words", "{", "[]", "{}}", '{"source": 1}', talking.NESTED)
        assert [form(text) for text in odd[:-2]] == [None] * 4 + [form("{}}")]
        assert form('{"source": 1}') is None
        assert form(talking.NESTED + "}") is None
        assert form('{"source": "x", "statics": [3]}') is None


def test_sixty_trials_of_long_texts(undrawn, read) -> None:
    begin = time.process_time()
    text = undrawn(talking.make_large)
    assert time.process_time() - begin < 20
    whole(text, read)
    section = text[text.index('id="conversations"') : text.index('id="policy"')]
    assert len(section.encode()) < 2_500_000
    found = " ".join(read(text).sections["conversations"].split())
    assert found.count("requests, 11,000 tokens") == 60, "each trial has its line"
    assert "200 requests are not" not in found
    assert found.count("10 requests are not on this page.") == 20
    assert "There is more than a page can hold" in found


def test_a_run_without_a_model_has_no_such_section(measured: str, read) -> None:
    assert "conversations" not in read(measured).sections
    assert "#conversations" not in read(measured).links


def test_a_run_of_a_model_that_was_not_asked_yet(undrawn, read) -> None:
    def make(root: Any) -> str:
        with talking.begun(root) as run:
            return run.id

    text = undrawn(make, "running")
    whole(text, read)
    assert "No request has come back yet" in read(text).sections["conversations"]


def test_money_that_nobody_knows(eventful: str, read) -> None:
    """An older record: its conversations say nothing of prices."""
    words = " ".join(read(eventful).text.split())
    assert "US dollars 1.5 $0.10 and what is not known of prices" in words


def test_room_is_what_a_text_takes_on_the_page() -> None:
    room = Room(100)
    taken = room.take("<" * 60, 50)
    assert (taken.shown, taken.more, taken.length) == ("<" * 25, 35, 60)
    assert room.left == 0 and weight("<\x00") == 4 + len("⟨U+0000⟩".encode())
    assert room.take("a", 9).more == 1
    assert Room(100).take("ab", 9).shown == "ab"
