"""Finds all fields of a document that do not follow its schema, with their lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sow.domain.text.yaml_nodes import BadYamlError, Node, parse
from sow.store.formats.validation import SchemaError, Skipped

MOST = 20


def all_problems(text: str, data: Any, validate: Callable[[Any], None]) -> list[tuple[int, str]]:
    """Returns the line and the complaint of each problem, in the order of the lines. It changes the data."""
    root = _nodes(text)
    problems: list[tuple[int, SchemaError]] = []
    while len(problems) < MOST:
        try:
            validate(data)
            break
        except SchemaError as problem:
            steps = _steps(problem.place)
            problems.append((_line(root, steps), problem))
            if not _skip(data, steps, unknown=problem.message.startswith("is not a field")):
                break
    mistyped = {_suggestion(problem) for _, problem in problems}
    shown = [pair for pair in problems if pair[1].message != "is missing" or pair[1].place not in mistyped]
    return [(line, str(problem)) for line, problem in sorted(shown, key=lambda pair: pair[0])]


def line_of(text: str, place: str) -> int:
    """Returns the line of a field such as agents.bindings.planner, or of the last mapping on the way to it."""
    return _line(_nodes(text), _steps(place))


def without_problems(data: Any, checked: Any) -> Any:
    """Returns the data without the fields in which `all_problems` found a problem; `checked` is what it changed."""
    if isinstance(data, dict):
        return {
            key: without_problems(value, checked[key])
            for key, value in data.items()
            if key in checked and type(checked[key]) is not Skipped
        }
    if isinstance(data, list):
        pairs = zip(data, checked, strict=True)
        return [without_problems(item, seen) for item, seen in pairs if type(seen) is not Skipped]
    return data


def _nodes(text: str) -> Node:
    """Returns the values of a text with their lines; of one with too many values, only its first line."""
    try:
        return parse(text)
    except BadYamlError:
        return Node(None, 1)


def _suggestion(problem: SchemaError) -> str:
    """Returns the field that a complaint about an unknown one suggests; it is not reported as missing, too."""
    parent, dot, _ = problem.place.rpartition(".")
    return parent + dot + problem.message.partition("did you mean ")[2].rstrip("?")


def _steps(place: str) -> list[str | int]:
    """Returns the keys and indexes that lead to a field such as task.checks[0].command."""
    steps: list[str | int] = []
    for part in place.split("."):
        key, *indexes = part.replace("]", "").split("[")
        steps += [key, *(int(index) for index in indexes if index.isdigit())]
    return steps


def _skip(data: Any, steps: list[str | int], *, unknown: bool) -> bool:
    """Takes an unknown field out, and replaces any other; returns False if the field cannot be reached."""
    try:
        for step in steps[:-1]:
            data = data[step]
        if unknown:
            del data[steps[-1]]
        else:
            data[steps[-1]] = Skipped()
    except (KeyError, IndexError, TypeError):  # a key with a dot in it, or a cut one
        return False
    return True


def _line(node: Node, steps: list[str | int]) -> int:
    """Returns the line of a field, or of the mapping in which it is missing."""
    for step in steps:
        inner = node.value
        names = inner if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ()
        if step not in names:
            break
        node = inner[step]
    return node.line
