"""sow note: a task with an open note cannot be completed; only some actors may resolve notes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Repo

WORKER = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}


def add(repo: Repo, category: str = "") -> None:
    kind = ("--category", category) if category else ()
    repo.ok("note", "add", "--task", "010", "--description", "is it unique?", "--context", "the store", *kind)


def notes(repo: Repo) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = repo.ok("note", "list", "--task", "010", "--json").json["notes"]
    return result


def test_a_note_is_numbered_and_open(task_repo: Repo):
    """A note gets the next number of its task, in the documented file."""
    add(task_repo)
    result = task_repo.ok("note", "add", "--description", "d", "--context", "c", "--category", "bug", **WORKER)
    assert result.out == "note_002 is open\n"
    path = task_repo.task_folder("010") / "completion_drive/session_current.json"
    session = json.loads(path.read_text())
    assert session["task_id"].startswith("add_login_")
    assert [note["note_id"] for note in session["notes"]] == ["note_001", "note_002"]
    assert session["notes"][1]["category"] == "bug"
    task_repo.ok("validate", str(path))


@pytest.mark.parametrize("settle", ["nothing", "escalate", "resolve"])
def test_an_open_note_blocks_the_hand_in(task_repo: Repo, settle: str):
    """A task with an open or escalated note cannot be handed in; with a resolved one it can."""
    add(task_repo)
    if settle == "escalate":
        task_repo.ok("note", "escalate", "1", "--reason", "not mine", "--task", "010")
    if settle == "resolve":
        task_repo.ok("note", "resolve", "1", "--resolution", "it is", "--task", "010")
    result = task_repo.sow("task", "set", "--id", "010", "status", "needs_review")
    assert result.code == (0 if settle == "resolve" else 2)
    assert ("task 010 has open notes: note_001" in result.err) is (settle != "resolve")


def test_an_open_note_blocks_the_approval(task_repo: Repo):
    """A note that is added during the review blocks the approval as well."""
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    add(task_repo)
    result = task_repo.sow("approve", "010")
    assert result.code == 2
    assert "open notes: note_001" in result.err
    assert 'sow note resolve note_001 --task 010 --resolution "…"' in result.err
    task_repo.ok("note", "resolve", "note_001", "--task", "010", "--resolution", "it is")
    task_repo.ok("approve", "010")


@pytest.mark.parametrize(
    ("marks", "by"),
    [({}, "user"), ({"SOW_AGENT": "orchestrator"}, "workflow_executor"), (WORKER, "agent_self")],
)
def test_a_note_records_who_resolved_it(task_repo: Repo, marks: dict[str, str], by: str):
    """A note says whether a person, the orchestrator or its own agent resolved it."""
    add(task_repo, "detail")
    result = task_repo.ok("note", "resolve", "note_001", "--resolution", "it is", "--task", "010", **marks)
    assert result.out == f"note_001 is resolved by {by}\n"
    (note,) = notes(task_repo)
    assert (note["status"], note["resolution"], note["resolved_by"]) == ("resolved", "it is", by)
    assert note["resolution_timestamp"] >= note["timestamp"]


@pytest.mark.parametrize("number", ["1", "001", "note_001", "note_1"])
def test_a_note_number_has_three_forms(task_repo: Repo, number: str):
    """1, 001 and note_001 are the same note."""
    add(task_repo)
    task_repo.ok("note", "resolve", number, "--resolution", "yes", "--task", "010")


def test_an_escalated_note_is_a_question(task_repo: Repo):
    """Escalating gives the task a number in the inbox, and says how to end the turn."""
    add(task_repo)
    result = task_repo.ok("note", "escalate", "1", "--reason", "only the owner knows", **WORKER)
    assert "sow task set --id 010 status paused" in result.out
    (item,) = task_repo.ok("inbox", "--json").json["items"]
    assert (item["number"], item["kind"], item["task"], item["text"]) == (1, "question", "010", "is it unique?")


@pytest.mark.parametrize(
    ("first", "second"),
    [("resolve", "resolve"), ("resolve", "escalate"), ("escalate", "escalate")],
)
def test_a_settled_note_cannot_be_settled_again(task_repo: Repo, first: str, second: str):
    """A note is resolved once and escalated once."""
    add(task_repo)
    text = {"resolve": ("--resolution", "x"), "escalate": ("--reason", "x")}
    task_repo.ok("note", first, "1", *text[first], "--task", "010")
    before = task_repo.snapshot()
    assert task_repo.sow("note", second, "1", *text[second], "--task", "010").code == 2
    assert task_repo.snapshot() == before


def test_the_list_shows_status_and_resolution(task_repo: Repo):
    """A person reads each note with its status, its context and how it was settled."""
    assert task_repo.ok("note", "list", "--task", "010").out == "no notes\n"
    add(task_repo, "requirements")
    task_repo.ok("note", "escalate", "1", "--reason", "ask the owner", "--task", "010")
    assert task_repo.ok("note", "list", "--task", "010").out == (
        "note_001  [escalated, requirements]  is it unique?\n  while: the store\n  → ask the owner\n"
    )
    assert task_repo.ok("note", "list", "--task", "010", "--json").json["unresolved"] == 1


def test_an_ended_task_takes_no_notes(task_repo: Repo):
    """A note on an abandoned task is refused."""
    task_repo.ok("task", "abandon", "010", "--reason", "no")
    result = task_repo.sow("note", "add", "--task", "010", "--description", "d", "--context", "c")
    assert result.code == 2
    assert "task 010 is abandoned" in result.err


@pytest.mark.parametrize("content", ["{", "[]", '{"notes": []}', '{"a": 1, "a": 2}'])
def test_unreadable_notes_block_the_hand_in(task_repo: Repo, content: str):
    """A task whose notes cannot be read is not handed in, and the file is named."""
    add(task_repo)
    path = task_repo.task_folder("010") / "completion_drive/session_current.json"
    path.write_text(content)
    result = task_repo.sow("task", "set", "--id", "010", "status", "needs_review")
    assert result.code == 2
    assert "session_current.json" in result.err
    assert path.read_text() == content


def test_a_worker_may_not_resolve_a_security_note(task_repo: Repo):
    """An agent cannot resolve its own note about security, and the error says how to escalate it."""
    add(task_repo, "security")
    result = task_repo.sow("note", "resolve", "1", "--resolution", "my way", **WORKER)
    assert result.code == 2
    assert "note_001 is a matter of security: its own agent may not resolve it" in result.err
    assert "sow note escalate 1" in result.err


def test_resolving_the_last_escalated_note_answers_the_question(task_repo: Repo) -> None:
    """A person who resolves the escalated note has answered it, and the inbox is empty."""
    task_repo.ok("note", "add", "--task", "010", "--description", "Is it unique?", "--context", "the store")
    task_repo.ok("note", "escalate", "1", "--task", "010", "--reason", "unknown")
    assert [item["kind"] for item in task_repo.ok("inbox", "--json").json["items"]] == ["question"]
    task_repo.ok("note", "resolve", "1", "--task", "010", "--resolution", "Yes")
    assert task_repo.ok("inbox", "--json").json["items"] == []
    assert task_repo.task("010")["questions"][0]["answer"] == "Yes"
