"""Plans that were measured change what the table says of launches. No GPU."""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from argus.kernels.gemm.tiles import Table, read_table

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "src" / "argus" / "kernels" / "gemm" / "tiles.json"


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("ARGUS_CHECK", "0")  # the module sets it where it is not set
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    spec = importlib.util.spec_from_file_location(
        "gemm_plans", ROOT / "benchmarks" / "gemm_plans.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "gemm_plans", module)
    spec.loader.exec_module(module)
    return module


def few_tiles() -> Table:
    """Every ninth tile, of each form some."""
    raw = json.loads(TABLE.read_text())
    return read_table({**raw, "tiles": raw["tiles"][::9], "fastest": []})


def measured(plans: Any, found: Table, truth: Table, file: Path) -> list[Any]:
    """What `measure` would write on a machine that is as another table says."""
    lines: list[str] = []
    for size in plans.sizes(60, 5):
        rows = [
            (p.tile.form, [*p.tile.statics.values()], p.parts, p.copies,
             plans.predicted(
                 truth,
                 replace(p, tile=truth.tiles[found.tiles.index(p.tile)]),
                 *size, plans.rows_of(size[2]),
             ))
            for p in plans.likely(found, size, 9)
        ]  # fmt: skip
        lines.append(json.dumps({"size": size, "cublas": 10.0, "plans": rows}))
    file.write_text("\n".join(lines))
    return plans.read(found, [file])


def error(plans: Any, found: Table, given: list[Any]) -> float:
    """The mean logarithm of predicted by measured times, without its sign."""
    logs = [abs(math.log(plans._predicted(found, x) / x.us)) for x in given]
    return sum(logs) / len(logs)


def test_ragged_results_that_take_longer_are_found(plans: Any, tmp_path: Path) -> None:
    found = few_tiles()
    slower = tuple(
        replace(
            t,
            times=(1.1 * t.times[0], *t.times[1:]),
            ragged=tuple(3 * r + 0.5 for r in t.ragged),
        )
        for t in found.tiles
    )
    truth = replace(found, tiles=slower, beyond=(found.beyond[0], 0.4))
    given = measured(plans, found, truth, tmp_path / "measured.jsonl")
    assert len(given) > 200
    refined = plans.refined(found, given)
    assert error(plans, refined, given) < 0.3 * error(plans, found, given)
    for tile, before in zip(refined.tiles, found.tiles, strict=True):
        assert tile.times[1:-1] == before.times[1:-1]  # measured alone


def test_the_table_stays_where_it_is_right(plans: Any, tmp_path: Path) -> None:
    found = few_tiles()
    given = measured(plans, found, found, tmp_path / "measured.jsonl")
    refined = plans.refined(found, given)
    assert error(plans, refined, given) < 0.03


def test_a_table_that_is_fitted_again_is_read(plans: Any, tmp_path: Path) -> None:
    """Of tiles that keep their numbers, as `gemm_tiles.py` writes them."""
    fit = importlib.import_module("gemm_fit")
    raw = json.loads(TABLE.read_text())
    size = (64, 64, 64)
    data = {**raw, "measured": [(size, {"cublas": 9.0, "persistent": 9.0})]}
    fit.write_table(data, tmp_path / "tiles.json")
    made = read_table(json.loads((tmp_path / "tiles.json").read_text()))
    assert [t.ragged for t in made.tiles] == [tuple(t["ragged"]) for t in raw["tiles"]]
    assert made.beyond == tuple(raw["beyond"])
