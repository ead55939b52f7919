"""Parses YAML into nodes with line numbers; refuses aliases, tags and repeated keys.

Scalars stay texts, so that an id `no`, `1.10` or `2026-01-01` stays as written. Only null becomes None.
"""

from __future__ import annotations

from typing import Any

import yaml

MAX_DEPTH = 60
MAX_KEYS = 10_000  # of one mapping
MAX_ENTRIES = 20_000  # of one list
MAX_NODES = 500_000  # of a file
NULLS = frozenset({"", "~", "null", "Null", "NULL"})
TAB = "a tab at the beginning of the line, where YAML takes blanks only"


class BadYamlError(Exception):
    """A text that is not read: the line, the problem, and what to do."""

    def __init__(self, line: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.hint = hint


class Node:
    """One value with its line: a text, None, a list of nodes, or a mapping of names to nodes."""

    __slots__ = ("line", "value")

    def __init__(self, value: Any, line: int) -> None:
        self.value = value
        self.line = line

    def data(self) -> Any:
        """Returns the plain data of this node."""
        if isinstance(self.value, dict):
            return {key: node.data() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.data() for node in self.value]
        return self.value

    def count_keys(self) -> int:
        """Returns the number of keys at all levels."""
        inner: list[Node] = [*self.value.values()] if isinstance(self.value, dict) else self.value
        if not isinstance(inner, list):
            return 0
        return (len(inner) if isinstance(self.value, dict) else 0) + sum(node.count_keys() for node in inner)


def parse(
    text: str,
    first_line: int = 1,
    *,
    documents: int = 1,
    depth: int = MAX_DEPTH,
    nodes: int = MAX_NODES,
    merge_keys: bool = True,
) -> Node:
    """Returns the value of a document; None for an empty one. More documents may follow if they are empty.

    With `merge_keys`, << is a key like others; else it is refused.
    """
    tree = _Tree(first_line, documents, depth, nodes, merge_keys=merge_keys)
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            tree.add(event)
    except yaml.YAMLError as error:
        raise _syntax_error(error, text, first_line) from None
    except UnicodeEncodeError:
        raise BadYamlError(first_line, "half a character that UTF-8 does not have", "save the file as UTF-8") from None
    return tree.root


def _syntax_error(error: yaml.YAMLError, text: str, first_line: int) -> BadYamlError:
    """Returns the parser's message with its line; for a character that YAML forbids, the parser knows only the byte."""
    mark = getattr(error, "problem_mark", None)
    line = mark.line if mark else text.encode()[: getattr(error, "position", 0)].count(b"\n")
    line = min(line, text.count("\n"))  # the end of a text is after its last line
    problem = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
    words = text.split("\n", line + 1)[line]
    if "\t" in words[: len(words) - len(words.lstrip())]:
        return BadYamlError(line + first_line, TAB, "indent with spaces")
    hint = "put a text with a colon in it into quotes" if "mapping values" in problem else "fix the YAML at this line"
    return BadYamlError(line + first_line, problem, hint)


class _Tree:
    """The nodes so far: the open collections, and the key of each mapping that waits for its value."""

    def __init__(self, first_line: int, documents: int, depth: int, nodes: int, *, merge_keys: bool) -> None:
        self.first_line = first_line
        self.root = Node(None, first_line)
        self.documents_left = documents
        self.depth = depth
        self.nodes_left = nodes
        self.merge_keys = merge_keys
        self.open_nodes: list[Node] = []
        self.keys: list[tuple[str, int] | None] = []

    def add(self, event: Any) -> None:
        """Adds one event of the parser."""
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._scalar(event)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self._start(event, {} if kind is yaml.MappingStartEvent else [])
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self.open_nodes.pop()
            self.keys.pop()
        elif kind is yaml.AliasEvent:
            self._refuse_marks(event)
        elif kind is yaml.DocumentStartEvent:
            self.documents_left -= 1
            if self.documents_left < 0:
                self._refuse(event, "a second document", "keep one document in the file")

    def _refuse(self, event: Any, message: str, hint: str) -> None:
        raise BadYamlError(event.start_mark.line + self.first_line, message, hint)

    def _scalar(self, event: Any) -> None:
        if event.anchor or event.tag:
            self._refuse_marks(event)
        value = event.value
        if self.open_nodes and self.keys[-1] is None and type(self.open_nodes[-1].value) is dict:
            self._key(event, value)
        elif value in NULLS and event.implicit[0]:
            self._put(event, Node(None, event.start_mark.line + self.first_line))
        else:
            self._put(event, Node(value, event.start_mark.line + self.first_line))

    def _start(self, event: Any, value: Any) -> None:
        if event.anchor or event.tag:
            self._refuse_marks(event)
        if self.open_nodes and self.keys[-1] is None and type(self.open_nodes[-1].value) is dict:
            self._refuse(event, "a key must be a text", "write a plain name before the colon")
        node = Node(value, event.start_mark.line + self.first_line)
        self._put(event, node)
        self.open_nodes.append(node)
        self.keys.append(None)
        if len(self.open_nodes) > self.depth:
            self._refuse(event, f"nested deeper than {self.depth} levels", "write it flatter")

    def _refuse_marks(self, event: Any) -> None:
        if event.anchor:
            self._refuse(event, "anchors and aliases are not read here", "write the value out where it is needed")
        self._refuse(event, f"the tag {event.tag:.60} is not read here", "write the plain value")

    def _key(self, event: Any, name: str) -> None:
        mapping = self.open_nodes[-1].value
        if name in mapping:
            self._refuse(event, f"the key {name!r:.60} is here a second time", "keep one of the two")
        if name == "<<" and not self.merge_keys:
            self._refuse(event, "merge keys (<<) are not read", "write the values out")
        if len(mapping) >= MAX_KEYS:
            self._refuse(event, f"a mapping with more than {MAX_KEYS:,} keys", "use a list, or several files")
        self.keys[-1] = name, event.start_mark.line + self.first_line

    def _put(self, event: Any, node: Node) -> None:
        """Adds a node to the innermost collection: as an entry, or as the value of the last key."""
        self.nodes_left -= 1
        if self.nodes_left < 0:
            self._refuse(event, "too many values", "split it into several files")
        if not self.open_nodes:
            self._begin(event, node)
            return
        collection = self.open_nodes[-1].value
        key = self.keys[-1]
        if key is not None:
            name, node.line = key  # a value may start below its key; report the key's line
            collection[name] = node
            self.keys[-1] = None
        elif len(collection) < MAX_ENTRIES:
            collection.append(node)
        else:
            self._refuse(event, f"a list with more than {MAX_ENTRIES:,} entries", "split it into several files")

    def _begin(self, event: Any, node: Node) -> None:
        """Sets the value of the document; an empty second document is ignored."""
        if node.value is None:
            return
        if self.root.value is not None:
            self._refuse(event, "a second document", "keep one document in the file")
        self.root = node
