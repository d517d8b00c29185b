"""Bugs that show for some trip counts only: none, one, fewer than stages, later tiles.

The counterexample's sizes are such that the loop iterates that often.
"""

from __future__ import annotations

import pytest

from argus.ir.program import Program
from argus.verify.verdict import Obligation, Verdict
from verifier.order.check_order import ROOT, failing, placed, source_of, told

RESET = "        for bm, _ in ag.persistent_tiles(ag.cdiv(M, BM), 1):\n"


def _found(program: Program, rule: str, line: int | None = None) -> Obligation:
    bad = failing(program)
    of = [o for o in bad if o.verdict is Verdict.REFUTED and o.rule == rule]
    assert of, told(bad)
    assert line is None or line in {o.span.line for o in of}, told(bad)
    return of[0]


def _iterations(found: Obligation, step: int = 64) -> int:
    assert found.counterexample is not None
    return -(-found.counterexample.sizes["K"] // step)


def _line(text: str, piece: str, number: int = 0) -> int:
    lines = [i for i, x in enumerate(text.splitlines(), 1) if piece in x]
    return lines[number]


PEELED = (ROOT / "docs/tutorial/step5_persistent.py").read_text()
LOOPS = ("for k in ag.range(0, K, BK)", "for _ in ag.range(BK, K, BK)")
NAMES = "    N = B.shape[0]\n"


def _peeled(stop: str, required: str = "") -> str:
    """The first product is outside the loop; ``stop``: where both loops end."""
    text = PEELED
    for loop in LOOPS:
        assert loop in text
        text = text.replace(loop, loop.replace(" K,", f" {stop},"))
    assert NAMES in text
    return text.replace(NAMES, NAMES + required)


def test_no_launch_has_an_empty_dimension() -> None:
    """Of K = 1 there is a product, rounded up."""
    bad = failing(placed(_peeled("K")))
    assert not bad, told(bad)


@pytest.mark.parametrize("least", [0, 3, 33])
def test_less_than_a_tile_is_no_iteration(least: int) -> None:
    """Rounded down, K = 16 is no tile; K = 0 is walked for it and admitted nowhere."""
    text = _peeled("K // BK * BK", f'    ag.require(K >= {least}, "a few")\n')
    found = _found(placed(text), "AG0403", _line(text, "slot = ring.wait()"))
    assert found.counterexample is not None
    assert least <= found.counterexample.sizes["K"] < 64
    assert found.counterexample.sizes["K"] > 0


def test_a_tile_rounded_down_is_there_where_that_is_required() -> None:
    text = _peeled("K // BK * BK", '    ag.require(K >= 64, "a tile")\n')
    bad = failing(placed(text))
    assert not [o for o in bad if o.verdict is Verdict.REFUTED], told(bad)


def test_a_scalar_may_be_none() -> None:
    """What is called like a size and stands in no tensor may be 0."""
    text = _peeled("count * BK").replace("    *,", "    count: i32,\n    *,", 1)
    text = text.replace("import bf16", "import bf16, i32")
    found = _found(placed(text), "AG0403", _line(text, "slot = ring.wait()"))
    assert found.counterexample is not None
    assert found.counterexample.sizes["count"] <= 0


def test_fewer_iterations_than_fills() -> None:
    """The first two fills are there even where only one is drained."""
    text = source_of("products")
    head = "        n = 0\n        for k in ag.range(0, K, BK):\n            empty"
    fill = """            full[n % STAGES].expect((BM + BN) * BK * 2)
            a[n % STAGES].copy(A[bm * BM :, k:], full[n % STAGES])
            b[n % STAGES].copy(B[bn * BN :, k:], full[n % STAGES])
            n += 1
"""
    assert head in text
    early = fill.replace(", k:]", ", s * BK :]")
    text = text.replace(
        head,
        "        n = 0\n        for s in ag.static_range(2):\n"
        + early
        + "        for k in ag.range(2 * BK, K, BK):\n            empty",
    )
    found = _found(placed(text, "products"), "AG0421")
    assert _iterations(found) < 2


def test_more_iterations_than_stages() -> None:
    """Without a wait for free slots, the first round goes well."""
    text = source_of("tiles")
    wait = "                empty[n % STAGES].wait(n // STAGES - 1)\n"
    assert wait in text
    text = text.replace(wait, "")
    found = _found(placed(text, "tiles"), "AG0401", _line(text, "].copy("))
    assert found.counterexample is not None
    assert _iterations(found) > 0


def test_each_tile_starts_from_the_first_slot_in_one_role() -> None:
    text = source_of("tiles")
    first, second = text.split('    with ag.role("use"')
    second = second.replace(RESET, RESET + "            n = 0\n")
    text = first + '    with ag.role("use"' + second
    bad = failing(placed(text, "tiles"))
    assert bad[0].verdict is Verdict.REFUTED
    assert {"AG0402", "AG0403", "AG0404"} & {o.rule for o in bad[:3]}, told(bad)


def test_each_tile_starts_from_the_first_slot_in_both_roles() -> None:
    """Right where the iterations of a tile are a multiple of two rounds, and not
    else."""
    text = source_of("tiles").replace(RESET, RESET + "            n = 0\n")
    bad = failing(placed(text, "tiles"))
    assert bad[0].verdict is Verdict.REFUTED, told(bad)
    assert "AG0404" in {o.rule for o in bad if o.verdict is Verdict.REFUTED}, told(bad)


def test_a_role_that_does_one_tile_more() -> None:
    text = source_of("tiles")
    first, second = text.split('    with ag.role("use"')
    late = "for k in ag.range(0, K, BK):"
    second = second.replace(late, "for k in ag.range(0, K + BK * (bm // 5), BK):")
    text = first + '    with ag.role("use"' + second
    bad = failing(placed(text, "tiles"))
    # How often the loop iterates depends on the tile: not followed, but never proved.
    assert bad, "proved"


def test_without_a_bug_it_is_proved() -> None:
    bad = failing(placed(source_of("tiles"), "tiles"))
    assert not bad, told(bad)
