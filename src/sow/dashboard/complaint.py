"""Reports bugs in sow on the server's terminal."""

from __future__ import annotations


def complain(error: BaseException) -> None:
    """Prints the traceback."""
    import traceback

    from sow.system.terminal import err, harmless

    err(harmless("".join(traceback.format_exception(error)).rstrip()))
