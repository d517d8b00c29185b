"""Whether an output element is made of what names of dimensions say, each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from argus.ir.memory import GlobalTensor
from argus.terms import (
    Base,
    Call,
    Constant,
    Element,
    IndexSet,
    Integer,
    Leaf,
    Max,
    Scalar,
    Sum,
    Term,
    Unknown,
    Variable,
    Whole,
    World,
)
from argus.terms.leaves import Generator
from argus.verify.equality.stored import shape_of
from argus.verify.named.faults import reads

__all__ = ["require_sound"]


def require_sound(
    world: World,
    term: Term,
    tensors: Mapping[str, GlobalTensor],
    at: Mapping[Variable, str],
) -> None:
    """Raises Unknown with what is not as names say.

    ``at``: the coordinates of the output element, and the dimensions that they are of.
    """
    _Reading(world, tensors, at).term(term)


class _Reading:
    def __init__(
        self,
        world: World,
        tensors: Mapping[str, GlobalTensor],
        at: Mapping[Variable, str],
    ) -> None:
        self.world = world
        self.tensors = tensors
        self.names: dict[Variable, str] = dict(at)
        self.sizes: dict[Variable, Integer] = {}
        self.bound: list[Variable] = []

    def term(self, term: Term) -> None:
        for part, coefficient in term.parts.items():
            if abs(coefficient) != 1 and reads(Term({part: 1})):
                raise Unknown(f"what {coefficient} times an element is meant for")
            for leaf, power in part.factors:
                self.leaf(leaf, power < 0)
            if part.exponent is not None:
                self.term(part.exponent)

    def leaf(self, leaf: Leaf, divides: bool) -> None:
        match leaf:
            case Element():
                self.element(leaf)
            case Scalar() | Constant():
                pass
            case Whole():
                # A sum that is divided by a size is a mean. One that is multiplied by
                # it was added again and again.
                if not divides or not isinstance(leaf.atom, Variable):
                    raise Unknown(f"what the factor {leaf} counts")
            case Call() | Base():
                for inner in leaf.terms:
                    self.term(inner)
            case Sum():
                self.over(leaf.variables, leaf.domain, leaf.body)
            case Max():
                for generator in leaf.generators:
                    self.generator(generator)
            case _:
                raise Unknown(f"what {leaf} is made of")

    def generator(self, generator: Generator) -> None:
        if not generator.variables and not generator.domain.is_universe:
            raise Unknown("a number of which the maximum is taken at some sizes only")
        if generator.variables:
            self.over(generator.variables, generator.domain, generator.body)
        else:
            self.term(generator.body)

    def over(self, variables: Sequence[Variable], domain: IndexSet, body: Term) -> None:
        """A body at every point of a whole box, each of which it names."""
        self.bound += variables
        self.term(body)
        world, box = self.world, IndexSet.universe
        for variable in variables:
            if variable not in self.names:
                raise Unknown("a sum over points that no element of it names")
            size = self.sizes[variable]
            box = box & world.compare(Integer.atom(variable), ">=", 0)
            box = box & world.compare(Integer.atom(variable), "<", size)
        if not world.equal_sets(domain, box):
            names = ", ".join(self.names[v] for v in variables)
            raise Unknown(f"a sum or maximum over a part of {names}")
        for variable in variables:
            self.bound.remove(variable)
            del self.names[variable]

    def element(self, leaf: Element) -> None:
        tensor = self.tensors[leaf.tensor]
        sizes = shape_of(self.world, tensor)
        for index, dim, size in zip(leaf.indices, tensor.dims, sizes, strict=True):
            if index.constant is not None and size.constant is not None:
                continue
            variable = index.single
            if not isinstance(variable, Variable):
                raise Unknown(f"{leaf} is read at another {dim} than its own")
            if variable in self.bound:
                self.names.setdefault(variable, dim)
                self.sizes[variable] = size
            if self.names.get(variable) != dim:
                raise Unknown(f"{leaf} is read at another {dim} than its own")
