"""Prints bugs of sow on the server's terminal, and defines the error for a page that does not exist."""

from __future__ import annotations

from sow.errors import SowError


def print_traceback(error: BaseException) -> None:
    """Prints the traceback."""
    import traceback

    from sow.system.terminal import err, escape_control

    err(escape_control("".join(traceback.format_exception(error)).rstrip()))


class PageNotFound(SowError):
    """The requested task, run, turn or piece of evidence does not exist."""
