"""Finds where the status of a task is in YAML, or where to insert it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import yaml

from sow.domain.plans.plan import PlanTask
from sow.plans import values
from sow.plans.values import Edit, StatusRefusal
from sow.plans.yaml_plan import NUMBER_KEYS

NULLS = ("", "~", "null", "Null", "NULL")
QUOTES = ("'", '"')
BLOCKS = ("|", ">")


def places(text: str) -> Callable[[PlanTask, str], Edit]:
    """Returns a function that computes the edit for a task and a status word; the text must be a valid plan."""
    root = next(yaml.compose_all(text, Loader=yaml.CBaseLoader))  # an empty document may follow
    tasks = {_number(node): node for node in _tasks(root)}

    def edit(task: PlanTask, word: str) -> Edit:
        node = tasks.get(task.number)
        if node is None:
            raise StatusRefusal("its place was not found")
        for key, value in node.value:
            if key.value == "status":
                return _scalar(text, key, value, word)
        return _in_flow(node, word) if node.flow_style else _new_line(text, node, word)

    return edit


def _tasks(root: yaml.Node) -> Iterator[yaml.MappingNode]:
    section = _field(root, "plan")
    tasks = _field(root if section is None else section, "tasks")
    if isinstance(tasks, yaml.SequenceNode):
        yield from (node for node in tasks.value if isinstance(node, yaml.MappingNode))


def _field(node: yaml.Node, name: str) -> yaml.Node | None:
    """Returns a field of a mapping; null counts as missing."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    value = next((value for key, value in pairs if key.value == name), None)
    null = isinstance(value, yaml.ScalarNode) and not value.style and value.value in NULLS
    return None if null else value


def _number(node: yaml.Node) -> str:
    number = next((field for name in NUMBER_KEYS if (field := _field(node, name)) is not None), None)
    return values.normalized_id(number.value) if isinstance(number, yaml.ScalarNode) else ""


def _scalar(text: str, key: yaml.Node, value: yaml.Node, word: str) -> Edit:
    """Replaces the present value, and keeps its quotes."""
    if not isinstance(value, yaml.ScalarNode):
        raise StatusRefusal("it is not a text")
    start, end = value.start_mark.index, value.end_mark.index
    if value.style in BLOCKS:
        return _block(text, start, end, word)
    if start == end:
        colon = text.find(":", key.end_mark.index, start)
        position = colon + 1 or key.end_mark.index
        return position, position, f" {word}" if colon >= 0 else f": {word}"
    return start, end, _quoted(word, value)


def _block(text: str, start: int, end: int, word: str) -> Edit:
    """Replaces all lines below the block mark, or the mark itself if there are none."""
    head, _, content = text[start:end].partition("\n")
    if not content.strip():
        return start, start + len(head.split()[0]), word
    first = end - len(content.lstrip())
    return first, first + len(content.strip()), word


def _quoted(word: str, like: yaml.Node) -> str:
    quote = like.style if isinstance(like, yaml.ScalarNode) and like.style in QUOTES else ""
    return f"{quote}{word}{quote}"


def _pair(word: str, key: yaml.Node) -> str:
    return f"{_quoted('status', key)}: {_quoted(word, key)}"


def _in_flow(node: yaml.MappingNode, word: str) -> Edit:
    """Inserts after the last pair inside the braces."""
    key, value = node.value[-1]
    end = value.end_mark.index
    return end, end, f", {_pair(word, key)}"


def _new_line(text: str, node: yaml.MappingNode, word: str) -> Edit:
    """Inserts after the line of the number, or of the name that follows it."""
    last = None
    for key, value in node.value:
        if isinstance(value, yaml.ScalarNode) and value.style not in BLOCKS and key.value in (*NUMBER_KEYS, "name"):
            last = key, value
        elif last is not None:
            break
    if last is None:
        raise StatusRefusal("there is no line for it")
    key, value = last
    end = text.find("\n", value.end_mark.index)
    end = end if end >= 0 else len(text)
    return end, end, f"\n{' ' * key.start_mark.column}{_pair(word, key)}"
