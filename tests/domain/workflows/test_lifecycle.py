"""The lifecycle of an agent in a workflow."""

from __future__ import annotations

import pytest

from sow.domain.workflows.lifecycle import RUNNING, WORKFLOW_AGENT

PATHS = {
    "the straight way": [
        "pending",
        "working",
        "completion_drive_review",
        "ready_for_verification",
        "verified",
        "session_complete",
    ],
    "blocked at work, then answered": ["working", "blocked", "working"],
    "blocked in its review, then answered": ["completion_drive_review", "blocked", "working"],
    "failed verification": ["ready_for_verification", "working", "completion_drive_review"],
    "sent back after verification": ["verified", "working"],
    "failed, and sent back by a person": ["working", "failed", "working"],
}


@pytest.mark.parametrize("path", PATHS)
def test_the_protocol_is_in_the_table(path):
    """Every sequence of the orchestration protocol follows the table."""
    for source, to in zip(PATHS[path], PATHS[path][1:], strict=False):
        assert WORKFLOW_AGENT.move("api_agent", source, to)


@pytest.mark.parametrize("status", RUNNING)
def test_any_running_status_may_fail(status):
    """An agent that runs can fail, whatever it is doing."""
    assert WORKFLOW_AGENT.move("api_agent", status, "failed") == "fail"


def test_only_a_running_agent_fails():
    """An agent that is pending or has ended cannot fail."""
    assert {source for source, to in WORKFLOW_AGENT.moves if to == "failed"} == set(RUNNING)


def test_session_complete_is_final():
    """An archived session stays what it is."""
    assert WORKFLOW_AGENT.targets("session_complete") == ()


def test_a_failed_agent_can_only_return_to_work():
    """A failed agent is sent back to working, or stays failed."""
    assert WORKFLOW_AGENT.targets("failed") == ("working",)


def test_verification_comes_after_the_review_of_notes():
    """The only way to verification is through the completion-drive review."""
    assert {source for source, to in WORKFLOW_AGENT.moves if to == "ready_for_verification"} == {
        "completion_drive_review"
    }
