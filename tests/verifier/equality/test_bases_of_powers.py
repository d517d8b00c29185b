"""Frequencies of rotary embeddings: a power of a base, and parts of its logarithm."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

ANGLES = """
@ag.kernel
def k(P: f32["S"], Y: f32["S 32"]):
    S = ag.dim("S")
    i = ag.block(ag.cdiv(S, 16))
    p = ag.load(P[i * 16 :], (16,))
    z = ag.zeros((16, 32), f32, dims="S E")
    e = ag.index(z, "E").to(f32)
    Y[i * 16 :, 0:32] = (ag.cos(ag.broadcast(p, z) * {frequency})).rename("S _")


@ag.reference
def ref(P):
    inv = 1.0 / ({base} ** (np.arange(0, 64, 2, dtype=np.float32) / 64))
    return np.cos(P[:, None] * inv[None, :])
"""


@pytest.mark.parametrize(
    ("frequency", "base", "right"),
    [
        ("ag.exp(e * (-2.0 / 64 * 9.210340371976184))", "10000.0", True),
        ("ag.exp(e / -32.0 * 9.210340371976184)", "10000", True),
        ("ag.exp2(e * (-13.287712379549449 / 32))", "10000.0", True),
        ("ag.exp(e * -0.4317347049)", "1000000.0", False),
        ("ag.exp(e * -0.41007385554388526)", "500000.0", True),
        ("ag.exp(e * -0.41007385554388526)", "500001.0", False),
        ("ag.exp(e * (-2.0 / 64 * 9.210340371976184))", "10001.0", False),
        ("ag.exp(e * (-2.0 / 66 * 9.210340371976184))", "10000.0", False),
        ("ag.exp2(e * (-2.0 / 64 * 9.210340371976184))", "10000.0", False),
        ("ag.exp(e * -0.28782313662)", "10000.0", False),
    ],
)
def test_a_part_of_a_logarithm(frequency: str, base: str, right: bool) -> None:
    text = ANGLES.format(frequency=frequency, base=base)
    assert decided_text(text).equal == right
