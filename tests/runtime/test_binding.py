"""Wrong arguments: each has its own code, before anything is launched."""

import struct
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from argus.diagnostics import ArgusError
from argus.ir.expr import Const, Sym, binary
from argus.ir.launch import LaunchSpec, ScalarArg
from argus.ir.program import ScalarParam
from argus.runtime import dlpack
from argus.runtime.addresses import AddressChecks, ArgumentWarning
from argus.runtime.arguments import TensorArg, describe
from argus.runtime.binding import CallBinding, bind, grid_size, scalar_value

Spec = Callable[..., LaunchSpec]


def tensor(
    *shape: int,
    strides: tuple[int, ...] | None = None,
    dtype: str = "f32",
    pointer: int = 1 << 20,
    device: tuple[str, int] = ("cuda", 0),
    readonly: bool = False,
) -> TensorArg:
    strides = dlpack.contiguous(shape) if strides is None else strides
    return TensorArg(pointer, dtype, shape, strides, device, readonly)


def good(**changes: TensorArg) -> list[TensorArg]:
    """M, N, K = 32, 48, 64; every tensor at its own address."""
    tensors = {
        "A": tensor(32, 64, pointer=1 << 20),
        "B": tensor(48, 64, pointer=2 << 20),
        "C": tensor(32, 48, pointer=3 << 20),
    }
    tensors.update(changes)
    return list(tensors.values())


def check_addresses(
    spec: LaunchSpec, tensors: list[TensorArg], binding: CallBinding
) -> None:
    AddressChecks(spec, tensors, binding).check([t.pointer for t in tensors])


def refused(spec: LaunchSpec, tensors: list[TensorArg], *scalars: object) -> ArgusError:
    with pytest.raises(ArgusError) as caught:
        check_addresses(spec, tensors, bind(spec, tensors, scalars or (1.0,)))
    return caught.value


def test_symbols_get_their_values(spec_of: Spec) -> None:
    padded = tensor(32, 64, strides=(80, 1))
    binding = bind(spec_of(), good(A=padded), (2.5,))
    assert binding.values == {
        "M": 32, "K": 64, "N": 48, "A_s0": 80, "B_s0": 64, "C_s0": 48, "alpha": 2.5,
    }  # fmt: skip
    assert grid_size(spec_of(), binding.values, 132) == 2 * 3


@pytest.mark.parametrize(
    ("code", "words", "changes"),
    [
        ("AG0802", "f16, expected f32", {"A": tensor(32, 64, dtype="f16")}),
        ("AG0802", "float64, expected f32", {"A": tensor(32, 64, dtype="float64")}),
        ("AG0803", "rank 3, expected 2", {"B": tensor(1, 48, 64)}),
        ("AG0803", "rank 1, expected 2", {"B": tensor(64)}),
        ("AG0804", "K of `B` is 60, expected 64", {"B": tensor(48, 60)}),
        ("AG0804", "N of `C` is 47, expected 48", {"C": tensor(32, 47)}),
        ("AG0805", "stride of K", {"A": tensor(32, 64, strides=(1, 32))}),
        ("AG0805", "stride of M", {"A": tensor(32, 64, strides=(-64, 1))}),
        ("AG0805", "A_s0 = 66", {"A": tensor(32, 64, strides=(66, 1))}),
        ("AG0806", "multiple of 16", {"A": tensor(32, 64, pointer=(1 << 20) + 8)}),
        ("AG0807", "on cpu", {"A": tensor(32, 64, device=("cpu", 0))}),
        ("AG0807", "cuda:1", {"B": tensor(48, 64, device=("cuda", 1))}),
        ("AG0809", "read-only", {"C": tensor(32, 48, readonly=True)}),
        ("AG0809", "share an address", {"C": tensor(32, 48, strides=(0, 1))}),
        ("AG0809", "share an address", {"C": tensor(32, 48, strides=(47, 1))}),
        ("AG0814", "`A` is empty", {"A": tensor(32, 0), "B": tensor(48, 0)}),
    ],
)
def test_a_wrong_tensor(
    spec_of: Spec, code: str, words: str, changes: dict[str, TensorArg]
) -> None:
    error = refused(spec_of(), good(**changes))
    assert error.code == code
    assert words in error.diagnostics[0].message


def test_a_requirement_says_where_and_why(spec_of: Spec) -> None:
    error = refused(spec_of(), good(A=tensor(32, 62), B=tensor(48, 62)))
    (diagnostic,) = error.diagnostics
    assert error.code == "AG0808"
    assert "K = 62" in diagnostic.message
    assert diagnostic.notes == ("required because rows are read 16 bytes at a time",)
    assert diagnostic.span is not None
    assert diagnostic.span.line == 3


def test_sizes_beyond_31_bits(spec_of: Spec) -> None:
    big = 1 << 31
    error = refused(spec_of(), good(A=tensor(big, 64), C=tensor(big, 48)))
    assert error.code == "AG0808"
    assert "2**31" in error.diagnostics[0].message


def test_a_static_extent_is_checked(spec_of: Spec) -> None:
    spec = spec_of()
    a = spec.tensors[0]
    fixed = type(a)(a.name, a.dtype, a.dims, (a.shape[0], Const(128)), a.strides)
    error = refused(spec_of(tensors=(fixed, *spec.tensors[1:])), good())
    assert error.code == "AG0804"
    assert "expected 128" in error.diagnostics[0].message
    assert "compiled for that" in error.diagnostics[0].notes[0]


def test_strides_of_single_rows_mean_nothing(spec_of: Spec) -> None:
    """Producers put anything there: 0, 1, a size."""
    for step in (0, 1, 64, 100):
        binding = bind(
            spec_of(),
            good(
                A=tensor(1, 64, strides=(step, 1)),
                C=tensor(1, 48, strides=(step, 1), pointer=3 << 20),
            ),
            (1.0,),
        )
        assert binding.values["A_s0"] == {0: 64, 1: 64, 64: 64, 100: 112}[step]
    column = tensor(32, 1, strides=(4, 7))
    with pytest.raises(ArgusError, match="K % 4"):  # not the stride of K
        bind(spec_of(), good(A=column, B=tensor(48, 1)), (1.0,))


def test_empty_outputs_launch_nothing(spec_of: Spec) -> None:
    tensors = good(A=tensor(0, 64), C=tensor(0, 48))
    assert bind(spec_of(), tensors, (1.0,)).empty


@pytest.mark.parametrize(
    ("dtype", "value", "kept"),
    [
        ("i32", 5, 5),
        ("i32", -(1 << 31), -(1 << 31)),
        ("i32", np.int64(7), 7),
        ("i64", 1 << 40, 1 << 40),
        ("f32", 3, 3.0),
        ("f32", np.float32(0.5), 0.5),
        ("f32", float("-inf"), float("-inf")),
    ],
)
def test_scalars(dtype: str, value: object, kept: float) -> None:
    param = ScalarParam("s", dtype, Sym("s", "param"))
    made = scalar_value(param, value)
    assert made == kept
    assert type(made) is (float if dtype == "f32" else int)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("i32", 1.0),
        ("i32", True),
        ("i32", 1 << 31),
        ("i64", 1 << 63),
        ("f32", "1"),
        ("f32", True),
        ("f32", 1e39),
        ("f32", None),
        ("f32", np.ones(1)),
    ],
)
def test_wrong_scalars(dtype: str, value: object) -> None:
    with pytest.raises(ArgusError) as caught:
        scalar_value(ScalarParam("s", dtype, Sym("s", "param")), value)
    assert caught.value.code == "AG0808"
    assert "`s`" in caught.value.diagnostics[0].message


def overlaps(spec: LaunchSpec, **changes: TensorArg) -> bool:
    tensors = good(**changes)
    binding = bind(spec, tensors, (1.0,))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        check_addresses(spec, tensors, binding)
    assert all(w.category is ArgumentWarning for w in seen)
    return bool(seen)


def test_overlapping_outputs_warn(spec_of: Spec) -> None:
    spec = spec_of()
    assert not overlaps(spec)
    base, row = 1 << 20, 256
    assert overlaps(spec, C=tensor(32, 48, pointer=base))
    assert overlaps(spec, C=tensor(32, 48, pointer=base + 31 * row))
    assert not overlaps(spec, C=tensor(32, 48, pointer=base + 32 * row))
    assert not overlaps(spec, C=tensor(32, 48, pointer=base - 32 * 48 * 4))
    assert overlaps(spec, C=tensor(32, 48, pointer=base - 32 * 48 * 4 + 4))
    # Columns of one matrix, side by side: their ranges interleave, their bytes do not.
    a = tensor(32, 64, strides=(128, 1), pointer=base)
    beside = tensor(32, 48, strides=(128, 1), pointer=base + 64 * 4)
    inside = tensor(32, 48, strides=(128, 1), pointer=base + 63 * 4)
    assert not overlaps(spec, A=a, C=beside)
    assert overlaps(spec, A=a, C=inside)


def test_overlap_is_exact_for_equal_strides(spec_of: Spec) -> None:
    """Against enumeration, for small matrices of one pitch."""
    rng = np.random.default_rng(0)
    spec = spec_of(requirements=(), alignments=())
    for _ in range(300):
        m, k, n = (int(x) for x in rng.integers(1, 6, 3))
        pitch = int(rng.integers(max(k, n), 12))
        shift = int(rng.integers(-70, 70))
        at = 1 << 20

        def addresses(rows: int, columns: int, start: int, step: int) -> set[int]:
            return {
                start + 4 * (i * step + j) for i in range(rows) for j in range(columns)
            }

        a = tensor(m, k, strides=(pitch, 1), pointer=at)
        c = tensor(m, n, strides=(pitch, 1), pointer=at + 4 * shift)
        b = tensor(n, k, pointer=2 << 20)
        truth = addresses(m, k, at, pitch) & addresses(m, n, at + 4 * shift, pitch)
        assert overlaps(spec, A=a, B=b, C=c) == bool(truth)


def test_grids_that_cannot_be_launched(spec_of: Spec) -> None:
    values = {"M": 1 << 30, "N": 1 << 30}
    with pytest.raises(ArgusError, match="AG0509"):
        grid_size(spec_of(), values, 132)
    with pytest.raises(ArgusError, match="AG0508"):
        grid_size(spec_of(cluster=2), {"M": 16, "N": 16}, 132)
    persistent = spec_of(grid=binary("min", 1000, Sym("sm_count", "sms")))
    assert grid_size(persistent, {}, 132) == 132


def test_what_is_no_tensor() -> None:
    for value in (None, 3, [1, 2], "x", object()):
        with pytest.raises(ArgusError) as caught:
            describe("A", value)
        assert caught.value.code == "AG0812"
        assert "`A`" in caught.value.diagnostics[0].message


def test_steps_of_an_empty_tensor_mean_nothing() -> None:
    empty = np.lib.stride_tricks.as_strided(np.empty(1), (16, 0, 3), (0, 0, 0))
    assert describe("X", empty).strides == (0, 3, 1)


def test_numpy_arrays() -> None:
    array = np.zeros((4, 6), np.float32)[:, ::2]
    array.flags.writeable = False
    given = describe("A", array)
    assert (given.dtype, given.shape, given.strides) == ("f32", (4, 3), (6, 2))
    assert given.device == ("cpu", 0)
    assert given.readonly
    assert given.pointer == array.ctypes.data


class OnlyDlpack:
    """A producer that knows nothing but DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, *, stream: int | None = None, **version: object) -> object:
        return self.array.__dlpack__(**version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "uint8", "int64"])
def test_dlpack(dtype: str) -> None:
    array = np.zeros((2, 3, 8), dtype)[:, :, 2:6]
    given = describe("A", OnlyDlpack(array))
    expected = describe("A", array)
    assert (given.pointer, given.dtype) == (expected.pointer, expected.dtype)
    assert (given.shape, given.strides) == ((2, 3, 4), (24, 8, 1))
    assert given.device == ("cpu", 0)
    assert not given.readonly


def test_versioned_dlpack_says_read_only() -> None:
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    capsule = array.__dlpack__(max_version=(1, 0))
    assert dlpack.read(capsule).readonly
    with pytest.raises(ValueError, match="not a DLPack capsule"):
        dlpack.read(object())


class Interface:
    def __init__(self, **changes: object) -> None:
        self.__cuda_array_interface__ = {
            "shape": (4, 8),
            "typestr": "<f4",
            "data": (4096, True),
            "strides": None,
            "version": 3,
            **changes,
        }


def test_the_cuda_array_interface() -> None:
    given = describe("A", Interface())
    assert given.owner is not None
    assert (given.pointer, given.dtype, given.readonly) == (4096, "f32", True)
    assert (given.shape, given.strides) == ((4, 8), (8, 1))
    assert given.device == ("cuda", -1)
    assert describe("A", Interface(strides=(64, 4))).strides == (16, 1)
    with pytest.raises(ArgusError, match="malformed"):
        describe("A", Interface(typestr="?!"))


def test_scalars_are_packed_by_type(spec_of: Spec) -> None:
    from argus.runtime.packing import ParameterTemplate

    def param(name: str, dtype: str) -> ScalarParam:
        return ScalarParam(name, dtype, Sym(name, "param"))

    spec = spec_of(
        scalars=(param("a", "i32"), param("b", "i64"), param("c", "f32")),
        args=(ScalarArg("a"), ScalarArg("b"), ScalarArg("c")),
    )
    packed = ParameterTemplate(spec, {}).fill([1, 2, 3], [-1, 1 << 40, 1.5], [])
    assert packed.raw(0, 4) == struct.pack("<i", -1)
    assert packed.raw(1, 8) == struct.pack("<q", 1 << 40)
    assert packed.raw(2, 4) == struct.pack("<f", 1.5)
    assert packed.pointers[1] % 8 == 0
