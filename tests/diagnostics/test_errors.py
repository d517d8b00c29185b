"""Errors and reporters."""

import json
import pickle

import pytest

from argus.diagnostics import (
    ArgusError,
    Diagnostic,
    ErrorList,
    Label,
    Reporter,
    Span,
    fail,
    register_source,
)


def at(line: int, file: str = "<errors>") -> Span:
    return Span(file, line, 1, line, 2)


def test_fail_makes_one_error() -> None:
    error = fail("AG0101", at(1), "no `x`", label="here", notes=["why"], help="say `y`")
    assert error.diagnostics == (
        Diagnostic(
            "AG0101", "no `x`", at(1), label="here", notes=("why",), help="say `y`"
        ),
    )
    assert error.code == "AG0101"
    assert str(error).startswith("error[AG0101]: no `x`\n")


def test_errors_survive_another_process() -> None:
    error = ErrorList(
        Diagnostic("AG0101", "a", at(1)),
        Diagnostic("AG0201", "b", None, related=(Label(at(2), "there"),)),
    )
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is ErrorList
    assert copy.diagnostics == error.diagnostics


def test_json_is_stable() -> None:
    error = fail(
        "AG0201",
        Span("k.py", 1, 2, 3, 4),
        "shapes differ",
        notes=("left: (M, K)",),
        related=(Label(at(2, "k.py"), "made here"),),
    )
    assert json.dumps(error.to_json()) == (
        '{"version": 1, "diagnostics": [{"code": "AG0201", '
        '"title": "shapes that do not go together", "category": "shapes", '
        '"severity": "error", "message": "shapes differ", '
        '"span": {"file": "k.py", "line": 1, "column": 2, "end_line": 3, '
        '"end_column": 4}, "label": null, "notes": ["left: (M, K)"], "help": null, '
        '"evidence": [], "related": [{"span": {"file": "k.py", "line": 2, "column": 1, '
        '"end_line": 2, "end_column": 2}, "text": "made here"}]}]}'
    )


def test_a_reporter_shows_all_in_the_order_of_the_source() -> None:
    register_source("<errors>", "a\nb\nc\n")
    reporter = Reporter()
    reporter.report("AG0903", None, "no device")
    with reporter.recover():
        raise fail("AG0101", at(3), "third")
    reporter.report("AG0118", at(1), "first", severity="warning")
    with reporter.recover():
        raise fail("AG0101", at(3), "third")  # twice the same counts once
    with pytest.raises(ErrorList) as caught:
        reporter.finish()
    assert caught.value.codes == ("AG0118", "AG0101", "AG0903")
    assert caught.value.code == "AG0101", "the first error, not the warning before it"
    assert str(caught.value).endswith("\n\n2 errors, 1 warning")


def test_one_error_is_no_list() -> None:
    reporter = Reporter()
    reporter.report("AG0101", at(1), "alone")
    with pytest.raises(ArgusError) as caught:
        reporter.finish()
    assert type(caught.value) is ArgusError


def test_a_reporter_without_errors_returns_the_rest() -> None:
    reporter = Reporter()
    assert reporter.finish() == ()
    reporter.report("AG0511", at(1), "8-way bank conflict", severity="slow")
    assert not reporter.has_errors
    assert [d.severity for d in reporter.finish()] == ["slow"]


def test_recover_takes_only_our_errors() -> None:
    with pytest.raises(ZeroDivisionError), Reporter().recover():
        _ = 1 // 0
