"""The workflow pages are correct: each named test exists, each command parses, and the protocol is complete."""

from __future__ import annotations

import ast
import re
import shlex

from support.paths import ROOT
from support.quick_cases import all_of

from sow.cli.command import find, parse
from sow.domain.task import CATEGORIES, NOTE, RESOLVED_BY
from sow.domain.workflows.lifecycle import WORKFLOW_AGENT

PAGE = (ROOT / "docs" / "how-to" / "workflows.md").read_text()
PROTOCOL = (ROOT / "docs" / "reference" / "workflow-protocol.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PROTOCOL)))
ROWS = [line for line in PROTOCOL.splitlines() if line.startswith("| ")]
FIELDS = (
    "task_id", "status", "session_start", "agents", "agents.*.status", "agents.*.completion_drive_notes_count",
    "agents.*.unresolved_notes", "agents.*.last_update", "agents.*.dependencies", "verification",
    "verification.*.status", "verification.*.assigned_agents", "overall_completion_drive_gate", "notes", "note_id",
    "timestamp", "description", "context", "resolution", "resolved_by", "resolution_timestamp", "escalation_reason",
)  # fmt: skip


@all_of("path", sorted({path for path, _ in NAMED}))
def test_every_named_test_exists(path: str) -> None:
    """A test that the table names is a function of that file."""
    functions = {node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)}
    assert {name for value, name in NAMED if value == path} <= functions


def test_every_row_names_a_test() -> None:
    """No line of the table is a claim without proof."""
    rows = [row for row in ROWS if not row.startswith("| of the protocol")]
    assert len(rows) > 120
    assert [row for row in rows if "::test_" not in row] == []


def test_every_status_and_transition_is_listed() -> None:
    """Every status, transition, note status, author and category of the rules has its row."""
    text = "\n".join(ROWS)
    for status in WORKFLOW_AGENT.statuses:
        assert f"status `{status}`" in text, status
    for before, after in WORKFLOW_AGENT.moves:
        assert f"| `{before}` → `{after}` |" in text, (before, after)
    for status in NOTE.statuses:
        assert f"note status `{status}`" in text, status
    for before, after in NOTE.moves:
        assert f"note `{before}` → `{after}`" in text, (before, after)
    for who in RESOLVED_BY.values():
        assert f"`resolved_by`: `{who}`" in text, who
    for category in CATEGORIES:
        assert f": {category} |" in text, category


@all_of("field", FIELDS)
def test_every_field_is_listed(field: str) -> None:
    """Every field of shared_status.json and of session_current.json has its row."""
    assert any(row.startswith(f"| field `{field}` |") for row in ROWS)


def lines() -> list[str]:
    shown = re.findall(r"^\$ (sow .*)$", PAGE, re.M)
    matches = re.findall(r"`(sow [^`]*)`", PAGE)
    return sorted(set(shown + matches))


@all_of("line", lines())
def test_every_command_on_the_page_exists(line: str) -> None:
    """Each `sow …` parses, or is the bare name of a command."""
    text = [{"STATUS": "blocked"}.get(word, word) for word in shlex.split(line)[1:]]
    command, rest = find(text)
    if rest:
        parse(command, rest)
