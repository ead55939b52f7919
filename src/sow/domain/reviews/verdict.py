"""Reads a judge's verdict from its final text, in the form of a review or of a verification. Doubt is no verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sow.domain.documents.state import Finding, VerificationResults
from sow.domain.reviews import final_answer
from sow.domain.reviews import finding as findings_of
from sow.domain.reviews.finding import identity as identity
from sow.domain.reviews.finding import repeated_errors as repeated_errors
from sow.domain.text.similar_text import similar as similar

GREEN, YELLOW, RED, DOUBTFUL = "GREEN", "YELLOW", "RED", ""
PASSED, FAILED = "passed", "failed"
FLAGS = (GREEN, YELLOW, RED)
STRICTNESS = (GREEN, YELLOW, DOUBTFUL, RED)
MAX_FEEDBACK = 20_000
MAX_EVIDENCE = 50
MAX_LINE = 1000
NO_REASON = "the verifier gave no reason"


class VerdictForm:
    """How a verdict is given: a line `title: WORD`, or a JSON block with the word under a key."""

    def __init__(self, title: str, key: str, words: Mapping[str, str], *, phrases: Sequence[str], longest: int) -> None:
        self.key = key
        self.words = words  # the flag of each word in the JSON block
        self.lines = {line: words[word] for line, word in final_answer.verdict_lines(title, tuple(words)).items()}
        self.phrases = phrases  # a line with one of them gives a verdict, or tries to
        self.longest = longest  # characters of the feedback

    def is_mentioned(self, line: str) -> bool:
        """Returns whether a line mentions a verdict in any formatting."""
        return any(final_answer.mentions(line, phrase) for phrase in self.phrases)


REVIEW = VerdictForm(
    "Quality Control", "verdict", {flag: flag for flag in FLAGS}, phrases=["Quality Control:"], longest=MAX_FEEDBACK
)
# `Verification: I ran the tests` is prose, so a phrase needs the word.
VERIFICATION = VerdictForm(
    "Verification",
    "result",
    {"PASSED": PASSED, "FAILED": FAILED, "passed": PASSED, "failed": FAILED},
    phrases=[f"Verification:{mark}{word}" for mark in ("", "[") for word in (PASSED, FAILED)],
    longest=MAX_LINE,
)


@dataclass
class Verdict:
    """The flag, feedback and findings of a judge. If the text is ambiguous, the flag is empty and `doubt` says why."""

    flag: str
    feedback: str = ""
    findings: list[Finding] = field(default_factory=list)
    missing_evidence: list[str] = field(default_factory=list)
    doubt: str = ""

    @property
    def passes(self) -> bool:
        """Returns whether the work may be merged, or is verified."""
        return self.flag in (GREEN, YELLOW, PASSED)


def parse(final_text: str, nonce: str, form: VerdictForm = REVIEW) -> Verdict:
    """Reads the verdict from a JSON block with this question's nonce, or from exactly one verdict line."""
    answer = final_answer.read(final_text, nonce)
    if answer.doubt:
        return _doubtful(answer.doubt)
    if answer.block is None:
        flag, feedback, why = final_answer.single_verdict(answer.passage, form.lines, form.is_mentioned)
        return Verdict(flag, feedback=findings_of.clean_text(feedback, form.longest), doubt=why)
    word = answer.block.get(form.key)
    flag = form.words.get(word, DOUBTFUL) if isinstance(word, str) else DOUBTFUL
    if not flag:
        return _doubtful(f"the JSON block has no {form.key} {' or '.join(dict.fromkeys(form.words.values()))}")
    lines = [line.text for line in answer.own_lines() if form.is_mentioned(line.text)]
    if any(final_answer.flag_and_reason(line, form.lines)[0] != flag for line in lines):
        return _doubtful("the JSON block and a line of the answer do not agree")
    return _from_block(flag, answer.block, form)


def _from_block(flag: str, block: Mapping[str, Any], form: VerdictForm) -> Verdict:
    """Returns the verdict of a JSON block, if its contents are valid and match its flag."""
    items, missing, feedback = (block.get(key) for key in ("findings", "missing_evidence", "feedback"))
    items, missing, feedback = [] if items is None else items, missing or [], "" if feedback is None else feedback
    if not isinstance(items, list) or not isinstance(missing, list) or not isinstance(feedback, str):
        return _doubtful("findings or missing_evidence are no list, or the feedback is no text")
    if not all(isinstance(text, str) and text.strip() for text in missing):
        return _doubtful("missing_evidence is a list of texts")
    findings = findings_of.read_all(items)
    if len(findings) < len(items):
        return _doubtful("a finding has no text")
    if flag in (GREEN, PASSED) and (missing or any(finding["severity"] == "error" for finding in findings)):
        return _doubtful(f"{flag} with an error among its findings, or with missing evidence")
    return Verdict(
        flag,
        feedback=findings_of.clean_text(feedback, form.longest),
        findings=findings_of.merge_findings([findings]),
        missing_evidence=evidence_lines(missing),
    )


def evidence_lines(texts: Sequence[str]) -> list[str]:
    """Returns what a verifier misses as lines in the form in which they are kept."""
    lines = [findings_of.clean_text(text, MAX_LINE, one_line=True) for text in texts[:MAX_EVIDENCE]]
    return [line for line in lines if line]


def missing_outputs(paths: Sequence[str]) -> Verdict:
    """Returns a failed verification for outputs that the plan names and that are missing."""
    findings = [
        {"rule": "missing-output", "file": path, "text": f"the output {path} is missing"}
        for path in paths[:MAX_EVIDENCE]
    ]
    return Verdict(FAILED, missing_evidence=evidence_lines(paths), findings=findings_of.read_all(findings))


def verification_results(judged: Verdict, *, number: int, verifier: str, at: str) -> VerificationResults:
    """Returns the record of a verification. A failed one without a reason gets a finding that says so."""
    severity = "error" if judged.flag == FAILED else "note"
    findings = judged.findings or findings_of.read_all([{"severity": severity, "text": judged.feedback}])
    if judged.flag == FAILED and not findings and not judged.missing_evidence:
        findings = findings_of.read_all([{"text": NO_REASON}])
    return {
        "result": judged.flag,
        "missing_evidence": judged.missing_evidence,
        "findings": findings,
        "round": number,
        "verifier": verifier,
        "at": at,
    }


def combined(verdicts: Iterable[Verdict | None]) -> Verdict:
    """Returns the strictest of several verdicts. None means a failed review, which does not pass."""
    all_verdicts = [verdict or _doubtful("a review failed") for verdict in verdicts] or [_doubtful("nobody reviewed")]
    flag = max((verdict.flag for verdict in all_verdicts), key=STRICTNESS.index)
    feedback = "\n\n".join(dict.fromkeys(verdict.feedback for verdict in all_verdicts if verdict.feedback))
    return Verdict(
        flag,
        feedback=feedback[:MAX_FEEDBACK],
        findings=findings_of.merge_findings(verdict.findings for verdict in all_verdicts),
        doubt="; ".join(dict.fromkeys(verdict.doubt for verdict in all_verdicts if verdict.doubt))
        if flag == DOUBTFUL
        else "",
    )


def may_retry(flag: str, retries_used: int, limit: int) -> bool:
    """Returns whether the work goes back to its worker: only RED does, and only up to the limit."""
    return flag == RED and retries_used < limit


def _doubtful(why: str) -> Verdict:
    return Verdict(DOUBTFUL, doubt=why)
