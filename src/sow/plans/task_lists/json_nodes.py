"""Parses JSON into nodes with lines and places, so that one value can be replaced and all other bytes stay."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from sow.domain.text.yaml_nodes import MAX_DEPTH, MAX_ENTRIES, MAX_KEYS, MAX_NODES, BadYamlError, Node

GAP = re.compile(r"[ \t\n\r:,]*")  # between two tokens of valid JSON
PLAIN_VALUE = re.compile(r"[-+.\w]+")
HINT = "fix the JSON at this line"


class JsonNode(Node):
    """A value with its place; a number stays the text that was written, and `quoted` tells it from a text."""

    __slots__ = ("end", "quoted", "start")

    def __init__(self, value: Any, line: int, *, start: int, end: int, quoted: bool = False) -> None:
        super().__init__(value, line)
        self.start = start
        self.end = end
        self.quoted = quoted


def parse(text: str) -> JsonNode:
    """Returns the value of a whole text; raises BadYamlError with its line if it is not JSON or too large."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise BadYamlError(error.lineno, f"this is not JSON: {error.msg}", HINT) from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or thousands of levels
        raise BadYamlError(1, "this JSON is too large or too deep to read", HINT) from None
    parser = _JsonParser(text)
    return parser.value(parser.after_gap(0), 0)


class _JsonParser:
    """Goes through a text that is known to be valid JSON."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.breaks = [index for index, character in enumerate(text) if character == "\n"]
        self.count = 0

    def after_gap(self, position: int) -> int:
        match = GAP.match(self.text, position)
        return match.end() if match is not None else position

    def _line(self, position: int) -> int:
        return bisect_left(self.breaks, position) + 1

    def value(self, position: int, depth: int) -> JsonNode:
        """Returns the value that begins at a position."""
        self.count += 1
        if depth > MAX_DEPTH or self.count > MAX_NODES:
            message = f"nested deeper than {MAX_DEPTH} levels, or more than {MAX_NODES:,} values"
            raise BadYamlError(self._line(position), message, HINT)
        first = self.text[position]
        if first in "{[":
            return self._collection(position, depth, is_object=first == "{")
        if first == '"':
            value, end = self._string(position)
            return JsonNode(value, self._line(position), start=position, end=end, quoted=True)
        match = PLAIN_VALUE.match(self.text, position)
        word = match[0] if match is not None else ""
        return JsonNode(
            None if word == "null" else word, self._line(position), start=position, end=position + len(word)
        )

    def _string(self, position: int) -> tuple[str, int]:
        value, end = scanstring(self.text, position + 1, True)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadYamlError(self._line(position), "half a character that UTF-8 does not have", HINT) from None
        return value, end

    def _collection(self, start: int, depth: int, *, is_object: bool) -> JsonNode:
        entries: dict[str, Node] = {}
        items: list[Node] = []
        position = self.after_gap(start + 1)
        while self.text[position] not in "]}":
            key = ""
            if is_object:
                key, end = self._string(position)
                position = self.after_gap(end)
            node = self.value(position, depth + 1)
            if key in entries or len(items) >= MAX_ENTRIES or len(entries) >= MAX_KEYS:
                message = f"the key {key!r:.60} is here a second time" if key in entries else "too many entries"
                raise BadYamlError(node.line, message, HINT)
            if is_object:
                entries[key] = node
            else:
                items.append(node)
            position = self.after_gap(node.end)
        return JsonNode(entries if is_object else items, self._line(start), start=start, end=position + 1)
