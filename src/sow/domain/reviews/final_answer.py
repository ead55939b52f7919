"""Reads an agent's final answer: a JSON block with the one-time nonce, or a single result line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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
