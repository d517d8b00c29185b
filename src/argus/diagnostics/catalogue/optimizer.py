"""AG10xx: tasks, runs and the judge of `argus optimize`."""

from argus.diagnostics.catalogue.code import Code

CODES = (
    Code(
        "AG1001",
        "there is no such run",
        "No run's name begins with what was given, or several do. `argus runs list` "
        "shows all of them.",
    ),
    Code(
        "AG1002",
        "a run that is being written by another process",
        "Only one process at a time may go on with a run.",
    ),
    Code(
        "AG1003",
        "a record of runs that cannot be read",
        "The database or an artefact is damaged, or was written by a newer version.",
    ),
)
