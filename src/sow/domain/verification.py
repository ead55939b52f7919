"""What a verification says: passed or failed from the verifier's final text, and nothing where that leaves a doubt."""

from __future__ import annotations

from sow.domain import final_answer
from sow.domain import finding as findings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from sow.domain.final_answer import Answer
    from sow.domain.review_text import Passage
    from sow.domain.shapes import Finding, VerificationResults

PASSED, FAILED, DOUBTFUL = "passed", "failed", ""
TITLE = "Verification"
WORDS = {"PASSED": PASSED, "FAILED": FAILED, "passed": PASSED, "failed": FAILED}
FORMS = {line: WORDS[word] for line, word in final_answer.forms(TITLE, ("PASSED", "FAILED")).items()}
MAX_EVIDENCE = 50
MAX_LINE = 1000
NO_REASON = "the verifier gave no reason"


class Verification:
    """A result, or none where it is doubtful and why; with what is missing and what was found."""

    __slots__ = ("feedback", "findings", "missing_evidence", "result", "why")

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
        self.why = why

    @property
    def passes(self) -> bool:
        """Whether the work is verified."""
        return self.result == PASSED

    def results(self, *, number: int, verifier: str, at: str) -> VerificationResults:
        """The round as it is kept; a failed one says at least that no reason was given."""
        severity = "error" if self.result == FAILED else "note"
        found = self.findings or _findings([{"severity": severity, "text": self.feedback}])
        if self.result == FAILED and not found and not self.missing_evidence:
            found = _findings([{"text": NO_REASON}])
        return {
            "result": self.result,
            "missing_evidence": self.missing_evidence,
            "findings": found,
            "round": number,
            "verifier": verifier,
            "at": at,
        }

    def __repr__(self) -> str:
        return f"Verification({self.result!r}, findings={len(self.findings)}, why={self.why!r})"


def parse(final_text: str, nonce: str) -> Verification:
    """The result in a verifier's final text: a JSON block with this round's nonce, or exactly one line of its own."""
    answer = final_answer.read(final_text, nonce)
    if answer.why:
        return _doubt(answer.why)
    return _from_line(answer.passage) if answer.said is None else _from_json(answer, answer.said)


def missing_outputs(paths: Sequence[str]) -> Verification:
    """A round that fails before anybody looks: outputs that the plan names are not there."""
    return Verification(
        FAILED,
        missing_evidence=[findings_of.tidy(path, MAX_LINE, one_line=True) for path in paths[:MAX_EVIDENCE]],
        findings=_findings(
            {"rule": "missing-output", "file": path, "text": f"the output {path} is missing"}
            for path in paths[:MAX_EVIDENCE]
        ),
    )


def _doubt(why: str) -> Verification:
    return Verification(DOUBTFUL, why=why)


def _findings(said: Iterable[object]) -> list[Finding]:
    """Those that say something."""
    return [found for each in said if (found := findings_of.read(each)) is not None]


def _from_json(answer: Answer, said: dict[str, Any]) -> Verification:
    """The result of the block, if lines outside of it do not say otherwise."""
    word = said.get("result")
    result = WORDS.get(word, DOUBTFUL) if isinstance(word, str) else DOUBTFUL
    if not result:
        return _doubt("the JSON block has no result passed or failed")
    if any(FORMS.get(line.text) != result for line in answer.own_lines() if _mentions(line.text)):
        return _doubt("the JSON block and a line of the answer do not agree")
    return _judged(result, said)


def _judged(result: str, said: dict[str, Any]) -> Verification:
    """The result of a block whose form is right, if what it holds is right and fits it."""
    missing, listed, feedback = (said.get(key) for key in ("missing_evidence", "findings", "feedback"))
    missing, listed, feedback = missing or [], listed or [], feedback or ""
    if not isinstance(missing, list) or not isinstance(listed, list) or not isinstance(feedback, str):
        return _doubt("missing_evidence or findings are no list, or the feedback is no text")
    if not all(isinstance(each, str) and each.strip() for each in missing):
        return _doubt("missing_evidence is a list of texts")
    kept = _findings(listed)
    if len(kept) < len(listed):
        return _doubt("a finding says nothing")
    if result == PASSED and (missing or any(each["severity"] == "error" for each in kept)):
        return _doubt("passed with missing evidence, or with an error among its findings")
    evidence = [findings_of.tidy(each, MAX_LINE, one_line=True) for each in missing[:MAX_EVIDENCE]]
    return Verification(
        result,
        missing_evidence=[each for each in evidence if each],
        findings=findings_of.joined([kept]),
        feedback=findings_of.tidy(feedback, MAX_LINE),
    )


def _mentions(line: str) -> bool:
    """Whether a line speaks of a result, in whatever dress; `Verification: I ran the tests` is prose."""
    return any(final_answer.mentions(line, f"{TITLE}:{mark}{word}") for mark in ("", "[") for word in (PASSED, FAILED))


def _from_line(passage: Passage) -> Verification:
    """The result of the only line that speaks of one, if it stands for itself."""
    result, at, why = final_answer.sole_line(passage, FORMS, _mentions)
    if not result:
        return _doubt(why)
    return Verification(result, feedback=findings_of.tidy(final_answer.feedback_of(passage, at), MAX_LINE))
