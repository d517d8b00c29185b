"""Attention of packed sequences, without a GPU."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from argus import ops  # noqa: E402
from argus.diagnostics import ArgusError  # noqa: E402
from argus.dispatch import LaunchSequence  # noqa: E402
from argus.kernels.varlen_attention import op  # noqa: E402


def _offsets(lengths: list[int]) -> torch.Tensor:
    return torch.tensor([0, *torch.tensor(lengths).cumsum(0)], dtype=torch.int32)


def _attention(q, k, v, rows, keys, left, right, cap, sinks, scale):  # type: ignore[no-untyped-def]
    """In fp64, a sequence and a head at a time: output, logarithms of sums."""
    out, logs = torch.zeros(q.shape).double(), torch.zeros(q.shape[:2]).double().T
    q, k, v = q.double(), k.double(), v.double()
    for a, b, c, d in zip(rows, rows[1:], keys, keys[1:], strict=False):
        place = torch.arange(b - a)[:, None] + (d - c) - (b - a)
        key = torch.arange(d - c)
        for h in range(q.shape[1]):
            g = h * k.shape[1] // q.shape[1]
            s = q[a:b, h] @ k[c:d, g].T * scale
            s = torch.tanh(s / cap) * cap if cap else s
            seen = (left < 0) | (key >= place - left)
            seen = seen & ((right < 0) | (key <= place + right))
            s = torch.where(seen, s, -torch.inf)
            values = v[c:d, g]
            if sinks is not None:
                s = torch.cat([s, sinks[h].double().expand(b - a, 1)], 1)
                values = torch.cat([values, values.new_zeros(1, values.shape[1])])
            e = torch.logsumexp(s, 1)
            some = e > -torch.inf
            logs[h, a:b] = torch.where(some, e, 0)
            out[a:b, h] = torch.where(some[:, None], (s - e[:, None]).exp(), 0) @ values
    return out, logs


@pytest.mark.parametrize(
    ("rows", "keys", "d", "window", "cap", "sinks"),
    [
        ([70, 0, 1, 65], [66, 3, 0, 130], 64, None, None, False),
        ([70, 0, 1, 65], [30, 3, 40, 65], 64, 0, None, False),
        ([5, 1, 0, 3, 1], [5, 90, 2, 64, 1], 32, (20, 0), None, True),
        ([129, 2], [130, 2], 128, None, 2.0, False),
    ],
)
def test_each_sequence_is_attention_of_its_own(
    rows: list[int],
    keys: list[int],
    d: int,
    window: int | tuple[int, int] | None,
    cap: float | None,
    sinks: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARGUS_CHECK", "0")  # proved elsewhere, in seconds
    torch.manual_seed(0)
    q = torch.randn(sum(rows) + 2, 2, d).bfloat16()
    k, v = (torch.randn(sum(keys) + 1, 1, d).bfloat16() for _ in range(2))
    sink = torch.linspace(-1, 2, 2) if sinks else None
    out, logs = torch.full_like(q, 7.0), torch.full((2, len(q)), 7.0)
    causal = window == 0
    given = None if causal else window
    made = ops.varlen_attention(
        q, k, v, _offsets(rows), _offsets(keys), max(rows), causal=causal,
        window=given, softcap=cap, sinks=sink, out=out, logs=logs,
    )  # fmt: skip
    assert made is out
    left, right = (-1, -1) if given is None else given
    ends = [_offsets(x).tolist() for x in (rows, keys)]
    want, sums = _attention(
        q, k, v, *ends, left, 0 if causal else right, cap, sink, d**-0.5
    )
    n = sum(rows)
    error = (out[:n] - want[:n]).norm() / want.norm()
    assert error < 8e-3
    assert (logs[:, :n] - sums[:, :n]).abs().max() < 5e-3
    # Rows of no sequence stay as they were.
    assert bool((out[n:] == 7).all()) and bool((logs[:, n:] == 7).all())


def test_it_is_one_launch_with_views_of_the_offsets() -> None:
    q, table = torch.empty(9, 2, 64), torch.empty(4, dtype=torch.int32)
    found = op._choose(  # pyright: ignore[reportPrivateUsage]
        q, q, q, table, table, q, None, None, 0.1, 1.0, 9, -1, 0, False, True
    )
    assert isinstance(found, LaunchSequence)
    (step,) = found.steps
    assert step.statics["BQ"] == 64 and step.statics["RIGHT"] == 0
    assert [b.position for b in found.bases] == [0, 1, 2, 3, 4, 5]  # type: ignore[union-attr]


def test_without_keys_nothing_is_launched() -> None:
    q, none = torch.ones(3, 2, 64).bfloat16(), torch.empty(0, 1, 64).bfloat16()
    logs, sinks = torch.empty(2, 3), torch.tensor([1.0, 2.0])
    ends = _offsets([1, 2])
    out = ops.varlen_attention(
        q, none, none, ends, _offsets([0, 0]), 2, sinks=sinks, logs=logs
    )
    assert not out.any() and logs.T.tolist() == [[1.0, 2.0]] * 3
    empty = q[:0]
    made = ops.varlen_attention(empty, none, none, ends * 0, ends * 0, 0)
    assert made.shape == empty.shape


def test_what_is_refused() -> None:
    q, ends = torch.ones(3, 2, 24).bfloat16(), _offsets([1, 2])
    with pytest.raises(ArgusError, match="head dimensions"):
        ops.varlen_attention(q, q, q, ends, ends, 2)
    q = torch.ones(3, 2, 64).bfloat16()
    with pytest.raises(ArgusError, match="not of one batch"):
        ops.varlen_attention(q, q, q, ends, ends[:2], 2)
    with pytest.raises(ArgusError, match="cap of scores"):
        ops.varlen_attention(q, q, q, ends, ends, 2, softcap=-1.0)
    with pytest.raises(ArgusError, match="has none of them"):
        ops.varlen_attention(q, q, q, ends, ends, 2, window=(-3, 0))
