"""A source file as declarations: constants, functions, imports. Nothing is executed.

Strict reading (files to be loaded) rejects every other statement at module level;
lenient reading (the module of a decorated kernel, which Python has imported anyway)
passes over them, and looks unknown names up where Python would.
"""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from argus.diagnostics import ArgusError, SourceText, Span, fail, register_source
from argus.lang.frontend.declarations import (
    FunctionDecl,
    FunctionKind,
    ImportedName,
    LanguageModule,
    LanguageName,
    ModuleEnv,
)
from argus.lang.frontend.liveness import loads, stores
from argus.lang.frontend.texts import read_text, text_of
from argus.lang.kernel import InlineFunction, Kernel, Origin

_KINDS: dict[str, FunctionKind] = {
    "kernel": "kernel",
    "inline": "inline",
    "reference": "reference",
    "baseline": "baseline",
}
MAX_CHARACTERS = 1_000_000
MAX_NESTING = 100
_PACKAGE = Path(__file__).parents[2]
_parsing = threading.Lock()
"""`catch_warnings` changes the filters of the whole process."""


def parse_tree(file: str, text: str) -> tuple[ast.Module, SourceText]:
    """The syntax tree of a text, registered as the source of its diagnostics.

    Raises ArgusError: it is not Python (AG0001), or nested too deeply (AG0020).
    """
    source = register_source(file, text)
    start = Span(file, 1, 1, 1, 1)
    if len(text) > MAX_CHARACTERS:
        raise fail(
            "AG0001", start, f"the source has more than {MAX_CHARACTERS} characters"
        )
    try:
        with _parsing, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.removeprefix("\ufeff"), filename=file)
    except SyntaxError as error:
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        end_line = error.end_lineno or line
        end_column = max(error.end_offset or column, column)
        span = Span(file, line, column, end_line, end_column)
        raise fail("AG0001", span, f"not valid Python: {error.msg}") from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise fail("AG0001", start, f"not valid Python: {error}") from None
    _check_nesting(tree, source)
    return tree, source


def _check_nesting(tree: ast.Module, source: SourceText) -> None:
    """Raises ArgusError (AG0020) at the outermost expression that is too deep."""
    pending: list[tuple[ast.AST, int, ast.expr | None]] = [(tree, 0, None)]
    while pending:
        node, depth, whole = pending.pop()
        if whole is None and isinstance(node, ast.expr):
            whole = node
        if depth > MAX_NESTING and isinstance(node, ast.expr | ast.stmt):
            raise fail(
                "AG0020",
                source.span(whole or node),
                f"expressions or blocks are nested more than {MAX_NESTING} deep",
                help="give parts of it names of their own",
            )
        if not isinstance(node, ast.Name | ast.Constant):
            children = ast.iter_child_nodes(node)
            pending.extend([(child, depth + 1, whole) for child in children])


def parse_module(
    file: str, text: str, *, strict: bool, host: Mapping[str, object] | None = None
) -> ModuleEnv:
    """Read the declarations of a source.

    Raises ArgusError: see `parse_tree`; and, if strict, for a statement that a kernel
    file may not have (AG0003), an unknown decorator (AG0013), two functions of one name
    (AG0012), an import of something else than the language (AG0022).
    """
    tree, source = parse_tree(file, text)
    env = ModuleEnv(source, host=host or {})
    for statement in tree.body:
        _declare(env, statement, strict)
    return env


def _declare(env: ModuleEnv, statement: ast.stmt, strict: bool) -> None:
    match statement:
        case ast.Import(names=names):
            for alias in names:
                if alias.name == "argus":
                    env.imports[alias.asname or "argus"] = LanguageModule()
                elif strict:
                    raise _foreign_import(env, statement, alias.name)
        case ast.ImportFrom(module=module, names=names, level=level):
            _import_from(env, statement, module or "", names, level, strict)
        case ast.FunctionDef():
            _function(env, statement, strict)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            _constant(env, statement, name, value, strict)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            _constant(env, statement, name, value, strict)
        case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
            pass
        case ast.If(test=test) if _is_main_guard(test):
            pass
        case _ if strict:
            raise fail(
                "AG0003",
                env.source.span(statement),
                "this statement cannot stand at the top of a kernel file",
                label=statement_words(statement),
                notes=(
                    "a kernel file has imports of `argus`, constants, functions and an "
                    '`if __name__ == "__main__":` block',
                ),
            )
        case _:
            pass


def _import_from(
    env: ModuleEnv,
    statement: ast.ImportFrom,
    module: str,
    names: list[ast.alias],
    level: int,
    strict: bool,
) -> None:
    if level == 0 and module == "__future__":
        return
    ours = level == 0 and (module == "argus" or module.startswith("argus."))
    if not ours:
        if strict:
            raise _foreign_import(env, statement, "." * level + module)
        return
    for alias in names:
        bound = alias.asname or alias.name
        if alias.name == "*":
            raise fail(
                "AG0022",
                env.source.span(statement),
                "names of the language are imported one by one",
                help="write `import argus as ag`",
            )
        if module == "argus" or module.startswith("argus.lang"):
            env.imports[bound] = LanguageName(alias.name)
        else:
            path = _PACKAGE.joinpath(*module.split(".")[1:])
            file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            env.imports[bound] = ImportedName(file, alias.name)


def _foreign_import(env: ModuleEnv, node: ast.stmt, what: str) -> ArgusError:
    return fail(
        "AG0022",
        env.source.span(node),
        f"a kernel file cannot import `{what}`",
        notes=("the file is parsed and never executed, so only `argus` has a meaning",),
    )


def _function(env: ModuleEnv, node: ast.FunctionDef, strict: bool) -> None:
    kind = _kind(env, node, strict)
    if kind is None:
        return
    if strict and node.name in env.functions:
        raise fail(
            "AG0012",
            env.source.span(node),
            f"there are two functions named `{node.name}`",
        )
    env.functions[node.name] = FunctionDecl.of(node, kind, env)


def _kind(env: ModuleEnv, node: ast.FunctionDef, strict: bool) -> FunctionKind | None:
    kinds: list[FunctionKind | None] = [_decorator(env, d) for d in node.decorator_list]
    if len(kinds) == 1 and kinds[0] is not None:
        return kinds[0]
    if not strict:
        return next((k for k in kinds if k is not None), None)
    at = node.decorator_list[kinds.index(None)] if None in kinds else node
    message = f"`{node.name}` carries a decorator that the language does not know"
    marks = ", ".join(f"`@ag.{k}`" for k in _KINDS)
    help = f"use exactly one of {marks}"
    if not kinds:
        message = f"function `{node.name}` carries no decorator of the language"
    elif isinstance(at, ast.Call) and (called := _decorator(env, at.func)):
        message = f"`@ag.{called}` takes no arguments"
        help = f"write `@ag.{called}`"
        if called == "reference":
            help += ", and name the function KERNEL_reference or reference"
    raise fail("AG0013", env.source.span(at), message, help=help)


def _decorator(env: ModuleEnv, node: ast.expr) -> FunctionKind | None:
    match node:
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            if not isinstance(env.imports.get(module), LanguageModule):
                return None
        case ast.Name(id=bound):
            imported = env.imports.get(bound)
            if not isinstance(imported, LanguageName):
                return None
            name = imported.name
        case _:
            return None
    return _KINDS.get(name)


def _constant(
    env: ModuleEnv, node: ast.stmt, name: str, value: ast.expr, strict: bool
) -> None:
    if strict and name in env.names():
        raise fail(
            "AG0012",
            env.source.span(node),
            f"`{name}` is already the name of something in this file",
            help="assign each constant once",
        )
    env.constants[name] = value


def _is_main_guard(test: ast.expr) -> bool:
    match test:
        case ast.Compare(
            left=ast.Name(id="__name__"),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value="__main__")],
        ):
            return True
        case _:
            return False


_STATEMENTS: dict[type[ast.stmt], str] = {
    ast.FunctionDef: "a function inside a function",
    ast.AsyncFunctionDef: "an `async` function",
    ast.AsyncFor: "an `async` loop",
    ast.AsyncWith: "an `async with`",
    ast.ClassDef: "a class",
    ast.Delete: "`del`",
    ast.ImportFrom: "`import`",
    ast.AugAssign: "an update in place",
    ast.AnnAssign: "an annotation without a value",
    ast.Assign: "an assignment",
    ast.Expr: "an expression",
    ast.TryStar: "`try`",
}


def statement_words(node: ast.stmt) -> str:
    """What a statement is called in a diagnostic: "a class", "`while`"."""
    return _STATEMENTS.get(type(node), f"`{type(node).__name__.lower()}`")


def functions_in(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Every function of a tree, nested ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node


_environments: dict[str, tuple[str, ModuleEnv, ast.Module]] = {}


def _environment(file: str, text: str) -> tuple[ModuleEnv, ast.Module]:
    """The lenient environment of a text; the same object as long as it is the same."""
    cached = _environments.get(file)
    if cached is None or cached[0] != text:
        tree, source = parse_tree(file, text)
        env = ModuleEnv(source)
        for statement in tree.body:
            _declare(env, statement, strict=False)
        cached = (text, env, tree)
        _environments[file] = cached
    return cached[1], cached[2]


def declaration_of(origin: Origin) -> FunctionDecl:
    """The syntax of a decorated function, found in its file by name and line.

    Raises ArgusError: its text is not known, or has changed since (AG0002), or is not
    Python (AG0001).
    """
    env, tree = _environment(origin.file, text_of(origin))
    for node in functions_in(tree):
        lines = [node.lineno, *(d.lineno for d in node.decorator_list)]
        if node.name == origin.name and min(lines) == origin.line:
            kinds: list[FunctionKind] = [
                k for d in node.decorator_list if (k := _decorator(env, d)) is not None
            ]
            own = ModuleEnv(
                env.source,
                env.functions,
                env.constants,
                env.imports,
                origin.names(),
                origin.bound,
            )
            return FunctionDecl.of(node, kinds[0] if kinds else "kernel", own)
    raise fail(
        "AG0002",
        None,
        f"`{origin.file}` has no function `{origin.name}` at line {origin.line}",
        notes=("it is no plain function, or made by another text than that file's",),
    )


def elsewhere(place: ImportedName) -> ModuleEnv:
    """The declarations of another file of this package.

    Raises ArgusError: there is no such file (AG0002).
    """
    return _environment(str(place.file), read_text(place.file))[0]


def library() -> ModuleEnv:
    """The functions of the language that are written in the language."""
    file = _PACKAGE / "lang" / "library.py"
    return _environment(str(file), read_text(file))[0]


def dependencies(kernel: Kernel, inlines: Iterable[InlineFunction]) -> list[str]:
    """Texts that a kernel's meaning depends on, beside this package: for cache keys.

    They are the sources of its file and of the files of the inline functions it may
    call, and what Python has bound its global and captured names to, where that has a
    meaning in a kernel. Raises ArgusError where a source cannot be read.
    """
    texts: dict[str, None] = {}
    for decl in _reached(kernel, *inlines):
        texts["\n".join(decl.env.source.lines)] = None
        texts |= dict.fromkeys(f"{n} = {v!r}" for n, v in _numbers(decl).items())
    return list(texts)


def bindings(
    function: Kernel | InlineFunction,
) -> Iterator[tuple[Callable[[str], object], str, object]]:
    """Names outside of a function of the language that stand for values in it.

    Each with what says what it is bound to now, and with what it was bound to when the
    function was read. Raises ArgusError where a source cannot be read.
    """
    for decl in _reached(function):
        if decl.env.bound is not None:
            for name, value in _numbers(decl).items():
                yield decl.env.bound, name, value


def _reached(*functions: Kernel | InlineFunction) -> Iterator[FunctionDecl]:
    """Functions, and inline functions that these name."""
    pending = [f.declaration for f in functions]
    done: set[tuple[str, int]] = set()
    while pending:
        decl = pending.pop()
        key = (decl.env.source.name, decl.node.lineno)
        if key in done:
            continue
        done.add(key)
        yield decl
        named = _named(decl).values()
        pending += [v.declaration for v in named if isinstance(v, InlineFunction)]


def _named(decl: FunctionDecl) -> dict[str, object]:
    """What Python has bound the names of a function to that are not its own."""
    given = decl.node.args
    own = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    names = loads(decl.node) - stores(decl.node) - own
    return {name: decl.env.host[name] for name in sorted(names & decl.env.host.keys())}


def _numbers(decl: FunctionDecl) -> dict[str, object]:
    """What of it are values in a kernel."""
    kinds = (bool, int, float, str, tuple)
    return {n: value for n, value in _named(decl).items() if isinstance(value, kinds)}
