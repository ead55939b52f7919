"""YAML as a tree whose every node knows its line; bounded, without aliases, tags or repeated keys.

Scalars stay texts: an id `no`, `1.10` or `2026-01-01` is what its author wrote, and nothing else.
"""

from __future__ import annotations

from typing import Any

import yaml

MAX_DEPTH = 60


class BadYamlError(Exception):
    """A text that is no plan: the line, what is wrong, and what to do."""

    def __init__(self, line: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.hint = hint


class Node:
    """One value with its line: a text, a list of nodes, or a mapping of names to nodes."""

    __slots__ = ("line", "plain", "value")

    def __init__(self, value: Any, line: int, *, plain: bool = False) -> None:
        self.value = value
        self.line = line
        self.plain = plain  # a scalar without quotes: only such a one can be null or a number

    @property
    def is_null(self) -> bool:
        return self.plain and self.value in ("", "~", "null", "Null", "NULL")

    def get(self, name: str) -> Node | None:
        """A field of a mapping; a null one counts as missing."""
        found = self.value.get(name) if isinstance(self.value, dict) else None
        return None if found is None or found.is_null else found

    def data(self) -> Any:
        """The plain data below, for parts that we only pass on."""
        if isinstance(self.value, dict):
            return {key: each.data() for key, each in self.value.items()}
        if isinstance(self.value, list):
            return [each.data() for each in self.value]
        return None if self.is_null else self.value


def parse(text: str, first_line: int = 1) -> Node:
    """The tree of a document; an empty one is an empty mapping."""
    stack: list[tuple[Node, list[str]]] = []  # open collections, each with the key that waits for its value
    root: Node | None = None
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            kind = type(event)
            if kind is yaml.ScalarEvent or kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                line = event.start_mark.line + first_line
                node = _node(event, kind, line)
                if stack:
                    _put(stack, node)
                elif root is None:
                    root = node
                else:
                    raise BadYamlError(line, "a second document", "keep one document in the file")
                if kind is not yaml.ScalarEvent:
                    stack.append((node, []))
                    if len(stack) > MAX_DEPTH:
                        raise BadYamlError(line, f"nested deeper than {MAX_DEPTH} levels", "a plan is flat")
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                stack.pop()
            elif kind is yaml.AliasEvent:
                raise BadYamlError(
                    event.start_mark.line + first_line, "aliases (*name) are not read", "write the value out"
                )
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        words = getattr(error, "problem", None) or str(error)
        line = (mark.line if mark else 0) + first_line
        raise BadYamlError(line, " ".join(str(words).split())[:200], "mend the YAML at this line") from None
    return root if root is not None and not root.is_null else Node({}, first_line)


def _node(event: Any, kind: Any, line: int) -> Node:
    if event.anchor:
        raise BadYamlError(line, "anchors (&name) are not read", "write the value out where it is needed")
    if event.tag:
        raise BadYamlError(line, f"the tag {event.tag} is not read", "write the plain value")
    if kind is yaml.ScalarEvent:
        return Node(event.value, line, plain=event.implicit[0])
    return Node({} if kind is yaml.MappingStartEvent else [], line)


def _put(stack: list[tuple[Node, list[str]]], node: Node) -> None:
    """Add a node to the innermost collection: as an entry, as a key, or as the value of the key before."""
    holder, waiting = stack[-1]
    if isinstance(holder.value, list):
        holder.value.append(node)
    elif waiting:
        holder.value[waiting.pop()] = node
    elif not isinstance(node.value, str):
        raise BadYamlError(node.line, "a key must be a text", "write a plain name before the colon")
    elif node.value in holder.value:
        raise BadYamlError(node.line, f"the key {node.value!r:.60} is here a second time", "keep one of the two")
    else:
        waiting.append(node.value)
