"""Each output element is written exactly once over the grid. (Stub for first slice.)"""
from argus.ir.program import Program
from argus.verify.tags.state import State
def covered(state: State, program: Program) -> None: ...
