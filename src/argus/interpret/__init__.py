"""Runs placed programs in numpy, with no GPU; see `interpreter.py`."""

from argus.interpret.errors import Fault, FaultKind, InterpreterError, TimeOver
from argus.interpret.interpreter import ArgumentError, Result, run
from argus.interpret.machine import role_names
from argus.interpret.numbers import bf16_to_f32, f32_to_bf16

__all__ = [
    "ArgumentError",
    "Fault",
    "FaultKind",
    "InterpreterError",
    "Result",
    "TimeOver",
    "bf16_to_f32",
    "f32_to_bf16",
    "role_names",
    "run",
]
