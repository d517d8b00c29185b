"""Targets: which devices run their binaries, and where their names are known."""

import pytest

from argus.targets import TARGETS, known_target, target_for_capability


@pytest.mark.parametrize(
    ("capability", "name"),
    [
        ((7, 5), None),
        ((8, 0), "sm_80"),
        ((8, 6), "sm_80"),
        ((8, 9), "sm_80"),
        ((9, 0), "sm_90a"),
        ((9, 1), None),
        ((10, 0), None),
    ],
)
def test_a_device_has_the_target_whose_binaries_it_runs(
    capability: tuple[int, int], name: str | None
) -> None:
    found = target_for_capability(capability)
    assert (None if found is None else found.name) == name


def test_names_are_those_of_the_toolchain() -> None:
    for name, target in TARGETS.items():
        assert name == target.name
        assert name.startswith(f"sm_{target.number}")
        assert target.virtual.removeprefix("compute_") == name.removeprefix("sm_")


def test_another_name_is_refused() -> None:
    assert known_target("sm_90a") == "sm_90a"
    with pytest.raises(ValueError, match="no target gfx942; there are sm_80, sm_90a"):
        known_target("gfx942")
