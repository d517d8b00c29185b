"""A task for whoever writes kernels for it: what to compute, at which sizes."""

from __future__ import annotations

import ast

from argus.agent.session.results import Tensor
from argus.diagnostics import ArgusError
from argus.evaluation.judge.subject import subject_of
from argus.kernels.library import LIBRARY
from argus.lang.kernel import load_kernels
from argus.runs.records import Candidate, FileProblem, LibraryProblem, Problem, Task

RULES = (
    "`explain` with the topic `language` is the language in short; `knowledge` with an "
    "entry's id shows how an optimisation is written.",
    "A file is parsed and compiled, and never executed as Python: it holds imports of "
    "argus, constants, and functions marked @ag.kernel or @ag.inline.",
    "Keep the names, order, types and dimensions of the kernel's tensors and scalars, "
    "and what it computes; the body, static parameters and inline functions are yours.",
    "What is not proved is not run: every mistake comes back with a counterexample. "
    "`check` is free; ask it before `submit`.",
    "`ag.assume` and `ag.trust` are refused unless the kernel that the task starts "
    "from has the same.",
    "Each proposal is answered once, by `submit` or by `next` with a reason to skip "
    "it. You may do something else than what was proposed: say what by `instead`.",
    "A kernel whose program was judged before is a no-op. The judge makes inputs and "
    "the reference; kernels see neither the oracle nor the clock.",
)


def tensors_of(problem: Problem) -> tuple[Tensor, ...]:
    """The arguments at the problem's sizes, in their order."""
    subject = subject_of(problem, reference=False)
    return tuple(
        Tensor(
            name=a.name,
            dtype=a.dtype.name,
            shape=a.shape,
            role="output"
            if a.name in subject.outputs
            else "index"
            if a.draw == "index"
            else "input",
        )
        for a in subject.arguments()
    )


def description_of(task: Task) -> str:
    """What is to be computed: the library's words, and those of the kernel itself."""
    words: list[str] = []
    match task.problem:
        case LibraryProblem():
            words.append(LIBRARY[task.problem.entry].title)
            extras = [w for w in task.problem.options if w.islower()]
            if extras:
                words.append(f"with {', '.join(extras)}")
        case FileProblem():
            words.append(
                f"what `{task.problem.kernel}` of {task.problem.name} computes"
            )
            words += [f"{n} stays ({why})" for n, why in task.problem.settled.items()]
    own = docstring_of(task.start)
    text = ", ".join(words)
    return f"{text}. {own}" if own else f"{text}."


def docstring_of(candidate: Candidate) -> str:
    """The docstring of a candidate's kernel, on one line."""
    tree = ast.parse(candidate.source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == candidate.kernel:
            return " ".join((ast.get_docstring(node) or "").split())
    return ""


def reference_of(problem: Problem) -> str:
    """The text of a user's reference; "" where the library has it in words."""
    if not isinstance(problem, FileProblem):
        return ""
    try:
        names = list(load_kernels(problem.name, problem.reference).references)
    except ArgusError:
        return ""
    tree = ast.parse(problem.reference)
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    for name in (f"{problem.kernel}_reference", "reference", *names):
        if name in names and name in functions:
            found = ast.get_source_segment(problem.reference, functions[name])
            return found or ""
    return ""
