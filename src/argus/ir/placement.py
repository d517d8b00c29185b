"""Plans: how a placed operation is carried out, as maps every reader can evaluate.

A plan names the instruction and says which registers and which bytes each issue of it
touches. Matrix products name the device function of a record of :mod:`argus.isa`;
accesses name a kind of instruction, the record of which depends on the width. The code
generator prints plans, the interpreter executes them, the verifier reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.ir.expr import Expr
from argus.ir.memory import GlobalTensor
from argus.ir.op import Planned
from argus.layout import Fragment

VECTOR_INSTRUCTIONS = (
    "ld.global", "st.global", "red.global", "atom.global", "ld.shared", "st.shared",
    "cp.async",
    "ldmatrix", "ldmatrix.trans", "stmatrix", "stmatrix.trans",
)  # fmt: skip
"""Kinds of instructions that a :class:`VectorPlan` may name."""


@dataclass(frozen=True)
class VectorPlan:
    """A tile access by every thread, ``width`` elements at a time.

    ``layout`` says which element each (thread, register) is. Access s of thread t
    covers registers ``s*width .. (s+1)*width - 1``, which are contiguous in memory, the
    first being element ``layout.coord(t, s*width)``. For asynchronous copies there are
    no registers: ``layout`` distributes the tile over (thread, step) in the same way.

    ``instruction``: "ld.global", "st.global", "red.global", "atom.global", "ld.shared",
    "st.shared", "cp.async" (width * bytes in 4, 8, 16), or the warp-collective
    "ldmatrix", "ldmatrix.trans", "stmatrix", "stmatrix.trans" with 16-bit elements,
    where width = 2 * (number of 8x8 matrices: 1, 2, 4): in access s, register pair j is
    matrix j, and lane L supplies the address of row L%8 of matrix L//8, that is the
    address of the element that (plain) lane 4*(L%8), register s*width + 2*(L//8)
    or (trans) lane (L%8)//2, register s*width + 2*(L//8) + L%2 holds.

    ``unique``: when threads hold copies (replication), only the lowest holder accesses
    (stores, atomics, asynchronous copies).
    """

    layout: Fragment
    width: int
    instruction: str
    unique: bool = False

    @property
    def accesses(self) -> int:
        """Accesses per thread."""
        return self.layout.num_regs // self.width


@dataclass(frozen=True)
class TensorMap:
    """A TMA descriptor made by the host (CUtensorMap, tiled mode).

    ``box`` is in elements per tensor dimension, outermost first, as ``tensor.dims``.
    ``swizzle`` in bytes: 0, 32, 64, 128. The map covers the whole tensor, so that
    out-of-range elements of a box read as zero and are not written. ``steps``: how far
    apart elements of a box lie along each dimension; (): they are neighbours.
    """

    tensor: GlobalTensor
    box: tuple[int, ...]
    swizzle: int
    steps: tuple[int, ...] = ()

    @property
    def all_steps(self) -> tuple[int, ...]:
        """Steps of all dimensions."""
        return self.steps or (1,) * len(self.box)


@dataclass(frozen=True)
class TmaBox:
    """One TMA instruction: the box at tensor coordinates ``coords``, outermost first.

    In shared memory it is ``offset`` bytes from the beginning of the view's stage.
    """

    coords: Planned[tuple[Expr, ...]]
    offset: Planned[Expr]


@dataclass(frozen=True)
class TmaPlan:
    """A tile copy as a sequence of TMA boxes issued by one elected thread.

    ``bytes`` arrive on the barrier of every receiving block in total (all multicast
    parts included). With ``multicast`` n > 1, block r of the cluster issues ``boxes``
    (whose expressions contain the rank symbol "cluster_rank") with mask (1 << n) - 1.
    """

    map: TensorMap
    boxes: tuple[TmaBox, ...]
    bytes: int
    multicast: int = 1


@dataclass(frozen=True)
class MatrixOperand:
    """A wgmma operand in shared memory.

    The descriptor's start address for warpgroup w, atom a (64 rows of A or ``inst_n``
    rows of B), step k (K of one instruction) is
    ``view base + w * warpgroup_stride + offsets[a][k]``, in bytes.
    ``leading`` and ``stride`` are the descriptor's byte offsets (PTX ISA, "Matrix
    descriptor"); ``swizzle`` in bytes; ``mn_major`` selects the transposed form.
    """

    leading: int
    stride: int
    swizzle: int
    mn_major: bool
    offsets: tuple[tuple[int, ...], ...]
    warpgroup_stride: int


@dataclass(frozen=True)
class WgmmaPlan:
    """A dot as wgmma.mma_async instructions of 64 rows, ``inst_n`` columns.

    ``instruction`` is the device function of their record (`isa.registry.lookup`).
    For m atom i, n atom j and step k: accumulator registers begin at
    ``(i * n_atoms + j) * inst_n / 2``; a register A operand at
    ``(i * k_steps + k) * 8`` (elements). The first step has scale-d 0 if there is no
    accumulator. ``a`` is None when A is in registers.
    """

    inst_n: int
    m_atoms: int
    n_atoms: int
    k_steps: int
    a: MatrixOperand | None
    b: MatrixOperand
    instruction: str


@dataclass(frozen=True)
class MmaStep:
    """One instruction: first registers of accumulator, A and B (element indices)."""

    acc: int
    a: int
    b: int


@dataclass(frozen=True)
class MmaPlan:
    """A dot of register operands as matrix instructions, in issue order.

    ``instruction`` is the device function of their records: the instruction's
    (`isa.registry.lookup`) and the product's (`isa.registry.register_product`).
    """

    instruction: str
    steps: tuple[MmaStep, ...]
