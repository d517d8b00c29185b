"""The frontend: a kernel's source text to a program that is not placed yet.

    module.py       a file's declarations: constants, functions, imports
    signature.py    the parameters of a kernel
    specialise.py   the entry point: kernel + types + static values -> Program
    statements.py   assignments, with, assert; control.py: for and if
    expressions.py  names, operators, calls; tiles.py: operators on tiles
    builtins/       one handler for each function and method of the language
    values.py       what an expression can be at compile time
    broadcast.py    how dimension names of operands meet
    carry.py        values that loops and branches carry
"""
