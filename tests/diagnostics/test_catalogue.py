"""The catalogue: numbers, categories, and the wording of the entries."""

import re

import pytest

from argus.diagnostics import CATALOGUE, Diagnostic, UnknownCodeError, fail, lookup
from argus.diagnostics import catalogue as package
from argus.diagnostics.catalogue import Code, _join

GROUPS = {
    "source": "AG00",
    "types": "AG01",
    "shapes": "AG02",
    "invariants": "AG03",
    "order": "AG04",
    "resources": "AG05",
    "target": "AG06",
    "build": "AG07",
    "launch": "AG08",
    "environment": "AG09",
    "optimizer": "AG10",
}


@pytest.mark.parametrize("code", CATALOGUE)
def test_wording(code: str) -> None:
    entry = lookup(code)
    assert entry.code == code
    assert re.fullmatch(r"AG\d{4}", code)
    assert not entry.title.endswith(".")
    assert not re.match(r"[A-Z][a-z]", entry.title), "a title starts in lower case"
    assert len(entry.title) <= 80
    assert entry.explanation.endswith(".")
    assert "  " not in entry.explanation


def test_titles_are_told_apart() -> None:
    titles = [entry.title for entry in CATALOGUE.values()]
    assert len(titles) == len(set(titles))


@pytest.mark.parametrize(("name", "prefix"), GROUPS.items())
def test_each_group_holds_its_own_range_in_order(name: str, prefix: str) -> None:
    codes: list[Code] = list(getattr(package, name).CODES)
    assert codes
    assert all(c.code.startswith(prefix) and c.category == name for c in codes)
    assert [c.code for c in codes] == sorted(c.code for c in codes)


def test_a_code_that_stands_twice_is_refused() -> None:
    entry = lookup("AG0101")
    with pytest.raises(ValueError, match="AG0101 stands in the catalogue twice"):
        _join([entry], [entry])


def test_an_unknown_code_is_a_fault_of_the_caller() -> None:
    with pytest.raises(UnknownCodeError, match="AG9999"):
        Diagnostic("AG9999", "never", None)
    with pytest.raises(UnknownCodeError, match="AG9999"):
        fail("AG9999", None, "never")
