"""The settings of a plan: in frontmatter, at the top of YAML, and below plan, sow and conductor."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plans.plan_text import found, plan_of
from sow.domain.plans.plan import Plan

SETTINGS: dict[str, tuple[str, Any]] = {
    "default_agent": ("dev", "dev"),
    "max_concurrency": ("4", 4),
    "quality_control": (
        "{enabled: true, retry_on_red: 2, review_agent: qc, agents: {mode: explicit, explicit_list: [a], "
        "additional: [b], blocked: [c]}}",
        {
            "enabled": True,
            "retry_on_red": 2,
            "review_agent": "qc",
            "agents": {"mode": "explicit", "explicit_list": ["a"], "additional": ["b"], "blocked": ["c"]},
        },
    ),
    "worktree_groups": ("[{group_id: a, isolation: weak}, {id: b}, {name: c}, d]", ["a", "b", "c", "d"]),
}
HOLDERS = ["{}", "sow: {{{}}}", "conductor: {{{}}}", "plan: {{{}}}"]


def in_frontmatter(settings: str) -> Plan:
    return plan_of(f"---\n{settings}\n---\n## Task 1: One\n\nx\n")


def in_yaml(settings: str) -> Plan:
    return plan_of(f"{settings}\ntasks:\n  - {{number: 1, name: One, prompt: x}}\n", name="plan.yaml")


both = pytest.mark.parametrize("read", [in_frontmatter, in_yaml])


@both
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("key", SETTINGS)
def test_a_setting_in_any_place(read, holder: str, key: str):
    """A setting may be at the top and below sow, conductor and plan, in frontmatter and in YAML."""
    text, value = SETTINGS[key]
    plan = read(holder.format(f"{key}: {text}"))
    assert getattr(plan, key) == value
    assert plan.findings == []


@both
def test_reviewers_as_a_plain_list(read):
    """A plain list of reviewers has the mode explicit."""
    plan = read("quality_control: {agents: [reviewer, verifier]}")
    assert plan.quality_control == {"agents": {"mode": "explicit", "explicit_list": ["reviewer", "verifier"]}}
    assert plan.findings == []


@both
def test_groups_are_kept_completely(read):
    """All fields of a group reach the agents."""
    plan = read("worktree_groups: [{group_id: a, isolation: weak}]")
    assert plan.context == {"worktree_groups": [{"group_id": "a", "isolation": "weak"}]}


CONTEXT = {
    "planner_compliance": '{planner_version: "2.9", strict_enforcement: true, required_features: [a, b]}',
    "data_flow_registry": '{producers: {A: [{task: "1"}]}, consumers: {A: []}, documentation_targets: {"1": []}}',
    "metadata": "{feature_name: A, created: today}",
    "description": "words",
    "version": '"3"',
}


@both
@pytest.mark.parametrize("key", CONTEXT)
def test_context_for_agents_is_kept(read, key: str):
    """Compliance, data flow, metadata, description and version are kept as context, without a warning."""
    plan = read(f"{key}: {CONTEXT[key]}")
    assert plan.findings == []
    assert list(plan.context) == [key]
    assert json.dumps(plan.context)


@both
@pytest.mark.parametrize("value", ["true", "yes", "ON", "True", '"true"'])
def test_all_spellings_of_true(read, value: str):
    """A flag is true in any of its spellings."""
    assert read(f"quality_control: {{enabled: {value}}}").quality_control == {"enabled": True}


@both
def test_zero_is_no_limit(read):
    """A limit of 0, and no value at all, are no limit."""
    assert read("max_concurrency: 0").max_concurrency is None
    assert read("max_concurrency:").max_concurrency is None
    assert read("conductor:\nquality_control: ~").findings == []


WRONG = {
    "default_agent: [a]": "default_agent must be a text",
    "max_concurrency: many": "max_concurrency must be a whole number from 0 to 1,000",
    "max_concurrency: 1001": "max_concurrency must be a whole number from 0 to 1,000",
    "max_concurrency: -1": "max_concurrency must be a whole number from 0 to 1,000",
    "max_concurrency: 1.5": "max_concurrency must be a whole number from 0 to 1,000",
    "max_concurrency: ²": "max_concurrency must be a whole number from 0 to 1,000",
    "max_concurrency: 000000001" + "0" * 5000: "max_concurrency must be a whole number from 0 to 1,000",
    "max_concurrency: [4]": "max_concurrency must be a whole number from 0 to 1,000",
    "quality_control: true": "quality_control must be a mapping",
    "quality_control: {enabled: perhaps}": "quality_control.enabled must be true or false",
    "quality_control: {enabled: [true]}": "quality_control.enabled must be true or false",
    "quality_control: {retry_on_red: few}": "quality_control.retry_on_red must be a whole number from 0 to 1,000",
    "quality_control: {review_agent: {a: b}}": "quality_control.review_agent must be a text",
    "quality_control: {agents: a}": "quality_control.agents must be a mapping",
    "quality_control: {agents: [[a]]}": "quality_control.agents must be a text",
    "quality_control: {agents: {mode: [a]}}": "quality_control.agents.mode must be a text",
    "quality_control: {agents: {explicit_list: {a: b}}}": "quality_control.agents.explicit_list must be a list",
    "quality_control: {agents: {additional: [[a]]}}": "quality_control.agents.additional must be a text",
    "quality_control: {agents: {blocked: {a: b}}}": "quality_control.agents.blocked must be a list",
    "worktree_groups: {a: b}": "worktree_groups must be a list",
    "worktree_groups: [{isolation: weak}]": "worktree_groups must be a list of groups, each with a group_id",
    "worktree_groups: [[a]]": "worktree_groups must be a list of groups, each with a group_id",
    "worktree_groups: [{group_id: [a]}]": "worktree_groups.group_id must be a text",
    "planner_compliance: strict": "planner_compliance must be a mapping",
    "planner_compliance: {strict_enforcement: 2}": "planner_compliance.strict_enforcement must be true or false",
    "planner_compliance: {required_features: {a: b}}": "planner_compliance.required_features must be a list",
    "planner_compliance: {planner_version: [2]}": "planner_compliance.planner_version must be a text",
    "data_flow_registry: [a]": "data_flow_registry must be a mapping",
    "data_flow_registry: {producers: [a]}": "data_flow_registry.producers must be a mapping",
    "data_flow_registry: {consumers: a}": "data_flow_registry.consumers must be a mapping",
    "metadata: words": "metadata must be a mapping",
    "description: [a]": "description must be a text",
    "name: [a]": "name must be a text",
    "sow: words": "sow must be a mapping",
    "conductor: [a]": "conductor must be a mapping",
    "conductor: {max_concurrency: many}": "conductor.max_concurrency must be a whole number from 0 to 1,000",
}


@both
@pytest.mark.parametrize("line", WRONG, ids=lambda line: line[:50])
def test_a_wrong_type_is_an_error(read, line: str):
    """A setting of a wrong type is named with its key and its line."""
    errors = read(f"version: 1\n{line}").errors
    assert errors[0].message == WRONG[line]
    assert {error.line for error in errors} == {3 if read is in_frontmatter else 2}


UNKNOWN = {
    "title: x": "title",
    "conductor: {colour: red}": "conductor.colour",
    "sow: {tasks: 3}": "sow.tasks",
    "plan: {goals: [a]}": "plan.goals",
    "quality_control: {enabled: true, retries: 3}": "quality_control.retries",
    "quality_control: {agents: {mode: auto, only: [a]}}": "quality_control.agents.only",
    "planner_compliance: {mood: good}": "planner_compliance.mood",
    "data_flow_registry: {readers: {}}": "data_flow_registry.readers",
}


@both
@pytest.mark.parametrize("line", UNKNOWN)
def test_an_unknown_key_is_kept_with_a_warning(read, line: str):
    """An unknown key is named with its path and line, and kept."""
    plan = read(line)
    (warning,) = found(plan, error=False)
    assert f"the key {UNKNOWN[line]!r} is not understood" in warning
    assert UNKNOWN[line].rpartition(".")[2] in json.dumps([plan.context, plan.quality_control])


def test_a_mistyped_setting_has_a_suggestion():
    """The nearest setting is named."""
    assert "did you mean default_agent?" in found(in_frontmatter("conductor: {default_agnet: dev}"), error=False)[0]


def test_the_first_of_two_settings_counts():
    """For a setting with two values the first place counts, and the other one is named."""
    plan = in_yaml("sow: {max_concurrency: 2, default_agent: a}\nconductor:\n  max_concurrency: 3\n  default_agent: b")
    assert (plan.max_concurrency, plan.default_agent) == (2, "a")
    assert plan.context == {"conductor.max_concurrency": "3", "conductor.default_agent": "b"}
    assert found(plan, error=False) == [
        "plan.yaml:3: conductor.max_concurrency is left out: that of plan.yaml:1 counts (keep one of the two)",
        "plan.yaml:4: conductor.default_agent is left out: that of plan.yaml:1 counts (keep one of the two)",
    ]


def test_equal_settings_are_no_problem():
    """A setting with one value in two places is one setting."""
    assert in_yaml("conductor: {default_agent: a}\nplan: {default_agent: a}").findings == []


def test_an_unknown_review_mode_is_reported():
    """The error has all modes."""
    plan = in_frontmatter("quality_control: {agents: {mode: explict}}")
    assert found(plan, error=False) == [
        "plan.md:2: quality_control: 'explict' is no mode (a mode is one of: auto, explicit, mixed, intelligent)"
    ]


@pytest.mark.parametrize(
    "text", ["---\n## Task 1: One\n\nx\n", "---\n---\n## Task 1: One\n\nx\n", "---\n\n\n---\n## Task 1: One\nx"]
)
def test_empty_frontmatter_is_reported(text: str):
    """A block that is empty or never ends is named, and the tasks are read."""
    plan = plan_of(text)
    assert len(plan.tasks) == 1
    assert [(finding.line, finding.error) for finding in plan.findings] == [(1, False)]


def test_broken_frontmatter_is_an_error_with_its_line():
    """The error has the line of the file, and the tasks are still read."""
    plan = plan_of("---\nconductor:\n  default_agent: a\n  default_agent: b\n---\n## Task 1: One\n\nx\n")
    assert found(plan, error=True) == ["plan.md:4: the key 'default_agent' is here a second time (keep one of the two)"]
    assert plan.tasks[0].line == 6


def test_the_name_in_the_frontmatter_replaces_a_title():
    """A name before the text is the plan's, unless the text has a title."""
    assert plan_of("---\nname: A\n---\n## Task 1: One\n\nx\n").name == "A"
    assert plan_of("---\nname: A\n---\n# B\n## Task 1: One\n\nx\n").name == "B"
