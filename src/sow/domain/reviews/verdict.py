"""Reads an agent's final answer, and a judge's verdict in it. An unclear answer is no verdict."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sow.domain.documents.state import Finding, VerificationResults
from sow.domain.reviews import finding as findings_of
from sow.domain.text.markdown_text import MarkdownLine, MarkdownText, parse_markdown

MAX_READ = 64 << 10
BOLD = ("**", "__")
DASHES = (" - ", " – ", " — ")
PLAIN_FENCES = ("", "text", "markdown", "md")
FORMATTING = {ord(letter): None for letter in " \t*_`"}


@dataclass(frozen=True)
class FinalAnswer:
    """A parsed text: the contents and position of its JSON block, or the reason why it is not accepted."""

    passage: MarkdownText
    doubt: str = ""
    block: dict[str, Any] | None = None
    start: int = 0
    end: int = 0

    def own_lines(self) -> list[MarkdownLine]:
        """Returns the lines outside of the block that are the agent's own text, without quotations and code."""
        return [line for line in self.passage.lines if not line.container and not self.start <= line.start < self.end]


def read(final_text: str, nonce: str) -> FinalAnswer:
    """Returns the JSON block that contains the nonce exactly once. Without a nonce, the text must not be cut."""
    text = final_text[:MAX_READ]
    passage = parse_markdown(text)
    key = f'"{nonce}"'
    count = text.count(key) if nonce else 0
    if count > 1:
        return FinalAnswer(passage, "the nonce is there more than once")
    if count:
        return _block(passage, text.index(key), nonce)
    if len(final_text) > MAX_READ:
        return FinalAnswer(passage, "the answer is too long, and its beginning holds no JSON block with the nonce")
    return FinalAnswer(passage)


def read_block(final_text: str, nonce: str) -> tuple[dict[str, Any], str]:
    """Returns the JSON block with the nonce, or an empty one and the reason why it is not accepted."""
    answer = read(final_text, nonce)
    return answer.block or {}, "" if answer.block else answer.doubt or "there is no JSON block with the nonce"


def _block(passage: MarkdownText, position: int, nonce: str) -> FinalAnswer:
    start, end = passage.block(position)
    block = json_object(passage.text[start:end])
    if not isinstance(block, dict) or block.get("nonce") != nonce:
        return FinalAnswer(passage, "the nonce is not in a JSON block of its own")
    return FinalAnswer(passage, block=block, start=start, end=end)


def json_object(text: str) -> object:
    """Returns the JSON value in a text, or None if it is invalid or has a duplicate key."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a key is there twice")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return None


def verdict_lines(title: str, flags: tuple[str, ...]) -> dict[str, str]:
    """Maps every form of the line `title: FLAG` in lower case, with or without brackets and bold, to its flag."""
    flags_by_line = {}
    for flag in flags:
        for word in (flag, f"[{flag}]"):
            for line in (
                f"{title}: {word}",
                f"**{title}: {word}**",
                f"**{title}:** {word}",
                f"**{title}**: {word}",
                f"{title}: **{word}**",
                f"**{title}:** **{word}**",
                f"**{title}**: **{word}**",
            ):
                flags_by_line[line.lower()] = flag
    return flags_by_line


def flag_and_reason(line: str, flags_by_line: Mapping[str, str]) -> tuple[str, str]:
    """Returns the flag of a verdict line and the reason after a dash, also of a heading and in any case of letters."""
    hashes, _, rest = line.partition(" ")
    text = rest if 0 < len(hashes) <= 6 and not hashes.strip("#") else line
    if text[:2] in BOLD and text.endswith(text[:2]) and text.count(text[:2]) == 2:
        text = text[2:-2]
    dash = next((sign for sign in DASHES if sign in text), DASHES[0])
    head, _, reason = text.partition(dash)
    flag = flags_by_line.get(head.lower().replace("__", "**"), "")
    words = "".join(letter if letter.isalnum() else " " for letter in reason.lower()).split()
    others = {other.lower() for other in flags_by_line.values()} - {flag.lower()}
    if not others.isdisjoint(words) or (dash in text and not words):
        return "", ""
    return flag, reason.strip()


def mentions(line: str, phrase: str) -> bool:
    """Returns whether a line contains the phrase, in any formatting."""
    return phrase.casefold().translate(FORMATTING) in line.casefold().translate(FORMATTING)


def single_verdict(
    passage: MarkdownText, flags_by_line: Mapping[str, str], is_verdict: Callable[[str], bool]
) -> tuple[str, str, str]:
    """Returns the flag of the only line that gives one, and the feedback; or no flag, and the reason why not."""
    passage = _unwrapped(passage, is_verdict)
    indexes = [index for index, line in enumerate(passage.lines) if is_verdict(line.text)]
    if len(indexes) != 1:
        return "", "", "more than one line gives a verdict" if indexes else "there is no verdict"
    (index,) = indexes
    line = passage.lines[index]
    flag, reason = flag_and_reason(line.text, flags_by_line)
    if not flag:
        return "", "", "the line of the verdict has another form"
    if line.container or passage.has_hidden_text_before(line.start):
        return "", "", "the verdict is in a quotation, a code block or hidden text"
    before, after = passage.neighbours(index)
    if (before and before[-1] not in ".!?") or (after and not _after_label(after)):
        return "", "", "the verdict is part of a sentence"
    return flag, f"{reason}\n\n{_feedback_of(passage, index)}".strip(), ""


def _unwrapped(passage: MarkdownText, is_verdict: Callable[[str], bool]) -> MarkdownText:
    """Returns an answer without the fence or list marker around its verdict.

    The whole answer must be the verdict and its feedback. Among other text, a fence or a list can be a quotation.
    """
    text, fence = passage.text.lstrip("\n\r"), passage.fences[0] if passage.fences else None
    first = passage.text[: fence.start].strip() if fence is not None else ""
    if fence is not None and fence.word in PLAIN_FENCES and first == f"{fence.mark}{fence.word}":
        text = passage.text[fence.start : fence.end].lstrip("\n\r") + passage.text[fence.end :].partition("\n")[2]
        if fence.end == len(passage.text):
            return passage  # it is never closed
    is_item = text.startswith(("- ", "* "))
    line, _, rest = text[2 * is_item :].partition("\n")
    rest = rest.lstrip()
    alone = is_verdict(line) and (not rest or _after_label(rest.partition("\n")[0]))
    return parse_markdown(f"{line}\n\n{rest}") if alone and (is_item or first) else passage


def _after_label(line: str) -> int:
    """Returns the index after the label `Feedback:` at the start of a line, in any formatting; 0 if there is none."""
    bare = line.lstrip("#-*_ ")
    rest = bare[len("feedback") :].lstrip("*_")
    if not bare.lower().startswith("feedback") or rest[:1] not in ("", ":"):
        return 0
    return len(line) - len(rest.lstrip("*_: "))


def _feedback_of(passage: MarkdownText, index: int) -> str:
    """Returns the text after the feedback label, or else all lines but that of the verdict."""
    lines = passage.lines
    for number in range(index + 1, len(lines)):
        after = _after_label(lines[number].text)
        if after:
            return passage.text[lines[number].start + after :]
    return "\n".join(line.text for number, line in enumerate(lines) if number != index)


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
        self.lines = {line: words[word] for line, word in verdict_lines(title, tuple(words)).items()}
        self.phrases = phrases  # a line with one of them gives a verdict, or tries to
        self.longest = longest  # characters of the feedback

    def is_mentioned(self, line: str) -> bool:
        """Returns whether a line mentions a verdict in any formatting."""
        return any(mentions(line, phrase) for phrase in self.phrases)


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
    answer = read(final_text, nonce)
    if answer.doubt:
        return _doubtful(answer.doubt)
    if answer.block is None:
        flag, feedback, why = single_verdict(answer.passage, form.lines, form.is_mentioned)
        return Verdict(flag, feedback=findings_of.clean_text(feedback, form.longest), doubt=why)
    word = answer.block.get(form.key)
    flag = form.words.get(word, DOUBTFUL) if isinstance(word, str) else DOUBTFUL
    if not flag:
        return _doubtful(f"the JSON block has no {form.key} {' or '.join(dict.fromkeys(form.words.values()))}")
    lines = [line.text for line in answer.own_lines() if form.is_mentioned(line.text)]
    if any(flag_and_reason(line, form.lines)[0] != flag for line in lines):
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
