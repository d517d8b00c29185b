"""A record with the quick constructor is the one that `dataclass` makes."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from argus.ir.expr import Sym, binary, select, symbols
from argus.ir.quickly_made import quickly_made


@dataclass(frozen=True, slots=True)
class Slow:
    first: int
    second: str = "b"
    third: list[int] = field(default_factory=list[int])


@quickly_made
@dataclass(frozen=True, slots=True)
class Quick:
    first: int
    second: str = "b"
    third: list[int] = field(default_factory=list[int])


def test_the_same_arguments_make_the_same_fields() -> None:
    made: list[tuple[Slow, Quick]] = [
        (Slow(1), Quick(1)),
        (Slow(1, "c", third=[2]), Quick(1, "c", third=[2])),
        (Slow(first=3), Quick(first=3)),
    ]
    for slow, quick in made:
        assert repr(slow).replace("Slow", "Quick") == repr(quick)
    assert Quick(1).third is not Quick(1).third
    assert replace(Quick(1), second="d") == Quick(1, "d")
    assert pickle.loads(pickle.dumps(Quick(1))) == Quick(1) == copy.deepcopy(Quick(1))


def test_it_stays_as_it_is_made() -> None:
    with pytest.raises(FrozenInstanceError):
        Quick(1).first = 2  # type: ignore[misc]
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        Quick()  # type: ignore[call-arg]


def test_what_is_made_in_another_way_is_refused() -> None:
    @dataclass(frozen=True)
    class Open:
        first: int

    @dataclass(frozen=True, slots=True)
    class Checked:
        first: int

        def __post_init__(self) -> None:
            assert self.first

    @dataclass(frozen=True, slots=True)
    class Derived:
        first: int = field(init=False, default=1)

    for cls in (Open, Checked, Derived):
        with pytest.raises(TypeError):
            quickly_made(cls)


def test_what_expressions_remember_is_no_part_of_them() -> None:
    n = Sym("n", "dim")
    made = select(binary("<", n, 4), binary("//", n, 2), n)
    asked = select(binary("<", n, 4), binary("//", n, 2), n)
    assert symbols(asked) == (n, n, n)
    assert len({made, asked}) == 1
    again = pickle.loads(pickle.dumps(asked))
    assert pickle.dumps(asked) == pickle.dumps(made)
    assert again == asked == copy.copy(asked)
    assert not hasattr(again, "_hash")
    assert not hasattr(again, "occurring")
