"""Computes the changes between two versions of the schemas, which a migration applies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from sow.store.formats import schema


@dataclass(frozen=True)
class SchemaChange:
    """One field that was added, removed or renamed."""

    kind: str
    schema: str
    parent: str
    field: str
    old: str = ""
    default: Any = None

    @property
    def path(self) -> str:
        return f"{self.parent}.{self.field}" if self.parent else self.field


@cache
def changes(older: str, newer: str) -> list[SchemaChange]:
    """Returns every change of every schema, in the order of the schemas' names."""
    all_changes: list[SchemaChange] = []
    before, after = schema.names(older), schema.names(newer)
    for name in before:
        if name in after:
            all_changes += _compare(name, schema.document(name, older), schema.document(name, newer), "")
        else:
            all_changes.append(SchemaChange("schema removed", schema=name, parent="", field=name))
    all_changes += [
        SchemaChange("schema added", schema=name, parent="", field=name) for name in after if name not in before
    ]
    return all_changes


def _compare(name: str, old: dict[str, Any], new: dict[str, Any], parent: str) -> list[SchemaChange]:
    before: dict[str, Any] = old.get("properties", {})
    after: dict[str, Any] = new.get("properties", {})
    field_changes = []
    renamed = {}
    for field, rule in after.items():
        source = rule.get("x-renamed-from")
        if field not in before and source in before:
            renamed[source] = field
            field_changes.append(SchemaChange("rename", schema=name, parent=parent, field=field, old=source))
    for field, rule in after.items():
        if field not in before and field not in renamed.values():
            required = field in new.get("required", ())
            kind = "add" if "default" in rule else "add required" if required else "add optional"
            field_changes.append(
                SchemaChange(kind, schema=name, parent=parent, field=field, default=rule.get("default"))
            )
    for field, rule in before.items():
        if field in after:
            field_changes += _compare(name, rule, after[field], f"{parent}.{field}" if parent else field)
        elif field not in renamed:
            field_changes.append(SchemaChange("remove", schema=name, parent=parent, field=field))
    return field_changes
