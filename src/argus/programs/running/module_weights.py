"""The tensors of a module by their names, as they are when a program is called.

    weights = ModuleWeights(["conv.weight", "norm.running_mean"])
    weights(module)["conv.weight"]

`Module.__getattr__` is Python at each level of a name. What it finds is in dictionaries
of the modules on the way, so a name is looked up once, and again where one of these
holds something else than before. Other attributes (properties of parametrizations,
plain tensors) are asked in each call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


_get: Callable[[dict[str, Any], str], Any] = cast("Any", dict).get
"""What lies in a dictionary, or None."""


class ModuleWeights:
    """Tensors of one module. Safe to use from several threads."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._known: _Found | None = None

    def __call__(self, module: Module) -> dict[str, Tensor]:
        """Its tensors by name. Raises AttributeError for one that it has no more."""
        known = self._known
        if known is None or not known.still():
            known = self._known = _Found(module, self._names)
        if not known.others:
            return known.tensors
        others = {name: attrgetter(name)(module) for name in known.others}
        return {**known.tensors, **others}


class _Found:
    """Tensors in a module's dictionaries, and what lies on the way to them.

    ``others``: names of what is in none.
    """

    def __init__(self, module: Module, names: Sequence[str]) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.others: list[str] = []
        self._holders: list[dict[str, Any]] = []
        self._keys: list[str] = []
        self._held: list[object] = []
        modules: dict[str, Module | None] = {"": module}
        for name in names:
            path, _, own = name.rpartition(".")
            owner = self._module(path, modules)
            holder = None if owner is None else _holder(owner, own)
            if holder is None:
                self.others.append(name)
            else:
                self.tensors[name] = self._noted(holder, own)

    def still(self) -> bool:
        """Whether the dictionaries hold what they held."""
        return all(map(is_, map(_get, self._holders, self._keys), self._held))

    def _module(self, path: str, modules: dict[str, Module | None]) -> Module | None:
        """A module on the way, None where it is no module of another one."""
        if path not in modules:
            above, _, own = path.rpartition(".")
            owner = self._module(above, modules)
            held: dict[str, Any] = {} if owner is None else vars(owner)["_modules"]
            inside = held.get(own) is not None
            modules[path] = self._noted(held, own) if inside else None
        return modules[path]

    def _noted(self, holder: dict[str, Any], key: str) -> Any:
        self._holders.append(holder)
        self._keys.append(key)
        self._held.append(holder[key])
        return holder[key]


def _holder(owner: Module, name: str) -> dict[str, Any] | None:
    """The dictionary in which a module keeps a tensor, None where it does not."""
    for kind in ("_parameters", "_buffers"):
        found: dict[str, Any] = vars(owner)[kind]
        if found.get(name) is not None:
            return found
    return None


__all__ = ["ModuleWeights"]
