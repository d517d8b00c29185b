"""From a candidate to a specialisation of the problem, or why it is none.

The candidate's file is data: it is written below the cache folder, under a hash of its
text (so that diagnostics name a stable file), parsed, and never executed. Its kernel
must have the problem's signature.
"""

from __future__ import annotations

import ast
import hashlib
import math
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from argus.diagnostics import ArgusError, fail
from argus.evaluation.judge.subject import Subject, stated_by
from argus.evaluation.requests import contiguous_facts
from argus.evaluation.simulate import SM_COUNT as MULTIPROCESSORS
from argus.files import owned
from argus.ir.dtypes import DTYPES
from argus.ir.expr import evaluate, holds
from argus.ir.launch import MOST_BLOCKS
from argus.ir.program import SM_COUNT, Program, ScalarParam, stride_symbol
from argus.kernels.library import Argument
from argus.lang import library as inlines
from argus.lang.frontend.module import functions_in, parse_tree
from argus.lang.frontend.signature import StaticParam
from argus.lang.kernel import InlineFunction, Kernel, Module, Origin, load_kernels
from argus.requests import Request
from argus.runs.records import Candidate, Value
from argus.runtime.cache import cache_directory

FILE = "kernel.py"
CANDIDATE = "a candidate"
"""What its proof is kept as: one of the same file may rest on the file's reference."""
_CANDIDATES = "candidates"


def source_hash(source: str) -> str:
    """SHA-256 of a source. Raises ArgusError AG0001 for what is no text in UTF-8."""
    try:
        return hashlib.sha256(source.encode()).hexdigest()
    except UnicodeEncodeError as error:
        raise fail("AG0001", None, f"the source is not text: {error.reason}") from None


def candidate_key(candidate: Candidate) -> str:
    """What a candidate is, without its design: source, kernel, static parameters."""
    whole = candidate.model_copy(update={"design": {}})
    text = whole.model_dump_json().encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()


def written(source: str) -> Path:
    """The file of a source: made if it is not there, for this user alone.

    Raises ArgusError AG0902, and AG0914 where the folder is not this user's.
    """
    usual = Path(tempfile.gettempdir()) / f"argus-{os.geteuid()}"
    name = source_hash(source)[:16]
    for root in (cache_directory(), usual):
        if root is None:
            continue
        try:
            _write(root, name, source.encode())
        except OSError as error:
            if root is not usual:
                continue  # the cache has warned, or will
            code = "AG0914" if isinstance(error, owned.ForeignError) else "AG0902"
            text = f"no candidate can be written below {root}"
            help_ = "set ARGUS_CACHE_DIR to a folder of your own"
            raise fail(code, None, text, notes=[str(error)], help=help_) from error
        return root / _CANDIDATES / name / FILE
    raise AssertionError("there is always a folder for temporary files")


def _write(root: Path, name: str, content: bytes) -> None:
    with (
        owned.opened(root, create=True) as top,
        owned.opened_in(top, _CANDIDATES, create=True) as all_of_them,
        owned.opened_in(all_of_them, name, create=True) as folder,
    ):
        try:
            if owned.read(folder, FILE, len(content)) == content:
                return
        except OSError:  # not there, or not what it should be: replaced
            pass
        owned.write(folder, FILE, content)


def request_of(candidate: Candidate, subject: Subject) -> Request:
    """The specialisation that a candidate is for the problem's arguments.

    Raises ArgusError: AG1010 (another signature), AG0011 (no such kernel), AG0813
    (static parameters), and what reading the file finds.
    """
    path = written(candidate.source)
    module = load_kernels(path, candidate.source)
    if candidate.kernel not in module.kernels:
        raise fail(
            "AG0011",
            None,
            f"the candidate has no kernel `{candidate.kernel}`",
            notes=[f"its kernels are {', '.join(module.kernels)}"],
        )
    kernel = module.kernels[candidate.kernel]
    # What is right is not the candidate's to say, and nothing of its file is executed.
    for reference in module.references:
        del kernel.declaration.env.functions[reference]
    arguments = subject.arguments()
    check_signature(kernel, arguments, subject)
    statics = {
        name: _static(kernel, name, value, module, candidate.source)
        for name, value in candidate.statics.items()
    }
    shapes = {a.name: a.shape for a in arguments}
    return Request(
        kernel,
        {a.name: a.dtype for a in arguments},
        statics,
        subject.target,
        contiguous_facts(kernel, shapes),
    )


def check_signature(
    kernel: Kernel, arguments: Iterable[Argument], subject: Subject
) -> None:
    """Raises ArgusError AG1010 where the kernel does not take the problem's arguments.

    Names, order, element types and dimensions of tensors, names and types of scalars.
    Fixed extents are compared with the sizes.
    """
    own = subject.kernel.signature
    mine = kernel.signature
    wanted = list(arguments)
    given = {t.name: t for t in mine.tensors}
    names = [a.name for a in wanted]
    present = [t.name for t in mine.tensors if t.name in names]
    if present != names:
        raise _other(
            kernel, f"its tensors are {', '.join(given)}, wanted {', '.join(names)}"
        )
    extra = [t.name for t in mine.tensors if t.name not in names and not t.optional]
    if extra:
        raise _other(kernel, f"the problem has no tensor `{extra[0]}`")
    declared = {t.name: t for t in own.tensors}
    for argument in wanted:
        tensor = given[argument.name]
        if argument.dtype not in tensor.dtypes:
            raise _other(
                kernel, f"`{tensor.name}` cannot have elements of {argument.dtype}"
            )
        dims = declared[argument.name].dims
        same = len(tensor.dims) == len(dims) and all(
            mine == n if isinstance(mine, int) else mine == theirs
            for mine, theirs, n in zip(tensor.dims, dims, argument.shape, strict=False)
        )
        if not same:
            shown = " ".join(map(str, tensor.dims))
            theirs = " ".join(map(str, dims))
            raise _other(kernel, f"`{tensor.name}` is {shown}, wanted {theirs}")
    scalars = {s.name: s.dtype for s in own.scalars}
    if {s.name: s.dtype for s in mine.scalars} != scalars:
        shown = ", ".join(s.name for s in mine.scalars) or "none"
        raise _other(
            kernel, f"its scalars are {shown}, wanted {', '.join(scalars) or 'none'}"
        )


def _other(kernel: Kernel, why: str) -> ArgusError:
    return fail(
        "AG1010", None, f"kernel `{kernel.name}` is not for this problem: {why}"
    )


def check_program(program: Program, subject: Subject) -> None:
    """Raises ArgusError for what a candidate may not do, by its program.

    AG1010: it stores to an input, or never to an output. AG1011: it assumes or trusts
    what the problem's own kernel does not.
    """
    stored = set(program.outputs)
    if bad := stored - set(subject.outputs):
        raise fail(
            "AG1010", None, f"`{min(bad)}` is an input, and the kernel stores to it"
        )
    if missing := set(subject.outputs) - stored:
        raise fail("AG1010", None, f"nothing is stored to the output `{min(missing)}`")
    for kind, text in sorted(stated_by(program) - subject.stated):
        what = "assumes" if kind == "assume" else "trusts"
        raise fail(
            "AG1011",
            program.span,
            f"the candidate {what} what the problem's own kernel does not: "
            f"{text.split('|')[0]}",
            help="prove it, or state it in the kernel that the task starts from",
        )


def check_requirements(program: Program, subject: Subject) -> None:
    """Raises ArgusError where the program cannot be launched at the problem's sizes.

    AG0808: it refuses them. AG0509: it has more blocks than a grid can have.
    """
    env = environment(program, subject.arguments(), subject)
    for requirement in program.requirements:
        if not holds(requirement.cond, env):
            raise fail(
                "AG0808",
                requirement.span,
                "the kernel refuses the sizes of the problem",
                notes=[f"required because {requirement.why}"],
            )
    some = {SM_COUNT.name: MULTIPROCESSORS}
    try:
        grid = int(evaluate(program.grid, {**env, **some}))
    except ZeroDivisionError:
        text = f"the number of blocks, {program.grid}, divides by zero"
        raise fail("AG0808", program.span, text) from None
    if not 0 <= grid <= MOST_BLOCKS:
        text = f"the grid would have {grid} blocks, at most {MOST_BLOCKS}"
        raise fail("AG0509", program.span, text)


def environment(
    program: Program, arguments: Iterable[Argument], subject: Subject
) -> dict[str, int | float]:
    """Values of the symbols of dimensions, contiguous strides and scalars."""
    values: dict[str, int | float] = {
        p.sym.name: subject.scalars[p.name]
        for p in program.params
        if isinstance(p, ScalarParam) and p.name in subject.scalars
    }
    for argument in arguments:
        tensor = next((t for t in program.params if t.name == argument.name), None)
        dims: tuple[str, ...] = getattr(tensor, "dims", ())
        for i, (dim, extent) in enumerate(zip(dims, argument.shape, strict=False)):
            values[dim] = extent
            values[stride_symbol(argument.name, i).name] = math.prod(
                argument.shape[i + 1 :]
            )
    return values


# ----------------------------------------------------------------------- static values


def _static(
    kernel: Kernel, name: str, value: Value, module: Module, source: str
) -> object:
    """A static parameter from its literal. Raises ArgusError AG0813."""
    param = next((s for s in kernel.signature.statics if s.name == name), None)
    if param is None:
        known = ", ".join(s.name for s in kernel.signature.statics) or "none"
        raise fail(
            "AG0813",
            None,
            f"kernel `{kernel.name}` has no static parameter `{name}`",
            notes=[f"it has {known}"],
        )
    match param.kind, value:
        case "int", int() if not isinstance(value, bool):
            return value
        case "bool", bool():
            return value
        case "float", int() | float() if not isinstance(value, bool):
            return float(value)
        case "str", str():
            return value
        case "dtype", str() if value in DTYPES:
            return DTYPES[value]
        case ("inline", str()):
            return _inline(param, value, module, source)
        case "any", _:
            return value
        case _:
            raise fail(
                "AG0813",
                param.span,
                f"static parameter `{name}` is {param.kind}, and cannot be {value!r}",
            )


def _inline(
    param: StaticParam, name: str, module: Module, source: str
) -> InlineFunction:
    """An inline function of the candidate's file, else of the language."""
    tree, _ = parse_tree(module.file, source)
    for node in functions_in(tree):
        if node.name == name:
            lines = [node.lineno, *(d.lineno for d in node.decorator_list)]
            if _is_inline(node):
                origin = Origin(module.file, name, min(lines), dict, lambda _: None)
                return InlineFunction(origin)
    found = vars(inlines).get(name)
    if isinstance(found, InlineFunction):
        return found
    raise fail("AG0813", param.span, f"there is no inline function `{name}`")


def _is_inline(node: ast.FunctionDef) -> bool:
    return any("inline" in ast.unparse(d) for d in node.decorator_list)
