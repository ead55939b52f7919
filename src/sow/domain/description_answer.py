"""What an agent answered that was asked to describe documents: a JSON object with the question's nonce, or nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LONGEST = 2000
MOST_TAGS = 12
LONGEST_TAG = 60
MOST_TRIES = 40
MOST_TEXT = 64_000


class Answered:
    """The parts of a good answer; `why` says what is wrong with another."""

    __slots__ = ("summary", "tags", "when_to_use", "why")

    def __init__(self, *, summary: str = "", when_to_use: str = "", tags: tuple[str, ...] = (), why: str = "") -> None:
        self.summary = summary
        self.when_to_use = when_to_use
        self.tags = tags
        self.why = why


def parse(text: str, nonce: str) -> Answered:
    """The description in a final text; of two different ones neither is taken."""
    found = [each for each in _objects(text[-MOST_TEXT:]) if each.get("nonce") == nonce]
    if not found:
        return Answered(why="there is no JSON object with the nonce in it")
    if any(each != found[0] for each in found):
        return Answered(why="there are two different ones")
    summary, when = (_line(found[0].get(key)) for key in ("summary", "when_to_use"))
    if not summary or not when:
        return Answered(why="summary or when_to_use is missing")
    return Answered(summary=summary, when_to_use=when, tags=_tags(found[0].get("tags")))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    import json

    reader, at, tries = json.JSONDecoder(), text.find("{"), 0
    while at >= 0 and tries < MOST_TRIES:
        tries += 1
        try:
            data, end = reader.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(data, dict):
                yield data
        at = text.find("{", end)


def _line(value: object) -> str:
    """A text on one line, in plain characters."""
    if not isinstance(value, str):
        return ""
    return " ".join("".join(each if each.isprintable() else " " for each in value).split())[:LONGEST]


def _tags(value: object) -> tuple[str, ...]:
    lines = [_line(each).lower() for each in value] if isinstance(value, list) else []
    return tuple(dict.fromkeys(each for each in lines if 0 < len(each) <= LONGEST_TAG))[:MOST_TAGS]
