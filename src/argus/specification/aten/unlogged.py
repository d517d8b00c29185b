"""What torch logs of graphs that it cannot make: an error says it, too, and is told."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

_LOGGERS = (
    "torch.fx.experimental.symbolic_shapes",
    "torch.export",
    "torch._subclasses.fake_tensor",
)


@contextmanager
def unlogged() -> Generator[None]:
    """Without these, tracebacks among them."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
