"""Large valid plans, and the few modules that a small one loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from support.quick_cases import few_of
from test_hot_imports import BARE, HEAVY

from plans.plan_text import plan_of
from sow.domain.plans import graph
from sow.domain.plans import plan as domain_plan
from sow.plans import reader

TASKS = 10_000
SMALL = "# P\n\n## Task 1: a\n**Files**: a.py\n**Depends on**: None\n**Estimated time**: 1h\n**Approach**: b\n\nx\n"


def before(number: int) -> list[int]:
    """Returns three dependencies, spread over the tasks before this one."""
    return sorted({number // 2, number - 1, number - number // 3} - {0, number})


def in_markdown(number: int) -> str:
    needs = ", ".join(f"Task {item}" for item in before(number)) or "None"
    facts = f"**Files**: `src/{number}.py`\n**Depends on**: {needs}\n**Estimated time**: {number % 60 + 1}m\n"
    return f"## Task {number}: Part {number}\n{facts}\n{'Some words about it. ' * 8}\n\n"


def in_yaml(number: int) -> str:
    facts = f"    files: [src/{number}.py]\n    depends_on: {before(number)}\n    estimated_time: {number % 60 + 1}m\n"
    return f"  - number: {number}\n    name: Part {number}\n{facts}    prompt: {'Some words about it. ' * 8}\n"


@few_of(
    ("name", "head", "write"), [("plan.md", "# P\n\n", in_markdown), ("plan.yaml", "name: P\ntasks:\n", in_yaml)], 1
)
def test_ten_thousand_tasks_are_read(name: str, head: str, write):
    """A plan of more than two megabytes with nearly 30,000 dependencies is read without a finding."""
    text = head + "".join(write(number) for number in range(1, TASKS + 1))
    assert len(text) > 2_000_000
    plan = plan_of(text, name=name)
    assert plan.findings == []
    assert [task.depends_on for task in plan.tasks] == [[str(n) for n in before(m)] for m in range(1, TASKS + 1)]
    assert len(graph.waves(plan.needs())) == TASKS
    minutes = {task.id: task.estimated_minutes or 0.0 for task in plan.tasks}
    assert graph.critical_path(plan.needs(), minutes) == [str(number) for number in range(1, TASKS + 1)]


def test_no_slow_regular_expression_reads_a_plan():
    """No pattern in the packages of plans, or in the rules of a plan, can take exponential time."""
    files = [*Path(reader.__file__).parent.glob("*.py"), Path(graph.__file__), Path(domain_plan.__file__)]
    assert len(files) > 10
    for path in files:
        names = [
            name.name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import)
            for name in node.names
        ]
        assert not {"re", "regex"} & set(names), path


def loaded(code: str) -> set[str]:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    return set(result.stderr.split())


def test_a_markdown_plan_imports_little():
    """Reading Markdown, also with the author's own labels, loads no slow module."""
    code = "from sow.domain.plans.plan import PlanSource; from sow.plans.reader import read"
    code += f"; read([PlanSource('p.md', {SMALL!r})])"
    assert loaded(f"{code}; {BARE}") & HEAVY - loaded(BARE) == set()
