"""Prints a plan as short lines: the fields that differ from the defaults, and all findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from support.paths import TESTS

from sow.domain.plans import graph
from sow.domain.plans.plan import Plan, PlanSource, PlanTask
from sow.plans.reader import read

FIXTURES = TESTS / "fixtures" / "plans"
SETTINGS = ("default_agent", "max_concurrency", "quality_control", "worktree_groups", "context")
OF_ITSELF = ("id", "file", "text")
USUAL: dict[str, Any] = {"status": "pending", "type": "regular"}


def plan_of(*texts: str, name: str = "plan.md", agents: Sequence[str] = ()) -> Plan:
    """Returns the plan of texts; the first has this name, the others are numbered."""
    names = [name, *(f"{number}-{name}" for number in range(2, len(texts) + 1))]
    return read([PlanSource(name, text) for name, text in zip(names, texts, strict=True)], agents=agents)


def plan_of_files(names: Sequence[str], *, agents: Sequence[str] = (), in_folder: bool = False) -> Plan:
    """Returns the plan of fixtures."""
    sources = [PlanSource(name, (FIXTURES / name).read_text(), in_folder=in_folder) for name in names]
    return read(sources, agents=agents)


def found(plan: Plan, *, error: bool) -> list[str]:
    """Returns `place: message (hint)` of every error, or of every warning."""
    return [
        f"{error.location}: {error.message}" + (f" ({error.hint})" if error.hint else "")
        for error in (plan.errors if error else plan.warnings)
    ]


def told(plan: Plan) -> dict[str, Any]:
    """Returns everything except texts, as JSON has it, without defaults."""
    settings = {name: getattr(plan, name) for name in SETTINGS}
    waves = [] if plan.errors else graph.waves(plan.needs())
    output = {
        "name": plan.name,
        **settings,
        "tasks": {task.id: facts(task) for task in plan.tasks},
        "waves": waves,
        "errors": found(plan, error=True),
        "warnings": found(plan, error=False),
    }
    return {key: value for key, value in output.items() if value}


def facts(task: PlanTask) -> dict[str, Any]:
    """Returns a task's fields besides its name and text."""
    document = task.document()
    usual = {**dict.fromkeys(document), **USUAL, "number": task.id}
    return {
        key: value
        for key, value in document.items()
        if key not in OF_ITSELF and value not in ([], None, "") and value != usual[key]
    }


def task_of(body: str) -> PlanTask:
    """Returns the first task of a plan that has also a task 9."""
    plan = plan_of(f"# P\n\n## Task 1: One\n{body}\n\n## Task 9: Nine\n\nx\n")
    assert [task.number for task in plan.tasks] == ["1", "9"], found(plan, error=True)
    return plan.tasks[0]
