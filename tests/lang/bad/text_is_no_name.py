"""Roles, named barriers and turns called by what is no name."""

import argus as ag
from argus import bf16, f32, i32


@ag.kernel
def bad(A: f32["M"], C: f32["M"]):
    order = ag.turns("", 2)  # expect: AG0025
    with ag.role("w\n  asm(...);\n  //", warps=4):  # expect: AG0025
        C[0:128] = ag.load(A[0:128])
    with ag.role("block", warps=4):  # expect: AG0025
        C[128:256] = ag.load(A[128:256])
    with ag.role("rôle", warps=4):  # expect: AG0025
        C[256:384] = ag.load(A[256:384])
    with ag.role("math", warps=4):
        ag.sync("two  blanks", threads=128)  # expect: AG0025
        ag.sync("order.0", threads=128)  # expect: AG0025
        ag.arrive("a_name_that_has_more_than_forty_characters", threads=128)  # expect: AG0025
        C[384:512] = ag.load(A[384:512])
