"""Routing of tokens to experts: which, with which weight, and where in memory.

Token t is a pair with each of its experts. Pairs are sorted by expert, those of an
expert by token (a counting sort): the tokens of an expert are a segment of positions,
which ends with a tile of BM positions. So tile c of positions is of one expert,
``Expert[c]``, E where no expert needs it, and position p has token ``Rows[p]``, -1
where it has none.

`moe_route` chooses experts and counts, for each block of tokens, those of each expert;
`moe_place` knows from these counts where each pair belongs, and `moe_rows` says it of
positions. No block waits for another, and positions are the same in each run.
"""

import argus as ag
from argus import f32, i32


@ag.kernel
def moe_route(
    Logits: ag.float["T E"],
    Ids: i32["B BT TOP"],
    Weights: f32["B BT TOP"],
    Rank: i32["B BT TOP"],
    Count: i32["B E"],
    Rows: i32["B R"],
    scale: f32 = 1.0,
    *,
    TOP: int = 2,
    BT: int = 16,
    BE: int = 128,
    PAIRS: int = 2,
    BR: int = 512,
    WARPS: int = 16,
    SIGMOID: bool = False,
    RENORMALISE: bool = True,
):
    """The TOP experts with the largest logits, of equal ones the first, in order.

    Weights: the softmax of the logits over all experts, or SIGMOID of each; with
    RENORMALISE divided by their sum over the chosen ones; times ``scale``. Count[b, e]:
    tokens of block b that chose expert e; Rank: those of them before a token. Rows: -1.
    BE: E or more; PAIRS: TOP or more. Tokens past the last are like it, and are not
    counted.
    """
    T, E = Logits.shape
    B, R = Rows.shape
    ag.require(E <= BE, "the logits of a token are in one tile")
    ag.require(E >= TOP, "a token chooses different experts")
    ag.require((T > 0) & (T < 2**30), "a token is there, and tokens are numbered")
    ag.require(ag.cdiv(T, BT) == B, "a block has BT tokens")
    ag.launch(warps=WARPS)
    tokens = Logits.view(
        "B BT E", shape=(B, BT, E), at=lambda b, i, e: (ag.min(b * BT + i, T - 1), e)
    )
    b = ag.block(B)
    # A warp has whole rows, so that it finds their largest by itself.
    rows = ag.layouts.blocked((BT, BE), 32 * WARPS, BE // 32)
    x = ag.load(tokens[b, 0:, 0:], (BT, BE), fill=-ag.inf, layout=rows).to(f32)
    expert = ag.broadcast(ag.index(x, "E"), x)
    left, chosen = x, ag.zeros((BT, BE), i32, dims="BT E")
    ids = ag.zeros((BT, PAIRS), i32, dims="BT TOP")
    logits = ag.full((BT, PAIRS), -ag.inf, f32, dims="BT TOP")
    place = ag.broadcast(ag.index(ids, "TOP"), ids)
    for j in ag.static_range(TOP):
        best = ag.argmax(left, "E")
        hit = expert == best
        ids = ag.where(place == j, ag.broadcast(best, ids), ids)
        logits = ag.where(place == j, ag.broadcast(ag.max(left, "E"), ids), logits)
        chosen = ag.where(hit, 1, chosen)
        left = ag.where(hit, -ag.inf, left)
    largest = ag.max(x, "E")
    scores = ag.sigmoid(logits) if SIGMOID else ag.exp(logits - largest)
    total = ag.sum(scores, "TOP")
    if not RENORMALISE:
        every = ag.sum(ag.exp(x - largest), "E")
        total = ag.full((BT,), 1.0, f32, dims="BT") if SIGMOID else every
    Ids[b, 0:, 0:] = ids
    Weights[b, 0:, 0:] = scores / total * scale
    there = b * BT + ag.index(x, "BT") < T
    chosen = ag.where(there & (expert < E), chosen, 0)
    earlier = ag.cumsum(chosen, "BT") - chosen
    for j in ag.static_range(TOP):
        own = ag.sum(ag.where(place == j, ids, 0), "TOP")
        Rank[b, 0:, j] = ag.sum(ag.where(expert == own, earlier, 0), "E")
    Count[b, 0:] = ag.sum(chosen, "BT")
    for r in ag.range(0, R, BR):
        Rows[b, r:] = ag.full((BR,), -1, i32)


@ag.reference
def moe_route_reference(Logits, scale, B, R, TOP, BT, SIGMOID, RENORMALISE):
    """One expert after the other, each the largest that is left."""
    import numpy as np

    T, E = Logits.shape
    x = Logits[np.minimum(np.arange(B * BT), T - 1)].reshape(B, BT, E)
    expert = np.arange(E)
    largest = x.max(2)
    left = x
    chosen = np.zeros((B, BT, E))
    ids, scores = [], []
    for _ in range(TOP):
        best, logit = left.argmax(2), left.max(2)
        hit = expert == best[:, :, None]
        chosen = np.where(hit, 1, chosen)
        left = np.where(hit, -np.inf, left)
        ids.append(best)
        if SIGMOID:
            scores.append(1 / (1 + np.exp(-logit)))
        else:
            scores.append(np.exp(logit - largest))
    total = sum(scores)
    if not RENORMALISE:
        total = 1 if SIGMOID else np.exp(x - largest[:, :, None]).sum(2)
    there = np.arange(B * BT).reshape(B, BT, 1) < T
    chosen = np.where(there, chosen, 0)
    earlier = np.cumsum(chosen, 1) - chosen
    ranks = [np.where(expert == i[:, :, None], earlier, 0).sum(2) for i in ids]
    return {
        "Ids": np.stack(ids, 2),
        "Weights": np.stack([s / total * scale for s in scores], 2),
        "Rank": np.stack(ranks, 2),
        "Count": chosen.sum(1),
        "Rows": np.full((B, R), -1),
    }


@ag.kernel
def moe_place(
    Ids: i32["B BT TOP"],
    Rank: i32["B BT TOP"],
    Count: i32["B E"],
    Position: i32["B BT TOP"],
    Expert: i32["B C"],
    *,
    TOP: int = 2,
    BM: int = 128,
    BT: int = 16,
    BE: int = 128,
    BB: int = 32,
    BC: int = 16,
    WARPS: int = 4,
):
    """Position of each pair, and expert of each tile, over the rows of Expert.

    Segments begin with tiles; a pair follows those of its expert before it.
    """
    B, C = Expert.shape
    E = Count.shape[1]
    ag.require(E <= BE, "the counts of a block are in one tile")
    ag.require(B * C < 2**30, "tiles are numbered")
    ag.require(B * BT * BE < 2**30, "positions are numbered")
    # `moe_route` counts the tokens of a block.
    ag.assume(lambda n: (n >= 0) & (n <= BT), Count)
    ag.assume(lambda n: (n >= 0) & (n < BT), Rank)
    ag.launch(warps=WARPS)
    b = ag.block(B)
    every = ag.zeros((BE,), i32, dims="E")
    before = ag.zeros((BE,), i32, dims="E")
    for i in ag.range(0, B, BB):
        part = ag.load(Count[i:, 0:], (BB, BE))
        every = every + ag.sum(part, "B")
        earlier = i + ag.index(part, "B") < b
        before = before + ag.sum(ag.where(earlier, part, 0), "B")
    tiles = (every + (BM - 1)) // BM
    upto = ag.cumsum(tiles, "E")
    first = (upto - tiles) * BM + before

    none = ag.zeros((BT, BE), i32, dims="BT E")
    expert = ag.broadcast(ag.index(none, "E"), none)
    begin = ag.broadcast(first, none)
    for j in ag.static_range(TOP):
        own = ag.load(Ids[b, 0:, j], (BT,))
        mine = ag.where((expert == own) & (expert < E), begin, 0)
        rank = ag.load(Rank[b, 0:, j], (BT,))
        Position[b, 0:, j] = ag.sum(mine, "E") + rank

    for c in ag.range(0, C, BC):
        ended = ag.zeros((BC, BE), i32, dims="C E")
        tile = b * C + c + ag.index(ended, "C")
        past = ag.broadcast(upto, ended) <= ag.broadcast(tile, ended)
        real = ag.broadcast(ag.index(ended, "E") < E, ended)
        found = ag.sum(ag.where(past & real, 1, ended), "E")
        Expert[b, c:] = ag.where(found < E, found, -1)


@ag.kernel
def moe_rows(Position: i32["I"], Rows: i32["P"], *, TOP: int = 2, BI: int = 128):
    """Rows[Position[i]] = i // TOP, the token of pair i; of several the largest.

    Rows is -1 before. A store would need that positions differ, which no table says.
    """
    ag.launch(warps=4)
    b = ag.block(ag.cdiv(ag.dim("I"), BI))
    p = ag.load(Position[b * BI :], (BI,), fill=-1)
    token = (b * BI + ag.index(p, "I")) // TOP
    ag.atomic_max(Rows[p], token)


@ag.reference
def moe_rows_reference(Position, Rows, TOP):
    """The largest token of each position."""
    import numpy as np

    np.maximum.at(Rows, Position, np.arange(Position.shape[0]) // TOP)
    return Rows
