"""Parses JSON into nodes with lines and places, so that one value can be replaced and all other bytes stay."""

from __future__ import annotations

import re
from bisect import bisect_right
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from sow.plans.yaml_nodes import MAX_DEPTH, MAX_ENTRIES, MAX_KEYS, MAX_NODES, BadYamlError, Node

SPACE = re.compile(r"[ \t\n\r]*")
PLAIN_VALUE = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
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
    return _JsonParser(text).whole()


class _JsonParser:
    __slots__ = ("breaks", "count", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.breaks = [index for index, character in enumerate(text) if character == "\n"]
        self.count = 0

    def whole(self) -> JsonNode:
        node = self._value(self._after_space(0), 0)
        end = self._after_space(node.end)
        if end < len(self.text):
            raise self._error(end, "more text after the end of the document")
        return node

    def _after_space(self, position: int) -> int:
        found = SPACE.match(self.text, position)
        return found.end() if found is not None else position

    def _line(self, position: int) -> int:
        return bisect_right(self.breaks, position - 1) + 1

    def _error(self, position: int, message: str) -> BadYamlError:
        return BadYamlError(self._line(min(position, len(self.text) - 1)), message, HINT)

    def _value(self, position: int, depth: int) -> JsonNode:
        self.count += 1
        if depth > MAX_DEPTH:
            raise self._error(position, f"nested deeper than {MAX_DEPTH} levels")
        if self.count > MAX_NODES:
            raise self._error(position, f"more than {MAX_NODES:,} values")
        first = self.text[position : position + 1]
        if first == '"':
            value, end = self._string(position)
            return JsonNode(value, self._line(position), start=position, end=end, quoted=True)
        if first in ("{", "["):
            return self._collection(position, depth, is_object=first == "{")
        found = PLAIN_VALUE.match(self.text, position)
        if found is None:
            raise self._error(position, "a value is missing" if not first else f"{first!r} begins no value")
        return JsonNode(None if found[0] == "null" else found[0], self._line(position), start=position, end=found.end())

    def _string(self, position: int) -> tuple[str, int]:
        try:
            value, end = scanstring(self.text, position + 1, True)
            value.encode()
        except JSONDecodeError as error:
            raise self._error(position, f"a text is broken: {error.msg}") from None
        except UnicodeEncodeError:
            raise self._error(position, "half a character that UTF-8 does not have") from None
        return value, end

    def _collection(self, start: int, depth: int, *, is_object: bool) -> JsonNode:
        entries: dict[str, Node] = {}
        items: list[Node] = []
        closing = "}" if is_object else "]"
        position = self._after_space(start + 1)
        while self.text[position : position + 1] != closing or (items or entries):
            key = ""
            if is_object:
                key, position = self._key(position, entries)
            node = self._value(position, depth + 1)
            if is_object:
                entries[key] = node
            else:
                items.append(node)
            if len(items) > MAX_ENTRIES or len(entries) > MAX_KEYS:
                raise self._error(position, "too many entries")
            position = self._after_space(node.end)
            sign = self.text[position : position + 1]
            if sign == closing:
                break
            if sign != ",":
                raise self._error(position, f"a comma or {closing} is missing")
            position = self._after_space(position + 1)
        value: Any = entries if is_object else items
        return JsonNode(value, self._line(start), start=start, end=position + 1)

    def _key(self, position: int, entries: dict[str, Node]) -> tuple[str, int]:
        if self.text[position : position + 1] != '"':
            raise self._error(position, "a key in double quotes is missing")
        key, end = self._string(position)
        if key in entries:
            raise self._error(position, f"the key {key!r:.60} is here a second time")
        end = self._after_space(end)
        if self.text[end : end + 1] != ":":
            raise self._error(end, "a colon is missing")
        return key, self._after_space(end + 1)
