"""What went wrong in sow itself, said on the terminal of the server."""

from __future__ import annotations


def complain(error: BaseException) -> None:
    """Say where it came from, for whoever has to mend it."""
    import traceback

    from sow.system.terminal import err, harmless

    err(harmless("".join(traceback.format_exception(error)).rstrip()))
