"""Calls of kernels, and of functions that choose one, on a driver without a GPU."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
import torch

from argus import calls
from argus.calls import calls_of, prepare_call
from argus.compiler import cuda_source
from argus.diagnostics import ArgusError
from argus.dispatch import Dispatch
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request
from argus.runtime.launch import LoadedKernel

if TYPE_CHECKING:
    FakeDriver = Any

SOURCE = """
import argus as ag
from argus import bf16, f32


@ag.kernel
def scaled(
    X: ag.float["M N"],
    Y: ag.float["M N"],
    a: f32 = 2.0,
    Bias: f32["N"] | None = None,
    *,
    BN: int = 64,
    TWICE: bool = False,
):
    M, N = X.shape
    m, n = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, n * BN :], (BN,)).to(f32) * a
    if TWICE:
        x = x + x
    if Bias is not None:
        x = x + ag.load(Bias[n * BN :], (BN,))
    Y[m, n * BN :] = x.to(Y.dtype)
"""


def fresh() -> Kernel:
    return load_kernels("scaled.py", SOURCE).kernels["scaled"]


@pytest.fixture
def built(
    monkeypatch: pytest.MonkeyPatch, driver: FakeDriver
) -> Iterator[list[tuple[Request, bool]]]:
    """Requests that were built, and whether with a proof."""
    made: list[tuple[Request, bool]] = []

    def make(self: Any, key: Any, request: Request, checking: bool) -> LoadedKernel:
        made.append((request, checking))
        self._loaded[key] = LoadedKernel(cuda_source(request).spec, b"", driver)
        return self._loaded[key]

    monkeypatch.setattr(calls._Builds, "make", make)
    monkeypatch.setattr(calls, "_target_of_device", lambda tensor: "sm_90a")
    # The driver's devices are the host's memory.
    monkeypatch.setattr(calls, "_in_host_memory", lambda tensors: False)
    monkeypatch.delenv("ARGUS_CHECK", raising=False)
    yield made


def pair(m: int = 4, n: int = 64, dtype: Any = torch.float32) -> list[torch.Tensor]:
    return [torch.zeros(m, n, dtype=dtype), torch.zeros(m, n, dtype=dtype)]


def test_one_plan_for_what_is_alike(
    built: list[tuple[Request, bool]], driver: FakeDriver
) -> None:
    kernel = fresh()
    for _ in range(3):
        x, y = pair()
        kernel(x, y, 1.0)
        kernel(x, y, 3.0)
        kernel(X=x, Y=y, a=1.0)  # the same call, in other words
    recall = calls_of(kernel)._recall
    assert len(built) == 1
    assert len(recall._plans) == 1
    assert len(driver.launches) == 9
    assert driver.launches[-1][1].grid == 4


def test_what_a_call_is_like_decides(built: list[tuple[Request, bool]]) -> None:
    kernel = fresh()
    x, y = pair()
    bias = torch.zeros(64)
    kernel(x, y)
    kernel(*pair(8))  # other rows: the same specialisation
    assert len(built) == 1
    kernel(*pair(n=66))
    kernel(*pair(dtype=torch.bfloat16))
    kernel(x, y, Bias=bias)
    kernel(x, y, 2.0, bias)
    kernel(torch.zeros(4, 66)[:, :64], y)
    forms = [sorted(request.dtypes) for request, _ in built]
    assert forms == [["X", "Y"]] * 3 + [["Bias", "X", "Y"], ["X", "Y"]]
    assert built[1][0].facts["N"] == 2
    assert built[4][0].facts["X_s0"] == 2
    kernel(x, y)
    assert len(built) == 5


def test_a_slice_that_is_not_aligned_is_refused_after_one_that_is(
    built: list[tuple[Request, bool]],
) -> None:
    kernel = fresh()
    kernel(*pair())
    memory = torch.zeros(4 * 64 + 1)
    with pytest.raises(ArgusError, match="AG0806"):
        kernel(memory[1:].view(4, 64), pair()[1])
    with pytest.raises(ArgusError, match="AG0804"):
        kernel(pair(4)[0], pair(5)[1])
    with pytest.raises(ArgusError, match=r"AG0801.*`Y` is not given"):
        kernel(pair()[0])
    with pytest.raises(ArgusError, match="AG0802"):
        kernel(*pair(dtype=torch.int32))


def test_statics_that_are_equal_and_not_the_same(
    built: list[tuple[Request, bool]],
) -> None:
    kernel = fresh()
    x, y = pair()
    kernel(x, y, TWICE=True)
    kernel(x, y, TWICE=True, BN=64)
    kernel(x, y, BN=64, TWICE=True)
    assert [dict(r.statics) for r, _ in built] == [
        {"TWICE": True}, {"TWICE": True, "BN": 64}
    ]  # fmt: skip
    for wrong in (64.0, True):
        for _ in range(2):
            with pytest.raises(ArgusError):
                kernel(x, y, TWICE=True, BN=wrong)


@pytest.mark.parametrize(
    ("count", "named", "words"),
    [
        (5, {}, "takes 4 runtime arguments; 5 were given"),
        (2, {"X": 1}, "has no argument `X` left to be given"),
        (2, {"BM": 1}, "has no argument `BM` left to be given"),
    ],
)
def test_wrong_calls(count: int, named: dict[str, object], words: str) -> None:
    kernel = fresh()
    for _ in range(2):
        with pytest.raises(ArgusError) as caught:
            kernel(*[None] * count, **named)
        assert caught.value.code == "AG0801"
        assert words in caught.value.diagnostics[0].message


def test_a_change_of_the_switch_is_a_new_call(
    built: list[tuple[Request, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = fresh()
    x, y = pair()
    for value in ("0", "1", "0"):
        monkeypatch.setenv("ARGUS_CHECK", value)
        kernel(x, y)
    assert len(built) == 2
    kernel.unchecked(x, y)
    kernel.unchecked(x, y)
    assert [checking for _, checking in built] == [True, True, False]


def test_a_kernel_read_again_is_another(built: list[tuple[Request, bool]]) -> None:
    x, y = pair()
    for _ in range(2):
        fresh()(x, y)
    assert len(built) == 2


def test_nothing_outlives_its_use(built: list[tuple[Request, bool]]) -> None:
    gc.freeze()  # what other tests have left is not looked at
    kernel = fresh()
    given = pair()
    seen = [weakref.ref(t) for t in given]
    kernel(*given)
    del given
    assert [ref() for ref in seen] == [None, None]
    alive = weakref.ref(kernel)
    built.clear()
    del kernel
    gc.collect()
    assert alive() is None


def test_a_prepared_call_has_its_arguments_in_order(
    built: list[tuple[Request, bool]],
) -> None:
    x, y = pair()
    loaded, values = prepare_call(fresh(), (x,), {"Y": y})
    assert loaded.names == ("X", "Y", "a")
    assert values[0] is x and values[1] is y and values[2] == 2.0
    assert loaded.prepare(*values).grid == 4


class TestDispatch:
    @pytest.fixture
    def asked(self) -> list[tuple[object, ...]]:
        return []

    @pytest.fixture
    def run(
        self, asked: list[tuple[object, ...]], built: list[tuple[Request, bool]]
    ) -> Dispatch:
        kernel = fresh()

        def choose(x: Any, y: Any, a: float, bias: Any, form: str) -> Any:
            asked.append((tuple(x.shape), x.data_ptr() % 16, bias is None, form))
            return kernel, {"TWICE": form == "twice"}

        return Dispatch(choose)

    def test_it_chooses_once_for_what_is_alike(
        self, run: Dispatch, asked: list[Any], driver: FakeDriver
    ) -> None:
        for a in (1.0, 2.0):
            x, y = pair()
            run((x, y, a, None), "once")
            run((x, y, a, None), "once")
        assert len(asked) == 1
        assert len(driver.launches) == 4

    def test_it_chooses_again_for_what_is_not(
        self, run: Dispatch, asked: list[Any], built: list[tuple[Request, bool]]
    ) -> None:
        x, y = pair()
        memory = torch.zeros(4 * 64 + 1)
        run((x, y, 1.0, None), "once")
        run((x, y, 1.0, None), "twice")
        run((x, y, 1.0, torch.zeros(64)), "once")
        run((*pair(8), 1.0, None), "once")
        with pytest.raises(ArgusError, match="AG0806"):
            run((memory[1:].view(4, 64), y, 1.0, None), "once")
        shape = (4, 64)
        assert asked == [
            (shape, 0, True, "once"),
            (shape, 0, True, "twice"),
            (shape, 0, False, "once"),
            ((8, 64), 0, True, "once"),
            (shape, 4, True, "once"),
        ]
        assert len(built) == 3


def test_the_product_is_chosen_by_what_tma_can_address(
    built: list[tuple[Request, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from argus import ops
    from argus.kernels.gemm import op
    from argus.kernels.gemm.plan import ProductPlan
    from argus.kernels.gemm.tiles import FORMS, MeasuredTile, table

    asked: list[tuple[int, int]] = []

    def first(m: int, n: int, k: int, aligned: tuple[int, int]) -> ProductPlan:
        asked.append(aligned)

        def fits(tile: MeasuredTile) -> bool:
            return min(aligned) % FORMS[tile.form] == 0

        return ProductPlan(next(t for t in table().tiles if fits(t)))

    monkeypatch.setattr(op, "best_plan", first)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    memory = torch.zeros(64 * 66 + 8, dtype=torch.bfloat16)
    b = torch.zeros(64, 64, dtype=torch.bfloat16)

    def product(start: int, step: int) -> None:
        a = memory[start : start + 64 * step].view(64, step)[:, :64]
        assert ops.gemm(a, b).shape == (64, 64)

    for _ in range(2):
        product(0, 64)
        product(8, 64)
        product(0, 66)
        with pytest.raises(ArgusError, match="AG0806"):
            product(1, 64)
    names = [request.kernel.name for request, _ in built]
    assert names == ["gemm_sm90", "gemm_thin", "gemm_thin"]
    assert [built[i][0].facts["A_s0"] for i in (1, 2)] == [2, 16]
    assert asked == [(128, 128), (4, 128), (2, 128)]  # once for what is alike


def test_the_grouped_product_is_two_launches(
    built: list[tuple[Request, bool]], driver: FakeDriver
) -> None:
    from argus import ops

    x = torch.zeros(500, 64, dtype=torch.bfloat16)
    w = torch.zeros(8, 256, 64, dtype=torch.bfloat16)
    for ends in (torch.arange(8), torch.arange(16)[::2].int()):
        assert ops.grouped_gemm(x, w, ends).shape == (500, 256)
    assert [r.kernel.name for r, _ in built] == ["tile_table", "grouped_gemm"]
    assert len(driver.launches) == 4
