"""One mapping of a YAML plan, read field by field: every wrong type is said, and so is what nobody asked for."""

from __future__ import annotations

from sow.domain.plan import kind_of
from sow.plans.near import nearest
from sow.plans.nodes import Node
from sow.plans.words import is_whole, looks_like_dependency

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from sow.domain.plan import Plan

FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
MOST = 1000


class Mapping:
    """The fields of a mapping; complaints name their owner, such as `task 3: `, and the path of the field."""

    __slots__ = ("asked", "file", "node", "path", "plan", "whose")

    def __init__(self, plan: Plan, file: str, node: Node, whose: str = "", path: str = "") -> None:
        self.plan = plan
        self.file = file
        self.node = node
        self.whose = whose
        self.path = path
        self.asked: set[str] = set()

    def take(self, key: str) -> Node | None:
        """A field of any type; a null one counts as missing."""
        self.asked.add(key)
        found = self.node.value.get(key)
        return None if found is None or found.value is None else found

    def first(self, keys: Iterable[str]) -> Node | None:
        """The first of several names for one field; a second one of them is left over."""
        return next((found for key in keys if (found := self.take(key)) is not None), None)

    def wrong(self, node: Node, key: str, wanted: str, example: str) -> None:
        """The value is of another type."""
        self.plan.error(self.file, node.line, f"{self.whose}{self.path}{key} must be {wanted}", f"write: {example}")

    def text_of(self, node: Node | None, key: str) -> str:
        """The text of a field that was taken; a missing one is empty."""
        if node is None or isinstance(node.value, str):
            return node.value if node is not None else ""
        self.wrong(node, key, "a text", f"{key}: some words")
        return ""

    def text(self, key: str) -> str:
        """A text; a missing one is empty."""
        return self.text_of(self.take(key), key)

    def flag(self, key: str) -> bool | None:
        """true or false."""
        found = self.take(key)
        known = FLAGS.get(found.value.lower()) if found is not None and isinstance(found.value, str) else None
        if found is not None and known is None:
            self.wrong(found, key, "true or false", f"{key}: true")
        return known

    def count(self, key: str) -> int | None:
        """A whole number from 0 to a thousand."""
        found = self.take(key)
        if found is None:
            return None
        if isinstance(found.value, str) and is_whole(found.value) and int(found.value) <= MOST:
            return int(found.value)
        self.wrong(found, key, f"a whole number from 0 to {MOST:,}", f"{key}: 2")
        return None

    def entries(self, key: str) -> list[Node]:
        """A list without its nulls; a text counts as a list of one."""
        found = self.take(key)
        if found is None:
            return []
        if isinstance(found.value, dict):
            self.wrong(found, key, "a list", f"{key}: [one, two]")
            return []
        entries = [found] if isinstance(found.value, str) else found.value
        return [entry for entry in entries if entry.value is not None]

    def texts(self, key: str) -> list[str]:
        """A list of texts."""
        return [text for entry in self.entries(key) if (text := self.text_of(entry, key))]

    def inner(self, key: str) -> Mapping | None:
        """A mapping in this one."""
        found = self.take(key)
        if found is None or isinstance(found.value, dict):
            return self.below(found, key) if found is not None else None
        self.wrong(found, key, "a mapping", f"{key}: with fields below it")
        return None

    def below(self, node: Node, key: str) -> Mapping:
        """A mapping in this one, or in a list in it."""
        return Mapping(self.plan, self.file, node, self.whose, f"{self.path}{key}.")

    def left(self, hint: str) -> dict[str, Any]:
        """What nobody asked for, as data; each key is named in a warning."""
        found = {key: node for key, node in self.node.value.items() if key not in self.asked}
        for key, node in found.items():
            near = nearest(key, self.asked) if self.plan.may_suggest() else ""
            what = f"{self.whose}the key {self.path + key!r:.60} is not understood"
            kind = "dependency" if looks_like_dependency(key) else kind_of(near)
            self.plan.warn(self.file, node.line, what, f"did you mean {near}? {hint}" if near else hint, kind=kind)
        return {key: node.data() for key, node in found.items()}
