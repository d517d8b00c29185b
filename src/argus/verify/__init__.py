"""Proofs and counterexamples about placed programs.

verifier.py    all analyses joined into a report; what Trust and Expect do to it
verdict.py     obligations, ordered verdicts, the report
evidence.py    what a counterexample says
decide/        is this condition true for all values? normal form, enumeration, Z3
counting/      stages and phases that are turned by hand, as numbers that only grow
tags/          which element is where: contraction, coverage, padding, bounds
denotation/    what a tile program stores, as terms: for equality with a reference
order/         in time: races, deadlock, phases, fences
performance/   bank conflicts, sectors, occupancy
expectations.py   `ag.expect` held against what was measured
render/        reports as text, JSON, SARIF, HTML
"""
