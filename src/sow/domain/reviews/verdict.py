"""Reads GREEN, YELLOW or RED from a reviewer's final text. An ambiguous text has no verdict."""

from __future__ import annotations

from sow.domain.reviews import final_answer
from sow.domain.reviews import finding as findings_of
from sow.domain.reviews.finding import identity as identity
from sow.domain.reviews.finding import repeated_errors as repeated_errors
from sow.domain.text.similar_text import similar as similar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from sow.domain.documents.state import Finding
    from sow.domain.reviews.final_answer import FinalAnswer
    from sow.domain.text.markdown_text import MarkdownText

GREEN, YELLOW, RED, DOUBTFUL = "GREEN", "YELLOW", "RED", ""
FLAGS = (GREEN, YELLOW, RED)
STRICTNESS = (GREEN, YELLOW, DOUBTFUL, RED)
MAX_FEEDBACK = 20_000


TITLE = "Quality Control"
FORMS = final_answer.verdict_lines(TITLE, FLAGS)


class Verdict:
    """The flag, feedback and findings of a review. If the text is ambiguous, the flag is empty and `why` says why."""

    __slots__ = ("doubt", "feedback", "findings", "flag")

    def __init__(self, flag: str, *, feedback: str = "", findings: Sequence[Finding] = (), why: str = "") -> None:
        self.flag = flag
        self.feedback = feedback
        self.findings = list(findings)
        self.doubt = why

    @property
    def passes(self) -> bool:
        """Return whether the work may be merged."""
        return self.flag in (GREEN, YELLOW)

    def __repr__(self) -> str:
        return f"Verdict({self.flag!r}, findings={len(self.findings)}, why={self.doubt!r})"


def parse(final_text: str, nonce: str) -> Verdict:
    """Read the verdict from a JSON block with this review's nonce, or from exactly one verdict line."""
    answer = final_answer.read(final_text, nonce)
    if answer.doubt:
        return _doubtful(answer.doubt)
    return _from_line(answer.passage) if answer.block is None else _from_json(answer, answer.block)


def combined(verdicts: Iterable[Verdict | None]) -> Verdict:
    """Return the strictest of several verdicts. None stands for a failed review, which does not pass."""
    all_verdicts = [verdict or _doubtful("a reviewer could not be had") for verdict in verdicts] or [
        _doubtful("nobody reviewed")
    ]
    flag = max((verdict.flag for verdict in all_verdicts), key=STRICTNESS.index)
    feedback = "\n\n".join(dict.fromkeys(verdict.feedback for verdict in all_verdicts if verdict.feedback))
    return Verdict(
        flag,
        feedback=feedback[:MAX_FEEDBACK],
        findings=findings_of.merge_findings(verdict.findings for verdict in all_verdicts),
        why="; ".join(dict.fromkeys(verdict.doubt for verdict in all_verdicts if verdict.doubt))
        if flag == DOUBTFUL
        else "",
    )


def may_retry(flag: str, retries_used: int, limit: int) -> bool:
    """Return whether the work goes back to its worker: only RED does, and only up to the limit."""
    return flag == RED and retries_used < limit


def _doubtful(why: str) -> Verdict:
    return Verdict(DOUBTFUL, why=why)


def _from_json(answer: FinalAnswer, block: dict[str, Any]) -> Verdict:
    """Return the verdict of the JSON block, if no line outside of it contradicts it."""
    flag = block.get("verdict")
    if flag not in FLAGS:
        return _doubtful("the JSON block has no verdict GREEN, YELLOW or RED")
    if any(FORMS.get(line.text) != flag for line in answer.own_lines() if _mentions(line.text)):
        return _doubtful("the JSON block and a line of the answer do not agree")
    return _from_valid_block(flag, block)


def _from_valid_block(flag: str, block: dict[str, Any]) -> Verdict:
    """Return the verdict of a JSON block, if its findings and feedback are valid and match its flag."""
    items, feedback = block.get("findings", []), block.get("feedback", "")
    items = [] if items is None else items
    if not isinstance(items, list) or not isinstance(feedback, str | None):
        return _doubtful("the findings are no list, or the feedback is no text")
    parsed = [findings_of.read(item) for item in items]
    findings = [finding for finding in parsed if finding is not None]
    if len(findings) < len(parsed):
        return _doubtful("a finding says nothing")
    if flag == GREEN and any(finding["severity"] == "error" for finding in findings):
        return _doubtful("GREEN with an error among its findings")
    feedback = findings_of.clean_text(feedback or "", MAX_FEEDBACK)
    return Verdict(flag, feedback=feedback, findings=findings_of.merge_findings([findings]))


def _mentions(line: str) -> bool:
    return final_answer.mentions(line, f"{TITLE}:")


def _from_line(passage: MarkdownText) -> Verdict:
    """Return the verdict of the only line that mentions one."""
    flag, at, why = final_answer.single_verdict_line(passage, FORMS, _mentions)
    if not flag:
        return _doubtful(why)
    return Verdict(flag, feedback=findings_of.clean_text(final_answer.feedback_of(passage, at), MAX_FEEDBACK))
