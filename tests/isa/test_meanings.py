"""What instructions mean, against formulas written out independently.

The descriptor layouts are compared with the worked examples of the PTX ISA (section
"Strides", canonical layouts); the hardware itself is asked in tests/gpu/test_isa.py.
"""

from itertools import product

import numpy as np
import pytest

from argus.isa import ldmatrix, mma, registers, registry, tma, wgmma
from argus.isa.matrix import ELEMENTS
from argus.isa.mbarrier import Mbarrier, MbarrierError
from argus.layout.shared import panels
from argus.layout.swizzle import swizzle_mode
from argus.targets import TARGETS


def cute(coordinate: int, shape: tuple[int, ...], stride: tuple[int, ...]) -> int:
    """A mode of a CuTe layout: colexicographic digits times strides."""
    total = 0
    for extent, step in zip(shape, stride, strict=True):
        total += coordinate % extent * step
        coordinate //= extent
    return total


# (name, mn_major, swizzle, leading, stride, itemsize, MN mode, K mode) in elements, as
# printed in the PTX ISA's examples; the swizzle is left out there too.
EXAMPLES = [
    ("K, none, tf32", False, 0, 256, 128, 4, ((8, 2), (4, 32)), ((4, 2), (1, 64))),
    ("K, 32, tf32", False, 32, 16, 256, 4, ((8, 2), (8, 64)), ((8,), (1,))),
    ("MN, none, bf16", True, 0, 256, 128, 2, ((8, 2), (1, 64)), ((8, 2), (8, 128))),
    ("MN, 32, bf16", True, 32, 256, 512, 2, ((16, 2), (1, 128)), ((8, 2), (16, 256))),
    ("MN, 64, bf16", True, 64, 512, 1024, 2, ((32, 2), (1, 256)), ((8, 2), (32, 512))),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example[0])
def test_operand_addresses_of_the_documented_examples(example) -> None:
    _, mn_major, swizzle, leading, stride, itemsize, mn_mode, k_mode = example
    rows, depth = np.prod(mn_mode[0]), np.prod(k_mode[0])
    got = wgmma.operand_addresses(
        0, leading, stride, swizzle, mn_major, int(rows), int(depth), itemsize
    )
    chunks = max(swizzle // 16, 1)
    for row, k in product(range(rows), range(depth)):
        plain = (cute(row, *mn_mode) + cute(k, *k_mode)) * itemsize
        assert got[row, k] == plain ^ (plain >> 7 & (chunks - 1)) << 4


@pytest.mark.parametrize("swizzle", [32, 64, 128])
@pytest.mark.parametrize("rows", [8, 64, 256])
def test_k_major_operand_reads_what_tma_writes(rows: int, swizzle: int) -> None:
    """Step k of a tile stored as one panel: the box that TMA writes, 32 bytes on."""
    columns = swizzle // 2
    tile = tma.box_offsets((rows, columns), 2, swizzle)
    for step in range(columns // 16):
        got = wgmma.operand_addresses(
            32 * step, 16, 8 * swizzle, swizzle, False, rows, 16, 2
        )
        assert np.array_equal(got, tile[:, 16 * step : 16 * step + 16])


@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_mn_major_operand_reads_what_tma_writes(swizzle: int) -> None:
    """A (K, MN) tile of panels: panel after panel along MN, 16 rows of K a step."""
    width = swizzle // 2
    layout = panels((64, 2 * width), 2, swizzle)
    k, mn = np.indices((64, 2 * width))
    tile = layout.offset((k, mn))
    for step in range(4):
        start, leading, stride = 16 * step * swizzle, 64 * swizzle, 8 * swizzle
        got = wgmma.operand_addresses(
            start, leading, stride, swizzle, True, 2 * width, 16, 2
        )
        assert np.array_equal(got, tile[16 * step : 16 * step + 16].T)


def test_operand_addresses_refuse_what_a_descriptor_cannot_hold() -> None:
    with pytest.raises(ValueError, match="start 8 is not a multiple of 16"):
        wgmma.operand_addresses(8, 16, 1024, 128, False, 64, 16, 2)
    with pytest.raises(ValueError, match="stride 262144 does not fit"):
        wgmma.operand_addresses(0, 16, 1 << 18, 128, False, 64, 16, 2)
    with pytest.raises(ValueError, match="swizzle of 16"):
        wgmma.operand_addresses(0, 16, 128, 16, False, 64, 16, 2)


def test_matrix_products() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-9, 9, (64, 16)).astype(np.float32)
    b = rng.integers(-9, 9, (24, 16)).astype(np.float32)
    acc = rng.integers(-9, 9, (64, 24)).astype(np.float32)
    want = [[sum(a[m] * b[n]) for n in range(24)] for m in range(64)]
    bf16 = ELEMENTS[0]
    assert np.array_equal(wgmma.apply(bf16, a, b, None), want)
    assert np.array_equal(wgmma.apply(bf16, a, b, acc), np.array(want) + acc)
    got = mma.apply(bf16, a[:16], b[:8], acc[:16, :8])
    assert got.dtype == np.float32
    assert np.array_equal(got, (np.array(want) + acc)[:16, :8])


def test_products_of_whole_numbers_are_exact_and_wrap() -> None:
    i8 = next(e for e in ELEMENTS if e.dtype.name == "i8")
    a, b = np.full((16, 32), -128, np.int8), np.full((8, 32), -128, np.int8)
    acc = np.full((16, 8), 2**31 - 1, np.int32)
    got = mma.apply(i8, a, b, acc)
    assert got.dtype == np.int32
    assert (got == 32 * 128**2 + 2**31 - 1 - 2**32).all()


def test_tf32_has_eleven_bits() -> None:
    tf32 = next(e for e in ELEMENTS if e.ptx == "tf32")
    nan = np.array([0x7F800001], np.uint32).view(np.float32)[0]
    given = np.array([1 + 2.0**-10, 1 + 2.0**-11, -1 - 2.0**-11, np.inf, nan], "f4")
    kept = tf32.multiplied(given)
    assert np.array_equal(kept[:4], [1 + 2.0**-10, 1, -1, np.inf])
    assert np.isnan(kept[4])


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", [False, True])
def test_ldmatrix_fragment(count: int, trans: bool) -> None:
    """PTX ISA, ldmatrix: lane 4*i + j holds row i, elements 2j and 2j + 1."""
    table = ldmatrix.fragment(count, trans)
    assert table.shape == (32, count, 2, 3)
    for i, j, half, matrix in product(range(8), range(4), range(2), range(count)):
        place = (2 * j + half, i) if trans else (i, 2 * j + half)
        assert tuple(table[4 * i + j, matrix, half]) == (matrix, *place)
    assert [ldmatrix.address_lane(m, 3) for m in range(count)] == [3, 11, 19, 27][
        :count
    ]


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_box_offsets(swizzle: int) -> None:
    inner = (swizzle or 48) // 2
    box = (3, 5, inner)
    got = tma.box_offsets(box, 2, swizzle)
    for i, j, k in product(*map(range, box)):
        linear = ((i * 5 + j) * inner + k) * 2
        row, chunk, rest = linear // 128, linear % 128 // 16, linear % 16
        bits = {0: 0, 32: 1, 64: 2, 128: 3}[swizzle]
        chunk ^= row % (1 << bits)
        assert got[i, j, k] == row * 128 + chunk * 16 + rest
    assert tma.box_bytes(box, 2) == got.size * 2
    assert np.unique(got).size == got.size


def test_box_offsets_want_rows_that_fill_the_swizzle() -> None:
    with pytest.raises(ValueError, match="rows of 64 bytes with a swizzle of 128"):
        tma.box_offsets((8, 32), 2, 128)


def test_box_violations() -> None:
    def count(box: tuple[int, ...], swizzle: int, **facts: object) -> list[str]:
        return tma.violations(box, 2, swizzle, **facts)  # type: ignore[arg-type]

    assert count((64, 64), 128) == []
    assert count((64, 64), 128, dims=(100, 100), strides=(208, 2), address=256) == []
    assert "exceed the swizzle" in count((64, 128), 128)[0]
    assert "do not fill" in count((64, 32), 128)[0]
    assert "extents are 1 to 256" in count((257, 64), 128)[0]
    assert "multiple of 16" in count((8, 4), 0)[0]
    assert "1 to 5" in count((1, 1, 1, 1, 1, 64), 128)[0]
    assert "strides (200,)" in count((64, 64), 128, strides=(200, 2))[0]
    assert "innermost stride" in count((64, 64), 128, strides=(208, 4))[0]
    assert "address 0x8" in count((64, 64), 128, address=8)[0]


def test_box_violations_name_the_rule_and_the_dimension() -> None:
    """Also for numbers of which only a divisor or the sign is known."""

    def rules(box: tuple[int, ...], **facts: object) -> list[tuple[str, int | None]]:
        found = tma.broken(box, 2, 128, **facts)  # type: ignore[arg-type]
        return [(violation.rule, violation.dim) for violation in found]

    known = {"dims": (1, 8), "strides": (16, 2), "start": (-1, 8)}
    assert rules((64, 64), **known) == []
    assert rules((64, 64), **known, store=True) == [("store start", 0)]
    assert rules((64, 64), **known | {"dims": (8, 4)}, store=True)[0] == (
        "store row",
        1,
    )
    assert rules((64, 64), **known | {"strides": (8, 2)}) == [("stride", 0)]
    assert rules((64, 64), **known | {"start": (0, 4)}) == [("start", 1)]
    assert rules((64, 300, 64)) == [("box", 1)]


@pytest.mark.parametrize("swizzle", range(0, 257, 16))
def test_swizzles_are_those_of_layouts(swizzle: int) -> None:
    if swizzle in tma.SWIZZLES:
        period = panels((8, 128), 2, swizzle).alignment
        assert tma.box_alignment(swizzle) == max(period, 128)
    else:
        with pytest.raises(ValueError, match="no swizzle of"):
            swizzle_mode(swizzle)


def test_products_that_wgmma_does() -> None:
    bf16, f16, *others = ELEMENTS
    names = {e.dtype.name: e for e in others}
    assert wgmma.violations(256, 24, 48, bf16, 2) == []
    assert wgmma.violations(64, 24, 48, f16, 2) == [
        "64 rows are not 64 for each of 2 warpgroups"
    ]
    assert wgmma.violations(64, 12, 24, bf16) == [
        "12 columns are not a multiple of 8",
        "a depth of 24 is not a multiple of 16",
    ]
    assert wgmma.violations(64, 24, 24, names["e4m3"]) == [
        "a depth of 24 is not a multiple of 32"
    ]
    assert wgmma.violations(64, 24, 24, names["f32"]) == []
    assert wgmma.columns(names["e5m2"]) == tuple(wgmma.COLUMNS)
    assert wgmma.columns(names["u8"])[:6] == (8, 16, 24, 32, 48, 64)


def test_products_of_registers() -> None:
    """Shapes and registers of the record are those of the instruction."""
    for target in TARGETS:
        for e in ELEMENTS:
            for one in registry.register_products(e, target):
                assert registry.register_product(one.function) is one
                of = registry.lookup(one.function).constraints
                assert (one.rows, one.columns, one.depth) == tuple(
                    of.extent(name) for name in ("m", "n", "k")
                )
                assert one.lanes == one.a.num_threads == one.b.num_threads
                assert one.lanes == TARGETS[target].warp_threads
                # Four words of A, two of B, and four numbers of D (PTX ISA, mma).
                per_word = 4 // e.dtype.bytes if e.dtype.bytes < 4 else 1
                sizes = tuple(x.num_regs for x in (one.d, one.a, one.b))
                small = one.rows == 8  # m8n8k4: one of A, one of B, two of D
                assert sizes == (2, 1, 1) if small else (4, 4 * per_word, 2 * per_word)
    (wide,) = (e for e in ELEMENTS if e.dtype.name == "f64")
    named = [one.shape for one in registry.register_products(wide, "sm_90a")]
    assert named == ["mma.sync m16n8k8", "mma.sync m8n8k4"]
    assert [x.rows for x in registry.register_products(wide, "sm_80")] == [8]
    (eight,) = (e for e in ELEMENTS if e.dtype.name == "e4m3")
    assert not registry.register_products(eight, "sm_80")
    with pytest.raises(registry.UnknownInstructionError):
        registry.register_product("argus_wgmma_fence")


def test_registers_of_products_of_f64() -> None:
    """Which lane and register hold what (PTX ISA, mma.m8n8k4 and .m16n8k8, .f64)."""
    (wide,) = (e for e in ELEMENTS if e.dtype.name == "f64")
    for one in registry.register_products(wide, "sm_90a"):
        for lane in range(32):
            group, place = divmod(lane, 4)
            for i in range(one.d.num_regs):
                held = tuple(int(x) for x in one.d.table()[lane, i])
                assert held == (group + 8 * (i // 2), 2 * place + i % 2)
            for i in range(one.a.num_regs):
                held = tuple(int(x) for x in one.a.table()[lane, i])
                assert held == (group + 8 * (i % 2), place + 4 * (i // 2))
            for i in range(one.b.num_regs):
                held = tuple(int(x) for x in one.b.table()[lane, i])
                assert held == (group, place + 4 * i)


def test_mbarrier_counts_arrivals_and_bytes() -> None:
    barrier = Mbarrier(2)
    assert (barrier.passed(0), barrier.passed(1)) == (False, True)
    barrier.arrive_expect(64)
    barrier.arrive()
    assert not barrier.passed(0)
    barrier.complete_bytes(48)
    assert not barrier.passed(0)
    barrier.complete_bytes(16)
    assert (barrier.passed(0), barrier.passed(1)) == (True, False)
    assert (barrier.pending, barrier.tx, barrier.completed) == (2, 0, 1)
    barrier.arrive(2)
    assert (barrier.passed(0), barrier.passed(1)) == (False, True)


def test_mbarrier_bytes_may_come_before_they_are_expected() -> None:
    barrier = Mbarrier(1)
    barrier.complete_bytes(32)
    assert barrier.completed == 0
    barrier.arrive_expect(32)
    assert barrier.completed == 1


def test_mbarrier_refuses_what_is_undefined() -> None:
    barrier = Mbarrier(1)
    barrier.arrive_expect(16)
    with pytest.raises(MbarrierError, match="1 arrivals where 0 of 1 are missing"):
        barrier.arrive()
    with pytest.raises(MbarrierError, match="tx-count"):
        barrier.expect(1 << 20)
    with pytest.raises(MbarrierError, match="arrival count of 0"):
        Mbarrier(0)


def test_shuffle_source() -> None:
    assert [registers.shuffle_source("bfly", lane, 1) for lane in range(4)] == [
        1,
        0,
        3,
        2,
    ]
    assert [registers.shuffle_source("up", lane, 2) for lane in range(4)] == [
        0,
        1,
        0,
        1,
    ]
    down = [registers.shuffle_source("down", lane, 2) for lane in range(28, 32)]
    assert down == [30, 31, 30, 31]
    assert registers.shuffle_source("idx", 5, 33) == 1
    with pytest.raises(ValueError, match="no shuffle mode"):
        registers.shuffle_source("sideways", 0, 0)
