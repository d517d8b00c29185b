"""Is a kernel its reference, or another kernel? Decided as terms, for all sizes.

references.py   the function of a kernel's file that says what it computes
file_reference.py  the same as the reference of a library entry
programs.py     the program of a kernel that terms are about
denoted.py      the terms of a program, of which several things are asked
fitting.py      do its whole numbers fit their types?
sizes.py        sizes that a launch admits
deciding.py     a kernel and another one
traced.py       a kernel and its reference
kept.py         a kernel and another one, from the disk cache if it can
settling.py     what equality settles of a report on data flow
unreferenced.py what terms say of it where there is no reference
"""
