"""Stores to maps of tensors: where an element goes is computed."""

from __future__ import annotations

import pytest

from verifier.equality.attacking import decided_text

KERNEL = """
@ag.kernel
def k(X: f32["A B"], {given}, *, BM: int = 16, BN: int = 32):
    A, B = X.shape
    {facts}
    i, j = ag.block(ag.cdiv(A, BM), ag.cdiv(B, BN))
    there = Y.view("A B", shape=({shape}), at=lambda a, b: ({at}))
    x = ag.load(X[i * BM :, j * BN :], (BM, BN))
    {store}

@ag.reference
def ref(X, Y):
    {result}
"""
PLAIN = "there[i * BM :, j * BN :] = x"
ADDED = "ag.atomic_add(there[i * BM :, j * BN :], x)"
TURNED = ('Y: f32["B A"]', "pass", "b, a", PLAIN, "return X.T")
PAIRS = (
    'Y: f32["P B"]',
    'ag.require(A == 2 * ag.dim("P"), "pairs")',
    "a // 2, b",
    ADDED,
    "return Y + X[0::2] + X[1::2]",
)
FRAMES = (
    'Y: f32["L"]',
    'ag.require(ag.dim("L") == (A - 1) * 16 + B, "the last one ends it")',
    "a * 16 + b,",
    ADDED,
    """signal = Y.copy()
    for a in range(X.shape[0]):
        signal[a * 16 : a * 16 + X.shape[1]] += X[a]
    return signal""",
)
CASES = {
    "turned": TURNED,
    "columns from behind": (
        'Y: f32["A B"]', "pass", "a, B - 1 - b", PLAIN, "return X[:, ::-1]"
    ),
    "digits": (
        'Y: f32["H A 8"]',
        'ag.require(B == 8 * ag.dim("H"), "heads")',
        "b // 8, a, b % 8",
        PLAIN,
        "return np.transpose(X.reshape(len(X), -1, 8), (1, 0, 2))",
    ),
    "every other column": (
        'Y: f32["A P"]',
        'ag.require(ag.dim("P") == 2 * B, "pairs")',
        "a, 2 * b",
        PLAIN + "\n    Y.view('A B', shape=(A, B), at=lambda a, b: (a, 2 * b + 1))"
        "[i * BM :, j * BN :] = -x",
        "return np.stack([X, -X], -1).reshape(len(X), -1)",
    ),
    "pairs of rows are added": PAIRS,
    "frames that overlap": FRAMES,
    "a view of a view": (
        'Y: f32["B A"]',
        "pass",
        "A - 1 - a, b",
        PLAIN.replace(
            "there[", "Y.view('A B', shape=(A, B), at=lambda a, b: (b, a)).view("
            "'A B', shape=(A, B), at=lambda a, b: (A - 1 - a, b))["
        ),
        "return X[::-1].T",
    ),
    "a part of a part": (
        'Y: f32["A B"]',
        "pass",
        "a, b",
        # Row -1 of the lower part is none of it, though it is one of Y.
        """first = Y.view("A B", shape=(1, B), at=lambda a, b: (a, b))
    first[i * BM :, j * BN :] = -x
    lower = Y.view("A B", shape=(A - 1, B), at=lambda a, b: (a + 1, b))
    back = lower.view("A B", shape=(A, B), at=lambda a, b: (a - 1, b))
    back[i * BM :, j * BN :] = x""",
        "return np.concatenate([-X[:1], X[1:]])",
    ),
}  # fmt: skip


def _decided(
    given: str, facts: str, at: str, store: str, result: str, shape: str = "A, B"
):
    return decided_text(
        KERNEL.format(
            given=given, facts=facts, at=at, store=store, result=result, shape=shape
        )
    )


@pytest.mark.parametrize("name", CASES)
def test_a_store_to_a_map_is_equal(name: str) -> None:
    made = _decided(*CASES[name])
    assert made.equal, made.reason


@pytest.mark.parametrize(
    ("case", "at", "shape"),
    [
        # Another row, another column, two elements at one place, a row left out.
        (TURNED, "b, a + 1", "A, B"),
        (TURNED, "b, A - 1 - a", "A, B"),
        (TURNED, "b, a // 2", "A, B"),
        (TURNED, "b, a", "A - 1, B"),
        (TURNED, "b, a", "A, B - 1"),
        (PAIRS, "a // 2 + 1, b", "A, B"),
        (PAIRS, "a // 4, b", "A, B"),
        (PAIRS, "a // 2, b", "A - 1, B"),
        (FRAMES, "a * 16 + b + 1,", "A, B"),
        (FRAMES, "a * 15 + b,", "A, B"),
        (FRAMES, "a * 16 + b,", "A, B - 1"),
        (FRAMES, "a * 16 + b // 2,", "A, B"),
    ],
)
def test_another_map_is_not(case: tuple[str, ...], at: str, shape: str) -> None:
    given, facts, _, store, result = case
    assert not _decided(given, facts, at, store, result, shape).equal


@pytest.mark.parametrize("result", ["X[0::2]", "X[1::2]"])
def test_which_of_two_elements_stays_is_chance(result: str) -> None:
    given, facts, at, _, _ = PAIRS
    assert not _decided(given, facts, at, PLAIN, f"return {result}").equal
