"""`ag.layouts`: register layouts to ask for by `layout=`. All arguments are static."""

from argus.lang.names.outside import outside


def wgmma_accumulator(
    m: int, n: int, warpgroups: int = 1, inst_n: int | None = None
) -> object:
    """Accumulator (m, n) of wgmma, f32."""
    raise outside("wgmma_accumulator")


def wgmma_a_operand(m: int, k: int, warpgroups: int = 1) -> object:
    """A operand (m, k) of wgmma in registers, 16-bit."""
    raise outside("wgmma_a_operand")


def mma_accumulator(m: int, n: int, warps_m: int = 1, warps_n: int = 1) -> object:
    """Accumulator (m, n) of mma.sync m16n8k16."""
    raise outside("mma_accumulator")


def mma_a_operand(m: int, k: int, warps_m: int = 1, warps_n: int = 1) -> object:
    """A operand (m, k) of mma.sync m16n8k16."""
    raise outside("mma_a_operand")


def mma_b_operand(n: int, k: int, warps_m: int = 1, warps_n: int = 1) -> object:
    """B operand of mma.sync m16n8k16, as a tile (n, k)."""
    raise outside("mma_b_operand")


def blocked(
    shape: tuple[int, ...],
    threads: int,
    vector: int = 1,
    order: tuple[int, ...] | None = None,
) -> object:
    """Neighbouring threads hold neighbouring vectors, `order[0]` fastest."""
    raise outside("blocked")
