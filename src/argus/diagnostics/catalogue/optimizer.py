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
    Code(
        "AG1004",
        "a policy that cannot be read",
        "The file with what the optimiser has learnt is damaged, holds what no policy "
        "can hold, or was written by a newer version. It is not used, and the warning "
        "says why; when something is learnt, it is kept under another name.",
    ),
    Code(
        "AG1010",
        "a candidate for another problem",
        "A candidate has the kernel that the problem names, with the same tensors, "
        "element types, dimensions and scalars, writes all outputs and no input.",
    ),
    Code(
        "AG1011",
        "a candidate that assumes more than its task",
        "An assumption or a trusted statement lets a proof pass, so a candidate may "
        "only state those that the problem's own kernel states.",
    ),
    Code(
        "AG1012",
        "killed at a time limit",
        "The candidate's process took longer than it may, and was killed. What hung "
        "once is not run again.",
    ),
    Code(
        "AG1013",
        "the process of a candidate died",
        "A fault of the device, a crash or too much memory ended the process in which "
        "the candidate was judged. Only its own verdict is lost.",
    ),
    Code(
        "AG1014",
        "a fault in the interpreter",
        "The placed program, run in the interpreter, races, deadlocks, or touches "
        "memory that it must not.",
    ),
    Code(
        "AG1015",
        "a kernel that changes its inputs",
        "The candidate's inputs are not what they were before it ran.",
    ),
    Code(
        "AG1016",
        "faster than the hardware can be",
        "The measured time is below the time in which the device can do the "
        "arithmetic, or move the bytes, at all. Such a measurement is not believed.",
    ),
    Code(
        "AG1017",
        "the judge could not do its work",
        "Inputs did not fit the memory, a device did not answer, or an executor was "
        "lost. That says nothing of the candidate.",
    ),
    Code(
        "AG1018",
        "a problem that cannot be judged",
        "The problem's kernel, reference, sizes or element types do not go together.",
    ),
    Code(
        "AG1019",
        "a candidate that tests cannot decide",
        "Without a GPU a candidate is run at reduced sizes, and on blocks of the "
        "problem that drive its conditions. It refuses these sizes, its blocks cannot "
        "be compared, or a condition of it has not turned out in a way that it may.",
    ),
    Code(
        "AG1020",
        "a kernel that writes outside its outputs",
        "Memory around the candidate's tensors is not what it was before it ran.",
    ),
    Code(
        "AG1030",
        "a run that is no session",
        "`argus session` goes on with runs that `argus session start` began, which an "
        "external agent writes kernels for. Other runs go on with `argus optimize "
        "--resume`.",
    ),
    Code(
        "AG1031",
        "a session that has ended",
        "`argus session finish` was called. `argus session start --resume RUN` opens "
        "the run again, with more of a budget if need be.",
    ),
    Code(
        "AG1032",
        "nothing is proposed",
        "A kernel is submitted, skipped or timed for a proposal. `argus session next` "
        "makes one, and each is answered once.",
    ),
    Code(
        "AG1033",
        "no dry run is left",
        "`bench` judges a kernel without counting it as a trial, so there is a limit "
        "for each proposal; and like everything it ends with the run's budget.",
    ),
)
