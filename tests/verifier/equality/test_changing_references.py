"""A reference that says something else of each call says nothing."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

KERNEL = """
@ag.kernel
def k(X: f32["M"], Y: f32["M"]):
    M, = X.shape
    m = ag.block(ag.cdiv(M, 64)) * 64
    Y[m:] = ag.load(X[m:], (64,)) + 1.0


"""
CHANGING = {
    "SEEN": """SEEN = []
@ag.reference
def ref(X):
    SEEN.append(1)
    return X + len(SEEN)
""",
    "TOTAL": """TOTAL = {"n": [0]}
@ag.reference
def ref(X):
    TOTAL["n"][0] += 1
    return X + TOTAL["n"][0]
""",
    "N": """N = 0
@ag.reference
def ref(X):
    global N
    N += 1
    return X + N
""",
    "default 0 of ref": """@ag.reference
def ref(X, seen=[]):
    seen.append(1)
    return X + len(seen)
""",
    "ref.n": """@ag.reference
def ref(X):
    ref.n = getattr(ref, "n", 0) + 1
    return X + ref.n
""",
    "W": """W = np.zeros(1)
@ag.reference
def more(X):
    W[0] += 1
    return X + W[0]


@ag.reference
def reference(X):
    return more(X)
""",
}


@pytest.mark.parametrize("name", CHANGING)
def test_what_is_kept_may_not_change(name: str) -> None:
    found = decided_text(KERNEL + CHANGING[name])
    assert not found.equal
    assert not found.untraced
    assert f"the reference changes `{name}`" in found.reason


def test_what_is_read_may_be_kept() -> None:
    text = """ONE = 1.0
TABLE = {"a": [1.0, 2.0]}
W = np.ones(1)


@ag.reference
def more(X, by=(ONE,)):
    found = [X * TABLE["a"][0]]
    found.append(by[0])
    return found


@ag.reference
def reference(X):
    x, one = more(X)
    return x + one * W[0]
"""
    found = decided_text(KERNEL + text)
    assert found.equal, found.reason


@pytest.mark.parametrize("value", ["id(X)", "hash(X.shape)"])
def test_which_object_it_is_has_no_meaning(value: str) -> None:
    text = f"@ag.reference\ndef ref(X):\n    return X + (1.0 if {value} else 2.0)\n"
    assert not decided_text(KERNEL + text).equal
