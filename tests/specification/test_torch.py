"""Functions of torch: what is traced is what torch computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from agreement import Given, compare, parts_of, variable

from argus.diagnostics import Span
from argus.ir.dtypes import DTYPES
from argus.ir.expr import Const, Expr, Sym
from argus.ir.memory import GlobalTensor
from argus.ir.ops import Block
from argus.ir.program import Program, ScalarParam
from argus.specification import Specification
from argus.specification.aten.export import trace_torch
from argus.specification.aten.exporting import guards_of
from argus.targets import DEFAULT_TARGET, TARGETS
from argus.terms import Unknown, World
from argus.terms.evaluate import holds_at

torch = pytest.importorskip("torch")
F = torch.nn.functional


def program_of(shapes: Mapping[str, str], outputs: Mapping[str, str]) -> Program:
    """A program with these parameters, and nothing in it."""
    params: list[GlobalTensor | ScalarParam] = []
    for name, text in {**shapes, **outputs}.items():
        sizes, dtype = parts_of(text)
        extents: list[Expr] = [
            Const(int(s)) if s.isdigit() else Sym(s, "dim") for s in sizes
        ]
        strides: tuple[Expr, ...] = tuple(Const(1) for _ in sizes)
        dims = tuple(s if not s.isdigit() else f"d{i}" for i, s in enumerate(sizes))
        params.append(GlobalTensor(name, DTYPES[dtype], dims, tuple(extents), strides))
    span = Span("test.py", 1, 1, 1, 1)
    return Program(
        "test", "test.py", TARGETS[DEFAULT_TARGET], params, {}, Block([]), span,
        outputs=list(outputs),
    )  # fmt: skip


def drawn(shapes: Mapping[str, str], sizes: Mapping[str, int]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for name, text in shapes.items():
        parts, dtype = parts_of(text)
        extent = [int(s) if s.isdigit() else sizes[s] for s in parts]
        if dtype == "bool":
            found[name] = rng.integers(0, 2, extent).astype(bool)
        elif dtype.startswith("f"):
            found[name] = rng.uniform(-1.5, 1.5, extent)
        else:
            found[name] = rng.integers(0, 2, extent)
    return found


def agree(
    function: Callable[..., Any],
    shapes: Mapping[str, str],
    outputs: Mapping[str, str],
    *points: Mapping[str, int],
) -> Specification:
    """At each of some sizes, in one trace."""
    world = World()
    given = trace_torch(function, program_of(shapes, outputs), world)
    for sizes in points:
        point = {variable(world.size(n)): k for n, k in sizes.items()}
        for need in given.needs:
            assert need.where is None or holds_at(need.where, point, Given({})), need
        arrays = drawn(shapes, sizes)
        wanted = function(**{n: torch.from_numpy(a) for n, a in arrays.items()})
        several = wanted if isinstance(wanted, tuple) else (wanted,)
        if isinstance(function, torch.nn.Module):
            for name, tensor in function.state_dict().items():
                arrays[name] = tensor.detach().double().numpy()
        for mine, theirs in zip(given.outputs.values(), several, strict=True):
            compare(world, mine, theirs.detach().numpy(), sizes, arrays)
    return given


X = {"x": "M N"}
SIZES = {"M": 3, "N": 4}
ONES = ({"M": 1, "N": 4}, {"M": 3, "N": 1}, {"M": 1, "N": 1})
"""Torch may make another graph where a size is 1."""

ONE: dict[str, Callable[[Any], Any]] = {
    "exp": torch.exp,
    "several": lambda x: torch.sin(x) * torch.cos(x) + torch.erf(x) - torch.atan(x),
    "rounding": lambda x: torch.floor(x) + 2 * torch.ceil(x) + 3 * torch.round(x),
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "elu": F.elu,
    "leaky": lambda x: F.leaky_relu(x, 0.2),
    "hardtanh": F.hardtanh,
    "softplus": lambda x: torch.log1p(torch.exp(x)),
    "powers": lambda x: x**2 + x.abs() ** 0.5 + (x.abs() + 1) ** -2,
    "rsqrt": lambda x: torch.rsqrt(x * x + 1),
    "clamp": lambda x: torch.clamp(x, -0.5, 0.7),
    "clamp below": lambda x: x.clamp(min=0.1),
    "where": lambda x: torch.where(x > 0, x, -2 * x),
    "masked": lambda x: x.masked_fill(x > 0.5, 0.25),
    "softmax": lambda x: torch.softmax(x, -1),
    "log softmax": lambda x: torch.log_softmax(x, 0),
    "centred": lambda x: x - x.mean(-1, keepdim=True),
    "scaled": lambda x: x / x.norm(dim=-1, keepdim=True),
    "variance": lambda x: (x - x.mean(0)) / (x.var(0, correction=0) + 1e-3).sqrt(),
    "cumsum": lambda x: torch.cumsum(x, 1),
    "flip": lambda x: torch.flip(x, [1]),
    "tril": torch.tril,
    "triu": lambda x: torch.triu(x, 1),
    "causal": lambda x: x.masked_fill(
        torch.arange(x.shape[1])[None] > torch.arange(x.shape[0])[:, None], 0.0
    ),
    "rms": lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6),
    "assignment": lambda x: torch.cat([x[:1] * 2, x[1:]]),
    "rolled": lambda x: torch.roll(x, 1, 1),
    "expanded": lambda x: x[:, :1].expand(x.shape) + x,
    "reshaped": lambda x: x.reshape(-1).view(x.shape),
    "logsumexp": lambda x: x - torch.logsumexp(x, 1, keepdim=True),
}


@pytest.mark.parametrize("part", range(3))
def test_functions_of_one_tensor(part: int) -> None:
    functions = list(ONE.values())[part::3]

    def all_of_them(x: Any) -> Any:
        return tuple(f(x) for f in functions)

    outputs = {f"y{n}": "M N" for n in range(len(functions))}
    agree(all_of_them, X, outputs, SIZES, *ONES)


SEVERAL: dict[str, tuple[Any, dict[str, str], dict[str, str]]] = {
    "linear": (
        lambda x, w, b: F.linear(x, w, b),
        {"x": "M K", "w": "N K", "b": "N"},
        {"y": "M N"},
    ),
    "bmm": (
        lambda x, w: torch.bmm(x, w.transpose(1, 2)),
        {"x": "2 M K", "w": "2 N K"},
        {"y": "2 M N"},
    ),
    "einsum": (
        lambda x, w: torch.einsum("bmk,bnk->bmn", x, w),
        {"x": "2 M K", "w": "2 N K"},
        {"y": "2 M N"},
    ),
    "embedding": (
        lambda i, w: F.embedding(i, w),
        {"i": "M:i32", "w": "N K"},
        {"y": "M K"},
    ),
    "index select": (
        lambda x, i: x[:, i],
        {"x": "M N", "i": "K:i32"},
        {"y": "M K"},
    ),
    "gather": (
        lambda x, i: torch.gather(x, 1, i),
        {"x": "M N", "i": "M K:i32"},
        {"y": "M K"},
    ),
    "scatter add": (
        lambda x, i, s: x.index_add(0, i, s),
        {"x": "M N", "i": "K:i32", "s": "K N"},
        {"y": "M N"},
    ),
    "extremes": (
        lambda x: (x.amax(1), x.amin(1)),
        {"x": "M N"},
        {"y": "M", "z": "M"},
    ),
    "group norm": (
        lambda x, w, b: F.group_norm(x, 2, w, b),
        {"x": "M 4 N", "w": "4", "b": "4"},
        {"y": "M 4 N"},
    ),
    "convolution": (
        lambda x, w: F.conv2d(x, w, stride=2, padding=1),
        {"x": "2 3 M N", "w": "4 3 3 3"},
        {"y": "2 4 P Q"},
    ),
    "grouped convolution": (
        lambda x, w: F.conv1d(x, w, groups=2, dilation=2),
        {"x": "2 4 N", "w": "6 2 2"},
        {"y": "2 6 P"},
    ),
    "depthwise convolution": (
        lambda x, w: F.conv1d(F.pad(x, (3, 0)), w, groups=x.shape[1]),
        {"x": "2 M N", "w": "M 1 4"},
        {"y": "2 M N"},
    ),
    "max pool": (
        lambda x: F.max_pool2d(x, 2),
        {"x": "1 2 M N"},
        {"y": "1 2 P Q"},
    ),
    "pixel shuffle": (
        lambda x: F.pixel_shuffle(x, 2),
        {"x": "B C M N"},
        {"y": "B D P Q"},
    ),
    "convolution, any image": (
        lambda x, w: F.conv2d(x, w, padding=1),
        {"x": "2 K M N", "w": "C K 3 3"},
        {"y": "2 C M N"},
    ),
    "pool by squares": (
        lambda x: F.lp_pool2d(x, 2, 2),
        {"x": "2 M N K"},
        {"y": "2 M P Q"},
    ),
    "pool by cubes": (
        lambda x: F.lp_pool1d(x * x, 3, 2),
        {"x": "M N K"},
        {"y": "M N P"},
    ),
    "places of a pool": (
        lambda x: F.max_pool2d(x, (2, 3), (1, 2), (1, 1), return_indices=True),
        {"x": "2 M N 6"},
        {"y": "2 M P 3", "z": "2 M P 3:i64"},
    ),
    "places of parts": (
        lambda x: F.adaptive_max_pool2d(x, (2, 3), return_indices=True),
        {"x": "2 M N 6"},
        {"y": "2 M 2 3", "z": "2 M 2 3:i64"},
    ),
    "means of parts": (
        lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
        {"x": "2 M N 6"},
        {"y": "2 M 2 3"},
    ),
    "avg pool": (
        lambda x: F.avg_pool2d(x, 3, 1, 1),
        {"x": "1 2 M N"},
        {"y": "1 2 M N"},
    ),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        {"q": "1 2 M 4", "k": "1 2 N 4", "v": "1 2 N 4"},
        {"y": "1 2 M 4"},
    ),
    "causal attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        {"q": "1 2 M 4", "k": "1 2 N 4", "v": "1 2 N 4"},
        {"y": "1 2 M 4"},
    ),
    "concatenated": (
        lambda x, z: torch.cat([x, z.flip(1)], 1),
        {"x": "M N", "z": "M K"},
        {"y": "M P"},
    ),
}
NUMBERS: dict[str, dict[str, int]] = {
    "convolution": {"M": 5, "N": 6, "P": 3, "Q": 3},
    "grouped convolution": {"N": 7, "P": 5},
    "max pool": {"M": 4, "N": 6, "P": 2, "Q": 3},
    "concatenated": {"M": 2, "N": 3, "K": 4, "P": 7},
    "pixel shuffle": {"B": 2, "C": 8, "M": 3, "N": 2, "D": 2, "P": 6, "Q": 4},
    "convolution, any image": {"M": 3, "N": 4, "K": 2, "C": 2},
    "pool by squares": {"M": 2, "N": 4, "K": 5, "P": 2, "Q": 2},
    "pool by cubes": {"M": 2, "N": 3, "K": 4, "P": 2},
    "places of a pool": {"M": 2, "N": 4, "P": 5},
}


ANY_SIZE = (
    *("linear", "bmm", "einsum", "extremes", "attention", "causal attention"),
    "convolution, any image",
)


@pytest.mark.parametrize("name", SEVERAL)
def test_functions_of_several_tensors(name: str) -> None:
    function, shapes, outputs = SEVERAL[name]
    points = [NUMBERS.get(name, {"M": 3, "N": 4, "K": 2})]
    if name in ANY_SIZE:
        points += [
            {**points[0], **dict.fromkeys(ones, 1)} for ones in ("M", "N", "MNK")
        ]
    agree(function, shapes, outputs, *points)


def _few(i: Any) -> Any:
    return (i * 100).to(torch.int8)


NARROW: dict[str, Callable[[Any], Any]] = {
    "compared": lambda i: _few(i) < 300,
    "compared, no sign": lambda i: i.to(torch.uint8) > torch.tensor(-1),
    "extreme": lambda i: torch.maximum(_few(i), torch.tensor(200)),
    "remainder": lambda i: _few(i) % 300,
    "divided": lambda i: _few(i) // torch.tensor(300),
    "the least, by -1": lambda i: (-128 * i).to(torch.int8) // -1,
    "cut": lambda i: torch.div(_few(i), 300, rounding_mode="trunc"),
    "clamped": lambda i: _few(i).clamp(min=torch.tensor(200)),
    "of 16 bits": lambda i: (i * 30000).to(torch.int16) < torch.tensor(40000),
    "inverted": lambda i: ~i.to(torch.uint8),
    "reciprocal": lambda i: 1 + 12 * torch.reciprocal(i + 1),
}


def test_a_number_gives_way_to_a_tensor() -> None:
    """Of 300 numbers of 8 bits hold 44."""

    def all_of_them(i: Any) -> Any:
        return tuple(f(i).long() for f in NARROW.values())

    outputs = {f"y{n}": "M N:i64" for n in range(len(NARROW))}
    agree(all_of_them, {"i": "M N:i32"}, outputs, SIZES, *ONES)


def test_positions_in_floats_of_few_bits() -> None:
    def masked(x: Any) -> Any:
        place = torch.arange(x.shape[1])
        return torch.where(place.float().bfloat16() < 300, x, 0.0)

    given = agree(masked, X, {"y": "M N"}, SIZES)
    (need,) = [n for n in given.needs if "bfloat16" in n.why]
    assert need.where is not None
    world = World()
    point = {variable(world.size("N")): 258, variable(world.size("M")): 1}
    assert not holds_at(need.where, point, Given({}))


def test_a_module() -> None:
    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(4, 6, dtype=torch.float64)
            self.norm = torch.nn.LayerNorm(6, dtype=torch.float64)

        def forward(self, x: Any) -> Any:
            return self.norm(F.relu(self.first(x)))

    given = agree(Block(), {"x": "M 4"}, {"y": "M 6"}, {"M": 3})
    assert not given.needs  # also where M is 1, which torch takes for another size


def test_sizes_at_which_it_is_exported() -> None:
    def heads(x: Any) -> Any:
        return x.view(x.shape[0], 2, -1).transpose(1, 2).reshape(x.shape)

    agree(heads, {"x": "M 8"}, {"y": "M 8"}, {"M": 3})


def test_what_a_reshape_needs_is_of_the_size_that_it_takes_apart() -> None:
    """Not of its product with all others, of which sets know nothing."""
    program = program_of({"x": "B C H W"}, {"y": "B D P Q"})
    given = trace_torch(lambda x: F.pixel_shuffle(x, 2), program, World())
    assert all(n.where is not None for n in given.needs)
    world = World()
    point = {variable(world.size(n)): 6 for n in "BCHW"}
    point |= {variable(world.size(n)): 12 for n in "DPQ"}
    broken = [n for n in given.needs if not holds_at(n.where, point, Given({}))]
    assert broken and all("C" in n.why for n in broken)


def test_no_parts() -> None:
    """Where a row has one element, half of it is none: launches have others."""
    program = program_of({"x": "B M"}, {"y": "B N"})
    given = trace_torch(
        lambda x: F.adaptive_max_pool1d(x, x.shape[1] // 2), program, World()
    )
    world = World()
    point = {variable(world.size(n)): 1 for n in "BMN"}
    assert any(n.where and not holds_at(n.where, point, Given({})) for n in given.needs)


def test_a_torch_that_says_nothing_of_sizes() -> None:
    with pytest.raises(Unknown, match="which sizes a graph is for"):
        guards_of(object())


def test_what_is_not_traced() -> None:
    program = program_of({"x": "M N"}, {"y": "M N"})
    with pytest.raises(Unknown, match="sort"):
        trace_torch(lambda x: torch.sort(x, 1)[0], program, World())
    with pytest.raises(Unknown, match="rand"):
        trace_torch(lambda x: x + torch.rand_like(x), program, World())
    with pytest.raises(Unknown, match=r"torch\.export"):
        trace_torch(lambda x: x if x.sum() > 0 else -x, program, World())
