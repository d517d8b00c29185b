"""The forms of a report: text, JSON, SARIF, HTML."""

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from argus.diagnostics import render_all
from argus.ir import ops as o
from argus.verify.render.checked import CheckedKernel
from argus.verify.render.data import report_json, report_of
from argus.verify.render.diagnostics import diagnostics
from argus.verify.render.page import page
from argus.verify.render.picture import COLUMNS, ROWS, panels
from argus.verify.render.sarif import sarif
from argus.verify.verdict import (
    Equality,
    Obligation,
    Placed,
    Report,
    Specialised,
    Verdict,
)

sys.path.insert(0, str(Path(__file__).parent))
from reports import GEMM, checked, first, placed, report


@pytest.fixture
def program(tmp_path: Path):
    return placed(tmp_path, GEMM)


def text(program, tmp_path: Path) -> str:
    found = diagnostics(report(program))
    return render_all(found, width=110).replace(f"{tmp_path}/", "")


def test_the_text(program, tmp_path: Path, golden) -> None:
    golden("report.txt", text(program, tmp_path) + "\n")


def test_a_proved_obligation_says_nothing(program) -> None:
    whole = report(program)
    # Five that are not proved, and the disagreement.
    assert len(diagnostics(whole)) == 6


def test_json_and_back(program) -> None:
    whole = report(program)
    data = json.loads(json.dumps(report_json(whole), allow_nan=False))
    assert report_of(data) == whole
    assert data["verdict"] == "refuted"
    assert data["obligations"][0]["counterexample"]["place"] == {
        "role": "math", "thread": 165, "block": 0, "iteration": {"k": 192},
    }  # fmt: skip


def test_another_version_of_json_is_refused(program) -> None:
    data = report_json(report(program))
    with pytest.raises(ValueError, match="version 99"):
        report_of({**data, "version": 99})


class TestSarif:
    """The properties that SARIF 2.1.0 requires (section 3), by hand."""

    def test_required_properties(self, program, monkeypatch, tmp_path) -> None:
        monkeypatch.chdir(tmp_path)
        log = sarif([checked(program)], "1.2")
        assert log["version"] == "2.1.0"
        (run,) = log["runs"]
        driver = run["tool"]["driver"]
        assert driver["name"] == "Argus"
        ids = [rule["id"] for rule in driver["rules"]]
        assert len(set(ids)) == len(ids)
        for result in run["results"]:
            assert ids[result["ruleIndex"]] == result["ruleId"]
            assert result["message"]["text"]
            assert result["level"] in ("none", "error", "warning")
            assert (result["kind"] == "fail") or result["level"] == "none"
            (place,) = result["locations"]
            where = place["physicalLocation"]
            assert where["artifactLocation"]["uri"] == "k.py"
            region = where["region"]
            assert 1 <= region["startLine"] <= region["endLine"]
            assert region["startColumn"] >= 1
            for flow in result.get("codeFlows", []):
                assert flow["threadFlows"]
                for thread in flow["threadFlows"]:
                    assert thread["locations"]

    def test_levels(self, program) -> None:
        (run,) = sarif([checked(program)], "1.2")["runs"]
        said = [(r["ruleId"], r["kind"], r["level"]) for r in run["results"]]
        assert said == [
            ("AG0301", "fail", "error"),
            ("AG0401", "fail", "error"),
            ("AG0305", "fail", "error"),
            ("AG0319", "fail", "error"),
            ("AG0390", "open", "none"),
            ("AG0511", "fail", "warning"),
        ]

    def test_the_way_of_an_element_is_a_code_flow(self, program) -> None:
        (run,) = sarif([checked(program)], "1.2")["runs"]
        (flow,) = run["results"][0]["codeFlows"]
        texts = [
            [x["location"]["message"]["text"] for x in t["locations"]]
            for t in flow["threadFlows"]
        ]
        assert texts[0][:2] == ["left: loaded into slot 3", "left: read"]
        assert texts[1][0] == "right: loaded"


class _Page(HTMLParser):
    """Well formed, and nothing from elsewhere."""

    VOID = ("meta", "br", "link", "img", "input", "hr")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href") and not (value or "").startswith("#"):
                self.outside.append(value or "")

    def handle_startendtag(self, tag, attrs) -> None:
        pass

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag


class TestPage:
    def test_it_stands_alone(self, program) -> None:
        html = page([checked(program)], "1.2")
        parser = _Page()
        parser.feed(html)
        parser.close()
        assert parser.open == []
        assert parser.outside == []
        assert "url(" not in html and "@import" not in html and "<script" not in html

    def test_it_says_what_the_text_says(self, program) -> None:
        html = page([checked(program)], "1.2")
        for found in diagnostics(report(program)):
            if found.code != "AG0319":
                assert found.message.replace("'", "&#39;") in html
        assert "K = 208 on the left" in html
        assert "The interpreter does not show this" in html
        assert "<b>trust</b> &lt;b&gt;" in html, "text is escaped"
        assert html.count('class="moment') == 3

    def test_pictures_mark_the_element(self, program) -> None:
        left, right = panels(program, report(program).obligations[0])
        (grid,) = left.grids
        assert grid.level == "shared memory"
        assert grid.cells.shape == (ROWS, COLUMNS)
        r, c = grid.marked[0] - grid.row, grid.marked[1] - grid.column
        # 128-byte swizzle: row 37, column 16 is chunk 2 of its row, xor 37 % 8.
        offset = 37 * 128 + ((2 ^ 37 % 8) * 16)
        assert grid.cells[r, c] == offset // 4 % 32
        (region,) = left.regions
        assert (region.at, region.size) == ((0, 192), (128, 64))
        assert right.regions[0].marked == (0, 144)

    def test_pictures_of_registers(self, program) -> None:
        obligation = report(program).obligations[2]
        (panel,) = panels(program, obligation)
        (grid,) = panel.grids
        assert grid.level == "registers"
        r, c = grid.marked[0] - grid.row, grid.marked[1] - grid.column
        # wgmma accumulators: row 5 is held by lanes 20 to 23, column 64 by the first.
        assert grid.cells[r, c] == 20

    def test_every_drawing_has_a_name(self, program) -> None:
        html = page([checked(program)], "1.2")
        assert (
            len(re.findall("<svg ", html)) == len(re.findall("aria-label=", html)) > 3
        )

    def test_it_says_what_is_known_of_the_kernel(self, program) -> None:
        named = checked(program)
        assert named.report is not None
        open_ = Equality(
            "ref", False, "no rule", axioms=("nothing is rounded",), tried=2
        )
        risk = Obligation("AG0331", "sums fit", first(program, o.Dot).span,
                          Verdict.REFUTED)  # fmt: skip
        whole = replace(named.report, equality=open_, risks=(risk,))
        html = page([replace(named, report=whole)], "1.2")
        for said in (
            "gemm (256x256)", "BM=128", "98352 bytes shared", "nothing is rounded",
            "not shown equal to `ref`: no rule; 2 runs found no difference", "1 risk",
        ):  # fmt: skip
            assert said in html, said

    def test_no_specialisation_has_a_better_word_than_its_kernel(self, program) -> None:
        """What is refuted by a reference is refuted of each."""
        named = checked(program)
        assert named.report is not None
        one = Placed("N divisible by 4", Verdict.PROVED, {}, {})
        about = Specialised("N", 1, (one,))
        wrong = replace(named.report, specialised=about)
        right = replace(wrong, obligations=wrong.obligations[-2:])
        for whole, word in ((wrong, "refuted"), (right, "proved")):
            html = page([replace(named, report=whole)], "1.2")
            assert f"<td>{word}</td><td>N divisible by 4</td>" in html


def test_one_reason_is_told_once(tmp_path: Path) -> None:
    """Of many obligations that one gap leaves open, the first says how many."""
    program = placed(tmp_path, GEMM)
    span = first(program, o.Dot).span
    many = tuple(
        Obligation(f"AG040{i}", f"claim {i}", span, Verdict.UNKNOWN, "", "no period")
        for i in range(1, 6)
    )
    other = Obligation("AG0301", "K agrees", span, Verdict.UNKNOWN, "", "timeout")
    found = diagnostics(Report("gemm", "sm_90a", (*many, other)))
    assert [d.message for d in found] == [
        "it is not known whether claim 1",
        "it is not known whether K agrees",
    ]
    assert found[0].notes[-1] == (
        "for the same reason 4 other obligations are not decided, at "
        f"line {span.line}: AG0402, AG0403, AG0404, AG0405"
    )
    whole = Report("gemm", "sm_90a", (*many, other))
    html = page([CheckedKernel("gemm", "sm_90a", (), whole, lambda _: program)], "1.2")
    assert html.count('class="finding"') == 2
    assert "for the same reason 4 other obligations" in html
