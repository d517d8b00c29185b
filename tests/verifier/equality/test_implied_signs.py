"""Comparisons that are decided by those of sides and of factors."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

VECTOR = """
@ag.kernel
def k(X: f32["M"], Z: f32["M"], Y: f32["M"], s: f32 = 0.25):
    ag.require({required}, "what is asked of s")
    m = ag.block(ag.cdiv(X.shape[0], 64)) * 64
    x = ag.load(X[m:], (64,))
    z = ag.load(Z[m:], (64,))
    {before}
    Y[m:] = {value}


@ag.reference
def ref(X, Z, s):
    return {wanted}
"""
LEAKY = "np.where(X > 0, X, s * X)"
DISTANCE = "d = ag.abs(x - z); q = ag.minimum(d, {})"
HUBER = "np.where(abs(X - Z) <= {0}, (X - Z) ** 2 / 2, {0} * (abs(X - Z) - {0} / 2))"


@pytest.mark.parametrize(
    ("required", "value", "wanted", "right"),
    [
        ("(s >= 0.0) & (s <= 1.0)", "ag.maximum(x, s * x)", LEAKY, True),
        ("s <= 1.0", "ag.maximum(x, s * x)", LEAKY, True),
        ("s > 1.0", "ag.minimum(x, s * x)", LEAKY, True),
        ("s >= 0.0", "ag.maximum(x, s * x)", LEAKY, False),
        ("s <= 1.5", "ag.maximum(x, s * x)", LEAKY, False),
        ("s <= 1.0", "ag.minimum(x, s * x)", LEAKY, False),
        ("s <= 1.0", "ag.maximum(x, -s * x)", LEAKY, False),
        ("s <= 1.0", "ag.maximum(s * x, z)", "np.maximum(s * X, Z)", True),
        # a product with data, of which nobody knows the sign
        ("s <= 1.0", "ag.maximum(x, x * z)", "np.where(X > 0, X, X * Z)", False),
        ("s > 0.0", "ag.maximum(s * x, 0.0)", "s * np.maximum(X, 0)", True),
        ("s > -1.0", "ag.maximum(s * x, 0.0)", "s * np.maximum(X, 0)", False),
    ],
)
def test_a_factor_with_a_sign(
    required: str, value: str, wanted: str, right: bool
) -> None:
    text = VECTOR.format(required=required, before="pass", value=value, wanted=wanted)
    assert decided_text(text).equal == right


@pytest.mark.parametrize(
    ("bound", "value", "required", "right"),
    [
        ("1.0", "q * q * 0.5 + (d - q)", "s > 0.0", True),
        ("s", "q * q * 0.5 + s * (d - q)", "s > 0.0", True),
        ("s", "q * q * 0.5 + s * (d - q)", "s > -1.0", True),
        ("1.0", "q * q * 0.5 + (d - 1.0)", "s > 0.0", False),
        ("1.0", "q * q * 0.5 + (x - z - q)", "s > 0.0", False),
        ("s", "q * q * 0.5 + (d - q)", "s > 0.0", False),
    ],
)
def test_a_side_of_an_absolute_value(
    bound: str, value: str, required: str, right: bool
) -> None:
    """Where d is above 0, and its absolute value above 1, d is above 1."""
    first, second = DISTANCE.format(bound).split("; ")
    text = VECTOR.format(
        required=required,
        before=f"{first}\n    {second}",
        value=value,
        wanted=HUBER.format(bound),
    )
    assert decided_text(text).equal == right
