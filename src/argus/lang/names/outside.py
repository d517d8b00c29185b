"""What happens when a stub is called by Python instead of parsed by the frontend."""

from argus.diagnostics import ArgusError, fail


def outside(name: str) -> ArgusError:
    """The error for a name of the language that is used outside a kernel."""
    return fail(
        "AG0021",
        None,
        f"`{name}` was called outside a kernel",
        help="call it inside a function marked `@ag.kernel` or `@ag.inline`",
    )
