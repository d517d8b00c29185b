"""Plots and texts: what a page can hold, whatever else is on it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from argus.model.timeline import Stay, Timeline, TimelineLane
from argus.report import plots
from argus.report.figure import VARIABLES, Plot
from argus.report.pipeline import pipeline
from argus.report.sources import difference
from argus.report.text import LONGEST, visible
from argus.report.words import duration, factor, seconds, share

STRANGE = "<b>&\"' a name </text>"
HREF = "href"


def ablation() -> Plot:
    bars = [plots.Bar(STRANGE, 1.5), plots.Bar("b", None, "refuted")]
    return plots.ablation(bars, "measured")


def every() -> list[Plot]:
    attempts = [
        plots.Attempt(0, "start", 50.0),
        plots.Attempt(1, "failed", None, STRANGE),
        plots.Attempt(2, "better", 9.0, STRANGE),
        plots.Attempt(3, "correct", 10.0),
    ]
    points = [
        plots.RooflinePoint("trial 0", 40.0, "start", "#trial-0"),
        plots.RooflinePoint(STRANGE, 300.0, "baseline"),
        plots.RooflinePoint("the best", 400.0, "best", "#trial-2"),
    ]
    stays = (Stay(0, 0.0, 1.0, "copy", 2), Stay(0, 1.0, 2.0, "load"))
    return [
        plots.trajectory(attempts, [plots.Level(STRANGE, 8.0)], "measured"),
        ablation(),
        plots.roofline(plots.Roof(989.0, 4.8, 1300.0), points, "measured"),
        plots.bandwidth(4.8, points, "measured"),
        plots.against([(0, 9.0, 10.0), (1, 90.0, 100.0), (2, 5.0, 6.0)], 2),
        plots.histories([(STRANGE, [(1, 0.5), (3, -0.25)])]),
        pipeline(Timeline((TimelineLane(STRANGE, "threads"),), stays, 1, (7,))),
    ]


@pytest.fixture(scope="module")
def drawn() -> list[Plot]:
    return every()


def local(tag: str) -> str:
    return tag.rpartition("}")[2]


def test_each_is_well_formed_and_says_what_it_is(drawn: list[Plot]) -> None:
    for plot in drawn:
        for text in (plot.wide, plot.narrow):
            root = ElementTree.fromstring(text)
            assert root.attrib["role"] == "img"
            assert root.attrib["aria-label"] == plot.label
            assert local(root[0].tag) == "title" and root[0].text == plot.label
            assert "width" not in root.attrib and "height" not in root.attrib
            assert "viewBox" in root.attrib
            kinds = {local(e.tag) for e in root.iter()}
            assert not kinds & {"style", "metadata", "script"}


def test_their_names_do_not_meet(drawn: list[Plot]) -> None:
    texts = [t for plot in drawn for t in (plot.wide, plot.narrow)]
    names: list[str] = []
    for text in texts:
        root = ElementTree.fromstring(text)
        mine = [e.attrib["id"] for e in root.iter() if "id" in e.attrib]
        used = re.findall(r"url\(#([^)]+)\)", text)
        used += [
            e.attrib[HREF][1:]
            for e in root.iter()
            if local(e.tag) == "use" and HREF in e.attrib
        ]
        assert set(used) <= set(mine)
        names += mine
    assert len(names) == len(set(names))


def test_colours_are_those_of_the_page(drawn: list[Plot]) -> None:
    for plot in drawn:
        bare = re.sub(r"var\(--plot-[a-z-]+, (#[0-9a-f]{6})\)", "", plot.wide)
        # Black is what matplotlib writes where it says nothing: lines of ticks.
        left = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", bare))
        assert left <= {"#000000", "#ffffff"}, plot.name
    assert len(set(VARIABLES.values())) == len(VARIABLES)


def test_marks_say_what_they_are_and_lead_there(drawn: list[Plot]) -> None:
    by_name = {p.name: p for p in drawn}
    for text in (by_name["trajectory"].wide, by_name["trajectory"].narrow):
        root = ElementTree.fromstring(text)
        titles = [e.text for e in root.iter() if local(e.tag) == "title"]
        assert f"trial 2, 9.00 µs: {STRANGE}" in titles
        assert f"trial 1: {STRANGE}" in titles
        links = [e.attrib[HREF] for e in root.iter() if local(e.tag) == "a"]
        assert sorted(links) == ["#trial-0", "#trial-1", "#trial-2", "#trial-3"]
    assert "trial 2: 5.00 µs predicted, 6.00 µs measured" in by_name["against"].wide
    assert "1.50×" in by_name["ablation"].wide
    assert "(refuted)" in by_name["ablation"].wide
    assert "copies, loads" in by_name["pipeline"].wide


def test_the_same_numbers_make_the_same_picture(drawn: list[Plot]) -> None:
    assert ablation() == drawn[1]


def test_words() -> None:
    assert duration(0.0341) == "0.0341 µs" and duration(7.586) == "7.59 µs"
    assert duration(131.84) == "131.8 µs" and duration(84_700) == "84.7 ms"
    assert factor(6.004) == "6.00×" and factor(1234.5) == "1,234×"
    assert share(62.4, 100) == "62%" and share(0.2, 100) == "< 1 %"
    assert [seconds(s) for s in (4.25, 59.7, 125, 3780)] == [
        "4.2 s",
        "1 min 0 s",
        "2 min 5 s",
        "1 h 3 min",
    ]


def test_very_long_sources_are_not_compared() -> None:
    many = "\n".join(str(i) for i in range(100_000))
    (said,) = difference(many, many + "\nx")
    assert said.text == "too long to compare: 100000 and 100001 lines"
    assert difference(many, many) == ()


def test_hidden_characters_become_visible_and_long_texts_are_cut() -> None:
    assert visible("a\u202eb\x00c\ud800\n\td") == (
        "a\u27e8U+202E\u27e9b\u27e8U+0000\u27e9c\u27e8U+D800\u27e9\n\td"
    )
    long = visible("x" * (LONGEST + 5))
    assert long.endswith("\n... 5 characters more are left out")
    visible(long).encode()
