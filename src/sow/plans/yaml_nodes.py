"""Parses YAML into nodes with line numbers, and reads their fields; refuses aliases, tags and repeated keys.

Scalars stay texts, so that an id `no`, `1.10` or `2026-01-01` stays as written. Only null becomes None.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from sow.domain.plans.plan import Plan, kind_of
from sow.plans.typo_hints import nearest
from sow.plans.values import is_integer, looks_like_dependency

MAX_DEPTH = 60
MAX_DOCUMENTS = 2  # one, and an empty one after a last ---
MAX_KEYS = 10_000  # of one mapping
MAX_ENTRIES = 20_000  # of one list
MAX_NODES = 500_000  # of a file
NULLS = frozenset({"", "~", "null", "Null", "NULL"})
OTHER_BREAKS = ("\x85", "\u2028", "\u2029")  # YAML ends a line at these invisible characters
HINT = "fix the YAML at this line"
HINTS = {"mapping values": "put a text with a colon in it into quotes", "\t": "indent with spaces, not with tabs"}


class BadYamlError(Exception):
    """A text that cannot be read as a plan: the line, the problem, and what to do."""

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


def parse(text: str, first_line: int = 1) -> Node:
    """Returns the mapping of a document; an empty document is an empty mapping."""
    _refuse_other_breaks(text, first_line)
    tree = _Tree(first_line)
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            tree.add(event)
    except yaml.YAMLError as error:
        raise _complaint(error, text, first_line) from None
    except UnicodeEncodeError:
        raise BadYamlError(first_line, "half a character that UTF-8 does not have", "save the file as UTF-8") from None
    return tree.root


def _complaint(error: yaml.YAMLError, text: str, first_line: int) -> BadYamlError:
    """Returns the parser's message with its line; for a character that YAML forbids, the parser knows only the byte."""
    mark = getattr(error, "problem_mark", None)
    line = mark.line if mark else text.encode()[: getattr(error, "position", 0)].count(b"\n")
    line = min(line, text.count("\n"))  # the end of a text is after its last line
    problem = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
    lines = text.split("\n", line + 1)[line : line + 1]
    hint = next((hint for sign, hint in HINTS.items() if sign in problem or sign in "".join(lines)), HINT)
    return BadYamlError(line + first_line, problem, hint)


def _refuse_other_breaks(text: str, first_line: int) -> None:
    for line_break in OTHER_BREAKS:
        before, separator, _ = text.partition(line_break)
        if separator:
            line = before.count("\n") + first_line
            raise BadYamlError(
                line, f"an invisible line break, U+{ord(line_break):04X}", "replace it by an ordinary one"
            )


class _Tree:
    """The nodes so far: the open collections, and the key of each mapping that waits for its value."""

    def __init__(self, first_line: int) -> None:
        self.first_line = first_line
        self.root = Node({}, first_line)
        self.has_root = False
        self.documents = 0
        self.open_nodes: list[Node] = []
        self.keys: list[tuple[str, int] | None] = []
        self.nodes = 0

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
            self._refuse(event, "aliases (*name) are not read", "write the value out")
        elif kind is yaml.DocumentStartEvent:
            self.documents += 1
            if self.documents > MAX_DOCUMENTS:
                self._refuse(event, "several documents", "keep one document in the file")

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
        if len(self.open_nodes) > MAX_DEPTH:
            self._refuse(event, f"nested deeper than {MAX_DEPTH} levels", "a plan is flat")

    def _refuse_marks(self, event: Any) -> None:
        if event.anchor:
            self._refuse(event, "anchors (&name) are not read", "write the value out where it is needed")
        self._refuse(event, f"the tag {event.tag:.60} is not read", "write the plain value")

    def _key(self, event: Any, name: str) -> None:
        mapping = self.open_nodes[-1].value
        if name in mapping:
            self._refuse(event, f"the key {name!r:.60} is here a second time", "keep one of the two")
        if name == "<<":
            self._refuse(event, "merge keys (<<) are not read", "write the values out")
        if len(mapping) >= MAX_KEYS:
            self._refuse(event, f"a mapping with more than {MAX_KEYS:,} keys", "use a list, or several plans")
        self.keys[-1] = name, event.start_mark.line + self.first_line

    def _put(self, event: Any, node: Node) -> None:
        """Adds a node to the innermost collection: as an entry, or as the value of the last key."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self._refuse(event, f"more than {MAX_NODES:,} values", "split it into several plans")
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
            self._refuse(event, f"a list with more than {MAX_ENTRIES:,} entries", "split it into several plans")

    def _begin(self, event: Any, node: Node) -> None:
        """Sets the value of the document: one mapping; an empty second document is ignored."""
        if node.value is None:
            return
        if not isinstance(node.value, dict):
            self._refuse(event, "the text is not a mapping of fields", "begin it with name: and tasks:")
        if self.has_root:
            self._refuse(event, "a second document", "keep one document in the file")
        self.has_root = True
        self.root = node


FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
MOST = 1000


class FieldReader:
    """The fields of a mapping; messages name their owner, such as `task 3: `, and the path of the field."""

    def __init__(self, plan: Plan, file: str, node: Node, whose: str = "", path: str = "") -> None:
        self.plan = plan
        self.file = file
        self.node = node
        self.owner = whose
        self.path = path
        self.known_keys: set[str] = set()

    def node_of(self, key: str) -> Node | None:
        """Returns a field of any type; null counts as missing."""
        self.known_keys.add(key)
        node = self.node.value.get(key)
        return None if node is None or node.value is None else node

    def first(self, keys: Iterable[str]) -> Node | None:
        """Returns the first of several names for one field; a second one is reported as unknown."""
        return next((node for key in keys if (node := self.node_of(key)) is not None), None)

    def report_type(self, node: Node, key: str, wanted: str, example: str) -> None:
        """Reports a value of the wrong type."""
        self.plan.error(self.file, node.line, f"{self.owner}{self.path}{key} must be {wanted}", f"write: {example}")

    def text_of(self, node: Node | None, key: str) -> str:
        """Returns the text of a field; a missing one is ""."""
        if node is None or isinstance(node.value, str):
            return node.value if node is not None else ""
        self.report_type(node, key, "a text", f"{key}: some words")
        return ""

    def text(self, key: str) -> str:
        """Returns a text; a missing one is ""."""
        return self.text_of(self.node_of(key), key)

    def flag(self, key: str) -> bool | None:
        """Returns true or false, or None."""
        node = self.node_of(key)
        flag = FLAGS.get(node.value.lower()) if node is not None and isinstance(node.value, str) else None
        if node is not None and flag is None:
            self.report_type(node, key, "true or false", f"{key}: true")
        return flag

    def count(self, key: str) -> int | None:
        """Returns a whole number from 0 to a thousand."""
        node = self.node_of(key)
        if node is None:
            return None
        if isinstance(node.value, str) and is_integer(node.value) and int(node.value) <= MOST:
            return int(node.value)
        self.report_type(node, key, f"a whole number from 0 to {MOST:,}", f"{key}: 2")
        return None

    def entries(self, key: str) -> list[Node]:
        """Returns a list without nulls; a text counts as a list of one."""
        node = self.node_of(key)
        if node is None:
            return []
        if isinstance(node.value, dict):
            self.report_type(node, key, "a list", f"{key}: [one, two]")
            return []
        entries = [node] if isinstance(node.value, str) else node.value
        return [entry for entry in entries if entry.value is not None]

    def texts(self, key: str) -> list[str]:
        """Returns a list of texts."""
        return [text for entry in self.entries(key) if (text := self.text_of(entry, key))]

    def inner(self, key: str) -> FieldReader | None:
        """Returns a mapping in this one."""
        node = self.node_of(key)
        if node is None or isinstance(node.value, dict):
            return self.nested(node, key) if node is not None else None
        self.report_type(node, key, "a mapping", f"{key}: with fields below it")
        return None

    def nested(self, node: Node, key: str) -> FieldReader:
        """Returns a mapping in this one, or in a list in it."""
        return FieldReader(self.plan, self.file, node, self.owner, f"{self.path}{key}.")

    def warn_unknown_keys(self, hint: str) -> dict[str, Any]:
        """Returns the unknown keys as data, and warns about each."""
        unknown = {key: node for key, node in self.node.value.items() if key not in self.known_keys}
        for key, node in unknown.items():
            near = nearest(key, self.known_keys) if self.plan.use_suggestion() else ""
            message = f"{self.owner}the key {self.path + key!r:.60} is not understood"
            kind = "dependency" if looks_like_dependency(key) else kind_of(near)
            self.plan.warn(self.file, node.line, message, f"did you mean {near}? {hint}" if near else hint, kind=kind)
        return {key: node.data() for key, node in unknown.items()}
