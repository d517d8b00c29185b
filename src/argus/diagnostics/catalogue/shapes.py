"""AG02xx: dimensions, shapes, layouts as the author names them."""

from argus.diagnostics.catalogue.code import Code

CODES = (
    Code(
        "AG0201",
        "shapes that do not go together",
        "Both operands have the same dimensions, or one of them lacks a dimension "
        "along which it is repeated. The dimensions are matched by name.",
    ),
    Code(
        "AG0202",
        "there is no such dimension",
        "The tile or tensor has no dimension of that name. The note lists those it "
        "has.",
    ),
    Code(
        "AG0203",
        "wrong number of indices",
        "A tensor is indexed with one index or slice for each of its dimensions; "
        "`...` stands for the ones that are left out.",
    ),
    Code(
        "AG0204",
        "a contraction without a common dimension",
        "`ag.dot(a, b)` multiplies the last dimension of `a` with the first of `b`, "
        "which must have the same name and size.",
    ),
    Code(
        "AG0205",
        "an accumulator of the wrong shape",
        "The accumulator of `ag.dot` has the rows of the left and the columns of "
        "the right operand.",
    ),
    Code(
        "AG0206",
        "a tile that does not fit its place",
        "The tile that is stored, or loaded into, has other sizes than the place it "
        "goes to.",
    ),
    Code(
        "AG0207",
        "a dimension that appears twice",
        "Dimensions are told apart by name. Two of one name in one tensor would "
        "make the tags of its elements ambiguous.",
    ),
    Code(
        "AG0208",
        "a tile size that is not a positive number",
        "Each size of a tile is a compile-time number of at least 1.",
    ),
    Code(
        "AG0209",
        "a size that the operation cannot divide",
        "The operation cuts this dimension into equal parts, such as the vectors of a "
        "layout, and the size is not a multiple of theirs.",
    ),
    Code(
        "AG0210",
        "a step that is not a static positive number",
        "`ag.range` and slices move in steps of a compile-time number of at least 1.",
    ),
    Code(
        "AG0211",
        "a view that is not affine",
        "The indices of a view are sums of coordinates times constants and sizes. "
        "Anything else cannot be loaded as a box.",
    ),
    Code(
        "AG0213",
        "a reinterpretation between layouts of different size",
        "`ag.reinterpret` gives the same registers or bytes other coordinates, so "
        "that both layouts must have the same number of bits per thread.",
    ),
    Code(
        "AG0216",
        "a permutation that does not name each dimension once",
        "`.T` exchanges the last two of at least two axes; `ag.permute` and the order "
        "of a layout list each axis exactly once.",
    ),
    Code(
        "AG0218",
        "dimensions of different names meet",
        "Elements are combined or stored position by position, and the names say "
        "that the positions mean different things. Transpose a tile with `.T`; if "
        "two names are the same thing, say so with `ag.rename`.",
    ),
    Code(
        "AG0219",
        "a dimension with a name that is taken",
        "Sizes are known by the names of dimensions, and so are strides (`A_s0` is the "
        "first of `A`), the index of a block and the number of multiprocessors. A "
        "dimension needs a name that is none of these.",
    ),
    Code(
        "AG0220",
        "a shape with other elements",
        "`ag.reshape` keeps the elements and their row-major order. The new shape has "
        "as many, and each of its axes is a part of an axis of the tile, or several of "
        "them.",
    ),
)
