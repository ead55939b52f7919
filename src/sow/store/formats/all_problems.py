"""Finds all fields of a document that do not follow its schema, with their lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

from sow.store.formats.validation import SchemaError, Skipped

MOST = 20


def all_problems(text: str, data: Any, validate: Callable[[Any], None]) -> list[tuple[int, str]]:
    """Returns the line and the complaint of each problem, in the order of the lines. It changes the data."""
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
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
    return _line(yaml.compose(text, Loader=yaml.CSafeLoader), _steps(place))


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


def _line(node: Any, steps: list[str | int]) -> int:
    """Returns the line of a field, or of the mapping in which it is missing."""
    line = node.start_mark.line
    for step in steps:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == step), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            found = (node.value[step], node.value[step])
        else:
            found = None
        if found is None:
            break
        line, node = found[0].start_mark.line, found[1]
    return int(line) + 1
