"""AG06xx: what the target can do, and the rules of its instructions."""

from argus.diagnostics.catalogue.code import Code

CODES = (
    Code(
        "AG0601",
        "there is no such target",
        "Argus does not compile for the target of that name. The help line lists those "
        "that it knows.",
    ),
    Code(
        "AG0602",
        "the target does not have this feature",
        "The policy or instruction needs a newer or another architecture. It is "
        "never dropped silently.",
    ),
    Code(
        "AG0603",
        "no instruction fits this operation",
        "For these element types, sizes and memory spaces the target has no "
        "instruction, and no sequence of them is known.",
    ),
    Code(
        "AG0604",
        "a matrix instruction with impossible sizes",
        "The tile cannot be cut into the M x N x K that the instruction has.",
    ),
    Code(
        "AG0605",
        "an operand in the wrong memory space",
        "The instruction takes this operand from registers, from shared memory or "
        "from either, and it is elsewhere.",
    ),
    Code(
        "AG0606",
        "a swizzle that the instruction cannot read",
        "The layout of the shared tile is none that the instruction's descriptor "
        "can express.",
    ),
    Code(
        "AG0607",
        "a register layout that does not fit its tile",
        "A layout places each element of a tile of one shape in the registers of a "
        "number of threads. Here the shape or the threads are others, or two layouts "
        "are asked for one tile.",
    ),
    Code(
        "AG0608",
        "an address that is not aligned",
        "The instruction needs an address or stride that is a multiple of its "
        "access size.",
    ),
    Code(
        "AG0609",
        "a TMA box that is not possible",
        "A copy by TMA is cut into boxes. Each side of a box has 1 to 256 elements, "
        "its innermost side is a multiple of 16 bytes, and the rows that several "
        "blocks share divide into multiples of 8.",
    ),
    Code(
        "AG0611",
        "a tensor that TMA cannot describe",
        "TMA needs 1 to 5 dimensions, an innermost stride of one element, other "
        "strides that are multiples of 16 bytes, and a base address aligned to 16 "
        "bytes.",
    ),
    Code(
        "AG0613",
        "options that exclude each other",
        "Two policies of the same loop, ring or grid contradict each other.",
    ),
    Code(
        "AG0614",
        "an operation that is not allowed on this memory space",
        "For instance arithmetic on a shared tile that was not loaded into registers.",
    ),
    Code(
        "AG0615",
        "a form of the language that is not implemented yet",
        "The program is valid, but this compiler cannot place or print it yet. The "
        "note says what can be written instead.",
    ),
)
