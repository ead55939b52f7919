"""sow phase: phases are ordered, added with approval, and never skipped."""

from __future__ import annotations

import pytest
from conftest import Repo


@pytest.fixture
def staged(repo: Repo) -> Repo:
    """A project with the phases design, build and test."""
    repo.ok("project", "delete")
    repo.ok("project", "new", "Shop", "--phase", "design", "--phase", "build", "--phase", "test")
    return repo


def stages(repo: Repo) -> list[tuple[str, str]]:
    return [(phase["name"], phase["status"]) for phase in repo.ok("phase", "list", "--json").json["phases"]]


def finish(repo: Repo, task: str) -> None:
    for status in ("in_progress", "needs_review", "completed"):
        repo.ok("task", "set", "--id", task, "status", status)


def test_list_counts_the_tasks(staged: Repo):
    """Each phase is shown with its status, its tasks and those that are done."""
    staged.ok("task", "create", "--name", "Draw", "--phase", "design")
    staged.ok("task", "create", "--name", "Write", "--phase", "build")
    finish(staged, "010")
    rows = [line.split() for line in staged.ok("phase", "list").out.splitlines()]
    assert rows == [
        ["PHASE", "STATUS", "TASKS", "DONE"],
        ["design", "active", "1", "1"],
        ["build", "pending", "1", "0"],
        ["test", "pending", "0", "0"],
    ]
    phases = staged.ok("phase", "list", "--json").json["phases"][0]
    assert (phases["tasks"], phases["completed"], phases["abandoned"]) == (1, 1, 0)


def test_advance_to_the_end_and_back(staged: Repo):
    """Each advance activates the next phase; at the end there is none, and `back` reopens the last one."""
    assert staged.ok("phase", "advance").out == "active phase: build\n"
    staged.ok("phase", "advance")
    assert staged.ok("phase", "advance").out == "all phases are completed\n"
    assert {status for _, status in stages(staged)} == {"completed"}
    assert staged.sow("phase", "advance").code == 2
    assert staged.ok("phase", "back").out == "active phase: test\n"
    assert staged.ok("phase", "back", "des").out == "active phase: design\n"
    assert stages(staged) == [("design", "active"), ("build", "pending"), ("test", "pending")]


def test_a_begun_phase_is_pending_after_back(staged: Repo):
    """After `phase back` a later phase waits for the active one; nothing says that it has not begun (B25)."""
    staged.ok("phase", "advance")
    staged.ok("task", "create", "--name", "Write")
    staged.ok("phase", "back")
    result = staged.sow("task", "set", "--id", "010", "status", "in_progress")
    assert result.code == 2
    assert "error: phase build waits: the active phase is design" in result.err
    assert "has not begun" not in result.err and "sow phase advance" in result.err


def test_a_new_phase_is_not_completed(staged: Repo):
    """An empty phase before the active one becomes the active one (B25)."""
    staged.ok("phase", "advance")
    assert (
        staged.ok("phase", "add", "research", "--reason", "r", "--before", "design", "--yes").out
        == "phase research is active\n"
    )


def test_advance_is_recorded(staged: Repo):
    """The project's log names who advanced the phase."""
    staged.ok("phase", "advance", SOW_AGENT="orchestrator")
    entry = staged.ok("log", "--list", "--json").json["entries"][-1]
    assert (entry["agent"], entry["action"], entry["text"]) == ("orchestrator", "phase_advance", "advanced to build")


@pytest.mark.parametrize("status", ["pending", "in_progress", "needs_review", "paused", "failed"])
def test_an_open_task_stops_the_advance(staged: Repo, status: str):
    """A phase with an open task of any status cannot be left."""
    staged.ok("task", "create", "--name", "Draw")
    if status != "pending":
        staged.ok("task", "set", "--id", "010", "status", "in_progress")
    if status not in ("pending", "in_progress"):
        staged.ok("task", "set", "--id", "010", "status", status)
    result = staged.sow("phase", "advance")
    assert result.code == 2
    assert "phase design has open tasks: 010" in result.err
    staged.ok("task", "abandon", "010", "--reason", "not needed")
    staged.ok("phase", "advance")


def test_a_broken_task_stops_the_advance(staged: Repo):
    """A task that cannot be read may be open, so its phase cannot be left."""
    staged.ok("task", "create", "--name", "Draw")
    (staged.task_folder("010", "design") / "state.yaml").write_text("task: [\n")
    result = staged.sow("phase", "advance")
    assert result.code == 2
    assert "task 010 cannot be read" in result.err


def test_no_phase_can_be_skipped(staged: Repo):
    """A task of a later phase can be planned but not started, and `back` does not lead forward."""
    staged.ok("task", "create", "--name", "Write", "--phase", "build")
    result = staged.sow("task", "set", "--id", "010", "status", "in_progress")
    assert result.code == 2
    assert "phase build waits: the active phase is design" in result.err
    staged.ok("task", "abandon", "010", "--reason", "only to go on")
    staged.ok("phase", "advance")
    result = staged.sow("phase", "back", "test")
    assert result.code == 2
    assert "is not an earlier phase" in result.err


def test_back_from_the_first_phase_is_refused(staged: Repo):
    """The first phase has none before it."""
    assert staged.sow("phase", "back").code == 2


def test_a_proposed_phase_waits_for_approval(staged: Repo):
    """A new phase is a question until a person approves it, and no task starts in it before."""
    result = staged.ok("phase", "add", "review", "--reason", "two eyes more")
    assert "proposed as question 1" in result.out
    assert ("review", "proposed") in stages(staged)
    assert staged.ok("inbox", "--json").json["items"][0]["text"] == "add phase review? two eyes more"
    staged.ok("phase", "approve", "review")
    assert stages(staged) == [("design", "active"), ("review", "pending"), ("build", "pending"), ("test", "pending")]
    assert staged.ok("inbox", "--json").json["items"] == []


def test_a_proposal_does_not_stop_an_advance(staged: Repo):
    """Advance skips a phase without approval."""
    staged.ok("phase", "add", "review", "--reason", "maybe")
    assert staged.ok("phase", "advance").out == "active phase: build\n"
    assert ("review", "proposed") in stages(staged)


@pytest.mark.parametrize(("word", "left"), [("yes", "pending"), ("no", None), ("reject", None), ("ok", "pending")])
def test_the_question_can_be_answered(staged: Repo, word: str, left: str | None):
    """A proposal is a numbered question: yes adds the phase, no removes it."""
    staged.ok("phase", "add", "review", "--reason", "why not")
    staged.ok("answer", "1", word)
    assert dict(stages(staged)).get("review") == left


def test_only_yes_or_no_answers_a_proposal(staged: Repo):
    """Other answers are refused."""
    staged.ok("phase", "add", "review", "--reason", "why not")
    result = staged.sow("answer", "1", "perhaps")
    assert result.code == 2
    assert "answer yes or no" in result.err


@pytest.mark.parametrize(
    ("place", "order"),
    [
        ((), ["design", "review", "build", "test"]),
        (("--after", "build"), ["design", "build", "review", "test"]),
        (("--before", "build"), ["design", "review", "build", "test"]),
        (("--after", "te"), ["design", "build", "test", "review"]),
        (("--before", "design"), ["review", "design", "build", "test"]),
    ],
)
def test_a_person_adds_a_phase_at_a_place(staged: Repo, place: tuple[str, ...], order: list[str]):
    """With --yes the phase is added at once at the named place; before the active one it becomes active."""
    staged.ok("phase", "add", "review", "--reason", "needed", "--yes", *place)
    assert [name for name, _ in stages(staged)] == order
    expected = "active" if order[0] == "review" else "pending"
    assert dict(stages(staged))["review"] == expected
    assert (staged.project / "phases/review/tasks").is_dir()


def test_before_and_after_together_are_refused(staged: Repo):
    """--before and --after together are refused."""
    result = staged.sow("phase", "add", "x", "--reason", "r", "--before", "build", "--after", "design")
    assert result.code == 2
    assert "more than one place" in result.err


SESSION = {"CLAUDECODE": "1", "USER": "ada"}


def test_a_phase_approved_in_a_session_starts_work(staged: Repo):
    """The orchestrator proposes, Claude Code asks the person, and a task of the new phase starts at once (B1)."""
    proposed = staged.ok("phase", "add", "discovery", "--reason", "a race", "--now", **SESSION)
    assert "proposed as question 1" in proposed.out
    refused = staged.sow("phase", "approve", "discovery", **SESSION)
    assert refused.code == 2 and "the orchestrator may not approve a phase" in refused.err
    assert "sow install claude" in refused.err
    approved = staged.ok("phase", "approve", "discovery", **SESSION, SOW_ASKS="1")
    assert approved.out == "phase discovery is approved\nactive phase: discovery\n"
    staged.ok("task", "create", "--name", "Look", "--phase", "discovery")
    staged.ok("task", "set", "--id", "010", "status", "in_progress")
    entries = [(entry["agent"], entry["action"]) for entry in staged.ok("log", "--list", "--json").json["entries"]]
    assert entries[-3:-1] == [("orchestrator", "phase_add"), ("ada", "phase_approve")]


@pytest.mark.parametrize(
    "marks", [{"SOW_ASKS": "1", "SOW_AGENT": "orchestrator"}, {"SOW_ASKS": "1", "GEMINI_CLI": "1"}]
)
def test_only_claude_code_asks_the_person(staged: Repo, marks: dict[str, str]):
    """Other CLIs do not confirm an approval with the person, so it is refused in their sessions (B2)."""
    staged.ok("phase", "add", "discovery", "--reason", "a race")
    for item in (["phase", "approve", "discovery"], ["phase", "add", "x", "--reason", "r", "--yes"]):
        result = staged.sow(*item, **marks)
        assert result.code == 2 and "the orchestrator may not" in result.err
    result = staged.sow("answer", "1", "yes", **SESSION, SOW_ASKS="1")
    assert result.code == 2 and "sow phase approve discovery" in result.err


def test_a_phase_is_moved(staged: Repo):
    """A phase gets another place, and with --now work continues there; the log says so (B1)."""
    assert staged.ok("phase", "move", "test", "--before", "build").out == "active phase: design\n"
    assert staged.ok("phase", "move", "bu", "--now").out == "active phase: build\n"
    assert stages(staged) == [("build", "active"), ("design", "pending"), ("test", "pending")]
    entry = staged.ok("log", "--list", "--json").json["entries"][-1]
    assert entry["text"] == "moved phase build; the order is: build, design, test"
    result = staged.sow("phase", "move", "build")
    assert result.code == 2 and "sow phase move build --before design" in result.err
    assert staged.sow("phase", "move", "test", "--now", "--after", "build").code == 2
    assert "a worker may not" in staged.sow("phase", "move", "test", "--now", SOW_TASK="010").err


def test_a_phase_that_is_added_now_after_the_end_is_the_last_one(staged: Repo):
    """Without an active phase, --now puts it at the end, where work begins."""
    for _ in range(3):
        staged.ok("phase", "advance")
    staged.ok("phase", "add", "docs", "--reason", "r", "--now", "--yes")
    assert stages(staged)[-1] == ("docs", "active")


def test_approving_a_phase_twice_is_refused(staged: Repo):
    """Approving an approved phase, or one that was never proposed, is refused."""
    result = staged.sow("phase", "approve", "build")
    assert result.code == 2
    assert "phase build is pending: it needs no approval" in result.err


def test_a_duplicate_phase_is_refused(staged: Repo):
    """A phase that is there cannot be added again, whatever its alias."""
    assert staged.sow("phase", "add", "build", "--reason", "again", "--yes").code == 2
    staged.ok("phase", "add", "implement", "--reason", "the work", "--yes")
    result = staged.sow("phase", "add", "implementation", "--reason", "again", "--yes")
    assert "there is a phase 'implementation' already" in result.err


def test_a_unique_prefix_names_a_phase(staged: Repo):
    """A prefix of two phases is refused with both names."""
    staged.ok("phase", "add", "tidy", "--reason", "clean", "--yes")
    result = staged.sow("task", "create", "--name", "x", "--phase", "t")
    assert result.code == 2
    assert "it could be: tidy, test" in result.err
    staged.ok("task", "create", "--name", "x", "--phase", "ti")
    assert staged.task("010")["phase"] == "tidy"
