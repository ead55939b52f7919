"""Measures how long it takes to read a large plan into tasks, checks, waves and the critical path."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.timing import PYTHON
from sow.domain.plans import graph
from sow.domain.plans.plan import PlanSource
from sow.plans.reader import read

SMALL, LARGE = 1000, 10_000
NEEDS = 3  # dependencies per task on average
LIMIT = 2.0  # seconds for the large plan
GROWTH = 20.0  # times the small plan; ten is linear, and memory costs a little more

Needs = dict[int, set[int]]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The best times for the large plan, the small plan, and bare Python, in seconds."""

    name: str
    large: float
    small: float
    bare: float

    @property
    def growth(self) -> float:
        return self.large / self.small


def needs_of(tasks: int) -> Needs:
    """Returns a graph of so many tasks, each after a few of the two hundred before it."""
    generator = random.Random(tasks)
    needs: Needs = {number: set() for number in range(1, tasks + 1)}
    missing = NEEDS * tasks
    while missing:
        number = generator.randint(2, tasks)
        earlier = generator.randint(max(1, number - 200), number - 1)
        if earlier not in needs[number]:
            needs[number].add(earlier)
            missing -= 1
    return needs


def markdown(needs: Needs) -> str:
    """Writes the plan in Markdown: fields, a text, criteria and a command for each task."""
    return "# A large plan\n\n" + "".join(
        f"## Task {number}: Build part {number}\n\n**File(s)**: `src/part_{number}.py`, `tests/test_{number}.py`\n"
        f"**Depends on**: {', '.join(f'Task {dependency}' for dependency in sorted(dependencies)) or 'None'}\n"
        f"**Estimated time**: {number % 50 + 5}m\n**Agent**: implementer\n**Status**: pending\n\n"
        f"Write part {number} and its tests.\n\n**Success Criteria**:\n- it works\n- it is fast\n\n"
        f"**Test Commands**:\n```bash\npytest tests/test_{number}.py\n```\n\n"
        for number, dependencies in needs.items()
    )


def yaml(needs: Needs) -> str:
    """Writes the same in YAML."""
    return "name: A large plan\ntasks:\n" + "".join(
        f"  - number: {number}\n    name: Build part {number}\n"
        f"    files: [src/part_{number}.py, tests/test_{number}.py]\n    depends_on: {sorted(dependencies)}\n"
        f"    estimated_time: {number % 50 + 5}m\n    agent: implementer\n    status: pending\n"
        f"    prompt: |\n      Write part {number} and its tests.\n"
        f"    success_criteria:\n      - it works\n      - it is fast\n"
        f"    test_commands:\n      - pytest tests/test_{number}.py\n"
        for number, dependencies in needs.items()
    )


FORMS: dict[str, Callable[[Needs], str]] = {"plan.md": markdown, "plan.yaml": yaml}


def reading(rounds: int) -> list[Reading]:
    """Measures both forms in both sizes."""
    bare = min(_bare() for _ in range(rounds))
    readings = []
    for name, form in FORMS.items():
        large, small = (
            min(_once(name, text, tasks) for _ in range(rounds))
            for tasks in (LARGE, SMALL)
            for text in [form(needs_of(tasks))]
        )
        readings.append(Reading(name=name, large=large, small=small, bare=bare))
    return readings


def _once(name: str, text: str, tasks: int) -> float:
    start = time.perf_counter()
    plan = read([PlanSource(name, text)], agents=("implementer",))
    needs = plan.needs()
    waves = graph.waves(needs)
    path = graph.critical_path(needs, {task.id: task.estimated_minutes or 0.0 for task in plan.tasks})
    seconds = time.perf_counter() - start
    assert len(plan.tasks) == tasks and not plan.findings
    assert sum(len(task.depends_on) for task in plan.tasks) == NEEDS * tasks
    assert sum(map(len, waves)) == tasks and path
    return seconds


def _bare() -> float:
    start = time.perf_counter()
    subprocess.run([PYTHON, "-c", "pass"], check=True)
    return time.perf_counter() - start
