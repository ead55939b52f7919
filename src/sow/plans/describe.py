"""Writes the description of a plan's task for its worker: the author's text and the fields that are not in it."""

from __future__ import annotations

from collections.abc import Iterator

from sow.domain.plans.plan import Plan, PlanTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_DEPTH = 20


def description(plan: Plan, task: PlanTask) -> str:
    """Returns the Markdown of a task's description.md."""
    parts = [f"# {task.name}", (task.brief if task.text_has_fields else task.text).strip()]
    if not task.text_has_fields:  # in Markdown the fields are part of the text; from YAML they are added here
        parts += _fields(task)
        parts += [f"## {_title(name)}\n\n{_rendered(value)}" for name, value in task.context.items()]
    hidden = (
        plan.protected if task.text_has_fields else task.protected
    )  # in Markdown the task's own patterns are in its text
    parts.append(_section("Protected paths: do not change them", [f"`{pattern}`" for pattern in hidden]))
    if plan.context:
        parts.append("## Plan context\n\n" + _rendered(plan.context))
    return "\n\n".join(part for part in parts if part) + "\n"


def _fields(task: PlanTask) -> Iterator[str]:
    yield _section("Files", [f"`{path}`" for path in task.files])
    yield _section("Success criteria", [_criterion(criterion) for criterion in task.success_criteria])
    yield _section("Integration criteria", [_criterion(criterion) for criterion in task.integration_criteria])
    yield _section("Test commands", [f"`{command}`" for command in task.test_commands])


def _section(title: str, entries: list[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {entry}" for entry in entries) if entries else ""


def _criterion(criterion: Any) -> str:
    command = f" (`{criterion.command}`)" if criterion.command else ""
    return f"{criterion.text}{command}"


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _rendered(value: Any, depth: int = 0) -> str:
    """Returns data as nested bullets; a text of several lines stays one block."""
    indent = "  " * min(depth, MAX_DEPTH)
    if isinstance(value, dict):
        return "\n".join(f"{indent}- {_title(str(key))}:{_nested(item, depth)}" for key, item in value.items())
    if isinstance(value, list):
        return "\n".join(f"{indent}-{_nested(item, depth)}" for item in value)
    return "" if value is None else str(value)


def _nested(value: Any, depth: int) -> str:
    if isinstance(value, (dict, list)):
        return "\n" + _rendered(value, depth + 1) if value else ""
    text = "" if value is None else str(value).rstrip("\n")
    if "\n" not in text:
        return f" {text}" if text else ""
    indent = "  " * min(depth + 1, MAX_DEPTH)
    return "".join(f"\n{indent}{line}".rstrip(" ") for line in text.split("\n"))
