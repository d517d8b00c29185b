"""Deciding conditions over integers for all values of their symbols.

    prove(goal, given) -> Decision

First by normal form (cheap, exact on linear terms with division and remainder by
constants), then by enumeration where few values are possible, then by Z3 within a time
limit. A time-out or a gap is ``unknown`` with its reason.
"""
