"""The oracle accepts what is right, and sees each way to be wrong."""

import dataclasses

import numpy as np
import pytest

from argus.evaluation.arrays import NumpyArrays, TorchArrays
from argus.evaluation.oracle import Inputs, judge, make_inputs
from argus.interpret import f32_to_bf16
from argus.kernels.library import LIBRARY, Case, LibraryEntry

GEMM = LIBRARY["gemm"]
CASE = GEMM.small[0]


def _solved(seed: int = 0) -> Inputs:
    """Inputs of a product, and the right output."""
    inputs = make_inputs(GEMM, CASE, NumpyArrays(seed))
    types = {a.name: a.dtype for a in inputs.arguments}
    wide = {n: inputs.library.exact(a, types[n]) for n, a in inputs.arrays.items()}
    inputs.arrays["C"][:] = f32_to_bf16(wide["A"] @ wide["B"].T)
    return inputs


def test_the_right_output_is_right() -> None:
    verdict = judge(GEMM, CASE, _solved())
    assert verdict.ok
    assert verdict.why() == []
    assert 0 < verdict.error < GEMM.tolerance


def test_poisoned_outputs_are_unwritten() -> None:
    verdict = judge(GEMM, CASE, make_inputs(GEMM, CASE, NumpyArrays(0)))
    assert not verdict.ok
    assert verdict.outputs[0].unwritten == 256 * 256
    assert "65536 of 65536 elements of C are not written" in verdict.why()[0]


def test_one_sign_is_seen() -> None:
    inputs = _solved()
    at = tuple(np.argwhere(inputs.arrays["C"] & 0x7FFF > 0x4100)[0])
    inputs.arrays["C"][at] ^= 0x8000
    verdict = judge(GEMM, CASE, inputs)
    assert verdict.outputs[0].worst == at
    assert verdict.why()[0].startswith("1 of 65536 elements of C are wrong; C[")


def test_small_errors_everywhere_are_seen() -> None:
    inputs = _solved()
    wide = inputs.library.exact(inputs.arrays["C"], GEMM.arguments(CASE)[2].dtype)
    inputs.arrays["C"][:] = f32_to_bf16(wide * 1.02)
    verdict = judge(GEMM, CASE, inputs)
    assert not verdict.ok
    assert verdict.outputs[0].outliers == 0
    assert "of its norm" in verdict.why()[0]


def test_an_overwritten_input_is_seen_and_does_not_change_the_reference() -> None:
    inputs = _solved()
    inputs.arrays["A"][:] = 0
    verdict = judge(GEMM, CASE, inputs)
    assert verdict.outputs[0].ok
    assert verdict.changed == ("A",)
    assert verdict.why() == ["the input A was overwritten"]


def test_seeds_make_fresh_inputs() -> None:
    first, second = (make_inputs(GEMM, CASE, NumpyArrays(s)) for s in (0, 1))
    assert not np.array_equal(first.arrays["A"], second.arrays["A"])


def test_tables_are_filled_and_kept() -> None:
    entry = LIBRARY["grouped"]
    inputs = make_inputs(entry, entry.small[1], NumpyArrays(0))
    assert inputs.arrays["Expert"].max() == 2  # the fourth expert is empty
    assert np.array_equal(inputs.kept["Start"], inputs.arrays["Start"])
    out = inputs.arrays["Out"]
    assert sorted(out.tolist()) == list(range(len(out)))


def test_an_unknown_way_of_drawing_is_an_error() -> None:
    odd = dataclasses.replace(GEMM.arguments(CASE)[0], draw="gaussian")
    entry = dataclasses.replace(GEMM, arguments=lambda case: (odd,))
    with pytest.raises(ValueError, match="gaussian"):
        make_inputs(entry, CASE, NumpyArrays(0))


SMALL = [
    pytest.param(e, c, id=f"{e.name}-{c.name}")
    for e in LIBRARY.values()
    for c in e.small
]


@pytest.mark.parametrize(("entry", "case"), SMALL)
def test_references_agree_in_numpy_and_torch(entry: LibraryEntry, case: Case) -> None:
    torch = pytest.importorskip("torch")
    types = {a.name: a.dtype for a in entry.arguments(case)}
    numpy = make_inputs(entry, case, NumpyArrays(0))
    given = {
        n: numpy.library.exact(numpy.kept.get(n, a), types[n])
        for n, a in numpy.arrays.items()
    }
    tensors = {n: torch.from_numpy(a.copy()) for n, a in given.items()}
    filled = dict(tensors)
    if entry.tables is not None:
        entry.tables(torch, filled, case)
    for name, tensor in filled.items():
        np.testing.assert_array_equal(tensor.numpy(), given[name])
    expected = entry.reference(np, given, case)
    found = entry.reference(torch, tensors, case)
    assert set(expected) == set(found)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name].numpy(), value, rtol=1e-9, atol=1e-12)
        assert np.isfinite(value).all()


@pytest.mark.parametrize(("entry", "case"), SMALL)
def test_torch_inputs_of_every_entry(entry: LibraryEntry, case: Case) -> None:
    pytest.importorskip("torch")
    inputs = make_inputs(entry, case, TorchArrays(0, "cpu"))
    verdict = judge(entry, case, inputs)
    assert not verdict.changed
    types = {a.name: a.dtype for a in inputs.arguments}
    # Whole numbers have no NaN: what is not written is the least of them, and wrong.
    assert all(
        o.unwritten == o.elements if types[o.name].is_float else not o.ok
        for o in verdict.outputs
    )
