"""Reads the description of a document from an agent's answer: a JSON object with the nonce of the question."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sow.domain.inputs import printable_line

LONGEST = 2000
LONGEST_HINT = 1000
MOST_TAGS = 12
LONGEST_TAG = 60
MOST_TRIES = 40
MOST_TEXT = 64_000


@dataclass(frozen=True, kw_only=True, slots=True)
class DescriptionAnswer:
    """The parts of a valid answer. For an invalid one `why` gives the reason."""

    summary: str = ""
    when_to_use: str = ""
    tags: tuple[str, ...] = ()
    hints: Mapping[str, str] = field(default_factory=dict)  # by document: when to read it
    why: str = ""


def parse(text: str, nonce: str) -> DescriptionAnswer:
    """Return the description in a final text. If there are two different ones, the answer is invalid."""
    objects = [candidate for candidate in _objects(text[-MOST_TEXT:]) if candidate.get("nonce") == nonce]
    if not objects:
        return DescriptionAnswer(why="there is no JSON object with the nonce in it")
    if any(candidate != objects[0] for candidate in objects):
        return DescriptionAnswer(why="there are two different ones")
    summary, when = (_line(objects[0].get(key)) for key in ("summary", "when_to_use"))
    if not summary or not when:
        return DescriptionAnswer(why="summary or when_to_use is missing")
    return DescriptionAnswer(
        summary=summary, when_to_use=when, tags=_tags(objects[0].get("tags")), hints=_hints(objects[0])
    )


def _objects(text: str) -> Iterator[dict[str, Any]]:
    reader, position, tries = json.JSONDecoder(), text.find("{"), 0
    while position >= 0 and tries < MOST_TRIES:
        tries += 1
        try:
            data, end = reader.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            if isinstance(data, dict):
                yield data
        position = text.find("{", end)


def _hints(answer: dict[str, Any]) -> dict[str, str]:
    hints = answer.get("documents")
    lines = {path: _line(text)[:LONGEST_HINT] for path, text in hints.items()} if isinstance(hints, dict) else {}
    return {path: line for path, line in lines.items() if line}


def _line(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return printable_line(value)[:LONGEST]


def _tags(value: object) -> tuple[str, ...]:
    lines = [_line(item).lower() for item in value] if isinstance(value, list) else []
    return tuple(dict.fromkeys(line for line in lines if 0 < len(line) <= LONGEST_TAG))[:MOST_TAGS]
