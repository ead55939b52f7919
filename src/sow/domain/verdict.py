"""What a review says: GREEN, YELLOW or RED from the reviewer's final text, and nothing where that leaves a doubt."""

from __future__ import annotations

from sow.domain import finding as findings_of
from sow.domain.finding import identity as identity
from sow.domain.finding import same_again as same_again
from sow.domain.review_text import Passage, survey
from sow.domain.wording import similar as similar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from sow.domain.shapes import Finding

GREEN, YELLOW, RED, DOUBTFUL = "GREEN", "YELLOW", "RED", ""
FLAGS = (GREEN, YELLOW, RED)
STRICTNESS = (GREEN, YELLOW, DOUBTFUL, RED)
MAX_READ = 64 << 10
MAX_FEEDBACK = 20_000


def _forms() -> dict[str, str]:
    """Every way to write the verdict's line, with its flag: with brackets or without, with bold letters or without."""
    found = {}
    for flag in FLAGS:
        for word in (flag, f"[{flag}]"):
            for line in (
                f"Quality Control: {word}",
                f"**Quality Control: {word}**",
                f"**Quality Control:** {word}",
                f"**Quality Control**: {word}",
                f"Quality Control: **{word}**",
                f"**Quality Control:** **{word}**",
                f"**Quality Control**: **{word}**",
            ):
                found[line] = flag
    return found


FORMS = _forms()
DRESS = {ord(letter): None for letter in " \t*_`"}
LABELS = ("Feedback:", "**Feedback:**", "**Feedback**:")


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
    text = final_text[:MAX_READ]
    cut = len(final_text) > MAX_READ
    passage = survey(text)
    key = f'"{nonce}"'
    named = text.count(key) if nonce else 0
    if named > 1:
        return _doubt("the nonce is there more than once")
    if named:
        return _from_json(passage, text.index(key), nonce)
    if cut:
        return _doubt("the answer is too long, and its beginning holds no JSON block with the nonce")
    return _from_line(passage)


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


def _from_json(passage: Passage, at: int, nonce: str) -> Verdict:
    """The verdict of the block around this place, if lines outside of it do not say otherwise."""
    start, end = passage.block(at)
    said = _object(passage.text[start:end])
    if not isinstance(said, dict) or said.get("nonce") != nonce:
        return _doubt("the nonce stands in no JSON block of its own")
    flag = said.get("verdict")
    if flag not in FLAGS:
        return _doubt("the JSON block has no verdict GREEN, YELLOW or RED")
    lines = [line for line in passage.lines if not line.inside and not start <= line.start < end]
    if any(FORMS.get(line.text) != flag for line in lines if _mentions(line.text)):
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


def _object(text: str) -> object:
    """The JSON in a text, None if it is none or says something twice."""
    import json

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a key is there twice")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return None


def _mentions(line: str) -> bool:
    """Whether a line speaks of a verdict, in whatever dress."""
    return "qualitycontrol:" in line.casefold().translate(DRESS)


def _from_line(passage: Passage) -> Verdict:
    """The verdict of the only line that speaks of one, if it stands for itself."""
    mentions = [at for at, line in enumerate(passage.lines) if _mentions(line.text)]
    if len(mentions) != 1:
        return _doubt("more than one line gives a verdict" if mentions else "there is no verdict")
    (at,) = mentions
    line = passage.lines[at]
    flag = FORMS.get(line.text, DOUBTFUL)
    if not flag:
        return _doubt("the line of the verdict has another form")
    if line.inside or passage.hides(line.start):
        return _doubt("the verdict stands in a quotation, a code block or hidden text")
    before, after = passage.around(at)
    if (before and before[-1] not in ".!?") or (after and not after.startswith(LABELS)):
        return _doubt("the verdict is part of a sentence")
    return Verdict(flag, feedback=_feedback(passage, at))


def _feedback(passage: Passage, at: int) -> str:
    """What follows the label, else all but the line of the verdict."""
    lines = passage.lines
    for number in range(at + 1, len(lines)):
        label = next((each for each in LABELS if lines[number].text.startswith(each)), "")
        if label:
            text = passage.text[lines[number].start + len(label) :]
            return findings_of.tidy(text, MAX_FEEDBACK)
    rest = [line.text for number, line in enumerate(lines) if number != at]
    return findings_of.tidy("\n".join(rest), MAX_FEEDBACK)
