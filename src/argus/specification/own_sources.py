"""Functions that numpy defines in Python by others of its own: their text is traced.

    np.kron, np.gradient, np.vander, np.trapezoid, np.insert, ...

numpy's text says what they are of symbolic arrays, as a reference's says what it is:
the same copies are made (`calling.py`), in which the functions that they call are those
of the trace. What of these is not traced (`np.unique` sorts) is Unknown, by the name of
the function that the reference calls.
"""

from __future__ import annotations

import types
from typing import Any

from argus.specification.tracing import Tracing
from argus.terms import Changing, Failing, Unknown


def own_source(function: Any) -> types.FunctionType | None:
    """The function of Python that a function of numpy is, or None."""
    found = getattr(function, "_implementation", function)
    if not isinstance(found, types.FunctionType):
        return None
    return found if found.__module__.partition(".")[0] == "numpy" else None


def by_own_source(
    tracing: Tracing, source: types.FunctionType, name: str, args: Any, named: Any
) -> Any:
    """What numpy's own text makes of some arguments.

    Raises Unknown by the name of the function for what is not traced in it.
    """
    from argus.specification.calling import Calling

    if tracing.calling is None:
        tracing.calling = Calling(tracing)
    said = f"the reference calls {name}, which is not traced"
    running = tracing.calling.running
    if source in running:  # it calls the method of arrays that is this function
        raise Unknown(said)
    running.append(source)
    try:
        return tracing.calling.copy(source)(*args, **named)
    except (Failing, Changing):
        raise
    except Unknown as error:
        if error.reason == said:
            raise
        raise Unknown(f"{said} here: {error.reason}") from error
    except (AttributeError, TypeError, NotImplementedError) as error:
        raise Unknown(f"{said} here: {error}") from error
    finally:
        running.pop()
