"""Pass: lay out every shared-memory tile; later, give each buffer its bytes.

A tile of two or more axes is stored in column panels with the widest swizzle its rows
fill: that is what TMA writes, wgmma reads, and what keeps ldmatrix, stmatrix and row
accesses free of bank conflicts. An author's swizzle is honoured or an error.
"""

from argus.diagnostics import fail
from argus.ir.memory import SharedAlloc
from argus.ir.program import Program
from argus.isa import boxes
from argus.layout.shared import SharedLayout, panels


def all_buffers(program: Program) -> list[SharedAlloc]:
    """Ring fields, then other buffers, each once, in order of declaration."""
    found: list[SharedAlloc] = []
    for ring in program.rings:
        found += ring.fields.values()
    found += [s for s in program.shared if s not in found]
    return found


def lay_out_buffers(program: Program) -> None:
    """Set ``layout`` and ``alignment`` of every buffer that has none.

    Raises ArgusError AG0606 for a swizzle that the tile's rows cannot have.
    """
    for buffer in all_buffers(program):
        if buffer.layout is None:
            buffer.layout = _layout(buffer)
            needed = boxes.box_alignment(buffer.layout.swizzle)
            buffer.alignment = max(buffer.layout.alignment, needed)


def _layout(buffer: SharedAlloc) -> SharedLayout:
    row = buffer.shape[-1] * buffer.dtype.bytes
    if buffer.swizzle is not None:
        if buffer.swizzle and (row % buffer.swizzle or len(buffer.shape) < 2):
            what = f"rows of {row} bytes" if len(buffer.shape) > 1 else "a vector"
            raise fail(
                "AG0606",
                buffer.span,
                f"{what} cannot have a {buffer.swizzle}-byte swizzle",
                help="make the innermost extent a multiple of the swizzle, or leave "
                "`swizzle=` out",
            )
        return panels(buffer.shape, buffer.dtype.bytes, buffer.swizzle)
    rows = 1
    for extent in buffer.shape[:-1]:
        rows *= extent
    if len(buffer.shape) >= 2 and rows % boxes.SWIZZLE_ROWS == 0:
        for swizzle in sorted(boxes.SWIZZLES, reverse=True):
            if swizzle and row % swizzle == 0:
                return panels(buffer.shape, buffer.dtype.bytes, swizzle)
    return panels(buffer.shape, buffer.dtype.bytes, 0)


def assign_offsets(program: Program) -> None:
    """Give every buffer and barrier its offset in dynamic shared memory.

    Raises ArgusError AG0501 when the block needs more than the target has.
    """
    sizes: list[tuple[int, str]] = []
    end = 0
    buffers = all_buffers(program)
    program.shared = buffers
    for buffer in sorted(buffers, key=lambda b: -b.alignment):
        end = -(-end // buffer.alignment) * buffer.alignment
        buffer.offset = end
        end += buffer.stages * buffer.stage_bytes
        sizes.append((buffer.stages * buffer.stage_bytes, buffer.name))
    end = -(-end // 8) * 8
    for barrier in program.barriers:
        barrier.offset = end
        end += 8 * barrier.count
    program.shared_bytes = end
    if end > program.target.shared_bytes:
        listing = sorted(sizes, reverse=True)[:8]
        raise fail(
            "AG0501",
            program.span,
            f"the block needs {end} bytes of shared memory; {program.target.name} "
            f"has {program.target.shared_bytes}",
            notes=[f"{name}: {size} bytes" for size, name in listing],
            help="use fewer stages or smaller tiles",
        )
