"""What people write who know numpy, PyTorch or Triton, and how it is said here.

Only where another name would be no help: what is misspelt is found by `suggest`.
"""

from __future__ import annotations

__all__ = ["of_attribute", "of_call", "of_name", "of_scalar"]

_MODULES = ("np", "numpy", "math", "torch", "F", "tl", "triton", "jnp", "cupy", "cp")
_BITS = "no bits are taken for those of another type: `.to(dtype)` converts numbers"
_ATOMICS = "there are `atomic_add`, `_max`, `_min`, `_exchange` and `_cas`"
_NAMES = {
    "program_id": "`i, j = ag.block(n0, n1)` gives the indices of a block",
    "num_programs": "the extents that `ag.block` is given are the grid",
    "thread_idx": "no thread is named: a tile is shared out by placing",
    "threadIdx": "no thread is named: a tile is shared out by placing",
    "blockIdx": "`i, j = ag.block(n0, n1)` gives the indices of a block",
    "syncthreads": "write `ag.sync()`; most syncs are inserted",
    "arange": '`ag.index(x, "N")` counts the elements of a tile along N',
    "iota": '`ag.index(x, "N")` counts the elements of a tile along N',
    "matmul": "write `ag.dot(a, b)` or `a @ b`",
    "mm": "write `ag.dot(a, b)` or `a @ b`",
    "bmm": "write `ag.dot(a, b)` or `a @ b` for one of the products",
    "einsum": "write `ag.dot(a, b)`; `.rename` and `.T` bring axes together",
    "softmax": "write it out: `e = ag.exp(x - ag.max(x, d))`, `e / ag.sum(e, d)`",
    "zeros_like": "write `ag.zeros(x.shape, x.dtype)`",
    "ones": "write `ag.full(shape, 1.0, dtype)`",
    "ones_like": "write `ag.full(x.shape, 1.0, x.dtype)`",
    "full_like": "write `ag.full(x.shape, value, x.dtype)`",
    "empty": "write `ag.zeros(shape, dtype)`",
    "clamp": "write `ag.minimum(ag.maximum(x, low), high)`",
    "clip": "write `ag.minimum(ag.maximum(x, low), high)`",
    "concat": "write `ag.join(a, b, dim)`",
    "concatenate": "write `ag.join(a, b, dim)`",
    "cat": "write `ag.join(a, b, dim)`",
    "stack": "write `ag.interleave(a, b, dim)` or `ag.join(a, b, dim)`",
    "transpose": 'write `x.T`, or `ag.permute(x, "N M")`',
    "pow": "write a product, or `ag.exp(y * ag.log(x))`",
    "var": "write it out: the mean of the squares of `x - mean`",
    "constexpr": "static parameters stand after `*`",
    "cumprod": "write `ag.scan(x, dim, fn)` with an inline function",
    "enumerate": "write `for i in range(len(w)):`, and `w[i]`",
    "zip": "write `for i in range(len(a)):`, and `a[i]`, `b[i]`",
    "float": "scalars have no type; infinity is `ag.inf`, and a tile has `.to(f32)`",
    "int": "scalars have no type, and a tile has `.to(i32)`; `//` rounds down",
    "bool": "compare: `x != 0`",
    "pi": "write the number: 3.141592653589793",
    "isnan": "write `x != x`",
    "isinf": "write `ag.abs(x) == ag.inf`",
    "sign": "write `ag.where(x > 0, 1.0, ag.where(x < 0, -1.0, 0.0))`",
    "tan": "write `ag.sin(x) / ag.cos(x)`",
    "softplus": "write `ag.maximum(x, 0.0) + ag.log1p(ag.exp(-ag.abs(x)))`",
    "bitcast": _BITS,
    "count": "write `ag.sum(ag.where(mask, 1, 0), dim)`",
    "count_nonzero": "write `ag.sum(ag.where(mask, 1, 0), dim)`",
    "gather": "index with a tile: `ag.load(X[rows, 0:64])`",
    "take": "index with a tile: `ag.load(X[rows, 0:64])`",
    "scatter": "index with a tile: `X[rows, 0:64] = x`, or `ag.atomic_add`",
    "atomic_sub": "write `ag.atomic_add(view, -x)`",
    "atomic_xchg": "write `ag.atomic_exchange(view, tile)`",
    "atomic_or": _ATOMICS,
    "atomic_and": _ATOMICS,
    "atomic_xor": _ATOMICS,
    "rand": "write `ag.random(seed, offset)`, where `offset` is a tile of places",
    "uniform": "write `ag.random(seed, offset)`, where `offset` is a tile of places",
}
_CASTS = {
    "float": "f32",
    "half": "f16",
    "bfloat16": "bf16",
    "int": "i32",
    "long": "i64",
}
_OF_TENSOR = {
    "size": "sizes are `X.shape[0]`, or `M, N = X.shape`",
    "numel": "multiply the sizes of `X.shape`",
    "dim": "a tensor has as many dimensions as its annotation says",
    "T": "load a tile and write `.T`, or read through `X.view(dims, shape, at)`",
    "stride": "strides are known to the compiler: index with `X[i, j:]`",
}
_OF_SCALAR = {
    "to": "a scalar has no type: it takes that of the tile that it meets, and "
    "`ag.full((1,), s, f32)` is a tile of it",
    "item": "an element `V[0]` of a tensor is a scalar",
}
_VIEWS = (
    "reshape",
    "permute",
    "transpose",
    "flatten",
    "unsqueeze",
    "squeeze",
    "expand",
)
_KEPT = "a result lacks the dimension, and meets tiles by the names of the others"
_KEYWORDS = {
    "axis": "the dimension is the second argument: its name or its number",
    "keepdim": _KEPT,
    "keepdims": _KEPT,
    "other": "elements that are not read are `fill=`",
}


def of_name(name: str) -> str | None:
    """Help for a name that the language lacks, or that nothing has bound."""
    if name in _MODULES:
        return f"a kernel calls functions of argus: `ag.exp`, not `{name}.exp`"
    return _NAMES.get(name)


def of_attribute(name: str, functions: tuple[str, ...], *, tensor: bool) -> str | None:
    """Help for an attribute that a tile, or a ``tensor``, lacks."""
    if tensor:
        if name in _VIEWS:
            return "read it through `X.view(dims, shape, at)`"
        return _OF_TENSOR.get(name)
    if name in _CASTS:
        return f"write `.to({_CASTS[name]})`"
    if name in ("astype", "type", "cast"):
        return "write `.to(dtype)`"
    if name == "view":
        return f"`ag.reshape(x, shape)` gives other axes; {_BITS}"
    if name in functions:
        return f"functions are called as `ag.{name}(x, ...)`"
    return _NAMES.get(name)


def of_scalar(name: str) -> str | None:
    """Help for an attribute that a number lacks."""
    return _OF_SCALAR.get(name)


def of_call(keyword: str) -> str | None:
    """Help for a keyword that a function lacks."""
    return _KEYWORDS.get(keyword)
