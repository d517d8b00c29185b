"""Sums and maxima over sets: what a blocked kernel computes is what is meant."""

from argus.terms import (
    ZERO,
    Integer,
    Scalar,
    Value,
    World,
    apply,
    element,
    joined,
    leaf_term,
    literal,
    reduce,
    restrict,
)

SCALE = Value.real(leaf_term(Scalar("scale")))


def real(tensor: str, *indices: Integer) -> Value:
    return Value.real(element(tensor, indices))


def padded(world: World, index: Integer, size: Integer, value: Value) -> Value:
    inside = world.compare(index, "<", size)
    return joined(world, [(inside, value), (~inside, Value.real(ZERO))])


def test_a_product_in_blocks_is_the_product() -> None:
    world = World()
    rows, columns, depth = world.size("M"), world.size("N"), world.size("K")
    m, n = world.variable("m", 0, rows), world.variable("n", 0, columns)
    k = world.variable("k", 0, depth)
    meant = reduce(
        world, "sum", [k], apply(world, "mul", real("A", m, k), real("B", n, k))
    )
    block = world.variable("block", 0, world.quotient(depth + 63, 64))
    inner = world.variable("i", 0, 64)
    index = 64 * block + inner
    a = padded(world, index, depth, real("A", m, index))
    b = padded(world, index, depth, real("B", n, index))
    tile = reduce(world, "sum", [inner], apply(world, "mul", a, b))
    assert reduce(world, "sum", [block], tile).term == meant.term


def scores(world: World, q: Integer, k: Integer, size: Integer) -> Value:
    d = world.fresh("d", 0, world.size("D"))
    product = apply(world, "mul", real("Q", q, d), real("K", k, d))
    return apply(world, "mul", reduce(world, "sum", [d], product), SCALE)


def test_online_softmax_is_softmax() -> None:
    world = World()
    keys, queries = world.size("K"), world.size("Q")
    q = world.variable("q", 0, queries)
    c = world.variable("c", 0, world.size("D"))

    def attention(index: list[Integer], k: Integer, exponential: str) -> Value:
        def masked() -> Value:
            s = scores(world, q, k, keys)
            minus = float("-inf")
            if exponential == "exp2":
                log2e = Value.real(literal(world, 1.4426950408889634))
                s, minus = apply(world, "mul", s, log2e), -1e30
            seen = world.compare(k, "<=", q) & world.compare(k, "<", keys)
            hidden = Value.real(literal(world, minus))
            return apply(world, "where", Value.truth(seen), s, hidden)

        largest = reduce(world, "max", index, masked())
        weight = apply(world, exponential, apply(world, "sub", masked(), largest))
        total = reduce(world, "sum", index, weight)
        weighed = apply(world, "mul", weight, padded(world, k, keys, real("V", k, c)))
        return apply(world, "div", reduce(world, "sum", index, weighed), total)

    k = world.variable("k", 0, keys)
    meant = attention([k], k, "exp")
    block = world.variable("block", 0, world.quotient(keys + 63, 64))
    inner = world.variable("i", 0, 64)
    made = attention([block, inner], 64 * block + inner, "exp2")
    where = world.close(world.compare(keys, ">=", 1) & world.compare(q, ">=", 0))
    assert restrict(world, made.term, where) == restrict(world, meant.term, where)
