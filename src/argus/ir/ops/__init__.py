"""The operations of a program, and the register tiles they make.

The same operations are used before and after placing. Placing fills in
``Tile.layout`` (which thread and register holds each element) and ``op.plan`` (which
instruction does it, how it is split, which addresses it touches); it also inserts
waits, fences and syncs, as ordinary operations whose ``note`` says why.

Tiles are in static single assignment form; loops and branches carry tiles and scalars
explicitly. Scalars are symbols (:class:`~argus.ir.expr.Sym`) bound by Let, LoadScalar,
For and If.

    tile.py        register tiles
    structure.py   blocks, loops, branches, roles
    registers.py   scalars and register tiles
    moving.py      what a move of elements says of itself
    moves.py       elements of tiles at other places; selections.py: some of them
    memory.py      loads, stores, copies
    sync.py        barriers, syncs, fences; rings
"""

from typing import get_args

from argus.ir.annotations import Assume as Assume
from argus.ir.annotations import Check as Check
from argus.ir.annotations import Expect as Expect
from argus.ir.annotations import Print as Print
from argus.ir.annotations import Tag as Tag
from argus.ir.annotations import Trust as Trust
from argus.ir.memory import GlobalView as GlobalView
from argus.ir.memory import SharedView as SharedView
from argus.ir.op import Access as Access
from argus.ir.op import Annotation as Annotation
from argus.ir.op import Commit as Commit
from argus.ir.op import Copy as Copy
from argus.ir.op import GroupWait as GroupWait
from argus.ir.op import Op as Op
from argus.ir.op import Structure as Structure
from argus.ir.op import Synchronisation as Synchronisation
from argus.ir.ops.memory import Atomic as Atomic
from argus.ir.ops.memory import CopyAsync as CopyAsync
from argus.ir.ops.memory import CopyOut as CopyOut
from argus.ir.ops.memory import CopyOutCommit as CopyOutCommit
from argus.ir.ops.memory import CopyOutWait as CopyOutWait
from argus.ir.ops.memory import CpAsyncArrive as CpAsyncArrive
from argus.ir.ops.memory import CpAsyncCommit as CpAsyncCommit
from argus.ir.ops.memory import CpAsyncWait as CpAsyncWait
from argus.ir.ops.memory import LoadGlobal as LoadGlobal
from argus.ir.ops.memory import LoadShared as LoadShared
from argus.ir.ops.memory import StoreGlobal as StoreGlobal
from argus.ir.ops.memory import StoreShared as StoreShared
from argus.ir.ops.moves import Broadcast as Broadcast
from argus.ir.ops.moves import Convert as Convert
from argus.ir.ops.moves import Join as Join
from argus.ir.ops.moves import Reshape as Reshape
from argus.ir.ops.moves import Transpose as Transpose
from argus.ir.ops.moving import Moving as Moving
from argus.ir.ops.moving import MovingOne as MovingOne
from argus.ir.ops.registers import Binding as Binding
from argus.ir.ops.registers import Cast as Cast
from argus.ir.ops.registers import Combining as Combining
from argus.ir.ops.registers import Dot as Dot
from argus.ir.ops.registers import Elementwise as Elementwise
from argus.ir.ops.registers import Extract as Extract
from argus.ir.ops.registers import Full as Full
from argus.ir.ops.registers import Index as Index
from argus.ir.ops.registers import Let as Let
from argus.ir.ops.registers import LoadScalar as LoadScalar
from argus.ir.ops.registers import Reduce as Reduce
from argus.ir.ops.registers import RegisterOp as RegisterOp
from argus.ir.ops.registers import Reinterpret as Reinterpret
from argus.ir.ops.registers import Scan as Scan
from argus.ir.ops.registers import ScanTotal as ScanTotal
from argus.ir.ops.registers import Sort as Sort
from argus.ir.ops.selections import Flip as Flip
from argus.ir.ops.selections import Selection as Selection
from argus.ir.ops.selections import Slice as Slice
from argus.ir.ops.selections import StridedSlice as StridedSlice
from argus.ir.ops.structure import Block as Block
from argus.ir.ops.structure import For as For
from argus.ir.ops.structure import If as If
from argus.ir.ops.structure import Role as Role
from argus.ir.ops.structure import Roles as Roles
from argus.ir.ops.structure import ScalarCarry as ScalarCarry
from argus.ir.ops.structure import ScalarMerge as ScalarMerge
from argus.ir.ops.structure import TileCarry as TileCarry
from argus.ir.ops.structure import TileMerge as TileMerge
from argus.ir.ops.sync import BarrierArrive as BarrierArrive
from argus.ir.ops.sync import BarrierExpect as BarrierExpect
from argus.ir.ops.sync import BarrierOp as BarrierOp
from argus.ir.ops.sync import BarrierWait as BarrierWait
from argus.ir.ops.sync import ClusterSync as ClusterSync
from argus.ir.ops.sync import Fence as Fence
from argus.ir.ops.sync import RingAcquire as RingAcquire
from argus.ir.ops.sync import RingOp as RingOp
from argus.ir.ops.sync import RingPublish as RingPublish
from argus.ir.ops.sync import RingRelease as RingRelease
from argus.ir.ops.sync import RingWait as RingWait
from argus.ir.ops.sync import SetMaxRegisters as SetMaxRegisters
from argus.ir.ops.sync import Sync as Sync
from argus.ir.ops.sync import WgmmaCommit as WgmmaCommit
from argus.ir.ops.sync import WgmmaWait as WgmmaWait
from argus.ir.ops.tile import Tile as Tile

AnyMoving = (
    Broadcast | Transpose | Reshape | Join | Slice | StridedSlice | Flip | Convert
)
"""Every operation that is a Moving."""

AnyRegisterOp = (
    Full | Index | Elementwise | Cast | Reduce | Scan | ScanTotal | Sort | Reinterpret
    | AnyMoving
)  # fmt: skip
"""Every operation that is a RegisterOp."""

AnyOp = (
    For | If | Roles | Let | LoadScalar | Extract | AnyRegisterOp | Dot
    | LoadGlobal | StoreGlobal | Atomic | LoadShared | StoreShared | CopyAsync | CopyOut
    | CopyOutCommit | CopyOutWait | CpAsyncCommit | CpAsyncWait | CpAsyncArrive
    | BarrierExpect | BarrierArrive | BarrierWait | Sync | ClusterSync | Fence
    | WgmmaCommit | WgmmaWait | SetMaxRegisters | RingAcquire | RingPublish
    | RingWait | RingRelease | Tag | Check | Assume | Expect | Trust | Print
)  # fmt: skip
"""Every operation. Readers match on it and end with ``assert_never``."""

OPS: tuple[type[Op], ...] = get_args(AnyOp)
"""The classes of all operations."""
