"""Static parameters of norms that gradients are taken of. None was searched."""

from __future__ import annotations

from argus.diagnostics import fail
from argus.dispatch import (
    Buffer,
    GivenScalar,
    GivenTensor,
    LaunchSequence,
    LaunchStep,
    TensorView,
)
from argus.kernels.norms.choice import row_statics
from argus.kernels.training_norms.kernel import (
    norm_backward,
    norm_forward,
    norm_weights,
)

__all__ = [
    "LONGEST",
    "backward_statics",
    "forward_launch",
    "forward_statics",
    "gradient_launches",
    "require_columns",
]

LONGEST = 16384
"""Columns of a row that is held together with its gradient."""
_EACH = 8
"""Elements of a thread, of each of five tiles."""
_WARP, _MOST_WARPS, _MOST_ROWS = 32, 32, 16
_LEAST = 4
"""Rows of a part, at least."""
_WAVES = 2
"""Parts for each multiprocessor, about: each adds a row to what is summed."""


def require_columns(n: int) -> None:
    """Raises ArgusError AG0801 for rows that are too long to be held."""
    if n > LONGEST:
        raise fail(
            "AG0801",
            None,
            f"rows of {n} columns are longer than {LONGEST}, which a block holds",
            help="ops.rmsnorm and ops.layernorm take rows of any length, without "
            "gradients and outside of torch.compile",
        )


def forward_statics(n: int, bits: int = 16, *, centred: bool) -> dict[str, object]:
    """Those of `norm_forward` for rows of ``n`` elements of so many bits."""
    return {**row_statics(n, bits), "CENTRED": centred}


def backward_statics(m: int, n: int, multiprocessors: int) -> dict[str, object]:
    """Those of `norm_backward` for ``m`` rows of ``n`` elements."""
    columns = max(8, 1 << (n - 1).bit_length())
    warps = min(_MOST_WARPS, max(4, columns // (_WARP * _EACH)))
    rows = min(_MOST_ROWS, max(1, _WARP * _EACH * warps // columns))
    share = -(-m // (_WAVES * multiprocessors))
    length = max(rows, _LEAST, 1 << (share - 1).bit_length())
    return {"BN": columns, "WARPS": warps, "ROWS": rows, "LENGTH": length}


def forward_launch(
    m: int,
    n: int,
    bits: int,
    *,
    centred: bool,
    quantised: bool,
    bias: bool,
    residual: bool,
) -> LaunchSequence:
    """The launch of a call with X, R, W, B, Y, H, statistics, and eps.

    Statistics are f32 (2, M): 1 over the root, and the mean; of results in eight bits
    the scale is the first.
    """
    x, r, w, b, y, h, kept = (GivenTensor(i) for i in range(7))
    first, second = (TensorView(kept, (m,), (1,), i * m) for i in range(2))
    values = (
        *(x, w, None if quantised else y, b if bias else None),
        *((r, h) if residual else (None, None)),
        second if centred and not quantised else None,
        None if quantised else first,
        *((y, first) if quantised else (None, None)),
        GivenScalar(7),
    )
    statics = forward_statics(n, bits, centred=centred)
    return LaunchSequence((LaunchStep(norm_forward, values, statics),))


def gradient_launches(
    m: int, n: int, multiprocessors: int, *, centred: bool, passed: bool
) -> LaunchSequence:
    """Launches of a call with H, W, DY, DH, statistics, DX, DW, DB.

    ``passed``: DH is there, what H gets from elsewhere.
    """
    h, w, dy, dh, kept, dx, dw, db = (GivenTensor(i) for i in range(8))
    statics = backward_statics(m, n, multiprocessors)
    length = int(str(statics["LENGTH"]))
    parts = -(-m // length)
    weights, biases = (Buffer("f32", (parts, n)) for _ in range(2))
    rstd, mean = (TensorView(kept, (m,), (1,), i * m) for i in range(2))
    rest = (mean, biases) if centred else (None, None)
    given = (h, w, dy, rstd, dx, weights, *rest, dh if passed else None)
    summed = (weights, dw, *((biases, db) if centred else (None, None)))
    return LaunchSequence(
        (
            LaunchStep(norm_backward, given, statics),
            LaunchStep(norm_weights, summed, {}),
        )
    )
