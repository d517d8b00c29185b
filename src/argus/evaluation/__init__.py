"""Judging kernels: inputs, oracle, interpreter and device runs, timing, records.

    arrays.py     random, poisoned and fp64 arrays in numpy or torch
    oracle.py     inputs of a case, and the verdict on what a kernel wrote
    requests.py   which specialisation a case needs
    simulate.py   a case through the interpreter
    device.py     a case on a GPU
    timing.py     times of several callables, interleaved
    bench.py      a case timed beside its baselines
    judge/        verdicts on candidates that nobody trusts, each in its own process
    report.py     bench records as JSON and Markdown, with their environment

Nothing here decides how a kernel is compiled, and nothing is printed.
"""
