"""Formats the exit code of a process for people."""

from __future__ import annotations


def exit_text(code: int | None) -> str:
    """Returns an exit code as `exit 1`; a process that a signal ended has its name: `ended by SIGKILL (killed)`."""
    if code is None or code >= 0:
        return "no exit code" if code is None else f"exit {code}"
    import signal  # here, because few processes end so

    try:
        return f"ended by {signal.Signals(-code).name} ({(signal.strsignal(-code) or 'signal').lower()})"
    except ValueError:
        return f"ended by signal {-code}"


def ending_text(code: int) -> str:
    """Returns `ended with exit code 1`, or the signal that ended the process: `was ended by SIGKILL (killed)`."""
    return f"ended with exit code {code}" if code >= 0 else f"was {exit_text(code)}"
