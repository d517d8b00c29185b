"""Tiles of products whose weights become numbers in registers. No GPU."""

from __future__ import annotations

from math import ceil

from argus.kernels.weight_tiles import best_tiles, plan_of_numbers


def test_tiles_fit() -> None:
    for m in (1, 8, 9, 33, 64, 100, 192, 400, 5000):
        for n, k in ((1, 16), (16, 4096), (4096, 16), (28672, 8192), (128, 131072)):
            plan = best_tiles(m, n, k, 132)
            assert plan.resident > 0
            # No part is empty, and all of them have K.
            steps = ceil(k / plan.depth)
            assert (plan.parts - 1) * plan.steps(k) < steps
            assert plan.parts * plan.steps(k) >= steps


def test_many_rows_meet_numbers_of_all_weights() -> None:
    for packed in (0.5, 1):
        assert plan_of_numbers(64, 4096, 4096, 128, 132, packed) is None
        assert plan_of_numbers(8192, 4096, 4096, 128, 132, packed) is not None


def test_few_tiles_are_cut_along_k() -> None:
    assert best_tiles(64, 4096, 4096, 132).parts > 1
    assert best_tiles(64, 28672, 4096, 132).parts == 1
