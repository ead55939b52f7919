"""Reads an agent's final answer: a JSON block with the one-time nonce, or a single result line."""

from __future__ import annotations

from sow.domain.text.markdown_text import parse_markdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from sow.domain.text.markdown_text import MarkdownLine, MarkdownText

MAX_READ = 64 << 10
LABELS = ("Feedback:", "**Feedback:**", "**Feedback**:")
FORMATTING = {ord(letter): None for letter in " \t*_`"}


class FinalAnswer:
    """A parsed text: the contents and position of its JSON block, or the reason why it is not accepted."""

    __slots__ = ("block", "doubt", "end", "passage", "start")

    def __init__(self, passage: MarkdownText, *, said: dict[str, Any] | None = None, why: str = "") -> None:
        self.passage = passage
        self.block = said
        self.doubt = why
        self.start = self.end = 0

    def own_lines(self) -> list[MarkdownLine]:
        """Return the lines outside of the block that are the agent's own text, without quotations and code."""
        return [line for line in self.passage.lines if not line.container and not self.start <= line.start < self.end]


def read(final_text: str, nonce: str) -> FinalAnswer:
    """Return the JSON block that contains the nonce exactly once. Without a nonce, the text must not be cut."""
    text = final_text[:MAX_READ]
    passage = parse_markdown(text)
    key = f'"{nonce}"'
    count = text.count(key) if nonce else 0
    if count > 1:
        return FinalAnswer(passage, why="the nonce is there more than once")
    if count:
        return _block(passage, text.index(key), nonce)
    if len(final_text) > MAX_READ:
        return FinalAnswer(passage, why="the answer is too long, and its beginning holds no JSON block with the nonce")
    return FinalAnswer(passage)


def _block(passage: MarkdownText, position: int, nonce: str) -> FinalAnswer:
    start, end = passage.block(position)
    block = json_object(passage.text[start:end])
    if not isinstance(block, dict) or block.get("nonce") != nonce:
        return FinalAnswer(passage, why="the nonce stands in no JSON block of its own")
    answer = FinalAnswer(passage, said=block)
    answer.start, answer.end = start, end
    return answer


def json_object(text: str) -> object:
    """Return the JSON value in a text, or None if it is invalid or has a duplicate key."""
    import json

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a key is there twice")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return None


def verdict_lines(title: str, flags: tuple[str, ...]) -> dict[str, str]:
    """Map every form of the line `title: FLAG`, with or without brackets and bold letters, to its flag."""
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
                flags_by_line[line] = flag
    return flags_by_line


def mentions(line: str, phrase: str) -> bool:
    """Return whether a line contains the phrase, in any formatting."""
    return phrase.casefold().translate(FORMATTING) in line.casefold().translate(FORMATTING)


def single_verdict_line(
    passage: MarkdownText, flags_by_line: Mapping[str, str], is_verdict: Callable[[str], bool]
) -> tuple[str, int, str]:
    """Return the flag of the only line that gives one, and its index; or no flag, and the reason."""
    indexes = [index for index, line in enumerate(passage.lines) if is_verdict(line.text)]
    if len(indexes) != 1:
        return "", 0, "more than one line gives a verdict" if indexes else "there is no verdict"
    (index,) = indexes
    line = passage.lines[index]
    flag = flags_by_line.get(line.text, "")
    if not flag:
        return "", index, "the line of the verdict has another form"
    if line.container or passage.has_hidden_text_before(line.start):
        return "", index, "the verdict stands in a quotation, a code block or hidden text"
    before, after = passage.neighbours(index)
    if (before and before[-1] not in ".!?") or (after and not after.startswith(LABELS)):
        return "", index, "the verdict is part of a sentence"
    return flag, index, ""


def feedback_of(passage: MarkdownText, index: int) -> str:
    """Return the text after the feedback label, or else all lines but that of the verdict."""
    lines = passage.lines
    for number in range(index + 1, len(lines)):
        label = next((prefix for prefix in LABELS if lines[number].text.startswith(prefix)), "")
        if label:
            return passage.text[lines[number].start + len(label) :]
    return "\n".join(line.text for number, line in enumerate(lines) if number != index)
