"""All instruction records by the name of their device function, and their source text.

Records of matrix products are made when asked for (there are hundreds of forms); the
others once. Nothing here prints kernels.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from textwrap import wrap

from argus.isa import (
    conversions,
    cp_async,
    ldmatrix,
    math,
    mbarrier,
    memory,
    mma,
    registers,
    sync,
    tma,
    wgmma,
)
from argus.isa.matrix import MatrixElement
from argus.isa.record import Instruction
from argus.isa.register_product import RegisterProduct
from argus.isa.text import TENSOR_MAP, TYPEDEFS

__all__ = [
    "UnknownInstructionError",
    "UnsupportedInstructionError",
    "all_instructions",
    "cuda_prelude",
    "has_family",
    "lookup",
    "register_product",
    "register_products",
    "supports",
]

_FAMILIES = (
    conversions,
    math,
    registers,
    memory,
    sync,
    mbarrier,
    cp_async,
    tma,
    ldmatrix,
    mma,
    wgmma,
)
_REGISTER_PRODUCTS = {p.function: p for family in (mma,) for p in family.PRODUCTS}


class UnknownInstructionError(KeyError):
    """No instruction has a device function of this name."""

    def __str__(self) -> str:
        return f"no instruction has the device function {self.args[0]!r}"


class UnsupportedInstructionError(ValueError):
    """The target has no such instruction."""


@lru_cache(maxsize=1)
def _fixed() -> dict[str, Instruction]:
    return {
        record.function: record for family in _FAMILIES for record in family.records()
    }


@lru_cache(maxsize=4096)
def lookup(function: str) -> Instruction:
    """Record of a device function; template arguments (`name<3>`) are ignored.

    Raises UnknownInstructionError.
    """
    name = function.partition("<")[0]
    record = _fixed().get(name) or wgmma.record(name)
    if record is None:
        raise UnknownInstructionError(function)
    return record


def supports(function: str, target: str) -> bool:
    """True where the target ("sm_90a") has the instruction of a device function.

    Raises UnknownInstructionError.
    """
    return target in lookup(function).targets


@lru_cache(maxsize=64)
def has_family(family: str, target: str) -> bool:
    """True where the target has all instructions of a family ("tma", "wgmma").

    Raises UnknownInstructionError for a family that no record belongs to.
    """
    members = [record for record in _fixed().values() if record.family == family]
    if not members:
        raise UnknownInstructionError(family)
    return all(target in record.targets for record in members)


def register_product(function: str) -> RegisterProduct:
    """The product of register operands with this device function.

    Raises UnknownInstructionError.
    """
    if function not in _REGISTER_PRODUCTS:
        raise UnknownInstructionError(function)
    return _REGISTER_PRODUCTS[function]


def register_products(of: MatrixElement, target: str) -> tuple[RegisterProduct, ...]:
    """Products of register operands of an element type that a target has."""
    return tuple(
        p
        for p in _REGISTER_PRODUCTS.values()
        if p.element == of and supports(p.function, target)
    )


def all_instructions() -> tuple[Instruction, ...]:
    """Every record, every form of every family included."""
    return (*_fixed().values(), *map(lookup, wgmma.forms()))


def cuda_prelude(functions: Iterable[str], target: str | None = None) -> str:
    """Source text of the device functions named, each once, with what they need.

    The order is that of the families, so that the text of a kernel does not depend on
    the order of its operations. `TensorMap` and the u16, u32, u64 types are included
    ("TensorMap" may be among the names). Raises UnknownInstructionError, and where a
    `target` is given UnsupportedInstructionError for what it has not.
    """
    wanted: dict[str, Instruction] = {}
    tensor_map = False
    pending = sorted(set(functions))
    while pending:
        name = pending.pop().partition("<")[0]
        if name == "TensorMap":
            tensor_map = True
        elif name not in wanted:
            wanted[name] = lookup(name)
            if target is not None and not supports(name, target):
                raise UnsupportedInstructionError(f"{target} has no {name}")
            pending.extend(wanted[name].needs)
    ordered = sorted(wanted.values(), key=_position)
    texts = [TYPEDEFS] + ([TENSOR_MAP] if tensor_map else [])
    texts += [_explained(record) + record.cuda for record in ordered]
    return "\n".join(texts)


def _explained(record: Instruction) -> str:
    """Where an instruction is described, and what must hold where it is used."""
    lines = [record.source]
    for rule in record.constraints.in_words():
        lines += wrap(rule, 82, initial_indent="  ", subsequent_indent="    ")
    return "".join(f"// {line}\n" for line in lines)


@lru_cache(maxsize=1)
def _order() -> dict[str, int]:
    return {name: i for i, name in enumerate((*_fixed(), *wgmma.forms()))}


def _position(record: Instruction) -> int:
    return _order()[record.function]
