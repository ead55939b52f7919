"""sow inbox, answer and approve: open items for a person, and the person's decision."""

from __future__ import annotations

import signal

import pytest
from conftest import Repo
from support.claim_holder import hold_claim
from support.plan_repo import PlanRepo
from support.quick_cases import few_of
from support.simulated_workers import wait_for

from sow.domain.documents.state import RunSettings
from sow.engine.runs.run_context import open_run_folder
from sow.store.files.checkout_home import find
from sow.store.projects import project as projects

SETTINGS: RunSettings = {
    "max_concurrency": 1,
    "schedule": "ready",
    "isolation": "none",
    "review": "on",
    "retries": 0,
}


def test_an_empty_inbox(repo: Repo):
    """An empty inbox says so."""
    assert repo.ok("inbox").out == "nothing needs your answer\n"
    assert repo.ok("inbox", "--json").json == {"items": []}


def test_the_inbox_has_everything_that_waits(task_repo: Repo):
    """Questions, reviews, failures, proposals and broken tasks are listed, each with its command."""
    for name in ("Second", "Third", "Fourth"):
        task_repo.ok("task", "create", "--name", name)
    for task, status in (("010", "paused"), ("020", "needs_review"), ("030", "failed")):
        if task != "010":
            task_repo.ok("task", "set", "--id", task, "status", "in_progress")
        task_repo.ok("task", "set", "--id", task, "status", status)
    task_repo.ok("phase", "add", "review", "--reason", "eyes")
    (task_repo.task_folder("040") / "state.yaml").write_text("")
    items = {item["kind"]: item for item in task_repo.ok("inbox", "--json").json["items"]}
    assert {kind: item["do"] for kind, item in items.items()} == {
        "question": 'sow answer 1 "…"',
        "review": "sow approve 020",
        "failed": "sow agent spawn implementer 030",
        "phase": "sow phase approve review",
        "broken": "sow doctor",
    }
    shown = task_repo.ok("inbox").out
    assert all(item["do"] in shown for item in items.values())


def test_the_most_blocking_comes_first(repo: Repo):
    """The item that blocks the most tasks comes first."""
    for number in range(4):
        arguments = ("--depends-on", "020") if number > 1 else ()
        repo.ok("task", "create", "--name", f"task {number}", *arguments)
    for task in ("010", "020"):
        repo.ok("task", "set", "--id", task, "status", "in_progress")
        repo.ok("task", "set", "--id", task, "status", "paused", "--reason", f"about {task}?")
    items = repo.ok("inbox", "--json").json["items"]
    assert [(item["task"], item["blocks"]) for item in items] == [("020", 2), ("010", 0)]
    assert "blocks 2" in repo.ok("inbox").out


@pytest.mark.parametrize("spelling", ["1", "#1", "010"])
def test_an_answer_continues_the_task(task_repo: Repo, spelling: str):
    """The answer is stored with its question, becomes feedback, and the task enters its next iteration."""
    task_repo.ok("task", "set", "--id", "010", "status", "paused", "--reason", "RS256 or HS256?")
    result = task_repo.ok("answer", spelling, "Use RS256")
    status, following = result.out.splitlines()
    assert status == "task 010: status is in_progress"
    assert following == "no worker is on it; start one: sow agent spawn implementer 010"
    task = task_repo.task("010")
    assert (task["status"], task["iteration"], "question" in task) == ("in_progress", 2, False)
    (answered,) = task["questions"]
    assert (answered["text"], answered["answer"], answered["answered_by"]) == ("RS256 or HS256?", "Use RS256", "ada")
    assert task["feedback"][0]["text"] == "Use RS256"
    assert task_repo.ok("inbox", "--json").json["items"] == []
    assert task_repo.ok("log", "--list", "--json").json["entries"][-1]["action"] == "answer"


def test_an_answer_resolves_the_escalated_notes(task_repo: Repo):
    """Every escalated note of the task is resolved with the answer."""
    for text in ("which key?", "which header?"):
        task_repo.ok("note", "add", "--task", "010", "--description", text, "--context", "c")
    for number in ("1", "2"):
        task_repo.ok("note", "escalate", number, "--task", "010", "--reason", "not mine")
    task_repo.ok("task", "set", "--id", "010", "status", "paused")
    assert task_repo.task("010")["question"]["text"] == "which key?\nwhich header?"
    task_repo.ok("answer", "1", "the public one", SOW_AGENT="orchestrator")
    notes = task_repo.task("010")["notes"]
    assert {(note["status"], note["resolution"], note["resolved_by"]) for note in notes} == {
        ("resolved", "the public one", "workflow_executor")
    }
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")


def test_numbers_are_never_reused(task_repo: Repo):
    """The next question has another number, so that an old answer cannot match it."""
    for number in ("1", "2", "3"):
        task_repo.ok("task", "set", "--id", "010", "status", "paused", "--reason", "again?")
        task_repo.ok("answer", number, "yes")
    assert task_repo.sow("answer", "3", "yes").code == 2
    assert [question["number"] for question in task_repo.task("010")["questions"]] == [1, 2, 3]


@pytest.mark.parametrize("source", ["words", "file", "stdin"])
def test_an_answer_can_be_a_file_or_stdin(task_repo: Repo, source: str):
    """An answer is a text, a file or stdin."""
    (task_repo.root / "answer.txt").write_text("Use RS256")
    task_repo.ok("task", "set", "--id", "010", "status", "paused")
    given = {"words": "Use RS256", "file": "@answer.txt", "stdin": "-"}[source]
    task_repo.ok("answer", "1", given, stdin=b"Use RS256")
    assert task_repo.task("010")["questions"][0]["answer"] == "Use RS256"


def test_the_log_is_the_question_of_a_silent_worker(task_repo: Repo):
    """A pause without a reason takes the last entry of the task's log as its question."""
    task_repo.ok("log", "--task", "010", "Blocked: which algorithm?")
    task_repo.ok("task", "set", "--id", "010", "status", "paused")
    assert task_repo.ok("inbox", "--json").json["items"][0]["text"] == "Blocked: which algorithm?"


def test_only_handed_in_work_can_be_approved(task_repo: Repo):
    """A task that is still in progress cannot be approved."""
    before = task_repo.snapshot()
    result = task_repo.sow("approve", "010")
    assert result.code == 2
    assert "task 010 cannot go from in_progress to completed" in result.err
    assert task_repo.snapshot() == before


def test_a_second_approval_changes_nothing(task_repo: Repo):
    """The second call succeeds and changes nothing."""
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    assert task_repo.ok("approve", "10").out == "task 010: status is completed\n"
    before = task_repo.snapshot()
    assert task_repo.sow("approve", "010").code == 2
    assert task_repo.snapshot() == before


def test_a_reason_for_pausing_joins_the_question(task_repo: Repo) -> None:
    """The reason of a pause is in the question beside the escalated notes."""
    task_repo.ok("note", "add", "--task", "010", "--description", "which key?", "--context", "c")
    task_repo.ok("note", "escalate", "1", "--task", "010", "--reason", "not mine")
    task_repo.ok("task", "set", "--id", "010", "status", "paused", "--reason", "and which header?")
    assert task_repo.task("010")["question"]["text"] == "which key?\nand which header?"


def test_only_a_person_decides_on_phases(repo: Repo) -> None:
    """The orchestrator can propose a phase, but not approve it."""
    marks = {"SOW_AGENT": "orchestrator"}
    assert repo.sow("phase", "add", "discovery", "--reason", "a race", "--yes", **marks).code == 2
    repo.ok("phase", "add", "discovery", "--reason", "a race", **marks)
    assert repo.sow("phase", "approve", "discovery", **marks).code == 2
    assert repo.sow("answer", "1", "yes", **marks).code == 2
    repo.ok("answer", "1", "yes")


def test_an_answer_before_the_pause(task_repo: Repo):
    """A worker that escalates, is answered and then pauses asks nothing again, and continues with the answer."""
    worker = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}
    task_repo.ok("note", "add", "--description", "Which colour?", "--context", "the button", **worker)
    task_repo.ok("note", "escalate", "1", "--reason", "taste", **worker)
    task_repo.ok("answer", "1", "Blue")
    assert "in_progress" in task_repo.ok("task", "set", "status", "paused", **worker).out
    assert task_repo.ok("inbox").out == "nothing needs your answer\n"
    task = task_repo.ok("task", "show", "010", "--json").json
    assert (task["status"], task["iteration"]) == ("in_progress", 2)
    task_repo.ok("task", "set", "status", "paused", "--reason", "Which size?", **worker)
    assert "Which size?" in task_repo.ok("inbox").out


def test_a_question_after_an_answer_is_new(task_repo: Repo):
    """A reason given after the answer is another question, and waits in the inbox."""
    worker = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}
    task_repo.ok("note", "add", "--description", "Which colour?", "--context", "the button", **worker)
    task_repo.ok("note", "escalate", "1", "--reason", "taste", **worker)
    task_repo.ok("answer", "1", "Blue")
    task_repo.ok("note", "add", "--description", "Which size?", "--context", "the button", **worker)
    task_repo.ok("note", "escalate", "2", "--reason", "taste", **worker)
    task_repo.ok("task", "set", "status", "paused", **worker)
    assert "Which size?" in task_repo.ok("inbox").out


def test_work_of_a_live_run_is_not_in_the_inbox(task_repo: Repo):
    """While a run has the claim, it reviews its own tasks; a run that broke off comes first."""
    task_repo.ok("task", "create", "--name", "Beside it")
    for task in ("010", "020"):
        task_repo.sow("task", "set", "--id", task, "status", "in_progress")
        task_repo.ok("task", "set", "--id", task, "status", "needs_review")
    home = find(option=str(task_repo.root), environment={}, cwd="/")
    facts = {"name": "plan", "branch": "feature", "plans": [], "settings": SETTINGS}
    with home.claim("run", purpose="a run") as claim:
        result, _ = open_run_folder(home, projects.load(home)["project_id"], claim=claim, tasks=["010"], **facts)
    with hold_claim(task_repo, "run", result.id):
        assert [item["task"] for item in task_repo.ok("inbox", "--json").json["items"]] == ["020"]
        assert [item["task"] for item in task_repo.ok("status", "--json").json["inbox"]] == ["020"]
    waiting = [(item["kind"], item["task"]) for item in task_repo.ok("inbox", "--json").json["items"]]
    assert waiting == [("delivery", None), ("review", "020")]


def test_the_end_of_long_check_output_is_shown(plan_repo: PlanRepo):
    """A question about a failed check shows the last lines of its output, and how many were left out."""
    plan_repo.plan({"test_commands": ["seq -f 'line %g.' 30; exit 1"]})
    assert plan_repo.run("--retries", "0").code == 4
    lines = [line.strip() for line in plan_repo.repo.ok("inbox").out.splitlines()]
    place = lines.index("`seq -f 'line %g.' 30; exit 1` failed (exit 1):")
    assert lines[place + 1 : place + 3] == ["… 22 lines left out", "line 23."]
    assert "line 30." in lines


def test_the_end_of_a_long_question_is_shown(task_repo: Repo):
    """Of a long question the inbox shows the first lines, the number of omitted lines, and the last."""
    text = "\n".join(["It failed:", *(f"line {number}." for number in range(1, 41))])
    task_repo.ok("log", "--task", "010", text)
    task_repo.ok("task", "set", "--id", "010", "status", "paused")
    lines = [line.strip() for line in task_repo.ok("inbox").out.splitlines()]
    assert lines[0].endswith("It failed:")
    assert lines[1:3] == ["… 20 lines not shown: sow inbox --json", "line 21."]
    assert "line 40." in lines


@few_of("number", [signal.SIGINT, signal.SIGKILL], 1)
def test_a_run_that_broke_off_during_a_check_comes_first(plan_repo: PlanRepo, number: int):
    """The next step continues the run; approving before the checks are done is possible, and gives YELLOW."""
    begun, go = plan_repo.folder / "begun", plan_repo.folder / "go"
    check = f"test -e {go} || {{ touch {begun}; sleep 60; }}"
    plan_repo.plan({"test_commands": [check]})
    run = plan_repo.start("--yes")
    wait_for(begun.exists)
    run.send_signal(number)
    run.communicate(timeout=300)
    assert plan_repo.statuses() == {"010": "needs_review"}
    (waiting,) = plan_repo.repo.ok("inbox", "--json").json["items"]
    assert (waiting["kind"], waiting["do"]) == ("delivery", "sow run plan.yaml --yes")
    assert plan_repo.repo.ok("status", "--json").json["next"]["command"] == "sow run plan.yaml --yes"
    go.touch()
    plan_repo.repo.ok("approve", "010", "--reason", "I know it")
    assert plan_repo.run("--yes").code == 0
    task = plan_repo.task("010")
    assert task["result"] == "YELLOW"
    assert [concern["text"] for concern in task["concerns"]] == ["ada approved it before its checks were done"]
    assert plan_repo.repo.ok("inbox", "--json").json["items"] == []
