"""Attention under windows, soft caps and sinks, without a GPU."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from argus.dispatch import LaunchSequence  # noqa: E402
from argus.equivalence.references import reference_of  # noqa: E402
from argus.equivalence.traced import decided  # noqa: E402
from argus.evaluation.arrays import NumpyArrays  # noqa: E402
from argus.evaluation.requests import default_dtypes  # noqa: E402
from argus.ir.dtypes import bf16, f32  # noqa: E402
from argus.kernels.attention import op  # noqa: E402
from argus.kernels.masked_attention.kernel import masked_attention  # noqa: E402
from argus.requests import Request  # noqa: E402
from few import rest  # noqa: E402
from kernels.launching import execute  # noqa: E402

ALL = -1
_SHORT = {"D": 64, "BQ": 64, "BT": 64, "WARPGROUPS": 1}


def _sequence(
    sizes: tuple[int, ...], sinks: bool, left: int, right: int, capped: bool
) -> LaunchSequence:
    """What is launched for logarithms, too."""
    b, h, s, _, d = sizes
    q, logs = torch.empty(b, h, s, d), torch.empty(b, h, s)
    return op._choose_masked(  # pyright: ignore[reportPrivateUsage]
        q, q, q, q, logs, 0.3, 1.0, logs if sinks else None, left, right, capped
    )


@pytest.mark.parametrize(
    ("sizes", "left", "right", "cap", "sinks"),
    [
        ((2, 2, 200, 200, 64), 70, 0, 0.0, True),
        ((2, 4, 130, 300, 32), 5, 64, 0.0, False),
        ((2, 2, 70, 260, 64), ALL, 0, 1.5, True),
        ((2, 2, 100, 90, 128), 200, ALL, 2.0, False),
        ((2, 2, 65, 65, 256), 1, 0, 0.0, False),
    ],
)
def test_scores_are_masked_and_capped(
    sizes: tuple[int, ...], left: int, right: int, cap: float, sinks: bool
) -> None:
    b, h, s, t, d = sizes
    arrays, groups = NumpyArrays(5), 2
    q = arrays.normal(bf16, (b, h, s, d))
    k, v = (arrays.normal(bf16, (b, groups, t, d)) for _ in range(2))
    out, logs = arrays.poisoned(bf16, q.shape), arrays.poisoned(f32, q.shape[:3])
    sink = np.linspace(-2, 3, h).astype(np.float32)
    sequence = _sequence(sizes, sinks, left, right, cap > 0)
    values = (q, k, v, out, logs, 0.3, cap or 1.0, sink if sinks else None)
    execute(sequence, values, (bf16, bf16, bf16, bf16, f32, None, None, f32))

    eq, ek, ev = (arrays.exact(x, bf16) for x in (q, k, v))
    ek, ev = (np.repeat(x, h // groups, axis=1) for x in (ek, ev))
    scores = np.einsum("bhsd,bhtd->bhst", eq, ek) * 0.3
    if cap:
        scores = np.tanh(scores / cap) * cap
    apart = np.arange(t) - np.arange(s)[:, None]
    seen = (left == ALL) | (apart >= -left)
    scores[..., ~(seen & ((right == ALL) | (apart <= right)))] = -np.inf
    total = np.logaddexp.reduce(scores, axis=-1)
    if sinks:
        total = np.logaddexp(total, sink[:, None])
    want = np.exp(scores - total[..., None]) @ ev
    found = arrays.exact(out, bf16)
    assert np.linalg.norm(found - want) < 8e-3 * np.linalg.norm(want)
    assert np.abs(logs - total).max() < (5e-3 if cap else 1e-3)


def test_blocks_of_keys_outside_of_the_window_are_not_read() -> None:
    """What is not a number there reaches no result."""
    arrays = NumpyArrays(5)
    q, k, v = (arrays.normal(bf16, (2, 2, 256, 64)) for _ in range(3))
    out, logs = arrays.poisoned(bf16, q.shape), arrays.poisoned(f32, q.shape[:3])
    k[:, :, :64], v[:, :, :64] = 0x7FC0, 0x7FC0
    sequence = _sequence((2, 2, 256, 256, 64), False, 63, 0, False)
    execute(sequence, (q, k, v, out, logs, 0.3, 1.0, None))
    assert not np.isnan(arrays.exact(out, bf16)[:, :, 128:]).any()
    assert np.isnan(arrays.exact(out, bf16)[:, :, 0]).all()


@pytest.mark.parametrize(
    ("statics", "sinks"),
    [
        # What no case of the library has (those `verifier/proved` compares).
        ({"LEFT": 127, "RIGHT": 64, "OVERLAP": False, "SOFTCAP": True}, False),
        # Two or three blocks of keys, each of which is a case of its own in terms.
        ({"LEFT": 127, "RIGHT": 0, "OVERLAP": False, **_SHORT}, True),
        *rest(({"LEFT": 128, "RIGHT": 0, "OVERLAP": False, **_SHORT}, False)),
    ],
)
def test_it_is_equal_to_its_reference(statics: dict[str, object], sinks: bool) -> None:
    reference = reference_of(masked_attention)
    assert reference is not None
    dtypes = default_dtypes(masked_attention, {"Sinks": f32} if sinks else {})
    request = Request(masked_attention, dtypes, statics, "sm_90a", {})
    made = decided(request, reference, 60.0)
    assert made.equal, made.reason
