"""What kinds of kernels there are, and how often each is drawn."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from generate.draft import Draft, Generated
from generate.maps import elementwise, rows
from generate.pipelines import pipelines
from generate.products import products, role_products
from generate.shapes import halves, transposes, views
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
}


def generate(seed: int, family: str | None = None) -> Generated:
    """The kernel of a seed, of one family if it is named."""
    rng = Random(f"kernel {seed}")
    weights = [weight for weight, _ in FAMILIES.values()]
    chosen = rng.choices(list(FAMILIES), weights)[0]
    return FAMILIES[family or chosen][1](Draft(rng), seed)
