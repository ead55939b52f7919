"""Any plan, written in any form, reads back as the same plan."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans import random_plans
from plans.plan_text import found, plan_of
from plans.random_plans import Task
from sow.domain.plans.plan import Plan, PlanSource
from sow.plans.reader import read


def meant(task: Task) -> dict[str, Any]:
    return {
        "name": task.name,
        "depends_on": task.depends_on,
        "files": task.files,
        "minutes": task.minutes,
        "agent": task.agent,
        "status": task.status,
        "type": task.type,
        "success_criteria": [item.document for item in task.criteria],
        "integration_criteria": [item.document for item in task.integration],
        "test_commands": task.commands,
    }


def read_back(plan: Plan) -> dict[str, dict[str, Any]]:
    assert not plan.errors, found(plan, error=True)
    keys = ("name", "depends_on", "files", "agent", "status", "type", "success_criteria", "integration_criteria")
    return {
        task.id: {
            **{key: task.document()[key] for key in (*keys, "test_commands")},
            "minutes": task.estimated_minutes,
        }
        for task in plan.tasks
    }


def strange(plan: Plan) -> list[str]:
    """Returns all warnings except those of shared files."""
    return [text for text in found(plan, error=False) if "both write" not in text]


@pytest.mark.full
@given(st.data(), random_plans.plans())
def test_markdown_reads_back(data: st.DataObject, tasks: list[Task]):
    """Every graph, in any mixture of the forms of Markdown, is the same graph, without a warning."""
    plan = plan_of(data.draw(random_plans.markdown(tasks)))
    assert read_back(plan) == {task.number: meant(task) for task in tasks}
    assert strange(plan) == []
    assert all(task.text in value.text for task, value in zip(tasks, plan.tasks, strict=True))
    assert plan.name == "The plan"


@pytest.mark.full
@given(st.data(), random_plans.plans())
def test_yaml_reads_back(data: st.DataObject, tasks: list[Task]):
    """Every graph, in both shapes, under all names and in any layout of YAML, is the same graph."""
    plan = plan_of(data.draw(random_plans.yaml_text(tasks)), name="plan.yaml")
    assert read_back(plan) == {task.number: meant(task) for task in tasks}
    assert strange(plan) == []
    assert [task.text for task in plan.tasks] == [task.text for task in tasks]
    assert plan.name == "The plan"


@pytest.mark.full
@given(st.data(), random_plans.plans())
def test_both_formats_mean_the_same(data: st.DataObject, tasks: list[Task]):
    """A plan of two files, one in each format, equals the plan of either."""
    place = data.draw(st.integers(1, len(tasks)))
    names = ["first.md", "second.yaml"] if data.draw(st.booleans()) else ["first.yaml", "second.md"]
    writers = {"md": random_plans.markdown, "yaml": random_plans.yaml_text}
    parts = [(name, part) for name, part in zip(names, (tasks[:place], tasks[place:]), strict=True) if part]
    sources = [PlanSource(name, data.draw(writers[name.rpartition(".")[2]](part))) for name, part in parts]
    assert read_back(read(sources)) == {task.number: meant(task) for task in tasks}
