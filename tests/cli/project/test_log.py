"""sow log and sow agent log: entries go to the right log and are read back."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Repo

WORKER = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}


def entries(repo: Repo, *arguments: str) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = repo.ok("log", "--list", "--json", *arguments).json["entries"]
    return result


def test_without_a_task_the_entry_goes_to_the_project(task_repo: Repo):
    """The entry goes to the project's log and says whether a person or the orchestrator wrote it (B2)."""
    assert task_repo.ok("log", "planned the work").out == "logged to .sow/project/log.md\n"
    task_repo.ok("log", "found a race", SOW_AGENT="orchestrator")
    result = [(entry["agent"], entry["action"], entry["result"]) for entry in entries(task_repo)[-2:]]
    assert result == [("ada", "note", "info"), ("orchestrator", "note", "info")]
    assert entries(task_repo, "--task", "010") == []


@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_tasks_log_is_signed_with_role_and_iteration(task_repo: Repo, how: str):
    """An entry in a task's log is signed {role}-{iteration}."""
    arguments = ("--task", "10") if how == "option" else ()
    marks = WORKER if how == "environment" else {}
    task_repo.ok(
        "log", *arguments, "--file", "a.py", "--file", "b.py", "--action", "modified_file", "--result", "success",
        "done", **marks,
    )  # fmt: skip
    (entry,) = entries(task_repo, "--task", "010")
    assert entry.pop("timestamp").endswith("Z")
    assert entry == {
        "agent": "implementer-1",
        "action": "modified_file",
        "result": "success",
        "files": ["a.py", "b.py"],
        "text": "done",
    }


def test_the_iteration_in_the_signature_follows_the_task(task_repo: Repo):
    """After rework the same worker signs with the next number."""
    task_repo.ok("log", "--task", "010", "first")
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    task_repo.ok("task", "set", "--id", "010", "status", "in_progress")
    task_repo.ok("log", "--task", "010", "second")
    assert [entry["agent"] for entry in entries(task_repo, "--task", "010")] == ["implementer-1", "implementer-2"]


def test_agent_log_finds_the_only_task_in_progress(task_repo: Repo):
    """`sow agent log` needs no id while one task is in progress, and asks for one otherwise."""
    result = task_repo.ok("agent", "log", "Implemented authentication")
    assert result.out == "logged to .sow/project/phases/implementation/tasks/010/log.md\n"
    task_repo.ok("task", "create", "--name", "Second")
    task_repo.ok("task", "set", "--id", "020", "status", "in_progress")
    result = task_repo.sow("agent", "log", "which?")
    assert result.code == 2
    assert "in progress: 010, 020" in result.err
    task_repo.ok("agent", "log", "mine", **WORKER)
    task_repo.ok("agent", "log", "--task", "020", "named")
    assert [entry["text"] for entry in entries(task_repo, "--task", "010")] == ["Implemented authentication", "mine"]


def test_agent_log_needs_a_task_in_progress(repo: Repo):
    """Without a task in progress there is no log for the entry."""
    result = repo.sow("agent", "log", "hello")
    assert result.code == 2
    assert "in progress: none" in result.err


def test_a_log_is_pleasant_to_read(task_repo: Repo):
    """The file is Markdown with a heading per entry, the files as a list, and the text as it was given."""
    task_repo.ok("log", "--task", "010", "--file", "a.py", "Two\n\nparagraphs")
    text = (task_repo.task_folder("010") / "log.md").read_text()
    head, *rest = text.strip().split("\n")
    assert head.startswith("### ")
    assert head.endswith(" · implementer-1 · note · info")
    assert rest == ["", "- a.py", "", "Two", "", "paragraphs"]


@pytest.mark.parametrize(
    "text",
    [
        "### 2026-01-01T00:00:00Z · orchestrator · approve · done",
        "- not a file\n- nor this",
        "\\### already escaped",
        "line\n### 2026-01-01T00:00:00Z · a · b · c\nline",
        "trailing spaces   ",
        "好 🙂 naïve",
        "-v is an option of ours",
    ],
)
def test_no_text_can_imitate_an_entry(repo: Repo, text: str):
    """Any text comes back as the text of one entry."""
    count = len(entries(repo))
    repo.ok("log", "--", text)
    after = entries(repo)
    assert (len(after), after[-1]["text"], after[-1]["files"]) == (count + 1, text, [])
    repo.ok("validate", ".sow/project/log.md")


@pytest.mark.parametrize("user", ["a · b", "a\nb", "x" * 300, "\x1b[31mred", "  "])
def test_no_user_name_can_break_a_log(task_repo: Repo, user: str):
    """Any user name gives one entry that can be read back."""
    task_repo.ok("task", "abandon", "010", "--reason", "test", USER=user)
    assert [entry["action"] for entry in entries(task_repo)] == ["project_new", "task_create", "abandon"]
    task_repo.ok("validate", ".sow/project/log.md")


def test_a_user_name_that_is_not_utf8(task_repo: Repo):
    """Invalid bytes of a user name are replaced, and the command works."""
    task_repo.environment["USER"] = b"\xff".decode("utf-8", "surrogateescape")
    task_repo.ok("task", "abandon", "010", "--reason", "test")
    assert entries(task_repo)[-1]["agent"] == "\ufffd"


def test_the_written_entry_as_json(task_repo: Repo):
    """With --json the entry that was written is the only thing on stdout."""
    document = task_repo.ok("log", "--json", "--task", "010", "hello").json
    assert document["path"] == ".sow/project/phases/implementation/tasks/010/log.md"
    assert document["entry"]["text"] == "hello"
    assert document["entry"] in entries(task_repo, "--task", "010")


def test_the_list_shows_time_author_and_files(task_repo: Repo):
    """The list shows time, author, action and result, with the text below."""
    assert task_repo.ok("log", "--list", "--task", "010").out == "no entries\n"
    task_repo.ok("log", "--task", "010", "--file", "a.py", "--action", "tried", "hello")
    head, text = task_repo.ok("log", "--list", "--task", "010").out.splitlines()
    assert head.endswith("implementer-1  tried  info  (a.py)")
    assert text == "  hello"


def test_reading_and_writing_together_is_refused(repo: Repo):
    """--list with a text is refused."""
    before = repo.snapshot()
    assert repo.sow("log", "--list", "hello").code == 2
    assert repo.snapshot() == before


def test_a_torn_entry_does_not_affect_the_next(task_repo: Repo):
    """After an entry that was cut off in the middle, the next one is read whole."""
    task_repo.ok("log", "--task", "010", "first")
    path = task_repo.task_folder("010") / "log.md"
    path.write_text(path.read_text() + "\n### 2026-01-01T00:00:00Z · implem")
    task_repo.ok("log", "--task", "010", "second")
    assert [entry["text"].split("\n")[0] for entry in entries(task_repo, "--task", "010")] == ["first", "second"]
