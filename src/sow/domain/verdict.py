"""What a review says: GREEN, YELLOW or RED from the reviewer's final text, and nothing where that leaves a doubt."""

from __future__ import annotations

from sow.domain import final_answer
from sow.domain import finding as findings_of
from sow.domain.finding import identity as identity
from sow.domain.finding import same_again as same_again
from sow.domain.wording import similar as similar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from sow.domain.final_answer import Answer
    from sow.domain.review_text import Passage
    from sow.domain.shapes import Finding

GREEN, YELLOW, RED, DOUBTFUL = "GREEN", "YELLOW", "RED", ""
FLAGS = (GREEN, YELLOW, RED)
STRICTNESS = (GREEN, YELLOW, DOUBTFUL, RED)
MAX_READ = final_answer.MAX_READ
MAX_FEEDBACK = 20_000


TITLE = "Quality Control"
FORMS = final_answer.forms(TITLE, FLAGS)


class Verdict:
    """A flag, or none where it is doubtful and why; with what the reviewer said and found."""

    __slots__ = ("feedback", "findings", "flag", "why")

    def __init__(self, flag: str, *, feedback: str = "", findings: Sequence[Finding] = (), why: str = "") -> None:
        self.flag = flag
        self.feedback = feedback
        self.findings = list(findings)
        self.why = why

    @property
    def passes(self) -> bool:
        """Whether the work may be merged."""
        return self.flag in (GREEN, YELLOW)

    def __repr__(self) -> str:
        return f"Verdict({self.flag!r}, findings={len(self.findings)}, why={self.why!r})"


def parse(final_text: str, nonce: str) -> Verdict:
    """The verdict in a reviewer's final text: a JSON block with this review's nonce, or exactly one line of its own."""
    answer = final_answer.read(final_text, nonce)
    if answer.why:
        return _doubt(answer.why)
    return _from_line(answer.passage) if answer.said is None else _from_json(answer, answer.said)


def strictest(verdicts: Iterable[Verdict | None]) -> Verdict:
    """What several reviewers say together; None is one that could not be had, which is no pass."""
    given = [each or _doubt("a reviewer could not be had") for each in verdicts] or [_doubt("nobody reviewed")]
    flag = max((each.flag for each in given), key=STRICTNESS.index)
    feedback = "\n\n".join(dict.fromkeys(each.feedback for each in given if each.feedback))
    return Verdict(
        flag,
        feedback=feedback[:MAX_FEEDBACK],
        findings=findings_of.joined(each.findings for each in given),
        why="; ".join(dict.fromkeys(each.why for each in given if each.why)) if flag == DOUBTFUL else "",
    )


def capped(verdict: Verdict, *, evidence_failed: bool) -> Verdict:
    """The verdict in the light of the evidence: while a check fails, nothing passes."""
    if not evidence_failed or not verdict.passes:
        return verdict
    return Verdict(RED, feedback=verdict.feedback, findings=verdict.findings, why="a check failed")


def may_retry(flag: str, retries_used: int, limit: int) -> bool:
    """Whether the work goes back to its worker: only RED does, and only so often."""
    return flag == RED and retries_used < limit


def _doubt(why: str) -> Verdict:
    return Verdict(DOUBTFUL, why=why)


def _from_json(answer: Answer, said: dict[str, Any]) -> Verdict:
    """The verdict of the block, if lines outside of it do not say otherwise."""
    flag = said.get("verdict")
    if flag not in FLAGS:
        return _doubt("the JSON block has no verdict GREEN, YELLOW or RED")
    if any(FORMS.get(line.text) != flag for line in answer.own_lines() if _mentions(line.text)):
        return _doubt("the JSON block and a line of the answer do not agree")
    return _judged(flag, said)


def _judged(flag: str, said: dict[str, Any]) -> Verdict:
    """The verdict of a block whose form is right, if what it holds is right and fits its flag."""
    listed, feedback = said.get("findings", []), said.get("feedback", "")
    listed = [] if listed is None else listed
    if not isinstance(listed, list) or not isinstance(feedback, str | None):
        return _doubt("the findings are no list, or the feedback is no text")
    found = [findings_of.read(each) for each in listed]
    kept = [each for each in found if each is not None]
    if len(kept) < len(found):
        return _doubt("a finding says nothing")
    if flag == GREEN and any(each["severity"] == "error" for each in kept):
        return _doubt("GREEN with an error among its findings")
    feedback = findings_of.tidy(feedback or "", MAX_FEEDBACK)
    return Verdict(flag, feedback=feedback, findings=findings_of.joined([kept]))


def _mentions(line: str) -> bool:
    """Whether a line speaks of a verdict, in whatever dress."""
    return final_answer.mentions(line, f"{TITLE}:")


def _from_line(passage: Passage) -> Verdict:
    """The verdict of the only line that speaks of one, if it stands for itself."""
    flag, at, why = final_answer.sole_line(passage, FORMS, _mentions)
    if not flag:
        return _doubt(why)
    return Verdict(flag, feedback=findings_of.tidy(final_answer.feedback_of(passage, at), MAX_FEEDBACK))
