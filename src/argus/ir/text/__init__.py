"""The text of programs: what printer and parser are made of.

words.py          names, strings, expressions and layouts
syntax.py         a template for each operation, which both directions read
names.py          which names a program's parts are printed by
declarations.py   printing what a program declares; declared.py reads it
plans.py          printing plans; plan_reader.py reads them
cursor.py         reading a line word by word
expressions.py    reading expressions
values.py         reading tiles, views and other values of fields
body.py           reading operations, loops, branches and roles
"""
