"""One random single change of a generated kernel's source, which still parses.

    mutant = mutate(generated, seed)
    mutant.source, mutant.kind, mutant.line

What changes is the kernel (and its inline functions), never the reference. A change may
be without effect, and one of a formula (``changes.FORMULAS``) is none that a verifier
of data flow can know to be wrong: whether a mutant computes the reference is for the
interpreter to say.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from generate.changes import KINDS, Finder
from generate.draft import Generated


@dataclass(frozen=True)
class Mutant:
    """A generated kernel with one change: its kind and line in the new source."""

    generated: Generated
    kind: str
    line: int

    @property
    def source(self) -> str:
        """The changed file."""
        return self.generated.source


def mutate(
    generated: Generated, seed: int, kinds: Mapping[str, Finder] = KINDS
) -> Mutant:
    """The change of a seed. Every kind that has a place is equally likely.

    ``kinds``: KINDS, or GUARDS for changes of order alone. Raises ValueError for a
    source without any place for a change.
    """
    rng = Random(f"mutant {generated.seed} {seed}")
    tree = ast.parse(generated.source)
    functions = [
        n
        for n in tree.body
        if isinstance(n, ast.FunctionDef) and n.name != generated.reference
    ]
    places = {name: list(find(functions, rng)) for name, find in kinds.items()}
    found = [name for name, some in places.items() if some]
    if not found:
        raise ValueError("the kernel has no place for a change")
    kind = rng.choice(found)
    line, change = rng.choice(places[kind])
    before = ast.unparse(tree)
    change()
    after = ast.unparse(ast.fix_missing_locations(tree))
    where = next(
        (
            i
            for i, (a, b) in enumerate(
                zip(before.splitlines(), after.splitlines(), strict=False), 1
            )
            if a != b
        ),
        line,
    )
    return Mutant(replace(generated, source=after + "\n"), kind, where)
