"""Attention as a kernel file: scores stay on the chip.

    source = attention_source(group, form, "attention", "...")

The order of products, softmax and loads is that of `kernels/attention/kernel.py`, whose
online softmax the file takes over. What is written here is what becomes of scores,
which loops are a batch, and what follows the last product.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from argus.kernels.attention.kernel import (
    LOG2E,
    soften,  # pyright: ignore[reportUnknownVariableType]
    soften_masked,  # pyright: ignore[reportUnknownVariableType]
)
from argus.programs.attention.attention_form import AttentionForm, unit
from argus.programs.attention.attention_tiles import AttentionTile, attention_tile
from argus.programs.lowering.expression_text import bare, type_name
from argus.programs.lowering.expressions import (
    ElementNode,
    ExpressionNode,
    parts_of,
    walked,
)
from argus.programs.lowering.kernel_file import KernelSource, file_text
from argus.programs.lowering.lowering import KernelStore, LoweredGroup
from argus.programs.lowering.naming import KernelTensor, accessed
from argus.programs.lowering.reference_text import reference_lines
from argus.programs.products.product_forms import TMA_DIMENSIONS, in_tma_units
from argus.programs.products.product_text import library_text
from argus.programs.products.ring_text import (
    LOADING_REGISTERS,
    RingWriter,
    ring_letters,
)
from argus.programs.tiles.tiling import GroupTiling, TileAxis

_USED = frozenset(
    (
        *("alpha", "i", "j", "k_ring", "keys", "l", "m", "o", "out", "p", "part"),
        *("q_ring", "query", "REGISTERS", "rest", "s", "slot", "soften", "STAGES"),
        "soften_masked",
        *("steps", "t", "v_ring", "values", "WARPGROUPS", "weights", "x"),
        *(f"{name}{i}" for name in ("w", "q", "k", "v") for i in ("", 0, 1, 2)),
    )
)
_SOFTEN: dict[bool, object] = {True: soften, False: soften_masked}
"""The library's online softmax; True: with a factor of scores."""
_LEAST = {True: "-1e30", False: "-3.4028234663852886e+38"}
"""What a maximum begins with, by whether a factor is multiplied into the exponent.

No mask is below the second, so that a row of which all scores are masked by a finite
number is their mean.
"""


def attention_source(
    group: LoweredGroup, form: AttentionForm, name: str, title: str
) -> KernelSource:
    """The file of a kernel that computes a group in a form.

    Raises NotFusedError for what the language cannot say.
    """
    return _AttentionWriter(group, form).source(name, title)


def _letters(group: LoweredGroup, form: AttentionForm) -> dict[str, str]:
    found = {form.row: "S", form.along: "T", form.inner: "E", form.across: "D"}
    return ring_letters(group, found, form.batch)


class _AttentionWriter(RingWriter):
    def __init__(self, group: LoweredGroup, form: AttentionForm) -> None:
        self.form = form
        self.tile = self._tile(group, form)
        axes = (
            TileAxis(form.row, self.tile.bs),
            TileAxis(form.along, self.tile.bt),
            TileAxis(form.across, self.tile.bd),
        )
        super().__init__(
            group, GroupTiling(axes, False, 0), form, _letters(group, form), _USED
        )
        self.outputs = [
            accessed(self.names.result(s.buffer), s.buffer, s.offset)
            for s in group.stores
        ]
        self.factors = {
            "q": tuple(dict.fromkeys(q for q, _ in form.terms)),
            "k": tuple(dict.fromkeys(k for _, k in form.terms)),
            "v": tuple(dict.fromkeys(v for _, v in form.values)),
        }
        for letter, nodes in self.factors.items():
            self.name_fields(letter, nodes)

    def _tile(self, group: LoweredGroup, form: AttentionForm) -> AttentionTile:
        both = {form.row, form.along}
        biased = any(
            isinstance(n, ElementNode) and both <= n.offset.loops
            for n in walked([form.seen])
        )
        staged = len(group.stores) == 1 and self._staged(group)
        return attention_tile(form, group.sizes, biased=biased, staged=staged)

    def _staged(self, group: LoweredGroup) -> bool:
        """Whether TMA can store the first result."""
        store = group.stores[0]
        terms, across = store.offset.terms, self.form.across
        strides = [c for _, c in terms if c != 1]
        counts = (group.sizes[across], *strides, store.offset.constant)
        return (
            store.buffer.dtype.bits == 16
            and store.offset.factor(across) == 1
            and len(terms) <= TMA_DIMENSIONS
            and in_tma_units(counts, store.buffer.dtype)
        )

    # -- the file

    def source(self, name: str, title: str) -> KernelSource:
        """The file."""
        self._body()
        tensors = (*self.params.values(), *self.outputs)
        softens = self._softens()
        sizes = {self.letters[n]: s for n, s in self.group.sizes.items()}
        stored = list(zip(self.group.stores, self.outputs, strict=True))
        reference = reference_lines(self.group, self.letters, self.params, stored)
        text = file_text(
            name,
            title,
            map(self.declaration, tensors),
            self._statics(),
            sizes,
            self.lines,
            reference(f"{name}_reference"),
            [*softens, "", ""] if softens else [],
        )
        outputs = tuple(t.name for t in self.outputs)
        return KernelSource(name, text, tensors, outputs, sizes)

    def _softens(self) -> list[str]:
        """The online softmax."""
        if not self.form.softmax:
            return []
        lines = library_text(_SOFTEN[self.form.factor is not None])
        return [line.replace("LOG2E", repr(LOG2E)) for line in lines]

    def _statics(self) -> dict[str, int]:
        tile = self.tile
        found = {
            "BS": tile.bs, "BT": tile.bt, "BE": tile.be, "BD": tile.bd,
            "STAGES": tile.stages, "WARPGROUPS": tile.warpgroups,
        }  # fmt: skip
        if tile.registers:
            found["REGISTERS"] = tile.registers
        return found

    # -- roles

    def _body(self) -> None:
        tile = self.tile
        self.line('ag.require(T > 0, "a softmax over no keys is not defined")')
        self.line('ag.require(E > 0, "there is something to sum")')
        self.line('ag.require(E <= BE, "a tile has whole queries")')
        self.line('ag.require(D <= BD, "a tile has whole values")')
        if not tile.persistent:
            self.line(f"{self._indices()} = ag.block({self._counts()})")
            self._reach()
        self.ring("q_ring", str(tile.queries), self.factors["q"])
        self.ring("k_ring", "STAGES", self.factors["k"])
        self.ring("v_ring", "STAGES", self.factors["v"])
        if tile.staged:
            dtype = type_name(self.group.stores[0].buffer.dtype)
            self.line(f"out = ag.shared({dtype}, (BS, BD))")
        budget = tile.registers
        registers = f", registers={LOADING_REGISTERS}" if budget else ""
        with self.loop(f'with ag.role("load", warps=1{registers}):'), self._tiles():
            self._load()
        registers = ", registers=REGISTERS" if budget else ""
        head = f'with ag.role("math", warpgroups=WARPGROUPS{registers}):'
        with self.loop(head), self._tiles():
            self._multiply()

    def _indices(self) -> str:
        return ", ".join([*(self.letters[n].lower() for n in self.form.batch), "i"])

    def _counts(self) -> str:
        batch = [self.letters[n] for n in self.form.batch]
        return ", ".join([*batch, "ag.cdiv(S, BS)"])

    @contextmanager
    def _tiles(self) -> Generator[None]:
        """The tiles of a block."""
        if not self.tile.persistent:
            yield
            return
        head = f"for {self._indices()} in ag.persistent({self._counts()}):"
        with self.loop(head):
            self._reach()
            yield

    def _reach(self) -> None:
        """Where a tile of queries begins, and how many blocks of keys it sees."""
        causal, tile = self.form.causal, self.tile
        if causal is None:
            self.line("s, steps = i * BS, ag.cdiv(T, BT)")
            return
        # The longest first, where there are several of each length.
        first = "(ag.cdiv(S, BS) - 1 - i)" if self.form.batch else "i"
        self.line(f"s = {first} * BS")
        last = tile.bs - 1 + causal
        end = "s // BT" if self._aligned() else f"(s + {last}) // BT"
        self.line(f"steps = ag.min(ag.cdiv(T, BT), {end} + 1)".replace("+ -", "- "))
        if last < 0:
            self.line("steps = ag.max(1, steps)")

    def _aligned(self) -> bool:
        """Whether one block of keys meets the diagonal."""
        return self.form.causal == 0 and self.tile.bs == self.tile.bt

    def _load(self) -> None:
        self.fill("q_ring", self.factors["q"])
        with self.loop("for j in ag.range(0, steps):"):
            self.line("t = (steps - 1 - j) * BT")
            self.fill("k_ring", self.factors["k"])
            self.fill("v_ring", self.factors["v"])

    def _multiply(self) -> None:
        """All blocks of keys, the last one first: it alone has an end or a diagonal."""
        form = self.form
        inside = form.inside if self._aligned() else form.seen
        self.line("query = q_ring.wait()")
        with self._step():
            self.line("t = (steps - 1) * BT")
            self._read(form.seen)
            with self.loop("with k_ring.drain() as slot:"):
                self._scores("slot")
            self._scored(form.seen)
            outside = "-ag.inf" if form.softmax else "0.0"
            key = 'ag.broadcast(t + ag.index(x, "T"), x)'
            self.line(f"x = ag.where({key} < T, x, {outside})")
            if form.softmax:
                least = _LEAST[form.factor is not None]
                self.line(f"m = ag.full((BS,), {least}, f32)")
                self.line("l = ag.zeros((BS,), f32)")
            self._softened()
            self._weights()
        self.line("o = ag.zeros((BS, BD), f32)")
        with self.loop("for j in ag.range(1, steps):"), self._step():
            self.line("t = (steps - 1 - j) * BT")
            self._read(inside)
            self.line("keys = k_ring.wait()")
            self._scores("keys")
            self.line("values = v_ring.wait()")
            self._values("values")
            self.line("keys.release()")
            self._scored(inside)
            self._softened()
            self.line("values.release()")
            self._rescaled()
            self._weights()
        self.line("query.release()")
        with self.loop("with v_ring.drain() as slot:"):
            self._values("slot")
        if form.parts > 1:
            self.line("o = o + part")
        self._finish()

    @contextmanager
    def _step(self) -> Generator[None]:
        """What is named in a block of keys is not known in another."""
        self.scopes.append({self.form.scores: "x"})
        yield
        self.scopes.pop()

    def _read(self, node: ExpressionNode) -> None:
        """Masks and biases are asked for before the products that they wait for."""
        stack, seen = [node], set[ExpressionNode]({self.form.scores})
        while stack:
            one = stack.pop()
            if one in seen:
                continue
            seen.add(one)
            if isinstance(one, ElementNode):
                self.text(one)
            stack.extend(parts_of(one))

    def _scores(self, slot: str) -> None:
        """The product of queries and keys."""
        for i, (query, key) in enumerate(self.form.terms):
            left = f"query.{self.fields[query]}"
            left += ".T" if unit(query) == self.form.row else ""
            right = f"{slot}.{self.fields[key]}"
            right += ".T" if unit(key) == self.form.inner else ""
            acc = ", x" if i else ""
            self.line(f"x = ag.dot({left}, {right}{acc})")

    def _scored(self, node: ExpressionNode) -> None:
        """What becomes of scores."""
        text = bare(self.text(node))
        last = self.lines[-1].strip()
        if text != "x" and last.startswith(f"{text} = "):  # a name of its own
            self.lines.pop()
            text = last.removeprefix(f"{text} = ")
        if text != "x":
            self.line(f"x = {text}")

    def _softened(self) -> None:
        if not self.form.softmax:
            self.line("p = x")
            return
        factor = self.form.factor
        if factor is None:
            self.line("p, alpha, m, l = soften_masked(x, m, l)")
            return
        number = f"{factor!r} * {LOG2E}"
        self.line(f"p, alpha, m, l = soften(x, m, l, {number}, True)")

    def _weights(self) -> None:
        """Weights as the second product takes them, in parts where they are f32."""
        dtype = type_name(self.form.element)
        if self.form.parts == 1:
            self.line(f"w0 = p.to({dtype})")
            return
        self.line(f"w0 = p.to({dtype})")
        self.line("rest = p - w0.to(f32)")
        self.line(f"w1 = rest.to({dtype})")
        self.line(f"w2 = (rest - w1.to(f32)).to({dtype})")

    def _values(self, slot: str) -> None:
        """The product with values; that of parts is added up by itself."""
        apart = self.form.parts > 1
        for i, (part, value) in enumerate(self.form.values):
            right = f"{slot}.{self.fields[value]}"
            right += ".T" if unit(value) == self.form.along else ""
            name, acc = ("part", ", part" if i else "") if apart else ("o", ", o")
            self.line(f"{name} = ag.dot(w{part}, {right}{acc})")

    def _rescaled(self) -> None:
        """The output so far, relative to the new maximum."""
        total = "(o + part)" if self.form.parts > 1 else "o"
        if self.form.softmax:
            self.line(f"o = {total} * alpha")
        elif self.form.parts > 1:
            self.line("o = o + part")

    # -- the epilogue

    def _finish(self) -> None:
        form = self.form
        scope = self.scopes[-1]
        if form.total is not None:
            scope[form.total] = "l"
        if form.divisor is not None:
            divisor = bare(self.text(form.divisor))
            self.line(f"o = o * ag.rcp({divisor})")
        scope[form.output] = "o"
        for node in form.most:
            scope[node] = "m"
        if form.factor not in (None, 1.0) and form.most & self._outside():
            self.line(f"m = m * {form.factor!r}")
        for store, t in zip(self.group.stores, self.outputs, strict=True):
            self._stored(store, t)

    def _outside(self) -> set[ExpressionNode]:
        """What is made of results, without what they are made of."""
        found: set[ExpressionNode] = set()
        stack = [s.node for s in self.group.stores]
        while stack:
            node = stack.pop()
            if node in found:
                continue
            found.add(node)
            if node is not self.form.output and node not in self.form.most:
                stack.extend(parts_of(node))
        return found

    def _stored(self, store: KernelStore, t: KernelTensor) -> None:
        text = self.text(store.node)
        if store.node.dtype != store.buffer.dtype:
            text += f".to({type_name(store.buffer.dtype)})"
        if self.tile.staged:
            self.line(f"out.store({bare(text)})")
            self.line(f"ag.tma_store({self.place(t)}, out)")
            return
        axes = [d for d in t.loops if self.is_axis(d)]
        wanted = [a.loop for a in self.tiling.axes if a.loop in axes]
        if axes != wanted:
            text += ".T"
        self.line(f"{self.place(t)} = {bare(text)}")
