"""Every word of a plan is in a task, in the plan's context or prose, or is named in a finding."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from plans.plan_text import plan_of
from plans.test_fuzz import MARKDOWN
from sow.domain.plans.plan import Plan

TASK_KEYS = (
    "files", "agent", "estimated_time", "status", "type", "worktree_group", "success_criteria", "integration_criteria",
    "test_commands", "runtime_metadata", "test_first", "implementation", "verification", "commit", "completed_at", "id",
    "task_number", "description", "priority", "notes", "depend_on", "dependency_checks",
)  # fmt: skip
INNER_KEYS = (
    "criterion", "verification", "command", "expected", "description", "dependency_checks", "documentation_targets",
    "prompt_blocks", "key_points", "location", "section", "content", "point", "message", "own", "other",
)  # fmt: skip
PLAN_KEYS = (
    "description", "version", "metadata", "default_agent", "worktree_groups", "planner_compliance",
    "data_flow_registry", "conductor", "sow", "quality_control", "goals", "owner", "planner_version",
    "required_features", "producers", "review_agent", "agents", "explicit_list", "group_id", "mode",
    "network", "sandbox",
)  # fmt: skip
LEAF = "leaf"


def shapes(keys: tuple[str, ...]) -> st.SearchStrategy[Any]:
    """Generates any nesting of texts, lists and mappings with these keys."""
    return st.recursive(
        st.just(LEAF),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(keys), inner, max_size=3),
        max_leaves=5,
    )


def with_words(shape: Any, count: Iterator[int]) -> Any:
    """Returns the shape with a different word in each place."""
    if isinstance(shape, dict):
        return {key: with_words(value, count) for key, value in shape.items()}
    if isinstance(shape, list):
        return [with_words(value, count) for value in shape]
    return f"w{next(count)}w"


def words_in(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for value in data.values():
            yield from words_in(value)
    elif isinstance(data, list):
        for value in data:
            yield from words_in(value)
    else:
        yield data


def said(plan: Plan) -> str:
    """Returns the plan and all findings in one text."""
    settings = [plan.name, plan.default_agent, plan.quality_control, plan.worktree_groups, plan.context, plan.prose]
    findings = [f"{finding.message} {finding.hint}" for finding in plan.findings]
    return json.dumps([[task.document() for task in plan.tasks], settings, findings])


@given(st.dictionaries(st.sampled_from(TASK_KEYS), shapes(INNER_KEYS), max_size=4))
def test_no_word_of_a_task_is_lost(fields: dict[str, Any]):
    """A task of any fields, known and unknown, in any shape, keeps every word, or the plan is refused."""
    given_fields = with_words(fields, iter(range(1000)))
    data = {"name": "p", "tasks": [{"number": "n1", "name": "a", "prompt": "b", **given_fields}]}
    plan = plan_of(json.dumps(data), name="plan.yaml")
    output = said(plan)
    assert plan.errors or all(word in output for word in words_in(given_fields))


@given(st.dictionaries(st.sampled_from(PLAN_KEYS), shapes(PLAN_KEYS), max_size=4), st.booleans())
@example({"goals": LEAF, "conductor": {"goals": LEAF}, "sow": {"goals": LEAF}}, False)
def test_no_word_about_the_plan_is_lost(fields: dict[str, Any], in_frontmatter: bool):
    """Settings and other keys of a plan, known and unknown, in any shape, are kept, or the plan is refused."""
    given_fields = with_words(fields, iter(range(1000)))
    if in_frontmatter:
        plan = plan_of(f"---\n{json.dumps(given_fields)}\n---\n## Task 1: a\nb\n")
    else:
        tasks = [{"number": 1, "name": "a", "prompt": "b"}]
        plan = plan_of(json.dumps({**given_fields, "tasks": tasks}), name="plan.yaml")
    output = said(plan)
    assert plan.errors or all(word in output for word in words_in(given_fields))


@given(st.lists(st.sampled_from([text for text in MARKDOWN if "---" not in text]), max_size=60).map("".join))
def test_no_line_of_markdown_is_lost(text: str):
    """Every line is in the text of a task or in the prose, except the headings of tasks."""
    plan = plan_of("# P\n" + text)
    lines = f"# P\n{text}".split("\n")
    headings = {task.line for task in plan.tasks}
    kept = Counter(
        line.strip() for text in [*plan.prose, *(task.text for task in plan.tasks)] for line in text.split("\n")
    )
    rest = Counter(line.strip() for number, line in enumerate(lines, 1) if number not in headings)
    del kept[""], rest[""]
    assert kept == rest
