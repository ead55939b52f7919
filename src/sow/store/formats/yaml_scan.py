"""Scans a YAML text that was edited by hand, within limits, before it is parsed."""

from __future__ import annotations

from typing import NoReturn

import yaml

from sow.errors import InvalidFile

MAX_EVENTS = 100_000  # a fifth of a second


def scan(text: str, path: str, *, max_depth: int) -> int:
    """Raises for aliases, tags, deep nesting and repeated keys, with the line; counts the keys."""
    # Each open collection: the keys it has so far (None for a list), and whether the next scalar is a key.
    levels: list[set[str] | None] = []
    expects_key: list[bool] = []
    documents = 0
    count = 0
    try:
        for number, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
            line_number = event.start_mark.line + 1 if event.start_mark else 0
            if number > MAX_EVENTS:
                _refuse(path, line_number, "too many entries", "a state file is small: restore it from git")
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    _refuse(path, line_number, "a second document", "keep one document in the file")
            elif isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                _refuse(path, line_number, "anchors and aliases are not read here", "write the value out")
            elif tag := getattr(event, "tag", None):
                _refuse(path, line_number, f"the tag {tag:.60} is not read here", "write the plain value")
            if isinstance(event, yaml.CollectionEndEvent):
                levels.pop()
                expects_key.pop()
                continue
            if not isinstance(event, yaml.NodeEvent):
                continue
            is_key = bool(levels) and levels[-1] is not None and expects_key[-1]
            if is_key:
                if not isinstance(event, yaml.ScalarEvent):
                    _refuse(path, line_number, "a key must be a text", "write a plain name before the colon")
                keys = levels[-1]
                if keys is not None and event.value in keys:
                    _refuse(
                        path, line_number, f"the key {event.value!r:.60} is here a second time", "keep one of the two"
                    )
                if keys is not None:
                    keys.add(event.value)
                count += 1
            if levels and levels[-1] is not None:
                expects_key[-1] = not expects_key[-1]
            if isinstance(event, yaml.CollectionStartEvent):
                levels.append(set() if isinstance(event, yaml.MappingStartEvent) else None)
                expects_key.append(True)
                if len(levels) > max_depth:
                    _refuse(
                        path,
                        line_number,
                        f"nested deeper than {max_depth} levels",
                        "a state file is flat: restore it from git",
                    )
    except yaml.YAMLError as error:
        raise _syntax_error(error, text, path) from None
    return count


def _syntax_error(error: yaml.YAMLError, text: str, path: str) -> InvalidFile:
    """Returns the parser's error with its line; a tab gets a clearer message than the parser's."""
    mark = getattr(error, "problem_mark", None)
    number = mark.line if mark else 0
    problem = " ".join((getattr(error, "problem", None) or str(error)).split())[:200]
    for line in text.split("\n")[number : number + 1]:
        if "\t" in line[: len(line) - len(line.lstrip())]:
            problem = "a tab at the beginning of the line, where YAML takes blanks only"
    return InvalidFile(f"{path}:{number + 1}: {problem}", "fix the file, or restore it from git")


def _refuse(path: str, line: int, problem: str, hint: str) -> NoReturn:
    raise InvalidFile(f"{path}:{line}: {problem}", hint)
