"""Changes single values in a YAML text, and keeps its comments and layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from sow.store.formats.yaml_text import scalar


def set_value(text: str, path: Sequence[str], value: str) -> str:
    """Returns the text with a value replaced or added; the value is YAML on one line."""
    mappings, entries = _find(text, path)
    missing = path[len(entries) :]
    if not missing:
        return _replace(text, *entries[-1], value)
    if len(mappings) > len(entries):  # the mapping is there, but not this entry
        pairs = mappings[-1].value
        end = _end(text, pairs[-1][1]) if pairs else mappings[-1].start_mark.index + 1
        if mappings[-1].flow_style:
            return f"{text[:end]}{', ' if pairs else ''}{_flow(missing, value)}{text[end:]}"
        return _insert(text, end, missing, value, pairs[0][0].start_mark.column)
    if not entries:
        return _insert(text, len(text), missing, value, 0)
    key, section = entries[-1]
    is_empty = section.start_mark.index == section.end_mark.index
    if is_empty and not any(mapping.flow_style for mapping in mappings):
        return _insert(text, section.end_mark.index, missing, value, key.start_mark.column + 2)
    return _replace(text, key, section, f"{{{_flow(missing, value)}}}")


def remove(text: str, path: Sequence[str]) -> str:
    """Returns the text without an entry that it has."""
    mappings, entries = _find(text, path)
    mapping, (key, value) = mappings[len(entries) - 1], entries[-1]
    start, end = key.start_mark.index, _end(text, value)
    if not mapping.flow_style:
        return text[: start - key.start_mark.column] + text[_next_line(text, end) :]
    index = mapping.value.index((key, value))
    if index:
        start = _end(text, mapping.value[index - 1][1])
    elif len(mapping.value) > 1:
        end = mapping.value[1][0].start_mark.index
    return text[:start] + text[end:]


def _find(text: str, path: Sequence[str]) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """Returns the mappings and the entries on the way to a value, as far as they exist."""
    node = yaml.compose(text, Loader=yaml.CSafeLoader)
    mappings: list[Any] = []
    entries: list[tuple[Any, Any]] = []
    for name in path:
        if not isinstance(node, yaml.MappingNode):
            break
        mappings.append(node)
        entry = next((pair for pair in node.value if pair[0].value == name), None)
        if entry is None:
            break
        entries.append(entry)
        node = entry[1]
    return mappings, entries


def _replace(text: str, key: Any, old: Any, value: str) -> str:
    """Replaces the value of a key; keeps the comment after the key if the value begins below it."""
    start, end = old.start_mark.index, _end(text, old)
    if old.start_mark.line == key.start_mark.line:
        blank = " " if text[start - 1] == ":" else ""
        return f"{text[:start]}{blank}{value}{text[end:]}"
    colon = text.index(":", key.end_mark.index) + 1
    below = _next_line(text, colon)
    return f"{text[:colon]} {value}{text[colon:below]}{text[_next_line(text, end) :]}"


def _insert(text: str, index: int, path: Sequence[str], value: str, column: int) -> str:
    """Inserts an entry, one line per part of its path, below the line at this index and the comments that follow it."""
    at = below = _next_line(text, index)
    while below < len(text):  # a comment that is indented deeper belongs to the entry above
        line = text[below : _next_line(text, below)]
        words = line.lstrip()
        if words and not (words.startswith("#") and len(line) - len(words) > column):
            break
        below += len(line)
        at = below if words else at
    end = "\r\n" if "\r\n" in text else "\n"
    above = text[:at] if not at or text[at - 1] == "\n" else text[:at] + end
    lines = [f"{' ' * (column + 2 * depth)}{scalar(name)}:" for depth, name in enumerate(path)]
    lines[-1] += f" {value}"
    return above + "".join(f"{line}{end}" for line in lines) + text[at:]


def _flow(path: Sequence[str], value: str) -> str:
    """Returns an entry in braces, such as `settings: {model: "opus"}`."""
    for name in reversed(path[1:]):
        value = f"{{{scalar(name)}: {value}}}"
    return f"{scalar(path[0])}: {value}"


def _end(text: str, node: Any) -> int:
    """Returns the index after the last character of a value; its end mark may be after comments that follow."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        last = node.value[-1]
        return _end(text, last[1] if isinstance(last, tuple) else last)
    return len(text[: node.end_mark.index].rstrip())


def _next_line(text: str, index: int) -> int:
    """Returns the index at which the next line begins, or the end of the text."""
    return text.find("\n", index) + 1 or len(text)
