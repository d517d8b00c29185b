"""Design spaces: kernels as forms with knobs, and the single steps between them.

family = family_of(problem)
design = family.start(problem)
for move in family.moves(design, problem): ...
candidate = family.candidate(family.apply(design, move.edit), problem)
"""

from argus.agent.families.family import (
    Design,
    Family,
    Form,
    Knob,
    Move,
)
from argus.agent.families.registry import FAMILIES, family_of

__all__ = ["FAMILIES", "Design", "Family", "Form", "Knob", "Move", "family_of"]
