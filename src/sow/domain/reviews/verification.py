"""Reads passed or failed from a verifier's final text. An ambiguous text has no result."""

from __future__ import annotations

from sow.domain.reviews import final_answer
from sow.domain.reviews import finding as findings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from sow.domain.documents.state import Finding, VerificationResults
    from sow.domain.reviews.final_answer import FinalAnswer
    from sow.domain.text.markdown_text import MarkdownText

PASSED, FAILED, DOUBTFUL = "passed", "failed", ""
TITLE = "Verification"
WORDS = {"PASSED": PASSED, "FAILED": FAILED, "passed": PASSED, "failed": FAILED}
FORMS = {line: WORDS[word] for line, word in final_answer.verdict_lines(TITLE, ("PASSED", "FAILED")).items()}
MAX_EVIDENCE = 50
MAX_LINE = 1000
NO_REASON = "the verifier gave no reason"


class Verification:
    """The result of a verification. If the text is ambiguous, the result is empty and `why` says why."""

    __slots__ = ("doubt", "feedback", "findings", "missing_evidence", "result")

    def __init__(
        self,
        result: str,
        *,
        missing_evidence: Sequence[str] = (),
        findings: Sequence[Finding] = (),
        feedback: str = "",
        why: str = "",
    ) -> None:
        self.result = result
        self.missing_evidence = list(missing_evidence)
        self.findings = list(findings)
        self.feedback = feedback
        self.doubt = why

    @property
    def passes(self) -> bool:
        """Return whether the work is verified."""
        return self.result == PASSED

    def results(self, *, number: int, verifier: str, at: str) -> VerificationResults:
        """Return the record of the round. A failed one without a reason gets a finding that says so."""
        severity = "error" if self.result == FAILED else "note"
        findings = self.findings or _findings([{"severity": severity, "text": self.feedback}])
        if self.result == FAILED and not findings and not self.missing_evidence:
            findings = _findings([{"text": NO_REASON}])
        return {
            "result": self.result,
            "missing_evidence": self.missing_evidence,
            "findings": findings,
            "round": number,
            "verifier": verifier,
            "at": at,
        }

    def __repr__(self) -> str:
        return f"Verification({self.result!r}, findings={len(self.findings)}, why={self.doubt!r})"


def parse(final_text: str, nonce: str) -> Verification:
    """Read the result from a JSON block with this round's nonce, or from exactly one result line."""
    answer = final_answer.read(final_text, nonce)
    if answer.doubt:
        return _doubt(answer.doubt)
    return _from_line(answer.passage) if answer.block is None else _from_json(answer, answer.block)


def missing_outputs(paths: Sequence[str]) -> Verification:
    """Return a failed verification for outputs that the plan names and that are missing."""
    return Verification(
        FAILED,
        missing_evidence=[findings_of.clean_text(path, MAX_LINE, one_line=True) for path in paths[:MAX_EVIDENCE]],
        findings=_findings(
            {"rule": "missing-output", "file": path, "text": f"the output {path} is missing"}
            for path in paths[:MAX_EVIDENCE]
        ),
    )


def _doubt(why: str) -> Verification:
    return Verification(DOUBTFUL, why=why)


def _findings(items: Iterable[object]) -> list[Finding]:
    return [finding for item in items if (finding := findings_of.read(item)) is not None]


def _from_json(answer: FinalAnswer, block: dict[str, Any]) -> Verification:
    """Return the result of the JSON block, if no line outside of it contradicts it."""
    word = block.get("result")
    result = WORDS.get(word, DOUBTFUL) if isinstance(word, str) else DOUBTFUL
    if not result:
        return _doubt("the JSON block has no result passed or failed")
    if any(FORMS.get(line.text) != result for line in answer.own_lines() if _mentions(line.text)):
        return _doubt("the JSON block and a line of the answer do not agree")
    return _judged(result, block)


def _judged(result: str, block: dict[str, Any]) -> Verification:
    """Return the result of a JSON block, if its contents are valid and match its result."""
    missing, items, feedback = (block.get(key) for key in ("missing_evidence", "findings", "feedback"))
    missing, items, feedback = missing or [], items or [], feedback or ""
    if not isinstance(missing, list) or not isinstance(items, list) or not isinstance(feedback, str):
        return _doubt("missing_evidence or findings are no list, or the feedback is no text")
    if not all(isinstance(text, str) and text.strip() for text in missing):
        return _doubt("missing_evidence is a list of texts")
    findings = _findings(items)
    if len(findings) < len(items):
        return _doubt("a finding says nothing")
    if result == PASSED and (missing or any(finding["severity"] == "error" for finding in findings)):
        return _doubt("passed with missing evidence, or with an error among its findings")
    evidence = [findings_of.clean_text(text, MAX_LINE, one_line=True) for text in missing[:MAX_EVIDENCE]]
    return Verification(
        result,
        missing_evidence=[text for text in evidence if text],
        findings=findings_of.merge_findings([findings]),
        feedback=findings_of.clean_text(feedback, MAX_LINE),
    )


def _mentions(line: str) -> bool:
    """Return whether a line mentions a result in any form. `Verification: I ran the tests` is prose."""
    return any(final_answer.mentions(line, f"{TITLE}:{mark}{word}") for mark in ("", "[") for word in (PASSED, FAILED))


def _from_line(passage: MarkdownText) -> Verification:
    """Return the result of the only line that mentions one."""
    result, at, why = final_answer.single_verdict_line(passage, FORMS, _mentions)
    if not result:
        return _doubt(why)
    return Verification(result, feedback=findings_of.clean_text(final_answer.feedback_of(passage, at), MAX_LINE))
