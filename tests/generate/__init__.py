"""Random legal kernels of the language, each with a reference in numpy.

generated = generate(seed)              # the same for the same seed
generated.source                        # a kernel file as text
mutant = mutate(generated, seed)        # the same with one change
"""

from generate.draft import Generated, Tensor
from generate.families import FAMILIES, generate
from generate.guards import GUARDS
from generate.mutate import Mutant, mutate

__all__ = ["FAMILIES", "GUARDS", "Generated", "Mutant", "Tensor", "generate", "mutate"]
