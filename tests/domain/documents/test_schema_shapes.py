"""The shapes that the type checker believes in are those of the schemas."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, NotRequired, get_args, get_origin, get_type_hints

from support.quick_cases import all_of

from sow.domain.documents import index, state, status_view
from sow.store.formats import schema

SHAPES = {**vars(state), **vars(status_view), **vars(index)}
TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "null": NoneType}
WHERE = {
    "TaskState": ("task", ()),
    "Task": ("task", ("task",)),
    "Question": ("task", ("task", "question")),
    "Answered": ("task", ("task", "questions")),
    "Approval": ("task", ("task", "approval")),
    "Work": ("task", ("task", "work")),
    "Evidence": ("task", ("task", "evidence")),
    "Review": ("task", ("task", "reviews")),
    "Finding": ("task", ("task", "reviews", "findings")),
    "Source": ("task", ("task", "source")),
    "Check": ("task", ("task", "checks")),
    "Chosen": ("task", ("task", "context")),
    "TestCounts": ("task", ("task", "evidence", "tests")),
    "Refusal": ("task", ("task", "refusals")),
    "Waiver": ("task", ("task", "waivers")),
    "Concern": ("task", ("task", "concerns")),
    "ProjectState": ("project", ()),
    "ImportedPlan": ("project", ("plans",)),
    "Phase": ("project", ("phases",)),
    "NoteSession": ("notes", ()),
    "Note": ("notes", ("notes",)),
    "LogEntry": ("log-entry", ()),
    "SessionState": ("session", ()),
    "Session": ("session", ("session",)),
    "SessionTurn": ("session", ("session", "turns")),
    "RunState": ("run", ()),
    "Run": ("run", ("run",)),
    "RunPlan": ("run", ("run", "plans")),
    "RunSettings": ("run", ("run", "settings")),
    "RunMerge": ("run", ("run", "merges")),
    "DroppedMerge": ("run", ("run", "dropped")),
    "Baseline": ("run", ("run", "baselines")),
    "FinalCheck": ("run", ("run", "final")),
    "Pool": ("run", ("run", "pools")),
    "BreakerState": ("run", ("run", "breaker")),
    "WorkflowState": ("workflow", ()),
    "Workflow": ("workflow", ("workflow",)),
    "DesignCheck": ("workflow", ("workflow", "verified")),
    "PlanApproval": ("workflow", ("workflow", "approval")),
    "MemberState": ("workflow", ("workflow", "members")),
    "MemberOutput": ("workflow", ("workflow", "members", "outputs")),
    "MemberQuestion": ("workflow", ("workflow", "members", "question")),
    "VerificationResults": ("verification-results", ()),
    "Escalation": ("workflow", ("workflow", "escalations")),
    "AnsweredMember": ("workflow", ("workflow", "answers")),
    "SharedStatus": ("shared-status", ()),
    "StatusEntry": ("shared-status", ("agents",)),
    "VerifierEntry": ("shared-status", ("verification",)),
    "ArchiveIndex": ("archive-index", ()),
    "Archive": ("archive-index", ("archives",)),
    "CleanupLog": ("cleanup-log", ()),
    "Cleanup": ("cleanup-log", ("entries",)),
    "SinkIndex": ("sink-index", ()),
    "Sink": ("sink-index", ("sinks",)),
    "SinkSource": ("sink-index", ("sinks", "source")),
    "RepoIndex": ("repo-index", ()),
    "Repo": ("repo-index", ("repos",)),
    "RepoSource": ("repo-index", ("repos", "source")),
    "Hint": ("repo-index", ("repos", "hints")),
}

SHARED = {"StateFile", "TreeCheck", "DesignJudgement", "IndexEntry"}  # fields that several shapes have


def resolved(rule: Any, root: Any) -> Any:
    return root["$defs"][rule["$ref"].rpartition("/")[2]] if "$ref" in rule else rule


def rules(name: str) -> tuple[Any, Any]:
    """The object in a schema that a shape stands for, and the whole schema."""
    document, path = WHERE[name]
    root = rule = schema.document(document)
    for key in path:
        rule = resolved(rule["properties"][key], root)
        rule = resolved(rule["items"], root) if rule["type"] == "array" else rule
        rule = resolved(rule.get("additionalProperties") or rule, root)  # a mapping of such things by their names
    return rule, root


def allowed(rule: Any, root: Any) -> set[Any]:
    """The Python types of a field."""
    rule = resolved(rule, root)
    if "enum" in rule:
        return {type(each) for each in rule["enum"]}
    kinds = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
    return {{"object": dict, "array": list}.get(kind) or TYPES[kind] for kind in kinds}


def believed(hint: Any) -> set[Any]:
    """The Python types that a shape gives a field."""
    hint = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
    members = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return {dict if hasattr(each, "__total__") else get_origin(each) or each for each in members}


def test_every_shape_stands_for_something():
    """No shape is without a schema, and none was forgotten here."""
    defined = {name for name, value in SHAPES.items() if hasattr(value, "__total__")}
    assert defined == {*WHERE, *SHARED}


@all_of("name", WHERE)
def test_a_shape_has_the_fields_of_its_schema(name):
    """Fields, types and requiredness are equal; a field with a default is there once a file was read."""
    rule, root = rules(name)
    hints = get_type_hints(SHAPES[name], include_extras=True)
    assert set(hints) == set(rule["properties"])
    for key, field in rule["properties"].items():
        there = key in rule["required"] or "default" in resolved(field, root)
        assert (get_origin(hints[key]) is not NotRequired) is there, key
        assert believed(hints[key]) == allowed(field, root), key
