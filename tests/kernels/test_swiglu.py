"""SwiGLU of two products is what torch computes. No GPU."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from argus.kernels.swiglu.kernel import swiglu_sm90  # noqa: E402
from argus.kernels.swiglu.op import statics_for  # noqa: E402


@pytest.mark.parametrize(
    ("m", "n", "k", "processors"),
    [(1, 72, 64, 132), (64, 136, 200, 2), (130, 200, 136, 132), (256, 256, 64, 2)],
)
def test_it_is_what_torch_computes(
    m: int, n: int, k: int, processors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row, few rows of wide and narrow tiles, a cluster and none."""
    monkeypatch.setenv("ARGUS_CHECK", "0")
    torch.manual_seed(0)
    x, both = torch.randn(m, k).bfloat16(), torch.randn(2 * n, k).bfloat16()
    out = torch.empty(m, n).bfloat16()
    swiglu_sm90(x, both[:n], both[n:], out, **statics_for(m, n, processors))
    gate, up = (x.double() @ w.double().T for w in (both[:n], both[n:]))
    want = torch.nn.functional.silu(gate) * up
    assert (out.double() - want).norm() / want.norm() < 5e-3


def test_tiles_follow_rows_and_columns() -> None:
    assert statics_for(16, 1408, 132)["BN"] == 32
    assert statics_for(16, 14336, 132)["BN"] == 128
    assert statics_for(8192, 14336, 132) == {"CLUSTER": 2}
    assert statics_for(100, 1408, 132) == {"CLUSTER": 1}
