"""Baselines that this torch does not have are left out, and each is called once."""

from argus.evaluation.timing import working


def test_only_those_that_work() -> None:
    called: list[str] = []

    def missing() -> None:
        called.append("missing")
        raise RuntimeError("No available kernel. Aborting execution.")

    found = working({"a": lambda: called.append("a"), "b": missing})
    assert list(found) == ["a"]
    assert called == ["a", "missing"]
