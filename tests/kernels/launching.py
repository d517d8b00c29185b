"""Sequences of launches without a GPU.

Launches are placed for the tensors that they get, and interpreted on numpy arrays, with
buffers that hold NaN before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.lib.stride_tricks import as_strided

from argus.dispatch import Buffer, GivenScalar, GivenTensor, LaunchSequence, TensorView
from argus.evaluation.arrays import NumpyArrays
from argus.interpret import run
from argus.ir.dtypes import DTYPES, DType, bf16, f32
from argus.requests import Request, placed_program
from argus.specialisations import divisor, facts_of, specialisation, stride_divisors

Array = Any
_UNUSED = 16


def execute(
    sequence: LaunchSequence,
    values: Sequence[Array | float | None],
    types: Sequence[DType | None] = (),
) -> None:
    """Place and interpret each launch; floats of 16 and 8 bits are patterns.

    ``types`` of the values, where they are not f32 and bf16.
    """
    arrays = NumpyArrays(7)
    buffers = {
        base: arrays.poisoned(
            DTYPES[base.dtype], (base.size // DTYPES[base.dtype].bytes,)
        )
        for base in sequence.bases
        if isinstance(base, Buffer)
    }

    def element(value: GivenTensor | Buffer | TensorView) -> DType:
        base = value.of if isinstance(value, TensorView) else value
        if isinstance(base, Buffer):
            return DTYPES[base.dtype]
        known = types[base.position] if types else None
        array = values[base.position]
        assert isinstance(array, np.ndarray)
        return known or (f32 if array.dtype == np.float32 else bf16)

    def tensor(value: GivenTensor | Buffer | TensorView) -> Array:
        base = value.of if isinstance(value, TensorView) else value
        if isinstance(base, Buffer):
            flat, shape, steps = buffers[base], base.shape, base.steps
        else:
            array = values[base.position]
            assert isinstance(array, np.ndarray)
            flat = (array if array.base is None else array.base).reshape(-1)
            shape = array.shape
            steps = tuple(s // array.itemsize for s in array.strides)
        if isinstance(value, TensorView):
            flat, shape, steps = flat[value.offset :], value.shape, value.strides
        # The step of a dimension of extent 1 is never used: the launch takes another.
        steps = [s if n > 1 else _UNUSED for s, n in zip(steps, shape, strict=True)]
        return as_strided(flat, shape, [s * flat.itemsize for s in steps])

    for step in sequence.steps:
        names = [p.name for p in step.kernel.signature.params]
        given: dict[str, Array] = {}
        elements: dict[str, DType] = {}
        scalars: dict[str, int | float] = {}
        for name, value in zip(names, step.values, strict=True):
            if isinstance(value, GivenTensor | Buffer | TensorView):
                given[name], elements[name] = tensor(value), element(value)
            elif isinstance(value, GivenScalar):
                scalars[name] = cast("float", values[value.position])
            elif value is not None:
                scalars[name] = value
        chosen = specialisation(
            step.kernel.signature,
            {
                name: (
                    elements[name],
                    tuple(divisor(n) for n in array.shape),
                    stride_divisors(
                        array.shape, [s // array.itemsize for s in array.strides]
                    ),
                )
                for name, array in given.items()
            },
        )
        facts = facts_of(step.kernel.signature, chosen)
        request = Request(step.kernel, chosen.form, dict(step.statics), "sm_90a", facts)
        run(placed_program(request), given, scalars)
