"""One entry of the catalogue of codes. The entries stand in the files beside it."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Category: TypeAlias = Literal[
    "source",
    "types",
    "shapes",
    "invariants",
    "order",
    "resources",
    "target",
    "build",
    "launch",
    "environment",
    "optimizer",
]

_CATEGORIES: dict[str, Category] = {
    "00": "source",
    "01": "types",
    "02": "shapes",
    "03": "invariants",
    "04": "order",
    "05": "resources",
    "06": "target",
    "07": "build",
    "08": "launch",
    "09": "environment",
    "10": "optimizer",
}


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of mistake.

    Attributes:
        code: `AG` and four digits; the first two are the category.
        title: what is wrong in general, lower case, no full stop. A diagnostic's
            message says the same about the case at hand.
        explanation: why it is one, and what to do: what `argus explain CODE` prints.
    """

    code: str
    title: str
    explanation: str

    @property
    def category(self) -> Category:
        """The part of the language or of the tool chain that the code belongs to.

        Raises:
            KeyError: the code's first two digits name no category.
        """
        return _CATEGORIES[self.code[2:4]]
