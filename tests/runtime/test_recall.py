"""Calls that were made before: nothing is looked at twice, and nothing too little."""

from __future__ import annotations

import gc
import struct
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from argus.diagnostics import ArgusError
from argus.ir.expr import Sym, binary, cdiv
from argus.ir.launch import LaunchSpec
from argus.ir.program import LaunchRequirement
from argus.runtime.addresses import ArgumentWarning
from argus.runtime.launch import LoadedKernel
from argus.runtime.recall import CALLS, PLANS, WAYS, PlannedLaunch, Recall
from runtime.conftest import remembered

if TYPE_CHECKING:
    FakeDriver = Any

Spec = Callable[..., LaunchSpec]


def tensors(m: int = 32, n: int = 48, k: int = 64) -> list[torch.Tensor]:
    return [torch.zeros(m, k), torch.zeros(n, k), torch.zeros(m, n)]


@pytest.fixture
def loaded(spec_of: Spec, driver: FakeDriver) -> LoadedKernel:
    return LoadedKernel(spec_of(), b"image", driver)


def plans(loaded: LoadedKernel) -> int:
    return len(loaded._recall._plans)


def calls(loaded: LoadedKernel) -> int:
    return len(remembered(loaded._recall))


def test_the_same_call_is_found(loaded: LoadedKernel, driver: FakeDriver) -> None:
    given = tensors()
    first = loaded._recall((), (*given, 1.0))
    assert loaded._recall((), (*given, 1.0)) is first
    again = [t.view(t.shape) for t in given]  # other objects, the same memory
    assert loaded._recall((), (*again, 1.0)) is first
    assert (plans(loaded), calls(loaded), len(driver.maps)) == (1, 1, 1)


def test_other_addresses_and_scalars_need_no_plan(
    loaded: LoadedKernel, driver: FakeDriver
) -> None:
    for alpha in (1.0, 2.0):
        a, b, c = kept = tensors()
        ready = loaded.prepare(a, b, c, alpha)
        packed = ready.parameters
        assert packed is not None
        assert packed.raw(1, 8) == struct.pack("<Q", c.data_ptr())
        assert packed.raw(5, 4) == struct.pack("<f", alpha)
        assert driver.maps[-1].pointer == a.data_ptr()
        loaded(a, b, torch.zeros_like(c), alpha)
        del kept
    assert plans(loaded) == 1
    assert len(driver.maps) == 2  # one for each address of A


def test_what_is_prepared_does_not_change(loaded: LoadedKernel) -> None:
    """A later call with the same plan has parameters of its own."""
    a, b, c = tensors()
    first = loaded.prepare(a, b, c, 1.0).parameters
    other = torch.zeros_like(c)
    loaded(a, b, other, 2.0)
    assert first is not None
    assert first.raw(1, 8) == struct.pack("<Q", c.data_ptr())
    assert first.raw(5, 4) == struct.pack("<f", 1.0)


def test_each_difference_is_checked(loaded: LoadedKernel, driver: FakeDriver) -> None:
    """After a call that is right, each that is wrong in one way is still refused."""
    a, b, c = tensors()
    loaded(a, b, c, 1.0)
    base = torch.zeros(32 * 66 + 8)
    wrong: dict[str, tuple[str, tuple[object, ...]]] = {
        "type": ("AG0802", (a.double(), b, c, 1.0)),
        "rank": ("AG0803", (a.view(1, 32, 64), b, c, 1.0)),
        "size": ("AG0804", (a[:16], b, c, 1.0)),
        "stride": ("AG0805", (base[: 32 * 66].view(32, 66)[:, :64], b, c, 1.0)),
        "order": ("AG0805", (torch.zeros(64, 32).T, b, c, 1.0)),
        "alignment": ("AG0806", (base[1 : 1 + 32 * 64].view(32, 64), b, c, 1.0)),
        "device": ("AG0807", (a.to("meta"), b, c, 1.0)),
        "requirement": ("AG0808", (*(t[:, :62] for t in (a, b)), c, 1.0)),
        "scalar": ("AG0808", (a, b, c, True)),
        "large": ("AG0808", (a, b, c, 1e300)),
        "shared": ("AG0809", (a, b, torch.zeros(48).expand(32, 48), 1.0)),
        "layout": ("AG0812", (a.to_sparse(), b, c, 1.0)),
        "none": ("AG0812", (None, b, c, 1.0)),
        "number": ("AG0812", (1.0, b, c, 1.0)),
        "empty": ("AG0814", (a[:, :0], b[:, :0], c, 1.0)),
    }
    launched = len(driver.launches)
    for _ in range(2):
        for why, (code, values) in wrong.items():
            with pytest.raises(ArgusError) as caught:
                loaded(*values)
            assert caught.value.code == code, why
    assert len(driver.launches) == launched
    loaded(a, b, c, 1.0)
    assert len(driver.launches) == launched + 1


def test_an_overlap_at_new_addresses_is_told(loaded: LoadedKernel) -> None:
    memory = torch.zeros(64 * 64)
    a, b, c = tensors()
    loaded(a, b, c, 1.0)
    with pytest.warns(ArgumentWarning, match="`C` overlaps `A`"):
        loaded(memory[: 32 * 64].view(32, 64), b, memory[: 32 * 48].view(32, 48), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded(memory[: 32 * 64].view(32, 64), b, c, 1.0)
    assert plans(loaded) == 1


def test_scalars_that_decide_are_checked(spec_of: Spec, driver: FakeDriver) -> None:
    """A grid and a requirement that depend on a scalar: no plan may forget it."""
    from argus.diagnostics import Span
    from argus.ir.launch import ScalarArg
    from argus.ir.program import ScalarParam

    n = Sym("n", "param")
    where = Span("k.py", 1, 1, 1, 2)
    spec = spec_of(
        scalars=(ScalarParam("n", "i32", n),),
        args=(ScalarArg("n"),),
        tensor_maps=(),
        grid=cdiv(n, 16),
        requirements=(LaunchRequirement(binary("<=", n, 64), "it is so", where),),
    )
    loaded = LoadedKernel(spec, b"", driver)
    given = tensors()
    for value, grid in ((16, 1), (17, 2), (64, 4), (0, 0), (64, 4)):
        assert loaded.prepare(*given, value).grid == grid
    with pytest.raises(ArgusError, match=r"AG0808.*n = 65"):
        loaded(*given, 65)
    with pytest.raises(ArgusError, match=r"AG0808.*whole number"):
        loaded(*given, 64.0)  # equal to 64, and of another type
    assert plans(loaded) == 1


def test_devices_are_told_apart(spec_of: Spec, driver: FakeDriver) -> None:
    """Memory that is freed on one device may be that of another later."""

    class Elsewhere(torch.Tensor):
        index = 0

        @property
        def device(self) -> Any:  # type: ignore[override]
            return torch.device("cpu", self.index)

    loaded = LoadedKernel(spec_of(), b"", driver)
    given = [t.as_subclass(Elsewhere) for t in tensors()]
    loaded(*given, 1.0)
    Elsewhere.index = 1
    loaded(*given, 1.0)
    assert [device for _, device, _ in driver.loads] == [0, 1]


def test_nothing_is_kept_alive(loaded: LoadedKernel) -> None:
    given = tensors()
    seen = [weakref.ref(t) for t in given]
    loaded(*given, 1.0)
    loaded(*given, 2.0)
    del given
    assert [ref() for ref in seen] == [None] * 3


def test_empty_tensors_have_no_address_to_be_known_by(
    loaded: LoadedKernel, driver: FakeDriver
) -> None:
    loaded(*tensors(m=0), 1.0)
    assert calls(loaded) == 0
    assert driver.launches == []


def test_plans_and_calls_are_bounded(loaded: LoadedKernel) -> None:
    b = torch.zeros(48, 64)
    for m in range(1, PLANS + 20):
        loaded(torch.zeros(m, 64), b, torch.zeros(m, 48), 1.0)
    assert plans(loaded) == PLANS
    given = tensors()
    for alpha in range(CALLS + 20):
        loaded(*given, float(alpha))
    assert calls(loaded) == CALLS


def test_options_without_a_hash_are_not_remembered(driver: FakeDriver) -> None:
    asked: list[object] = []

    class LaunchPlan:
        def prepare(self, pointers: object, scalars: object) -> str:
            return "ready"

    def make(options: object, values: object, stream: int) -> PlannedLaunch:
        asked.append(options)
        return PlannedLaunch(LaunchPlan(), (), (), ())  # type: ignore[arg-type]

    recall = Recall(make)
    for options in ([1], [1], 2, 2):
        assert recall(options, ()) == "ready"  # type: ignore[arg-type]
    assert asked == [[1], [1], 2]


def test_numbers_of_other_types_are_other_calls() -> None:
    """1 equals 1.0 and True, and -0.0 equals 0.0; none of them is told for another."""
    asked: list[object] = []

    class LaunchPlan:
        def prepare(self, pointers: object, scalars: list[object]) -> str:
            return repr(scalars[0])

    def make(options: object, values: tuple[object], stream: int) -> PlannedLaunch:
        asked.append(values[0])
        return PlannedLaunch(LaunchPlan(), (), (0,), ())  # type: ignore[arg-type]

    recall = Recall(make)
    numbers = [1, 1.0, True, 0.0, -0.0, float("nan"), np.float64(1.0), 2**70]
    for value in numbers * 2:
        assert recall((), (value,)) == repr(value)
    assert asked == [1, 1.0, True, np.float64(1.0), True, np.float64(1.0)]


def test_types_of_calls_are_bounded(loaded: LoadedKernel) -> None:
    given = tensors()
    for index in range(WAYS + 5):
        kind = type(f"Kind{index}", (torch.Tensor,), {})
        first = given[0].as_subclass(kind)
        loaded(first, given[1], given[2], 1.0)
    assert len(loaded._recall._ways) == WAYS
    assert calls(loaded) == WAYS


def test_numpy_is_looked_at_in_every_call(
    loaded: LoadedKernel, driver: FakeDriver
) -> None:
    a, b, c = (t.numpy() for t in tensors())
    loaded(a, b, c, np.float64(2.0))
    loaded(a, b, c, 1)
    assert (len(driver.launches), calls(loaded), plans(loaded)) == (2, 0, 0)


def test_threads_share_calls(spec_of: Spec, driver: FakeDriver) -> None:
    """Each of many threads gets the parameters of its own call."""
    gc.freeze()  # what other tests have left is not looked at
    loaded = LoadedKernel(spec_of(), b"", driver)
    given = [tensors() for _ in range(4)]
    failed: list[str] = []

    def work(number: int) -> None:
        for step in range(300):
            a, b, c = given[(number + step) % 4]
            alpha = float(step % 7)
            packed = loaded.prepare(a, b, c, alpha).parameters
            assert packed is not None
            if packed.raw(1, 8) != struct.pack("<Q", c.data_ptr()):
                failed.append("address")
            if packed.raw(5, 4) != struct.pack("<f", alpha):
                failed.append("scalar")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert (plans(loaded), calls(loaded)) == (1, 28)
    gc.collect()
