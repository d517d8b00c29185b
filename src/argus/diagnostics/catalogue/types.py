"""AG01xx: names, values and their types."""

from argus.diagnostics.catalogue.code import Code

CODES = (
    Code(
        "AG0101",
        "there is no such name",
        "The name is not assigned before this place, is no parameter of the kernel, "
        "and is not imported from the language.",
    ),
    Code(
        "AG0102",
        "a name that is not assigned on every path",
        "The name is assigned in one branch of a condition, or only inside a loop "
        "that may run zero times, and read after it.",
    ),
    Code(
        "AG0103",
        "there is no such attribute or method",
        "The value has a type, and the type has no attribute of that name.",
    ),
    Code(
        "AG0104",
        "wrong arguments in a call to the language",
        "Too many, too few, unknown by name, or given twice. The note shows the "
        "signature.",
    ),
    Code(
        "AG0105",
        "an argument of the wrong type",
        "The operation takes a different kind of value here: a tile where a number "
        "is expected, a shared tile where a register tile is expected, and so on.",
    ),
    Code(
        "AG0106",
        "element types that do not go together",
        "A 16-bit float meets f32 in f32, and i32 meets i64 in i64. Nothing else is "
        "converted silently, stores least of all: say `.to(dtype)`.",
    ),
    Code(
        "AG0107",
        "an element type that the operation does not have",
        "The operation has no meaning or no instruction for this element type, such "
        "as a logical operation on floats.",
    ),
    Code(
        "AG0108",
        "a value that must be known at compile time",
        "Tile sizes, stage counts, register budgets and everything after `*` in the "
        "parameter list are compile-time numbers, because code is generated from "
        "them.",
    ),
    Code(
        "AG0109",
        "a variable changes its type in a loop",
        "A value that is carried from one iteration to the next keeps its element "
        "type, its shape and its memory space.",
    ),
    Code(
        "AG0110",
        "a variable has different types in two branches",
        "After a condition a variable must have one type, whichever branch was taken.",
    ),
    Code(
        "AG0111",
        "wrong number of values to unpack",
        "The left side names more or fewer values than the right side has.",
    ),
    Code(
        "AG0112",
        "an annotation that is not a type of the language",
        'A parameter is a tensor, `bf16["M K"]`, or a scalar, `f32`. The text in '
        "brackets lists its dimensions.",
    ),
    Code(
        "AG0113",
        "there is no such element type",
        "The name is not one of the element types of the language.",
    ),
    Code(
        "AG0114",
        "a constant that its element type cannot hold",
        "The number is outside the range of the element type, or not a number it "
        "has, such as a fraction for an integer type.",
    ),
    Code(
        "AG0115",
        "a value made in one role is used in another",
        "Registers belong to the threads of the role that wrote them. Data goes "
        "from role to role through shared memory: a ring or a shared tile with a "
        "barrier.",
    ),
    Code(
        "AG0116",
        "an indexed value that cannot be indexed",
        "Tensors, shared tiles, rings and barriers can be indexed. A register tile "
        "is spread over threads: select from it with `ag.where`, a reduction or a "
        "slice along a dimension.",
    ),
    Code(
        "AG0117",
        "a write to a value that is read only",
        "Slices of tensors, of maps of tensors and of shared tiles can be written. "
        "Numbers, sizes and register tiles cannot, and TMA stores to no map.",
    ),
    Code(
        "AG0118",
        "an expression without an effect",
        "The value of the statement is not used, and the operation changes nothing. "
        "An update in place was probably meant: operations return new tiles.",
    ),
    Code(
        "AG0119",
        "a compile-time computation fails",
        "Evaluating the expression on static values divides by zero, overflows, or "
        "is otherwise undefined.",
    ),
    Code(
        "AG0120",
        "a static assertion that does not hold",
        "The kernel states by `assert` or `ag.require` what must hold for its static "
        "parameters, and these values break it.",
    ),
    Code(
        "AG0121",
        "an annotation that is more than an annotation",
        "`ag.tag`, `ag.check`, `ag.assume`, `ag.expect` and `ag.trust` leave no trace "
        "in the kernel. Each is a statement of its own that names values which are "
        "there; it computes no tile and loads nothing.",
    ),
    Code(
        "AG0122",
        "an index that may have more than 64 bits",
        "Coordinates of elements are multiplied by a number that may be as large as 64 "
        "bits hold. Where the index were beyond them, it would be that of another "
        "element.",
    ),
    Code(
        "AG0125",
        "a function that a scan cannot apply",
        "`ag.scan` and `ag.reduce` apply their function to single numbers: it consists "
        "of element-wise functions, `ag.where` and constants, and depends on its "
        "arguments alone.",
    ),
    Code(
        "AG0126",
        "more than can be printed",
        "`ag.print` takes a text of at most 200 characters, scalars, and at most one "
        "tile of at most 1024 elements, of which each is a line.",
    ),
    Code(
        "AG0127",
        "a kernel that prints is not timed",
        "`ag.print` is for finding out what happens. Its time would count, and a judge "
        "does not run what writes to its output: `argus bench` and `argus optimize` "
        "refuse it.",
    ),
)
