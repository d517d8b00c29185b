"""Documents with something absurd in one place, for whatever reads documents back."""

import json

ABSURD = (
    *("NaN", "Infinity", "-Infinity", "1e400", "-1e308", "1e31", "9" * 5000, "-1"),
    *("null", "true", '"x"', "[]", "{}", "[" * 99_000 + "]" * 99_000, '"\\ud800"'),
    *('{"a": 1, "a": 1}', "1.5", "99999999999999999999", '"' + "x" * 20_000 + '"'),
)


Place = tuple[str | int, ...]


def leaves(value: object, path: Place = ()) -> list[Place]:
    found = [path]
    if isinstance(value, dict):
        for key, one in value.items():
            found += leaves(one, (*path, key))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            found += leaves(one, (*path, index))
    return found


def with_leaf(value: object, path: Place, text: str) -> str:
    """The JSON of a value with other text in one place."""
    mark = "put it here"
    copy = json.loads(json.dumps({"": value}))
    at = copy
    for key in ("", *path)[:-1]:
        at = at[key]
    at[("", *path)[-1]] = mark
    return json.dumps(copy[""]).replace(json.dumps(mark), text)
