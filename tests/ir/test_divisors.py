"""Facts that are asked alike make the same program: what `Given` notes is enough."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import argus.kernels
from argus.diagnostics import ArgusError
from argus.evaluation.exploring import fingerprint_of
from argus.ir import dtypes
from argus.ir.divisors import Given, ask, define, divides, settled, take, working
from argus.ir.expr import Sym
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request, placed_program
from argus.specialisations import DIVISORS

N = Sym("N", "dim")


def asked(**facts: int) -> tuple[Given, dict[str, int]]:
    record = Given(facts)
    known = working(record)
    take(known, record, "N", 16)
    return record, known


def test_an_answer_that_changes_tells_facts_apart() -> None:
    record, known = asked(N=8)
    assert divides(known, 4, N * 2)
    assert not divides(known, 32, N * 2)
    assert record.answers_alike({"N": 2}) and record.answers_alike({"N": 8})
    assert not record.answers_alike({"N": 1})
    assert not record.answers_alike({}), "16 divides what is not named"


def test_what_follows_from_facts_is_followed() -> None:
    record, known = asked(N=8)
    define(known, "half", lambda facts: facts["N"] // 2, least=2)
    assert ask(known, lambda facts: facts.get("half", 1) >= 2)
    assert record.answers_alike({"N": 4})
    assert not record.answers_alike({"N": 2})


@pytest.mark.parametrize(
    "read",
    [
        lambda facts: facts["N"],
        lambda facts: facts.get("N", 1),
        dict,
        lambda facts: {**facts},
        lambda facts: sorted(facts.items()),
        lambda facts: list(facts.values()),
        lambda facts: facts == {"N": 8},
        lambda facts: facts.copy(),
    ],
)
def test_who_reads_a_number_asks_for_the_number(read) -> None:
    record, known = asked(N=8)
    read(known)
    assert record.answers_alike({"N": 8})
    assert not record.answers_alike({"N": 4})


def test_facts_change_in_one_way_only() -> None:
    record, known = asked(N=8)
    for change in (
        lambda: known.update(N=1),
        lambda: known.pop("N"),
        lambda: known.setdefault("M", 2),
    ):
        with pytest.raises(TypeError, match="define"):
            change()
    known["M"] = 4
    assert settled(known) == {"N": 8, "M": 4}
    assert record.answers_alike({"N": 1})


@cache
def kernels(family: str) -> Mapping[str, Kernel]:
    file = Path(argus.kernels.__path__[0]) / family / "kernel.py"
    return load_kernels(str(file), file.read_text()).kernels


LIBRARY = [
    ("gemm", "gemm_sm80", "sm_80"),
    ("gemm", "gemm_sm90", "sm_90a"),
    ("layernorm", "layernorm", "sm_90a"),
]


def _become(request: Request) -> str:
    try:
        return fingerprint_of(placed_program(request))
    except ArgusError as error:
        return error.diagnostics[0].message


@pytest.mark.parametrize(("family", "name", "target"), LIBRARY)
@settings(max_examples=8)
@given(data=st.data())
def test_alike_answers_make_one_program(family, name, target, data) -> None:
    kernel = kernels(family)[name]
    types = {t.name: dtypes.bf16 for t in kernel.signature.tensors if not t.optional}
    numbers = st.sampled_from(DIVISORS)
    symbols = list(kernel.signature.dims) + [f"{n}_s0" for n in types]
    one, other = (
        data.draw(st.fixed_dictionaries(dict.fromkeys(symbols, numbers)))
        for _ in range(2)
    )
    record = Given(one)
    became = _become(Request(kernel, types, {}, target, record))
    assert record.answers_alike(one)
    assert _become(Request(kernel, types, {}, target, one)) == became
    if record.answers_alike(other):
        assert _become(Request(kernel, types, {}, target, other)) == became
