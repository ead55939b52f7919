"""Writes the types of the state files, for the type checker, from the schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Schema = dict[str, Any]

# The class of each object in a schema, by the name of the schema and the fields that lead to the object.
CLASSES = {
    "Approval": "task task approval",
    "Question": "task task question",
    "Answered": "task task questions",
    "Source": "task task source",
    "Check": "task task checks",
    "Work": "task task work",
    "TestCounts": "task task evidence tests",
    "Evidence": "task task evidence",
    "Refusal": "task task refusals",
    "Waiver": "task task waivers",
    "Concern": "task task concerns",
    "Finding": "task task reviews findings",
    "Review": "task task reviews",
    "Follows": "task task follows",
    "Chosen": "task task context",
    "Task": "task task",
    "TaskState": "task",
    "Phase": "project phases",
    "ImportedPlan": "project plans",
    "ProjectState": "project",
    "Note": "notes notes",
    "NoteSession": "notes",
    "LogEntry": "log-entry",
    "RemoteTurn": "session session turns remote",
    "SessionTurn": "session session turns",
    "Session": "session session",
    "SessionState": "session",
    "RunPlan": "run run plans",
    "RunSettings": "run run settings",
    "RunMerge": "run run merges",
    "DroppedMerge": "run run dropped",
    "NoChecksYet": "run run delivery waiting_since",
    "HandledFinding": "run run delivery handled",
    "RunDelivery": "run run delivery",
    "Baseline": "run run baselines",
    "FinalCheck": "run run final",
    "Pool": "run run pools",
    "BreakerState": "run run breaker",
    "Run": "run run",
    "RunState": "run",
    "VerificationResults": "verification-results",
    "MemberOutput": "workflow workflow members outputs",
    "MemberQuestion": "workflow workflow members question",
    "MemberState": "workflow workflow members",
    "AnsweredMember": "workflow workflow answers",
    "Escalation": "workflow workflow escalations",
    "DesignCheck": "workflow workflow verified",
    "PlanApproval": "workflow workflow approval",
    "Workflow": "workflow workflow",
    "WorkflowState": "workflow",
    "StatusEntry": "shared-status agents",
    "VerifierEntry": "shared-status verification",
    "SharedStatus": "shared-status",
    "Archive": "archive-index archives",
    "ArchiveIndex": "archive-index",
    "Cleanup": "cleanup-log entries",
    "CleanupLog": "cleanup-log",
    "Hint": "sink-index sinks hints",
    "SinkSource": "sink-index sinks source",
    "Sink": "sink-index sinks",
    "RepoSource": "repo-index repos source",
    "Repo": "repo-index repos",
}
TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
HEAD = '''"""The types of the state files, for the type checker only. Written by `make generate` from the schemas."""

from typing import NotRequired, TypedDict
'''
RUNTIME = '''"""The types of the state files, for the type checker: the stub `state.pyi` has their fields.

While sow runs, each name stands for an ordinary mapping: creating the real classes would cost every command some
milliseconds. Written by `make generate` from the schemas.
"""

'''


def write_runtime() -> str:
    """Returns the text of the module beside the stub."""
    return RUNTIME + "".join(f"{name} = dict\n" for name in CLASSES)


def write(load: Callable[[str], Schema]) -> str:
    """Returns the text of the stub. `load` returns a schema by its name."""
    objects = {name: _object(load, place.split()) for name, place in CLASSES.items()}
    names = {_key(rule): name for name, (rule, _) in objects.items()}
    return HEAD + "".join(_class(name, *objects[name], names) for name in objects)


def _object(load: Callable[[str], Schema], place: list[str]) -> tuple[Schema, Schema]:
    """Returns the rule of an object, and the schema that it is in."""
    root = rule = load(place[0])
    for field in place[1:]:
        rule = _element(rule["properties"][field], root)
    return rule, root


def _resolved(rule: Schema, root: Schema) -> Schema:
    result: Schema = root["$defs"][rule["$ref"].rpartition("/")[2]] if "$ref" in rule else rule
    return result


def _element(rule: Schema, root: Schema) -> Schema:
    """Returns the rule of an object, of the objects in a list, or of those in a mapping by names."""
    rule = _resolved(rule, root)
    rule = _resolved(rule["items"], root) if rule["type"] == "array" else rule
    return _resolved(rule.get("additionalProperties") or rule, root)


def _key(rule: Schema) -> tuple[str, ...]:
    """Returns what tells an object from others: its fields."""
    return tuple(sorted(rule["properties"]))


def _class(name: str, rule: Schema, root: Schema, names: dict[tuple[str, ...], str]) -> str:
    fields = sorted(_fields(rule, root, names), key=lambda field: "NotRequired" in field)
    return f"\nclass {name}(TypedDict):\n" + "".join(f"    {field}\n" for field in fields)


def _fields(rule: Schema, root: Schema, names: dict[tuple[str, ...], str]) -> Iterator[str]:
    for name, field in rule["properties"].items():
        hint = _type(field, root, names)
        # A field with a default is there once a file was read.
        is_there = name in rule.get("required", ()) or "default" in _resolved(field, root)
        yield f"{name}: {hint if is_there else f'NotRequired[{hint}]'}"


def _type(rule: Schema, root: Schema, names: dict[tuple[str, ...], str]) -> str:
    rule = _resolved(rule, root)
    if "enum" in rule:
        return "str | None" if None in rule["enum"] else "str"
    kinds = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
    return " | ".join(_type_of(kind, rule, root, names) for kind in kinds)


def _type_of(kind: str, rule: Schema, root: Schema, names: dict[tuple[str, ...], str]) -> str:
    if kind == "array":
        return f"list[{_type(rule['items'], root, names)}]"
    if kind != "object":
        return TYPES[kind]
    if "properties" not in rule:
        return f"dict[str, {_type(rule['additionalProperties'], root, names)}]"
    return names[_key(rule)]
