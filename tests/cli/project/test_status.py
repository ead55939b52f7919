"""sow status: one page that needs no earlier knowledge of the project."""

from __future__ import annotations

import pytest
from conftest import Repo


def finish(repo: Repo, task: str) -> None:
    for status in ("in_progress", "needs_review", "completed"):
        repo.ok("task", "set", "--id", task, "status", status)


def test_without_a_project(bare_repo: Repo):
    """On a branch without a project the status says so, and how to start one; main may have none (B6)."""
    bare_repo.ok("init")
    shown = bare_repo.ok("status").out
    assert "no project on branch main" in shown
    command = 'git switch -c feature/NAME && sow init --project "NAME"'
    assert shown.endswith(f": {command}\n")
    assert (
        f"hint: begin with a plan: sow run PLAN; or without one: {command}\n"
        in bare_repo.sow("task", "create", "--name", "One").err
    )
    bare_repo.git("switch", "-q", "-c", "feat/x")
    assert bare_repo.ok("status").out.endswith(': sow init --project "NAME"\n')
    bare_repo.git("switch", "-q", "main")
    document = bare_repo.ok("status", "--json").json
    assert (document["project"], document["branch"]) == (None, "main")


def test_without_the_folder(bare_repo: Repo):
    """In a repository that has never seen sow, the hint is to init."""
    result = bare_repo.sow("status")
    assert result.code == 2
    assert "sow init" in result.err


def test_the_page_is_complete(task_repo: Repo):
    """Phases, counts, tasks, open questions, memories, the latest actions and the next step are on one page."""
    task_repo.ok("task", "create", "--name", "Second", "--depends-on", "010")
    task_repo.ok("task", "set", "--id", "010", "status", "paused", "--reason", "Which\nkey?".replace("\n", " "))
    task_repo.ok("project", "remember", "We use RS256")
    shown = task_repo.ok("status").out
    for fact in (
        "Add authentication on branch feat/auth",
        "phases: ● implementation",
        "1 paused, 1 pending",
        "ID   STATUS   PHASE           ROLE         NAME",
        "010  paused   implementation  implementer  Add login",
        'question 1 of task 010: Which key?  →  sow answer 1 "…"',
        "We use RS256",
        "ada: started project Add authentication on feat/auth",
        "ada, task create: task 020 in implementation: Second",
    ):
        assert fact in shown, fact
    assert shown.endswith('\nNext\n  sow answer 1 "…"\n')  # what it answers is above


def test_the_json_document_has_the_same_facts(task_repo: Repo):
    """The JSON document has the same facts under stable names."""
    document = task_repo.ok("status", "--json").json
    assert set(document) == {
        "project", "root", "workflow", "phases", "counts", "tasks", "broken", "inbox", "left", "idle", "memories",
        "log", "next",
    }  # fmt: skip
    assert document["counts"] == {"in_progress": 1}
    assert document["tasks"][0]["phase"] == "implementation"
    assert document["root"] == str(task_repo.root)


def test_the_next_step_leads_through_a_project(repo: Repo):
    """Following the next steps of the status completes a project."""
    seen = []
    for _ in range(9):
        step = repo.ok("status", "--json").json["next"]["command"]
        seen.append(step)
        if step == "sow cleanup":
            break
        arguments = {
            'sow task create --name "…" --agent implementer': ("task", "create", "--name", "Only"),
        }.get(step, tuple(step.split()[1:]))
        repo.ok(*arguments, SOW_AGENTS_IMPLEMENTER="simulated")
    assert seen == [
        'sow task create --name "…" --agent implementer',
        "sow agent spawn implementer 010",
        "sow approve 010",
        "sow cleanup",
    ]
    repo.ok("cleanup")


def test_a_high_priority_comes_first(repo: Repo):
    """Of two ready tasks, the one with the higher priority is proposed."""
    repo.ok("task", "create", "--name", "Later")
    repo.ok("task", "create", "--name", "Now", "--priority", "high")
    assert repo.ok("status", "--json").json["next"]["command"] == "sow agent spawn implementer 020"


def test_a_broken_task_is_shown(task_repo: Repo):
    """A task that cannot be read is shown as broken, and the others are listed as usual."""
    task_repo.ok("task", "create", "--name", "Second")
    (task_repo.task_folder("010") / "state.yaml").write_text("schema_version: 1\n")
    document = task_repo.ok("status", "--json").json
    assert list(document["broken"]) == ["010"]
    assert [task["id"] for task in document["tasks"]] == ["020"]
    assert "broken" in task_repo.ok("status").out


def test_many_tasks_are_shortened(repo: Repo):
    """With more than fifty tasks the finished ones are only in the list."""
    state = None
    for number in range(1, 56):
        ident = f"{number * 10:03d}"
        if state is None:
            repo.ok("task", "create", "--name", "Task 010")
            finish(repo, ident)
            state = (repo.task_folder(ident) / "state.yaml").read_text()
            continue
        repo.task_folder(ident).mkdir()
        (repo.task_folder(ident) / "state.yaml").write_text(state.replace('"010"', f'"{ident}"'))
    repo.ok("task", "create", "--name", "Still to do")
    shown = repo.ok("status").out
    assert "55 completed, 1 pending" in shown
    assert "  560  pending" in shown
    assert "  010  completed" not in shown


@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("task", "list"), ("inbox",), ("doctor",)])
def test_reading_changes_nothing(task_repo: Repo, words: tuple[str, ...]):
    """A command that reads leaves every byte as it was."""
    (task_repo.task_folder("010") / "state.yaml").write_text("broken\n")
    before = task_repo.snapshot()
    task_repo.sow(*words)
    assert task_repo.snapshot() == before


def test_the_next_step_after_an_import_is_the_run(repo: Repo):
    """The next step is the run of the plan, with a path that works in the current folder."""
    (repo.root / "docs").mkdir()
    (repo.root / "docs/plan.md").write_text("# Steps\n\n## Task 1: One\n\nDo it.\n")
    repo.ok("plan", "import", "docs/plan.md", "--yes")
    assert repo.ok("status", "--json").json["next"] == {"text": "run the plan", "command": "sow run docs/plan.md"}
    below = repo.ok("status", "--json", cwd=repo.root / "docs").json["next"]["command"]
    assert below == "sow run plan.md"
