"""AG00xx: the source of a kernel, and the subset of Python that it may use."""

from argus.diagnostics.catalogue.code import Code

CODES = (
    Code(
        "AG0001",
        "the kernel source is not valid Python",
        "The file was parsed by Python's own parser, which rejected it. Nothing "
        "else can be said about it until it parses.",
    ),
    Code(
        "AG0002",
        "the source of the kernel cannot be found",
        "Kernels are read from source text. A function that was made by `exec`, or "
        "typed into a plain prompt, has none. Put it into a file.",
    ),
    Code(
        "AG0003",
        "this statement is not part of the language",
        "A kernel may contain assignments, `for`, `if`, `with`, `pass`, docstrings "
        "and calls. `while`, `try`, `class`, `import`, `global`, `del`, `raise`, "
        "`yield` and nested functions have no meaning on tiles.",
    ),
    Code(
        "AG0004",
        "this expression is not part of the language",
        "Comprehensions, dictionaries, lambdas other than the map of a view or part of "
        "an annotation, `in`, walrus assignments and the like have no meaning on "
        "tiles.",
    ),
    Code(
        "AG0005",
        "a call to something that is not part of the language",
        "A kernel may call names of the language, methods of tiles, tensors and "
        "rings, and functions marked `@ag.inline`. It is never executed by Python, "
        "so it cannot call anything else.",
    ),
    Code(
        "AG0006",
        "a loop must be over `ag.range` or a static `range`",
        "`ag.range` makes a loop that runs on the GPU, `range` over static numbers "
        "one that is unrolled by the compiler. Nothing else can be iterated.",
    ),
    Code(
        "AG0007",
        "a condition that is not uniform",
        "Control flow is the same for all threads of a role, so a condition may "
        "depend on sizes, block ids and loop counters, but not on the elements of a "
        "tile. Choose per element with `ag.where`, or ask all elements: "
        "`if ag.any(x > 0):`, `if ag.all(x > 0):`.",
    ),
    Code(
        "AG0008",
        "`return` with a value or in the middle of a kernel",
        "A kernel stores its results into its output tensors. In an `@ag.inline` "
        "function `return` is its last statement.",
    ),
    Code(
        "AG0009",
        "assignment to something that cannot be assigned",
        "The left side must be a name, a tuple of names, or a slice of a tensor or "
        "of a shared tile.",
    ),
    Code(
        "AG0010",
        "`break` and `continue` are not part of the language",
        "The trip count of a loop must be known when it is entered, because the "
        "producer and the consumer of a ring run the same loop independently.",
    ),
    Code(
        "AG0011",
        "a file without a kernel",
        "No function in the file is marked `@ag.kernel`, or none has the name that "
        "was asked for.",
    ),
    Code(
        "AG0012",
        "two kernels or functions with one name",
        "Kernels are found by name, so that each name can stand only once in a file.",
    ),
    Code(
        "AG0013",
        "a decorator that the language does not know",
        "A kernel carries `@ag.kernel` and nothing else, since a decorator would be "
        "Python code that has to be executed.",
    ),
    Code(
        "AG0014",
        "a parameter list that a kernel cannot have",
        "Tensors and run-time scalars come first and carry an annotation, compile- "
        "time parameters follow after `*` and carry a default. `*args`, `**kwargs` "
        "and positional-only parameters cannot be bound.",
    ),
    Code(
        "AG0015",
        "an inline function that calls itself",
        "`@ag.inline` functions are expanded where they are called, so recursion "
        "would never end.",
    ),
    Code(
        "AG0016",
        "a `with` block that is not part of the language",
        "`with` opens a role (`ag.role`), or fills or drains a slot of a ring.",
    ),
    Code(
        "AG0017",
        "a role inside a role, a loop or a condition",
        "Roles divide the warps of a block for its whole life, so they stand at the "
        "top level of the kernel; a persistent loop stands inside each of them.",
    ),
    Code(
        "AG0018",
        "a comparison chain or a Boolean of tiles",
        "`a < b < c`, `and`, `or` and `not` ask Python for one truth value, which a "
        "tile does not have. Use `&`, `|` and `~`.",
    ),
    Code(
        "AG0019",
        "the source uses a name of the language as a variable",
        "Assigning to the name under which Argus is imported, or to a dtype, hides "
        "it from the rest of the kernel. A field of a ring cannot have the name of a "
        "method of its slots.",
    ),
    Code(
        "AG0020",
        "source that is nested too deeply",
        "Expressions and blocks may be nested up to a limit that no readable kernel "
        "reaches.",
    ),
    Code(
        "AG0021",
        "a name of the language used outside a kernel",
        "The functions of the language have a meaning only in the source of kernels "
        "and of `@ag.inline` functions, which is parsed and never executed.",
    ),
    Code(
        "AG0022",
        "an import that a kernel file cannot have",
        "A kernel file is parsed and never executed, so that only the language can "
        "be imported into it.",
    ),
    Code(
        "AG0024",
        "a kernel that stores nothing",
        "Nothing that the kernel computes can be seen from outside.",
    ),
    Code(
        "AG0025",
        "a text that cannot be a name",
        "Roles, named barriers and turns are called by a text. It is made of ASCII "
        "letters, digits and `_`, begins with a letter, has at most one blank or `-` "
        "between words, and is short. `block` stands for all threads of the block.",
    ),
)
