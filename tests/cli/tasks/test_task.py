"""sow task: creates, shows, moves and abandons tasks."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from conftest import SOW, Repo
from support.simulated_workers import WorkerRepo

from sow.store.files.checkout_home import find


def test_create_applies_the_defaults(repo: Repo):
    """A task with only a name is pending, in iteration 1, for an implementer, in the active phase."""
    result = repo.ok("task", "create", "--name", "Add login")
    assert result.out == "created task 010 in phase implementation: .sow/project/phases/implementation/tasks/010\n"
    task = repo.task("010")
    expected = {
        "id": "010",
        "name": "Add login",
        "status": "pending",
        "assigned_agent": "implementer",
        "iteration": 1,
        "priority": "medium",
        "depends_on": [],
        "criteria": [],
        "references": [],
        "questions": [],
        "phase": "implementation",
        "agent_id": "implementer-1",
        "description": "# Add login\n\nAdd login\n",
    }
    assert {key: task[key] for key in expected} == expected
    assert task["created_at"] == task["updated_at"]
    repo.ok("validate", "phases/implementation/tasks/010/state.yaml")


def test_create_stores_every_option(repo: Repo):
    """Every option of create is in the state or the description."""
    repo.ok("task", "create", "--name", "First")
    result = repo.ok(
        "task", "create", "--name", "Second", "--agent", "architect", "--description", "Think first.",
        "--criterion", "it is short", "--criterion", "it is true", "--reference", "docs/a.md", "--depends-on", "10",
        "--priority", "high", "--json",
    )  # fmt: skip
    assert result.json["id"] == "020"
    assert result.json["path"] == ".sow/project/phases/implementation/tasks/020"
    task = repo.task("020")
    assert (task["assigned_agent"], task["priority"], task["depends_on"]) == ("architect", "high", ["010"])
    assert task["references"] == ["docs/a.md"]
    assert task["description"] == (
        "# Second\n\nThink first.\n\n## Acceptance criteria\n\n- it is short\n- it is true\n"
    )


@pytest.mark.parametrize(
    ("given", "stdin", "described"),
    [
        ("In words.", b"", "# T\n\nIn words.\n"),
        ("@task.md", b"", "# Own title\n\nFrom a file.\n"),
        ("-", b"From a pipe.\n", "# T\n\nFrom a pipe.\n"),
    ],
)
def test_a_description_can_be_a_file_or_stdin(repo: Repo, given: str, stdin: bytes, described: str):
    """A description is a text, a file or stdin, and may have its own title."""
    (repo.root / "task.md").write_text("# Own title\n\nFrom a file.\n")
    repo.ok("task", "create", "--name", "T", "--description", given, stdin=stdin)
    assert (repo.task_folder("010") / "description.md").read_text() == described


def test_add_is_create(repo: Repo):
    """`task add` does what `task create` does."""
    repo.ok("task", "add", "--name", "Same")
    assert repo.task("010")["name"] == "Same"


def test_ids_have_gaps(repo: Repo):
    """New tasks get the next ten, --after the next free id behind it, and a full gap is refused."""
    for _ in range(2):
        repo.ok("task", "create", "--name", "x")
    ids = [repo.ok("task", "create", "--name", "x", "--after", "010", "--json").json["id"] for _ in range(9)]
    assert ids == [f"01{digit}" for digit in range(1, 10)]
    result = repo.sow("task", "create", "--name", "x", "--after", "010")
    assert result.code == 2
    assert "no id is free between 010 and 020" in result.err
    assert repo.ok("task", "create", "--name", "x", "--json").json["id"] == "030"


def test_a_task_goes_to_the_named_phase(repo: Repo):
    """A unique prefix of the phase is enough, and `implement` means `implementation`."""
    repo.ok("phase", "add", "discovery", "--reason", "look", "--yes")
    repo.ok("task", "create", "--name", "a", "--phase", "disc")
    repo.ok("task", "create", "--name", "b", "--phase", "implement")
    assert [repo.task(name)["phase"] for name in ("010", "020")] == ["discovery", "implementation"]


def test_a_refused_task_leaves_no_folder(repo: Repo):
    """A task that cannot be created leaves no file behind."""
    before = repo.snapshot()
    assert repo.sow("task", "create", "--name", "x", "--depends-on", "990").code == 2
    assert repo.snapshot() == before
    assert list((repo.project / "phases/implementation/tasks").iterdir()) == []


def test_the_list_can_be_filtered(task_repo: Repo):
    """The list shows every task with its agent and its dependencies, and has filters."""
    task_repo.ok("task", "create", "--name", "Second", "--depends-on", "010")
    rows = [line.split() for line in task_repo.ok("task", "list").out.splitlines()]
    assert rows[0] == ["ID", "STATUS", "PHASE", "ROLE", "DEPENDS", "ON", "NAME"]
    assert rows[2] == ["020", "pending", "implementation", "implementer", "010", "Second"]
    for arguments, ids in (
        ((), ["010", "020"]),
        (("--status", "pending"), ["020"]),
        (("--status", "failed"), []),
        (("--phase", "imp"), ["010", "020"]),
    ):
        document = task_repo.ok("task", "list", "--json", *arguments).json
        assert ([task["id"] for task in document["tasks"]], document["broken"]) == (ids, {})
    assert task_repo.ok("task", "list", "--status", "failed").out == "no tasks\n"


def test_a_broken_task_is_listed_as_broken(task_repo: Repo):
    """A task that cannot be read is listed with its problem, beside the others."""
    task_repo.ok("task", "create", "--name", "Second")
    (task_repo.task_folder("010") / "state.yaml").write_text("nonsense\n")
    document = task_repo.ok("task", "list", "--json").json
    assert [task["id"] for task in document["tasks"]] == ["020"]
    assert "state.yaml" in document["broken"]["010"]
    assert "broken" in task_repo.ok("task", "list").out


def test_show_prints_everything_about_a_task(task_repo: Repo):
    """Facts, description, feedback, notes, answers, log and the next step."""
    task_repo.ok("log", "--task", "010", "--file", "a.py", "--action", "tried", "--result", "failed", "first try")
    task_repo.ok("note", "add", "--task", "010", "--description", "which key?", "--context", "signing")
    task_repo.ok("note", "escalate", "1", "--task", "010", "--reason", "not mine to say")
    task_repo.ok("task", "set", "--id", "010", "status", "paused")
    asked = task_repo.ok("task", "show", "010").out
    assert "1. which key?" in asked
    assert 'answer: sow answer 1 "…"' in asked
    task_repo.ok("answer", "1", "the public one")
    shown = task_repo.ok("task", "show", "010").out
    for fact in (
        "Task 010: Add login",
        "in_progress, iteration 2",
        "agent     implementer\n",
        str(task_repo.task_folder("010")),
        "# Add login",
        "[001, by ada, on iteration 1]\nthe public one",
        "note_001 [resolved] which key? → the public one",
        "1. which key?\n   → the public one",
        "implementer, iteration 1, tried, failed: first try (a.py)",
        "start a worker on it: sow agent spawn implementer 010",
    ):
        assert fact in shown, fact


def test_the_usage_has_the_everyday_form(task_repo: Repo):
    """The usage of `task set` names the task first, as its examples and all hints do."""
    assert "Usage: sow task set [ID] FIELD VALUE [--reason TEXT]" in task_repo.ok("task", "set", "--help").out
    task_repo.ok("task", "set", "010", "priority", "high")
    assert task_repo.task("010")["priority"] == "high"


def test_the_default_of_show_is_the_workers_task(task_repo: Repo):
    """A worker asks for its own task with no words at all."""
    assert task_repo.ok("task", "show", "--json", SOW_TASK="010", SOW_AGENT="implementer").json["id"] == "010"
    assert task_repo.sow("task", "show").code == 2


@pytest.mark.parametrize("ident", ["10", "010"])
def test_an_id_may_lack_its_zeros(task_repo: Repo, ident: str):
    """`10` means 010."""
    assert task_repo.ok("task", "show", ident, "--json").json["id"] == "010"


def test_a_task_through_review_rework_and_approval(repo: Repo):
    """Iteration and timestamps follow, and the approval has the person and the time."""
    repo.ok("task", "create", "--name", "Long")
    repo.ok("task", "set", "--id", "010", "status", "in_progress")
    assert "started_at" in repo.task("010")
    for status, iteration in (
        ("failed", 1),
        ("in_progress", 2),
        ("needs_review", 2),
        ("in_progress", 3),
        ("needs_review", 3),
    ):
        result = repo.ok("task", "set", "--id", "010", "status", status)
        assert result.out == f"task 010: status is {status}\n"
        assert repo.task("010")["iteration"] == iteration
    repo.ok("approve", "010")
    task = repo.task("010")
    assert task["status"] == "completed"
    assert (task["approval"]["by"], task["approval"]["iteration"]) == ("ada", 3)
    assert task["approval"]["at"] == task["completed_at"]
    assert repo.state("010").count("revision: 8\n") == 1


def test_completed_equals_approve(task_repo: Repo):
    """`task set … status completed` records the same approval as `sow approve`."""
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    task_repo.ok("task", "set", "--id", "010", "status", "completed", SOW_AGENT="orchestrator")
    approval = task_repo.task("010")["approval"]
    assert (approval["by"], approval["iteration"]) == ("orchestrator", 1)
    log = task_repo.ok("log", "--list", "--json").json["entries"][-1]
    assert (log["agent"], log["action"]) == ("orchestrator", "approve")


@pytest.mark.parametrize(("status", "kept"), [("completed", False), ("in_progress", True)])
def test_the_session_ends_with_the_task(task_repo: Repo, status: str, kept: bool):
    """The session id is kept through a review and cleared when the task is completed."""
    path = task_repo.task_folder("010") / "state.yaml"
    session = "  session_id: 0b0e1b2c-1111-4222-8333-444455556666\n"
    path.write_text(path.read_text() + session)
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    assert "session_id" in task_repo.task("010")
    task_repo.ok("task", "set", "--id", "010", "status", status)
    assert ("session_id" in task_repo.task("010")) is kept


def test_a_pause_stores_the_question(task_repo: Repo):
    """The reason of a pause is the question, and its number is printed."""
    result = task_repo.ok("task", "set", "--id", "010", "status", "paused", "--reason", "Which colour?")
    assert result.out == "task 010: status is paused (question 1)\n"
    assert task_repo.task("010")["question"]["text"] == "Which colour?"


def test_a_paused_task_needs_an_answer(task_repo: Repo):
    """A paused task cannot start again before its question is answered."""
    task_repo.ok("task", "set", "--id", "010", "status", "paused", "--reason", "Which colour?")
    result = task_repo.sow("task", "set", "--id", "010", "status", "in_progress")
    assert result.code == 2
    assert "sow answer 1" in result.err


def test_dependencies_are_enforced(repo: Repo):
    """A task can start only when its dependencies are completed."""
    repo.ok("task", "create", "--name", "First")
    repo.ok("task", "create", "--name", "Second", "--depends-on", "010")
    result = repo.sow("task", "set", "--id", "020", "status", "in_progress")
    assert result.code == 2
    assert "task 020 waits for 010 (pending)" in result.err
    for status in ("in_progress", "needs_review", "completed"):
        repo.ok("task", "set", "--id", "010", "status", status)
    repo.ok("task", "set", "--id", "020", "status", "in_progress")


@pytest.mark.parametrize(
    ("field", "value", "stored"),
    [
        ("name", "  Better name ", "Better name"),
        ("agent", "architect", "architect"),
        ("assigned_agent", "quality-control", "quality-control"),
        ("priority", "low", "low"),
        ("depends_on", "020, 30", ["020", "030"]),
        ("depends_on", "", []),
    ],
)
def test_other_fields_can_be_set(task_repo: Repo, field: str, value: str, stored: object):
    """Name, agent, priority and dependencies of a task can be changed."""
    for name in ("Second", "Third"):
        task_repo.ok("task", "create", "--name", name)
    task_repo.ok("task", "set", "--id", "010", field, value)
    assert task_repo.task("010")["assigned_agent" if field == "agent" else field] == stored


def test_a_circle_of_dependencies_is_refused(task_repo: Repo):
    """A task cannot depend on itself, directly or not, and the error shows the circle."""
    task_repo.ok("task", "create", "--name", "Second", "--depends-on", "010")
    task_repo.ok("task", "create", "--name", "Third", "--depends-on", "020")
    result = task_repo.sow("task", "set", "--id", "010", "depends_on", "030")
    assert result.code == 2
    assert "010 → 030 → 020 → 010" in result.err


def test_an_abandoned_task_is_kept(task_repo: Repo):
    """The folder of an abandoned task stays with the reason, and the task cannot be reopened."""
    before = {path.name for path in task_repo.task_folder("010").iterdir()}
    task_repo.ok("task", "abandon", "010", "--reason", "wrong way")
    task = task_repo.task("010")
    assert (task["status"], task["abandoned_reason"]) == ("abandoned", "wrong way")
    assert {path.name for path in task_repo.task_folder("010").iterdir()} == before
    assert task_repo.sow("task", "set", "--id", "010", "status", "in_progress").code == 2
    assert task_repo.ok("task", "create", "--name", "Next", "--json").json["id"] == "020"


def test_there_is_no_command_to_delete_a_task(repo: Repo):
    """Tasks are abandoned, not deleted: there is no such command."""
    for word in ("delete", "remove", "rm"):
        result = repo.sow("task", word, "010")
        assert result.code == 2
        assert f"unknown command: sow task {word}" in result.err


def test_a_broken_state_file_is_set_aside(task_repo: Repo):
    """The next move starts from the last good state, and a warning names the path of the broken file."""
    (task_repo.task_folder("010") / "state.yaml").write_text("task: {id: 010, status: completed\n")
    result = task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    assert result.err.startswith("warning: .sow/project/phases/implementation/tasks/010/state.yaml")
    assert "the last good state is back" in result.err
    assert task_repo.task("010")["status"] == "needs_review"
    aside = [path for path in task_repo.task_folder("010").iterdir() if path.name.startswith("state.broken-")]
    assert aside[0].read_text() == "task: {id: 010, status: completed\n"


@pytest.mark.parametrize(
    "words",
    [
        ("task", "set", "--id", "010", "status", "failed"),
        ("note", "add", "--task", "010", "--description", "d", "--context", "c"),
    ],
    ids=" ".join,
)
def test_a_second_writer_waits(task_repo: Repo, words: tuple[str, ...]):
    """While another process holds the lock, a change waits, and nothing is written."""
    before = task_repo.snapshot()
    home = find(option=str(task_repo.root), environment={}, cwd="/")
    with home.lock():
        waiting = subprocess.Popen([SOW, *words], cwd=task_repo.root, env=task_repo.environment)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(1.5)
        assert task_repo.snapshot() == before
    assert waiting.wait(300) == 0
    assert task_repo.snapshot() != before


def test_a_reason_is_in_the_tasks_log(task_repo: Repo) -> None:
    """The reason of a failed worker is in the log of its task, signed by the worker."""
    task_repo.ok("task", "set", "--id", "010", "status", "failed", "--reason", "The API is gone")
    (entry,) = task_repo.task("010")["log"]
    assert (entry["agent"], entry["action"], entry["text"]) == ("implementer-1", "fail", "The API is gone")


def test_a_blocked_task_names_its_dependency(task_repo: Repo) -> None:
    """The next step of a blocked task is not a start that would be refused."""
    task_repo.ok("task", "create", "--name", "Later", "--depends-on", "010")
    assert task_repo.task("020")["next"].startswith("task 020 waits for 010 (in_progress)")


def test_a_text_may_begin_with_an_at_sign(task_repo: Repo) -> None:
    """@@ stands for a text that begins with @, and a file may be reached through a link."""
    for text in ("@@media query fixed", "@media query fixed"):  # the second is no file, since it is several words (B21)
        task_repo.ok("log", "--task", "010", text)
        assert task_repo.task("010")["log"][-1]["text"] == "@media query fixed"
    refused = task_repo.sow("log", "@alice")
    assert refused.code == 2 and "hint: to give the text itself, double the first @: @@alice" in refused.err
    (task_repo.root / "words.txt").write_text("from a file")
    (task_repo.root / "link.txt").symlink_to("words.txt")
    task_repo.ok("log", "--task", "010", "@link.txt")
    assert task_repo.task("010")["log"][-1]["text"] == "from a file"


def test_the_size_of_stdin_is_limited(task_repo: Repo) -> None:
    """A text on standard input is bounded."""
    result = task_repo.sow("log", "--task", "010", "-", stdin=b"x" * (5 << 20))
    assert (result.code, "larger than 4 MiB" in result.err) == (2, True)


def test_allow_empty_is_stored(repo: Repo):
    """--allow-empty is stored in the task; without it the field is missing."""
    repo.ok("task", "create", "--name", "Look around", "--allow-empty")
    repo.ok("task", "create", "--name", "Add login")
    assert repo.task("010")["allow_empty"] is True
    assert "allow_empty" not in repo.task("020")


def test_criteria_references_and_tests_are_added_later(task_repo: Repo):
    """A value of these fields is added; a criterion is also in the description, which the worker reads (B10)."""
    description = task_repo.task_folder("010") / "description.md"
    before = description.read_text()
    for value in ("it is short", "it is true", "it is true"):
        task_repo.ok("task", "set", "--id", "010", "criteria", value)
    assert task_repo.task("010")["criteria"] == ["it is short", "it is true"]
    assert description.read_text() == f"{before}\n## Acceptance criteria\n\n- it is short\n- it is true\n"
    description.write_text(f"{description.read_text()}\n## Later\n\nMore.\n")
    task_repo.ok("task", "set", "--id", "010", "criterion", "it is kind")
    assert description.read_text().endswith("## Later\n\nMore.\n\n## Acceptance criteria\n\n- it is kind\n")
    for path in ("docs/a.md", "docs/b.md", "docs/a.md"):
        result = task_repo.ok("task", "set", "--id", "010", "references", path)
    assert result.out == "task 010: references is docs/a.md, docs/b.md\n"
    assert task_repo.ok("task", "set", "--id", "010", "tests", "make test").out == "task 010: tests is make test\n"
    assert task_repo.task("010")["checks"] == [{"kind": "test", "command": "make test"}]
    for field, value in (("references", "/etc/passwd"), ("criteria", " "), ("tests", "a\nb")):
        assert task_repo.sow("task", "set", "--id", "010", field, value).code == 2


def test_create_records_test_commands(repo: Repo):
    """Each --test is a check of the task, in order, and a worker sees it (A1)."""
    repo.ok("task", "create", "--name", "T", "--test", "pytest -q", "--test", "ruff check", "--test", "pytest -q")
    task = repo.task("010")
    assert task["checks"] == [{"kind": "test", "command": "pytest -q"}, {"kind": "test", "command": "ruff check"}]
    assert "Checks\nmust pass: pytest -q\nmust pass: ruff check\n" in repo.ok("task", "show", "010").out
    assert repo.ok("consent", "list", "--json").json == {"consents": []}
    assert repo.sow("task", "create", "--name", "T", "--test", "").code == 2


def test_a_typed_test_command_has_consent(repo: Repo, on_terminal: Callable[..., Any]):
    """A test command that a person types on a terminal has consent (A1)."""
    code, shown = on_terminal(repo, "task", "create", "--name", "T", "--test", "./check.sh").end()
    assert code == 0, shown
    assert [consent["command"] for consent in repo.ok("consent", "list", "--json").json["consents"]] == ["./check.sh"]


@pytest.mark.parametrize(
    "words", [("create", "--name", "T", "--agent", "implmenter"), ("set", "--id", "010", "agent", "implmenter")]
)
def test_an_unknown_role_is_refused_with_the_nearest_name(task_repo: Repo, words: tuple[str, ...]):
    """A role that does not exist is refused when it is named, not later when it is spawned (B16)."""
    before = task_repo.snapshot()
    result = task_repo.sow("task", *words)
    assert (result.code, task_repo.snapshot()) == (2, before)
    assert "unknown agent: implmenter" in result.err and "implementer" in result.err.partition("implmenter")[2]


def test_the_next_step_of_a_task_starts_or_resumes_its_worker(worker: WorkerRepo) -> None:
    """The next step of a person is spawn or resume, that of the worker its own work (A12)."""
    repo = worker.repo
    assert repo.task("010")["next"] == "start a worker on it: sow agent spawn implementer 010"
    assert repo.ok("status", "--json").json["next"]["command"] == "sow agent spawn implementer 010"
    worker.scenario([{"run": ["sh", "-c", "sow task show 010 --json > shown.json"]}, {"status": "failed"}])
    worker.spawn()
    assert "do the work, log it" in (repo.root / "shown.json").read_text()
    assert repo.task("010")["status"] == "failed"
    assert repo.task("010")["next"] == 'resume its worker: sow agent resume 010 "Continue"'
