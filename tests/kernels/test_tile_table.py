"""The table of a grouped product's tiles is proved for every call. No GPU."""

from argus.evaluation.proving import proved_all
from argus.kernels.grouped.kernel import tile_table
from argus.specialisations import SpecialisationSpace
from argus.verify.verdict import Verdict


def test_it_is_proved_for_every_call() -> None:
    space = SpecialisationSpace.of(tile_table.signature)
    for rows in (64, 128):
        found = proved_all(tile_table, {"BM": rows}, "sm_90a", space, fresh=True)
        assert found.report.verdict >= Verdict.PROVED
