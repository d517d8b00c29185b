"""One record per hardware instruction: layouts, text, meaning, effects, limits.

Each family has a module with its records and the questions that others ask of it
(names of its device functions, sizes, shapes, rules); `registry` finds records by name
and says what a target has. Nobody above repeats a number that stands here.
"""
