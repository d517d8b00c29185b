"""Which attention kernel is chosen, and how few queries are packed. No GPU."""

from __future__ import annotations

from functools import partial
from itertools import product

import pytest

from argus.diagnostics import ArgusError
from argus.kernels.attention.entry import attention_form
from argus.kernels.masked_attention.choice import WIDE, causal_statics
from argus.kernels.masked_attention.kernel import masked_attention
from argus.lang.kernel import literal

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("rows", [1, 64, 65, 4096])
@pytest.mark.parametrize("causal", [False, True])
def test_every_head_dimension_fits(rows: int, causal: bool) -> None:
    """Shared memory holds queries, blocks of keys and values, and the output."""
    for keys, d in product((1, 80, 81, 128, 129, 5000), range(16, 257, 16)):
        _fits(d, rows, causal, keys)


def _fits(d: int, rows: int, causal: bool, keys: int) -> None:
    heads, kernel, given = 1 if rows < 100 else 200, masked_attention, None
    if causal:
        form = partial(causal_statics, d, rows, keys, tma_store=True)
        given = form(heads=heads, multiprocessors=132)
    assert not causal or d <= WIDE or given is not None
    if given is None:
        form = partial(attention_form, d, rows, keys, causal=causal, tma_store=True)
        kernel, given = form(heads=heads, multiprocessors=132)
    defaults = {s.name: literal(s.default) for s in kernel.signature.statics}
    statics = {**defaults, **given}
    bq, bt = int(str(statics["BQ"])), int(str(statics["BT"]))
    tiles, stages = statics.get("QUERIES", 1), int(str(statics["STAGES"]))
    tiles = int(str(tiles)) + bool(statics.get("TMA_STORE"))
    need = 2 * d * (tiles * bq + 2 * stages * bt)
    assert need + 1024 <= 232448
    assert bq == 64 * int(str(statics["WARPGROUPS"]))
    assert not causal or bq == bt or kernel is masked_attention


@pytest.mark.parametrize(
    ("heads", "rows", "queries"),
    [(256, 128, 128), (256, 300, 192), (128, 2048, 192), (48, 1600, 128), (8, 65, 128)],
)
def test_tiles_of_narrow_heads_fill_waves(heads: int, rows: int, queries: int) -> None:
    """What was faster on an H100, of 4096, 3000, 2048, 1600 keys."""
    form = partial(attention_form, 64, rows, 2048, causal=False, tma_store=True)
    _, statics = form(heads=heads, multiprocessors=132)
    assert statics.get("BQ", 128) == queries


@pytest.mark.parametrize(
    ("heads", "rows", "longer"),
    [
        (32, 10253, True), (256, 3921, True), (32, 4096, True), (8, 8192, True),
        (32, 2048, False), (64, 1024, False), (64, 549, False), (96, 512, False),
    ],
)  # fmt: skip
def test_tiles_of_narrow_heads_under_a_causal_mask(
    heads: int, rows: int, longer: bool
) -> None:
    """What was faster on an H200."""
    found = causal_statics(
        64, rows, rows, tma_store=True, heads=heads, multiprocessors=132
    )
    assert (found is not None) is longer


def test_heads_of_a_group_become_rows() -> None:
    from argus.kernels.attention.op import _packed

    q = torch.arange(2 * 8 * 3 * 16).reshape(2, 8, 3, 16)
    out = torch.empty_like(q)
    rows, into = _packed(q, out, 2)
    assert rows.shape == into.shape == (2, 2, 12, 16)
    assert rows.data_ptr() == q.data_ptr() and into.data_ptr() == out.data_ptr()
    assert torch.equal(rows[1, 1, 4], q[1, 5, 1])


@pytest.mark.parametrize(
    ("shape", "groups"),
    [((2, 8, 65, 16), 2), ((2, 8, 3, 16), 8), ((2, 8, 3, 16), 3), ((2, 8, 3, 16), 0)],
)
def test_others_stay(shape: tuple[int, ...], groups: int) -> None:
    from argus.kernels.attention.op import _packed

    q = torch.zeros(shape)
    assert _packed(q, q, groups)[0] is q


def test_what_is_no_view_stays() -> None:
    from argus.kernels.attention.op import _packed

    q = torch.zeros(2, 3, 8, 16).transpose(1, 2)
    assert _packed(q, torch.empty(2, 8, 3, 16), 2)[0] is q


@pytest.mark.parametrize("d", [8, 40, 272])
def test_other_head_dimensions_are_refused(d: int) -> None:
    from argus import ops

    q = torch.zeros(1, 1, 4, d)
    with pytest.raises(ArgusError, match="AG0801"):
        ops.attention(q, q, q)


@pytest.mark.parametrize(("d", "s"), [(192, 150), (256, 70), (144, 50)])
def test_wide_heads_under_a_causal_mask(
    d: int, s: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have a kernel with tiles of its own, and a buffer that nobody reads."""
    from argus import ops

    monkeypatch.setenv("ARGUS_CHECK", "0")
    torch.manual_seed(d)
    q, k, v = (torch.randn(1, h, s, d).bfloat16() for h in (2, 1, 1))
    want = torch.nn.functional.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), is_causal=True, enable_gqa=True
    )
    found = ops.attention(q, k, v, causal=True).double()
    assert (found - want).norm() < 8e-3 * want.norm()
