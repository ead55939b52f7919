"""Reads the fields of a plan's YAML, with messages that name their owner and path."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sow.domain.plans.plan import Plan, kind_of
from sow.domain.text import yaml_nodes
from sow.domain.text.yaml_nodes import BadYamlError, Node
from sow.plans.values import is_integer, looks_like_dependency, nearest

OTHER_BREAKS = ("\x85", "\u2028", "\u2029")  # YAML ends a line at these invisible characters


def parse(text: str, first_line: int = 1) -> Node:
    """Returns the mapping of a document; an empty document is an empty mapping."""
    for line_break in OTHER_BREAKS:
        before, separator, _ = text.partition(line_break)
        if separator:
            line = before.count("\n") + first_line
            message = f"an invisible line break, U+{ord(line_break):04X}"
            raise BadYamlError(line, message, "replace it by an ordinary one")
    # A second document is the empty one after a last ---.
    root = yaml_nodes.parse(text, first_line, documents=2, merge_keys=False)
    if not isinstance(root.value, dict | None):
        raise BadYamlError(root.line, "the text is not a mapping of fields", "begin it with name: and tasks:")
    return root if root.value is not None else Node({}, first_line)


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
