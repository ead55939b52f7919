"""Findings of a request: their identity, their place and their limits."""

from __future__ import annotations

from sow.engine.delivery import finding
from sow.forge.forge import FAILED, Comment, ForgeCheck

SHA = "1" * 40
LOG = """2026-11-19T10:00:00.1234567Z ##[group]Run uv sync
2026-11-19T10:00:01.0000000Z ##[endgroup]
2026-11-19T10:00:02.0000000Z ##[group]Run pytest -q
2026-11-19T10:00:03.0000000Z E   assert 2 == 3
2026-11-19T10:00:03.1000000Z ##[error]Process completed with exit code 1.
"""


def test_a_failed_check_keeps_the_end_of_its_log():
    """Time stamps are removed, the end is kept, and the same check of another commit is another finding."""
    check = ForgeCheck(name="unit\ntests", state=FAILED, summary="2 failed")
    result = finding.from_check(check, SHA, LOG)
    assert (result.kind, result.title, result.commit) == ("check", "Check 'unit tests' failed", SHA)
    assert result.text.startswith("2 failed\n\n##[group]Run uv sync\n")
    assert result.text.endswith("E   assert 2 == 3\n##[error]Process completed with exit code 1.")
    assert result.key != finding.from_check(check, "2" * 40, LOG).key
    long = finding.from_check(check, SHA, "x" * 100_000 + "the end")
    assert len(long.text) == finding.MOST_TEXT
    assert long.text.endswith("the end")


def test_a_comment_has_the_forges_identity():
    """A comment is known by the forge's id, whatever its text is."""
    output = Comment(id="line-7", author="ada", body=" Why?\n", at="", path="src/a.py", line=3, commit=SHA)
    result = finding.from_comment(output)
    assert (result.key, result.title, result.text) == ("line-7", "Comment of ada on src/a.py:3", "Why?")
    assert (result.path, result.line, result.commit) == ("src/a.py", 3, SHA)


def test_the_command_of_a_log_is_that_of_its_last_step():
    """GitHub Actions writes each command into the log; the last one failed."""
    assert finding.failed_command(LOG) == "pytest -q"
    assert finding.failed_command("no steps here") == ""
