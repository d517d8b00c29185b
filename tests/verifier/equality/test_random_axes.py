"""Random chains of reshapes, turns, cuts and joins, against the same chain in numpy.

What is decided has to agree with what numpy computes: a chain is equal to itself, and
to another one exactly if numpy gives the same elements. So does the interpreter.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import pytest

from argus.evaluation.requests import default_dtypes
from argus.interpret import run
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from few import spread
from verifier.equality.attacking import HEAD, decided_text

SHAPE = (6, 32)


@dataclass
class Chain:
    """Statements on a tile `x` of the language, and the same of numpy."""

    shape: tuple[int, ...] = SHAPE
    kernel: list[str] = field(default_factory=list[str])
    numpy: list[str] = field(default_factory=list[str])

    def step(self, rng: random.Random) -> None:
        """One more statement."""
        axis = rng.randrange(len(self.shape))
        size = self.shape[axis]
        match rng.choice(("reshape", "permute", "flip", "halves", "pairs", "turn")):
            case "reshape":
                self._reshape(_other_shape(rng, self.shape))
            case "permute":
                axes = tuple(rng.sample(range(len(self.shape)), len(self.shape)))
                self.shape = tuple(self.shape[a] for a in axes)
                self._both(f"ag.permute(x, {axes})", f"x.transpose({axes})")
            case "flip":
                self._both(f"ag.flip(x, {axis})", f"np.flip(x, {axis})")
            case "halves" if size % 2 == 0:
                order = rng.choice(("a, b", "b, a"))
                self.kernel.append(f"a, b = ag.split(x, {axis}, 2)")
                self.numpy.append(f"a, b = np.split(x, 2, axis={axis})")
                self._both(
                    f"ag.join({order}, {axis})",
                    f"np.concatenate([{order}], axis={axis})",
                )
            case "pairs" if size % 2 == 0:
                self.kernel.append(f"a, b = ag.split(x, {axis}, 2)")
                self.numpy.append(f"a, b = np.split(x, 2, axis={axis})")
                self._both(
                    f"ag.interleave(a, b, {axis})",
                    f"np.stack([a, b], axis={axis + 1}).reshape({self.shape})",
                )
            case _:
                self._reshape((self.shape[0], prod(self.shape[1:])))

    def _reshape(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self._both(f"ag.reshape(x, {shape})", f"x.reshape({shape})")

    def _both(self, kernel: str, numpy: str) -> None:
        self.kernel.append(f"x = {kernel}")
        self.numpy.append(f"x = {numpy}")

    def value(self, x: Any) -> Any:
        """What numpy makes of an array."""
        names = {"x": x, "np": np}
        exec("\n".join(self.numpy), names)
        return np.asarray(names["x"]).reshape(-1)


def _other_shape(rng: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The prime factors of the sizes, put together at random."""
    made = [1]
    for size in shape:
        while size > 1:
            factor = 2 if size % 2 == 0 else 3
            size //= factor
            if rng.random() < 0.5:
                made.append(factor)
            else:
                made[-1] *= factor
    return tuple(n for n in made if n > 1)


def chain(seed: int) -> Chain:
    """Up to five statements."""
    rng = random.Random(seed)
    made = Chain()
    for _ in range(rng.randint(2, 5)):
        made.step(rng)
    return made


def text(kernel: Chain, reference: Chain) -> str:
    """A kernel of one chain, and a reference of another."""
    n = prod(SHAPE)
    lines = [
        "@ag.kernel",
        f'def k(X: f32["M N"], Y: f32["P"], *, M: int = 6, N: int = 32, P: int = {n}):',
        '    x = ag.load(X[:, :]).rename("_ _")',
        *(f"    {line}" for line in kernel.kernel),
        f"    Y[:] = ag.reshape(x, ({n},))",
        "",
        "",
        "@ag.reference",
        "def ref(X):",
        "    x = X",
        *(f"    {line}" for line in reference.numpy),
        f"    return x.reshape({n})",
    ]
    return "\n".join(lines) + "\n"


SEEDS = range(24)
X = np.arange(prod(SHAPE), dtype=np.float32).reshape(SHAPE)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_chain_is_itself(seed: int) -> None:
    made = chain(seed)
    source = text(made, made)
    found = decided_text(source)
    assert found.equal, f"{found.reason}\n{source}"
    (kernel,) = load_kernels("chain.py", HEAD + source).kernels.values()
    for target in ("sm_90a", "sm_80"):
        program = placed_program(
            Request(kernel, default_dtypes(kernel, {}), {}, target)
        )
        y = np.zeros(prod(SHAPE), np.float32)
        run(program, {"X": X.copy(), "Y": y})
        assert np.array_equal(y, made.value(X)), source


@pytest.mark.parametrize("seed", spread(SEEDS, 2))
def test_a_chain_is_another_only_if_numpy_says_so(seed: int) -> None:
    mine, other = chain(seed), chain(seed + 1000)
    found = decided_text(text(mine, other))
    assert not found.equal or np.array_equal(mine.value(X), other.value(X))


def test_chains_differ() -> None:
    values = {chain(seed).value(X).tobytes() for seed in SEEDS}
    assert len(values) > len(SEEDS) // 2
