"""Exit codes as text."""

from __future__ import annotations

import pytest

from sow.system.process.exit_code import ending_text, exit_text


@pytest.mark.parametrize(
    ("code", "text", "sentence"),
    [
        (0, "exit 0", "ended with exit code 0"),
        (3, "exit 3", "ended with exit code 3"),
        (-9, "ended by SIGKILL (killed)", "was ended by SIGKILL (killed)"),
        (-11, "ended by SIGSEGV (segmentation fault)", "was ended by SIGSEGV (segmentation fault)"),
        (-99, "ended by signal 99", "was ended by signal 99"),
    ],
)
def test_a_signal_has_its_name(code: int, text: str, sentence: str):
    """A process that a signal ended is shown with the signal's name, not with a negative number (A24)."""
    assert exit_text(code) == text
    assert ending_text(code) == sentence


def test_a_missing_exit_code_is_shown():
    """A check that never ended has no exit code."""
    assert exit_text(None) == "no exit code"
