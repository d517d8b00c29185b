"""What kinds of kernels there are, and how often each is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from generate.draft import Draft, Generated
from generate.handmade import barrier_products, barrier_rings, multicast_rings
from generate.handoffs import handoffs
from generate.integers import bounds, scalars, strides
from generate.maps import elementwise, rows
from generate.pipelines import pipelines
from generate.products import products, role_products
from generate.rates import rates
from generate.shapes import halves, transposes, views
from generate.stores import old_values, overlaps, tma_stores
from generate.tables import atomics, gathers, ragged

FAMILIES: dict[str, tuple[float, Callable[[Draft, int], Generated]]] = {
    "elementwise": (3, elementwise),
    "rows": (2, rows),
    "products": (2, products),
    "role_products": (3, role_products),
    "pipelines": (4, pipelines),
    "gathers": (1.2, gathers),
    "atomics": (0.8, atomics),
    "ragged": (0.5, ragged),
    "transposes": (1, transposes),
    "views": (0.8, views),
    "halves": (0.4, halves),
    "barrier_rings": (3, barrier_rings),
    "barrier_products": (2, barrier_products),
    "multicast_rings": (1, multicast_rings),
    "handoffs": (1.5, handoffs),
    "rates": (2, rates),
    "tma_stores": (1.2, tma_stores),
    "overlaps": (0.4, overlaps),
    "old_values": (0.3, old_values),
    "scalars": (0.6, scalars),
    "bounds": (0.6, bounds),
    "strides": (0.6, strides),
}


def generate(
    seed: int, family: str | None = None, families: Sequence[str] = ()
) -> Generated:
    """The kernel of a seed: of one family, or of some of them, if they are named.

    Raises KeyError for a name that is no family's.
    """
    rng = Random(f"kernel {seed}")
    names = list(families or FAMILIES)
    chosen = rng.choices(names, [FAMILIES[name][0] for name in names])[0]
    return FAMILIES[family or chosen][1](Draft(rng), seed)
