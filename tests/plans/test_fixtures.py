"""Plans in all forms that people write, and their parsed fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.quick_cases import all_of

from plans.plan_text import FIXTURES, plan_of_files, told
from sow.domain.plans.plan import PlanSource
from sow.plans.reader import read

CASES: list[dict[str, Any]] = json.loads((FIXTURES / "expected.json").read_text())
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])


def as_json(value: object) -> Any:
    return json.loads(json.dumps(value))


@each_case
def test_a_plan_is_read_as_the_table_says(case: dict[str, Any]):
    """Ids, dependencies, files, agents, estimates, criteria, commands, settings, waves and findings are as expected."""
    plan = plan_of_files(case["inputs"], agents=case.get("agents", ()), in_folder=case.get("in_folder", False))
    assert as_json(told(plan)) == case["says"]


@each_case
@pytest.mark.parametrize("ending", ["\r\n", "\r"], ids=["crlf", "cr"])
def test_line_endings_make_no_difference(case: dict[str, Any], ending: str):
    """With other line ends and a byte order mark a plan is read the same, line numbers included."""
    sources = [
        PlanSource(
            name,
            "\ufeff" + (FIXTURES / name).read_text().replace("\n", ending),
            in_folder=case.get("in_folder", False),
        )
        for name in case["inputs"]
    ]
    assert as_json(told(read(sources, agents=case.get("agents", ())))) == case["says"]


def test_every_fixture_is_in_the_table():
    """Each fixture file has its row."""
    files = {str(path.relative_to(FIXTURES)) for path in FIXTURES.rglob("*") if path.is_file()}
    assert files - {"expected.json"} == {name for case in CASES for name in case["inputs"]}


@all_of("name", sorted(path.name for path in FIXTURES.glob("*.md")))
def test_no_line_of_a_markdown_plan_is_lost(name: str):
    """Every line is a heading of a task, or is in the text of a task, in the prose, or before both."""
    text = (FIXTURES / name).read_text()
    plan = plan_of_files([name])
    headings = {task.line for task in plan.tasks}
    kept = [line.strip() for text in [*plan.prose, *(task.text for task in plan.tasks)] for line in text.split("\n")]
    first = 1 + text.split("\n").index("---", 1) + 1 if text.startswith("---\n") else 1
    rest = [
        line.strip() for number, line in enumerate(text.split("\n"), 1) if number >= first and number not in headings
    ]
    assert sorted(filter(None, kept)) == sorted(filter(None, rest))


def test_the_fixtures_stay_small():
    """A fixture is read by people."""
    assert all(len(Path(path).read_text()) < 4000 for path in FIXTURES.rglob("*.[my]*"))
