"""Conditions: three-valued, safe, and honest about what they do not know."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.knowledge import ConditionError, parse
from few import EVERY

FEATURES = {"M": 100, "BM": 64, "form": "roles", "CAUSAL": True, "ratio": 0.5}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("M > 64", True),
        ("M % BM != 0", True),
        ("M // BM == 1", True),
        ("(M + BM - 1) // BM * 2 == 4", True),
        ("M / BM > 1.5", True),
        ("64 <= M < 100", False),
        ("-1 < M", True),
        ('form == "roles"', True),
        ('form in ("naive", "ring")', False),
        ('form not in ["naive", "ring"]', True),
        ("CAUSAL", True),
        ("not CAUSAL", False),
        ("CAUSAL == False", False),
        ("ratio < 1", True),
        # What is not known.
        ("N > 1", None),
        ("not N > 1", None),
        ("M + N > 1", None),
        ('dtype in ("bf16",)', None),
        ("N > 1 and M > 1", None),
        ("N > 1 and M < 1", False),
        ("M < 1 and N > 1", False),
        ("N > 1 or M > 1", True),
        ("N > 1 or M < 1", None),
        ("M in (N, 100)", True),
        ("M in (N, 101)", None),
        ("64 < M < N", None),
        ("200 < M < N", False),
        # What cannot be compared says nothing either.
        ('M == "100"', None),
        ("form > 3", None),
        ("M // 0 == 1", None),
        ("M", None),
        ("M + 1", None),
    ],
)
def test_evaluation(text: str, expected: bool | None) -> None:
    assert parse(text).evaluate(FEATURES).value is expected


@pytest.mark.parametrize(
    "text",
    [
        "", "M >", "M = 1", "f(M)", "M.real > 1", "M[0] == 1", "lambda: 1", "M is 1",
        "M in N", "[1, 2]", "{1: 2}", "M if M else 1", "M ** 9", "M << 99", "~M",
        "f'{M}'",
        "(M := 2)", "__import__('os')", "None", "b'x' == M", "M\nN", "1j == M", "*M",
        "[x for x in M]", "await M", "M @ N", "...",
    ],
)  # fmt: skip
def test_only_conditions_are_read(text: str) -> None:
    with pytest.raises(ConditionError):
        parse(text)


def test_names_and_reasons() -> None:
    condition = parse('bottleneck == "l2" and M >= 2 * BM')
    assert condition.names == {"bottleneck", "M", "BM"}
    assert "`bottleneck` is not known" in condition.evaluate({"M": 1000, "BM": 64}).why
    no = condition.evaluate({"bottleneck": "l2", "M": 100, "BM": 64})
    assert (no.value, no.why) == (False, "M >= 2 * BM where BM is 64, M is 100")
    yes = condition.evaluate({"bottleneck": "l2", "M": 1000, "BM": 64})
    assert yes.value is True and "bottleneck is 'l2'" in yes.why


TRUTHS = {"a": True, "b": False}
KLEENE = {
    "and": lambda x, y: False if False in (x, y) else None if None in (x, y) else True,
    "or": lambda x, y: True if True in (x, y) else None if None in (x, y) else False,
}


@pytest.mark.parametrize(
    ("x", "word", "y"), list(itertools.product("abc", ("and", "or"), "abc"))
)
def test_kleene_tables(x: str, word: str, y: str) -> None:
    expected = KLEENE[word](TRUTHS.get(x), TRUTHS.get(y))
    assert parse(f"{x} {word} {y}").evaluate(TRUTHS).value is expected


NAMES = st.sampled_from(["M", "N", "BM", "form", "flag"])
NUMBERS = st.one_of(NAMES, st.integers(-9, 9).map(str), st.just("True"))
ATOMS = st.one_of(NUMBERS, st.just("'x'"))


def conditions(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Texts of conditions over these atoms."""
    comparison = st.tuples(atoms, st.sampled_from(["==", "<", ">=", "!="]), atoms)
    member = st.tuples(atoms, st.sampled_from(["in", "not in"]), atoms, atoms)
    return st.recursive(
        st.one_of(
            comparison.map(" ".join),
            member.map(lambda t: f"{t[0]} {t[1]} ({t[2]}, {t[3]})"),
        ),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map(
                lambda t: f"({t[0]}{t[1]}{t[2]})"
            ),
            inner.map(lambda t: f"(not {t})"),
        ),
        max_leaves=8,
    )


VALUES = st.one_of(st.booleans(), st.integers(-9, 9), st.sampled_from(["x", "y"]))


@settings(max_examples=100 if EVERY else 40)
@given(
    conditions(ATOMS), st.dictionaries(NAMES, VALUES), st.dictionaries(NAMES, VALUES)
)
def test_learning_more_never_contradicts(text, known, more) -> None:
    """Never raises; what was true or false stays so when further features are known."""
    condition = parse(text)
    before = condition.evaluate(known).value
    after = condition.evaluate({**more, **known}).value
    assert before is None or after is before


ALL = st.fixed_dictionaries(
    {n: st.integers(-9, 9) for n in ("M", "N", "BM", "form", "flag")}
)


@given(conditions(NUMBERS), ALL)
def test_agrees_with_python(text, features) -> None:
    found = parse(text).evaluate(features).value
    assert found is bool(eval(text, {}, dict(features)))
