"""Describes what a request is waiting for: a failed check or a comment, with its place and a bounded text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sow.forge.forge import Comment, ForgeCheck

CHECK, COMMENT = "check", "comment"
MOST_TEXT = 8_000  # characters of a comment, or of the end of a log
MOST_TITLE = 150
MOST_KEY = 330  # a run's state has room for 400, with more words before it
TIME_STAMP = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ", re.MULTILINE)
RUN_GROUP = re.compile(r"^##\[group\]Run (.+)$", re.MULTILINE)
SCRIPT_LINE = re.compile(r"^\$ (.+)$", re.MULTILINE)
AFTER_SCRIPT = re.compile(r"^Running after.?script", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RequestFinding:
    """One failed check or comment. Its texts were written by others, and are quoted material for a worker."""

    key: str  # the same for the same finding, in every poll
    kind: str
    title: str  # one line
    text: str  # redacted and bounded
    path: str = ""
    line: int = 0
    commit: str = ""  # the commit whose line is meant, or that was checked
    is_removed: bool = False  # the line is one of the base, which the commit does not have any more
    url: str = ""


def check_key(check: ForgeCheck, sha: str) -> str:
    """Returns the identity of a check's result for one commit."""
    return f"check-{sha}-{one_line(check.name)}"[:MOST_KEY]


def from_check(check: ForgeCheck, sha: str, log: str) -> RequestFinding:
    """Returns a failed check with the end of its log."""
    texts = [check.summary.strip(), TIME_STAMP.sub("", log).strip()]
    return RequestFinding(
        key=check_key(check, sha),
        kind=CHECK,
        title=f"Check {one_line(check.name)!r} failed"[:MOST_TITLE],
        text="\n\n".join(filter(None, texts))[-MOST_TEXT:],
        path=check.path,
        line=check.line,
        commit=sha,
        url=check.url,
    )


def from_comment(comment: Comment) -> RequestFinding:
    """Returns a comment of somebody who may change the repository."""
    place = f" on {comment.path}:{comment.line}" if comment.path else ""
    return RequestFinding(
        key=comment.id,
        kind=COMMENT,
        title=one_line(f"Comment of {comment.author}{place}")[:MOST_TITLE],
        text=comment.body.strip()[:MOST_TEXT],
        path=comment.path,
        line=comment.line,
        commit=comment.commit,
        is_removed=comment.is_removed,
        url=comment.url,
    )


def failed_command(log: str) -> str:
    """Returns the command that failed, as GitHub Actions or GitLab writes it into the log, or ""."""
    text = TIME_STAMP.sub("", log)
    steps = RUN_GROUP.findall(text) or SCRIPT_LINE.findall(AFTER_SCRIPT.split(text)[0])
    return str(steps[-1]).strip() if steps else ""


def one_line(text: str) -> str:
    """Returns a text of the forge on one line."""
    return " ".join(text.split())
