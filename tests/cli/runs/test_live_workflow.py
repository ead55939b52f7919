"""The live view of a workflow's run: agents by name, with the statuses of the protocol."""

from __future__ import annotations

import io
from typing import Any

from support.quick_cases import all_of

from sow.cli.runs.live import Live
from sow.reports.run_history import RunHistory
from sow.store.runs.run_folder import JournalEntry


class Pipe(io.StringIO):
    encoding = "utf-8"  # type: ignore[assignment]


def entry(event: str, **facts: Any) -> dict[str, Any]:
    return {"at": "2026-01-31T09:00:00Z", "t": 1.0, "event": event, **facts}


START = entry(
    "run_started",
    run="r",
    name="users",
    tasks=[{"id": "api_agent", "number": "", "name": "user_endpoints_1727539284", "needs": []}],
    settings={"max_concurrency": 2},
)
LINES = {
    "agent api_agent: escalates note_001, note_002 to the workflow architect": entry(
        "escalated", task="api_agent", notes=["note_001", "note_002"]
    ),
    "agent api_agent: note_001 is resolved by user": entry("resolved", task="api_agent", note="note_001", by="user"),
    "agent api_agent: verification 2 failed": entry("verification", task="api_agent", round=2, result="failed"),
    "agent api_agent: verification 2 failed by v: the output is too short": entry(
        "verification", task="api_agent", round=2, result="failed", by="v", reason="the output is too short\nby far"
    ),
    "agent api_agent: the turn of dev ended: failed: it ended with exit code 3": entry(
        "turn_ended", task="api_agent", role="dev", outcome="failed", reason="it ended with exit code 3"
    ),
    "agent db_agent: verification 1 passed by db_verifier": entry(
        "verification", task="db_agent", round=1, result="passed", by="db_verifier"
    ),
    "the design 0123456789ab is approved (--yes)": entry("approved", digest="0123456789abcdef", how="--yes"),
    "agent api_agent: its session is archived: session_x.json": entry(
        "archived", task="api_agent", file="agents/api_agent/completion_drive/session_x.json"
    ),
    "plan.md has changed: api_agent; it is verified and approved again": entry(
        "plan_changed", path="plan.md", sections=["api_agent"]
    ),
    'agent api_agent: asks question w3: Which? → sow answer w3 "…"': entry(
        "question", task="api_agent", number="w3", text="Which?"
    ),
    "agent api_agent: question w3 is answered (ada)": entry("answered", task="api_agent", number="w3", origin="ada"),
}


@all_of("expected", LINES)
def test_each_event_of_a_workflow_is_one_line(expected: str) -> None:
    """Each event of the protocol is told in one plain line, with the agent's name and no task id."""
    stream = Pipe()
    with Live(stream) as live:
        live.tell(START)
        live.tell(LINES[expected])
    first, second = stream.getvalue().splitlines()
    assert first.endswith("run r: users, 1 agent, at most 2 at once")
    assert second == f"00:01  {expected}"


def test_the_report_counts_agents_and_their_questions() -> None:
    """The run's history has each agent's events, with the number of its question."""
    asked = entry("question", task="api_agent", number="w3", text="Which?")
    answered = entry("answered", task="api_agent", number="w3", origin="ada")
    history = RunHistory()
    for item in (START, entry("task_started", task="api_agent", iteration=1), asked, answered):
        history.add(JournalEntry(item))
    assert list(history.tasks) == ["api_agent"]
    (question,) = history.questions
    assert question["number"] == "w3" and question["origin"] == "ada"
