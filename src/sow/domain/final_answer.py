"""What an agent says at the end: a JSON block with the one-time nonce, or one line of its own, or nothing sure."""

from __future__ import annotations

from sow.domain.review_text import survey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from sow.domain.review_text import Line, Passage

MAX_READ = 64 << 10
LABELS = ("Feedback:", "**Feedback:**", "**Feedback**:")
DRESS = {ord(letter): None for letter in " \t*_`"}


class Answer:
    """A surveyed text: what its JSON block says, where that stands, or why nothing is taken from it."""

    __slots__ = ("end", "passage", "said", "start", "why")

    def __init__(self, passage: Passage, *, said: dict[str, Any] | None = None, why: str = "") -> None:
        self.passage = passage
        self.said = said
        self.why = why
        self.start = self.end = 0

    def own_lines(self) -> list[Line]:
        """The lines outside of the block that are the agent's own words."""
        return [line for line in self.passage.lines if not line.inside and not self.start <= line.start < self.end]


def read(final_text: str, nonce: str) -> Answer:
    """The block that holds the nonce, once and as its own field; without a nonce in it, a text that is not cut."""
    text = final_text[:MAX_READ]
    passage = survey(text)
    key = f'"{nonce}"'
    named = text.count(key) if nonce else 0
    if named > 1:
        return Answer(passage, why="the nonce is there more than once")
    if named:
        return _block(passage, text.index(key), nonce)
    if len(final_text) > MAX_READ:
        return Answer(passage, why="the answer is too long, and its beginning holds no JSON block with the nonce")
    return Answer(passage)


def _block(passage: Passage, at: int, nonce: str) -> Answer:
    start, end = passage.block(at)
    said = json_object(passage.text[start:end])
    if not isinstance(said, dict) or said.get("nonce") != nonce:
        return Answer(passage, why="the nonce stands in no JSON block of its own")
    answer = Answer(passage, said=said)
    answer.start, answer.end = start, end
    return answer


def json_object(text: str) -> object:
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


def forms(title: str, flags: tuple[str, ...]) -> dict[str, str]:
    """Every way to write the line `title: FLAG`, with its flag: with brackets or bold letters, or without."""
    found = {}
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
                found[line] = flag
    return found


def mentions(line: str, words: str) -> bool:
    """Whether a line has these words, in whatever dress."""
    return words.casefold().translate(DRESS) in line.casefold().translate(DRESS)


def sole_line(passage: Passage, known: Mapping[str, str], speaks: Callable[[str], bool]) -> tuple[str, int, str]:
    """The flag of the only line that speaks of one, and its place; or no flag, and why."""
    found = [at for at, line in enumerate(passage.lines) if speaks(line.text)]
    if len(found) != 1:
        return "", 0, "more than one line gives a verdict" if found else "there is no verdict"
    (at,) = found
    line = passage.lines[at]
    flag = known.get(line.text, "")
    if not flag:
        return "", at, "the line of the verdict has another form"
    if line.inside or passage.hides(line.start):
        return "", at, "the verdict stands in a quotation, a code block or hidden text"
    before, after = passage.around(at)
    if (before and before[-1] not in ".!?") or (after and not after.startswith(LABELS)):
        return "", at, "the verdict is part of a sentence"
    return flag, at, ""


def feedback_of(passage: Passage, at: int) -> str:
    """What follows the label, else all but the line of the verdict."""
    lines = passage.lines
    for number in range(at + 1, len(lines)):
        label = next((each for each in LABELS if lines[number].text.startswith(each)), "")
        if label:
            return passage.text[lines[number].start + len(label) :]
    return "\n".join(line.text for number, line in enumerate(lines) if number != at)
