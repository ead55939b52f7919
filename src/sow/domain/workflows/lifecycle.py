"""The lifecycle of an agent in a workflow, with the moves that the orchestration protocol lists."""

from __future__ import annotations

from sow.domain.task import Lifecycle

DOER, ARCHITECT = "doer", "solution_architect"  # kinds of agents that work
RUNNING = ("working", "completion_drive_review", "ready_for_verification", "verified", "blocked")

WORKFLOW_AGENT = Lifecycle(
    "workflow agent",
    start="pending",
    moves={
        ("pending", "working"): "start",
        ("working", "completion_drive_review"): "review",
        ("working", "blocked"): "block",
        ("completion_drive_review", "ready_for_verification"): "submit",
        ("completion_drive_review", "blocked"): "block",
        ("completion_drive_review", "working"): "rework",
        ("ready_for_verification", "verified"): "verify",
        ("ready_for_verification", "working"): "send_back",
        ("verified", "working"): "send_back",
        ("verified", "session_complete"): "complete",
        ("blocked", "working"): "unblock",
        **{(status, "failed"): "fail" for status in RUNNING},
        ("failed", "working"): "retry",
    },
)

NOTE_STATUSES = ("working", "completion_drive_review", "blocked")  # statuses in which an agent can write notes
DONE_STATUSES = ("verified", "session_complete")  # statuses that satisfy the dependencies of others
