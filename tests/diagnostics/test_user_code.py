"""What a user's code raised, and the line of it."""

import json

import pytest

from argus.diagnostics.user_code import raised

TEXT = "def f(x):\n    return g(x)\n\n\ndef g(x):\n    {}\n"


def _error(line: str) -> Exception:
    names: dict[str, object] = {"json": json}
    exec(compile(TEXT.format(line), "folder/mine.py", "exec"), names)
    with pytest.raises(Exception) as caught:
        names["f"](1)  # pyright: ignore[reportCallIssue]
    return caught.value


def test_the_innermost_line_of_the_user() -> None:
    said = raised(_error("raise ValueError('no rows\\nof any kind')"))
    assert said == "ValueError: no rows, at line 6 of mine.py"


def test_a_line_within_a_package_is_not_the_users() -> None:
    said = raised(_error("json.loads('{')"))
    assert said.startswith("JSONDecodeError: Expecting")
    assert said.endswith(", at line 6 of mine.py")


def test_an_error_without_words() -> None:
    assert raised(_error("assert not x")) == "AssertionError, at line 6 of mine.py"


def test_what_is_no_python() -> None:
    with pytest.raises(SyntaxError) as caught:
        compile("x = 1\ndef f(:\n", "folder/mine.py", "exec")
    assert raised(caught.value) == "SyntaxError: invalid syntax, at line 2 of mine.py"


def test_what_no_user_wrote() -> None:
    assert raised(ValueError("made up")) == "ValueError: made up"
