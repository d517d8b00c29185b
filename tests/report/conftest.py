"""Runs to report on, and what tests ask of a page."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

# Modules that the tests of this folder share.
sys.path.insert(0, str(Path(__file__).parent))


import talking

import sample_run
from argus.report.page import page
from argus.runs.records import JudgeVerdict
from argus.runs.store import RunStore, State

VOID = {"meta", "link", "br", "img", "input", "hr"}


@dataclass
class Found(HTMLParser):
    """A page, read: tags that are open at its end, names, links, text by section."""

    ids: list[str] = field(default_factory=list[str])
    links: list[str] = field(default_factory=list[str])
    tags: list[str] = field(default_factory=list[str])
    pictures: list[dict[str, str | None]] = field(default_factory=list)
    attributes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    wrong: list[str] = field(default_factory=list[str])
    open: list[str] = field(default_factory=list[str])
    sections: dict[str, str] = field(default_factory=dict[str, str])
    text: str = ""
    section: str = ""
    parts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """(section, text), of which `sections` and `text` are made at the end."""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        self.attributes += [(k, v or "") for k, v in attrs]
        if given.get("id"):
            self.ids.append(given["id"] or "")
        if tag == "section":
            self.section = given.get("id") or ""
        if tag == "svg":
            self.pictures.append(given)
        for key in ("href", "src", "xlink:href"):
            if key in given:
                self.links.append(given[key] or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.wrong.append(f"</{tag}> in {self.open[-3:]}")
            return
        self.open.pop()
        self.handle_data(" ")

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.parts.append((self.section, data))

    def close(self) -> None:
        super().close()
        self.text = "".join(data for _, data in self.parts)
        for name in dict.fromkeys(name for name, _ in self.parts if name):
            self.sections[name] = "".join(d for n, d in self.parts if n == name)


@cache
def _read(text: str) -> Found:
    found = Found()
    found.feed(text)
    found.close()
    return found


@pytest.fixture(scope="session")
def refuted() -> JudgeVerdict:
    """What the judge says of the sample's kernel with a mistake."""
    verdict = sample_run.check_verdict(sample_run.shifted())
    assert verdict.status == "refuted" and verdict.findings[0].counterexample
    return verdict


Render = Callable[[Callable[[Path], str], State], str]


@pytest.fixture(scope="session")
def render(tmp_path_factory: pytest.TempPathFactory) -> Render:
    """The page of a run that a function writes."""

    def made(make: Callable[[Path], str], state: State = "finished") -> str:
        root = tmp_path_factory.mktemp("runs")
        name = make(root)
        with RunStore(root).read(name) as run:
            return page(run, state)

    return made


@pytest.fixture(scope="session")
def measured(render: Render) -> str:
    return render(sample_run.make, "finished")


@pytest.fixture(scope="session")
def eventful(render: Render, refuted: JudgeVerdict) -> str:
    return render(lambda root: sample_run.make_eventful(root, refuted), "finished")


@pytest.fixture(scope="session")
def undrawn(render: Render) -> Render:
    """As `render`, without plots: others look at them, and they take seconds."""

    def made(make: Callable[[Path], str], state: State = "finished") -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("argus.report.page._drawn", lambda make: "Not drawn.")
            return render(make, state)

    return made


@pytest.fixture(scope="session")
def talkative(undrawn: Render, refuted: JudgeVerdict) -> str:
    return undrawn(lambda root: talking.make(root, refuted), "interrupted")


@pytest.fixture(scope="session")
def read() -> Callable[[str], Found]:
    """A page, parsed."""
    return _read
