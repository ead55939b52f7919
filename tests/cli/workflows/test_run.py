"""sow workflow run: what it refuses, what it prints, how it ends, and that only one runs at a time."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import SOW, Repo
from support.dashboard_data import facts_of, fresh
from support.quick_cases import few_of
from support.simulated_workers import wait_for
from support.workflow_repo import WorkflowRepo

PASS = [[{"say": "I read it.\n\nVerification: PASSED"}]]
VERIFIERS = {"first_verifier": PASS, "second_verifier": PASS}


def work(name: str) -> list[dict[str, Any]]:
    path = f"orchestration/agents/{name}/task_output/{name}.txt"
    return [
        {"write": {"path": path, "text": "one line\n"}},
        {"stand": "completion_drive_review"},
        {"stand": "ready_for_verification"},
        {"say": "done"},
    ]


@pytest.fixture
def flow(repo: Repo, tmp_path: Path) -> WorkflowRepo:
    """Two agents in sequence, approved; each does its work in its first turn."""
    made = WorkflowRepo(repo, tmp_path).begin().crew({"first": [], "second": ["first"]})
    made.scripted(
        {"first": [work("first")], "second": [work("second")], "first_verifier": PASS, "second_verifier": PASS}
    )
    repo.ok("workflow", "verify", "--executor", "simulated", "--yes")
    return made


def run(flow: WorkflowRepo, *arguments: str, **options: Any) -> Any:
    return flow.repo.sow("workflow", "run", "--executor", "script", *arguments, **options)


def start(flow: WorkflowRepo) -> subprocess.Popen[bytes]:
    """Starts a run in the background."""
    return subprocess.Popen(
        [SOW, "workflow", "run", "--executor", "script"],
        cwd=flow.repo.root,
        env=flow.repo.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.full
def test_a_run_ends_with_the_status_and_exit_0(flow: WorkflowRepo) -> None:
    """The output has a line per turn, then the status of all agents, then the next step."""
    result = run(flow)
    assert result.code == 0, result
    assert "agent first: started, implementer on script" in result.out
    assert "agent second: verification 1 passed by second_verifier" in result.out
    assert "Workflow user_management (implement_user_management): completed, all notes resolved" in result.out
    assert result.out.endswith("Next: sow workflow archive\n")
    again = run(flow)
    assert again.code == 0 and "is complete" in again.out


@pytest.mark.full
def test_a_broken_file_of_an_agent_is_reported_once(flow: WorkflowRepo) -> None:
    """(C9) One line says that the agent's file is kept aside, and it ends with the path."""
    notes = "orchestration/agents/first/completion_drive/session_current.json"
    broken = [*work("first"), {"sleep": 1}, {"write": {"path": notes, "text": "{"}}]
    flow.scripted({"first": [broken, work("first")], "second": [work("second")], **VERIFIERS})
    lines = [line for line in run(flow).out.splitlines() if "session_current.json" in line]
    assert len(lines) == 1, lines
    assert (flow.repo.root / lines[0].rpartition("the edited file is ")[2]).is_file(), lines


@pytest.mark.full
def test_a_workflow_counts_completed_agents(flow: WorkflowRepo) -> None:
    """An ended agent is counted as completed, not as "completed passed"."""
    result = run(flow)
    assert "completed passed" not in result.out and "agent first: completed after" in result.out


@pytest.mark.full
def test_a_planted_hook_is_reported(flow: WorkflowRepo) -> None:
    """A change of an agent in the git folder is reported at the end of its turn, until the user decides."""
    plant = {"write": {"path": ".git/hooks/post-commit", "text": "#!/bin/sh\n"}}
    turns = {"first": [[plant, *work("first")]], "second": [work("second")]}
    flow.scripted({**turns, "first_verifier": PASS, "second_verifier": PASS})
    result = run(flow)
    assert result.code == 0, result
    messages = "  .git/hooks/post-commit was added during the run; sow ignores it"
    assert messages in result.out
    assert "sow doctor --undo-git-changes" in result.err
    flow.repo.ok("doctor", "--undo-git-changes", "--yes")
    assert not (flow.repo.root / ".git/hooks/post-commit").exists()


@pytest.mark.full
def test_the_journal_is_a_stream_for_programs(flow: WorkflowRepo) -> None:
    """--json prints every entry as one document on a line, and nothing else on stdout."""
    result = run(flow, "--json")
    assert result.code == 0, result
    entries = [json.loads(line) for line in result.out.splitlines()]
    events = [entry["event"] for entry in entries]
    assert events[0] == "run_started" and events[-1] == "run_ended"
    assert [entry["task"] for entry in entries if entry["event"] == "verification"] == ["first", "second"]
    assert entries[-1]["exit"] == 0 and entries[-1]["completed"] == 2
    assert {task["id"] for task in entries[0]["tasks"]} == {"first", "second"}


@pytest.mark.full
def test_runs_list_and_show_know_workflows(flow: WorkflowRepo) -> None:
    """`sow runs list` and `sow runs show` tell of a workflow's run, too."""
    assert run(flow).code == 0
    assert "user_management" in flow.repo.ok("runs", "list").out
    shown = flow.repo.ok("runs", "show").out
    assert "user_management" in shown and "first" in shown


@pytest.mark.full
def test_a_design_without_verification_or_approval_is_not_run(repo: Repo, tmp_path: Path) -> None:
    """Exit 4 with the missing command, and no agent starts; --yes approves a verified design."""
    made = WorkflowRepo(repo, tmp_path).begin().crew({"first": []})
    made.scripted({"first": [work("first")], "first_verifier": PASS})
    result = run(made)
    assert result.code == 4 and "sow workflow verify" in result.err
    repo.ok("workflow", "verify", "--executor", "simulated")
    result = run(made)
    assert result.code == 4 and "sow workflow approve" in result.err
    assert not (made.orchestration / "agents/first/task_output/first.txt").exists()
    assert run(made, "--yes").code == 0
    assert made.state["approval"]["how"] == "--yes"


ASKS = [
    {"sow": ["note", "add", "--description", "Unique?", "--context", "c", "--category", "requirements"]},
    {"sow": ["note", "escalate", "1", "--reason", "not mine"]},
    {"stand": "blocked"},
    {"say": "I wait"},
]


@pytest.fixture
def asking(repo: Repo, tmp_path: Path) -> WorkflowRepo:
    """Three agents of which two ask, and a run that waits for the answers."""
    made = (
        WorkflowRepo(repo, tmp_path)
        .begin()
        .crew({"first": [], "second": [], "third": []}, groups=[["first", "second", "third"]])
    )
    turns = {name: [ASKS, work(name)] for name in ("first", "second")}
    verifiers = {f"{name}_verifier": PASS for name in ("first", "second", "third")}
    made.scripted({**turns, "third": [work("third")], **verifiers, "workflow_architect": [[{"say": "You decide."}]]})
    repo.ok("workflow", "verify", "--executor", "simulated", "--yes")
    assert run(made).code == 4
    assert sorted(asked(repo).values()) == ["w1", "w2"]
    return made


def asked(repo: Repo) -> dict[str, str]:
    return {item["agent"]: item["number"] for item in repo.ok("inbox", "--json").json["items"]}


def drop(flow: WorkflowRepo, *left: str) -> None:
    """Verifies and approves a design without the other agents."""
    flow.crew({name: [] for name in left}, groups=[list(left)])
    flow.repo.ok("workflow", "verify", "--executor", "simulated")
    assert "first" in asked(flow.repo), "nobody has said yes to it"
    flow.repo.ok("workflow", "approve")


@pytest.mark.full
def test_a_dropped_agent_has_no_question(asking: WorkflowRepo, repo: Repo) -> None:
    """With the approval its question leaves the inbox, the log says so, and a late answer is refused; others stay."""
    gone, other = asked(repo)["first"], asked(repo)["second"]
    drop(asking, "second", "third")
    assert asked(repo) == {"second": other}
    (entry,) = repo.ok("log", "--list", "--json", "--task", "first").json["entries"]
    assert (entry["agent"], entry["action"]) == ("workflow_executor", "withdraw")
    assert f"question {gone}: note_001: Unique?" in entry["text"] and "not in the design any more" in entry["text"]
    late = repo.sow("answer", gone, "Yes")
    assert late.code == 2 and f"question {gone} of agent first cannot be answered any more. Withdrawn" in late.err, late
    assert f"the open questions are: {other}" in late.err
    assert f"{gone} first" not in repo.ok("workflow", "status").out
    assert f"sow answer {other} " in repo.ok("workflow", "status").out
    repo.ok("answer", other, "Yes")
    assert f"question {other} of agent second is answered already, by ada" in repo.sow("answer", other, "No").err


@pytest.mark.full
def test_the_run_reports_a_dropped_agent(asking: WorkflowRepo, repo: Repo) -> None:
    """Its journal has the withdrawal and the agent's end once, and its report waits for no one."""
    gone = asked(repo)["first"]
    drop(asking, "second", "third")
    shown = {task["id"]: task["outcome"] for task in repo.ok("runs", "show", "--json").json["tasks"]}
    assert (shown["first"], shown["second"]) == ("abandoned", "waiting")
    assert f"agent first: question {gone} is withdrawn" in run(asking).out
    again = run(asking, "--json").out
    assert "withdrawn" not in again and '"abandoned"' not in again
    asking.crew({"third": []})
    repo.ok("workflow", "verify", "--executor", "simulated", "--yes")
    assert run(asking).code == 0
    report = repo.ok("runs", "show", "--json").json
    assert {task["id"]: task["outcome"] for task in report["tasks"]} == {
        "first": "abandoned",
        "second": "abandoned",
        "third": "completed",
    }
    assert report["next"] == []
    assert "first" not in asking.state["members"]
    assert "cannot be answered any more" in repo.sow("answer", gone, "Yes").err


@pytest.mark.full
def test_a_run_of_an_archived_workflow_is_over(asking: WorkflowRepo, repo: Repo) -> None:
    """It is listed as ended without open questions, and its times do not change."""
    facts = facts_of(repo)
    assert (facts.runs()["runs"][0]["status"], fresh(facts)["run"]["go_on"]) == (
        "waiting",
        "sow workflow run --executor script",
    )
    before = repo.ok("runs", "show", "--json").json
    assert (before["run"]["status"], before["counts"]["waiting"]) == ("waiting", 2)
    repo.ok("workflow", "archive", "--yes")
    (run_,) = repo.ok("runs", "list", "--json").json["runs"]
    assert (run_["status"], run_["waiting"], run_["ended_at"]) == ("ended", 0, before["run"]["ended_at"])
    after = repo.ok("runs", "show", "--json").json
    assert {task["id"]: task["outcome"] for task in after["tasks"]} == {
        "first": "abandoned",
        "second": "abandoned",
        "third": "completed",
    }
    assert (after["next"], [task["question"] for task in after["tasks"]]) == ([], [None] * 3)
    assert "the workflow of this run is in the archive" in after["remarks"][0]
    assert (after["run"]["calls"], after["totals"]["wall_seconds"]) == (1, before["totals"]["wall_seconds"])
    assert "needs input" not in repo.ok("runs", "report", "--format", "html").out
    (shown,) = facts.runs()["runs"]
    assert (shown["status"], shown["waiting"]) == ("ended", 0)
    assert (fresh(facts)["run"]["status"], fresh(facts)["run"]["go_on"]) == ("ended", "")
    facts.close()
    assert repo.ok("inbox", "--json").json["items"] == []
    repo.ok("workflow", "new", "next")
    assert repo.ok("runs", "show", "--json").json["next"] == []


def test_a_missing_program_is_reported_first(flow: WorkflowRepo) -> None:
    """Every role that the run may need is checked before the start."""
    result = flow.repo.sow("workflow", "run", "--executor", "codex", PATH="/usr/bin:/bin")
    assert result.code == 2 and "codex" in result.err
    assert flow.status["agents"]["first"]["status"] == "pending"


@pytest.mark.full
def test_two_runs_at_once_are_refused(flow: WorkflowRepo) -> None:
    """The second one names the holder and starts no agent; verify, design and archive wait for the same claim."""
    flow.scripted({"first": [[{"stand": "completion_drive_review"}, {"hang": True}]]})
    first = start(flow)
    try:
        wait_for(lambda: flow.status["agents"]["first"]["status"] == "completion_drive_review")
        for item in (["run", "--executor", "script"], ["verify", "--executor", "simulated"], ["archive", "--yes"]):
            result = flow.repo.sow("workflow", *item)
            assert result.code == 4 and "sow workflow run" in result.err, (item, result)
        assert "completion_drive_review" in flow.repo.ok("workflow", "status").out
    finally:
        first.terminate()
        first.communicate(timeout=300)
    assert first.returncode == 130


@few_of("stopped", [False, True], 0)
def test_a_killed_run_continues(flow: WorkflowRepo, stopped: bool) -> None:
    """After a kill the same command continues without a lost iteration; `sow runs stop` ends leftovers before."""
    flow.scripted(
        {
            "first": [[{"stand": "completion_drive_review"}, {"hang": True}], work("first")[:1] + work("first")[2:]],
            "second": [work("second")],
            "first_verifier": PASS,
            "second_verifier": PASS,
        }
    )
    first = start(flow)
    wait_for(lambda: flow.status["agents"]["first"]["status"] == "completion_drive_review")
    first.kill()
    first.communicate(timeout=300)
    if stopped:
        assert "an earlier turn on agent first was cut off; processes" in flow.repo.ok("runs", "stop").out
    result = run(flow)
    assert result.code == 0, result
    assert ("cut off" in result.err) is not stopped
    assert flow.state["members"]["first"]["tries"] == 0


def test_a_question_is_exit_4_and_its_answer_is_used(flow: WorkflowRepo) -> None:
    """If the architect's reply is unreadable, the person gets the question; inbox, answer and run continue it."""
    ask = [
        {"note": {"description": "Which colour?", "category": "requirements"}},
        {"sow": ["note", "escalate", "1", "--reason", "open"]},
        {"stand": "blocked"},
    ]
    messages = '{"nonce": "{nonce}", "decisions": [{"note": "note_001", "route": "answer", "resolution": "Blue."}]}'
    flow.scripted(
        {
            "first": [ask, work("first")],
            "second": [work("second")],
            "first_verifier": PASS,
            "second_verifier": PASS,
            "workflow_architect": [[{"if": {"told": "The person answers", "then": [{"say": messages}]}}]],
        }
    )
    assert run(flow, "--yes", "--max-concurrency", "3").code == 4
    repo = flow.repo
    again = repo.ok("runs", "show", "--json").json["next"][-1]["command"]
    assert again == "sow workflow run --max-concurrency 3 --executor script --yes"
    assert f"run it: {again}\n" in repo.ok("workflow", "approve").out
    assert "w1. question agent first" in repo.ok("inbox").out
    assert repo.ok("inbox", "--json").json["items"][0]["number"] == "w1"
    assert "w1" in repo.ok("completion", "words", "--", "answer", "").out.split()
    repo.ok("answer", "w1", "Azure as the sea")
    assert f"\nNext: {again}\n" in repo.ok("workflow", "status").out
    assert repo.sow("answer", "w1", "Red").code == 2
    result = run(flow)
    assert result.code == 0, result
    assert "note_001 is resolved by user" in result.out
    for _ in range(2):
        html, page = (repo.ok("runs", "report", "--format", form).out for form in ("html", "md"))
        assert '<p class="answer">Azure as the sea</p>' in html  # (C17)
        assert ": Azure as the sea)" in page
        repo.sow("workflow", "archive")


ASK = [
    {"note": {"description": "Which colour?", "category": "requirements"}},
    {"sow": ["note", "escalate", "1", "--reason", "open"]},
    {"stand": "blocked"},
]


@pytest.fixture
def puzzled(flow: WorkflowRepo) -> WorkflowRepo:
    """The first agent asks once, and no reply of the workflow architect can be read."""
    verifiers = {"first_verifier": PASS, "second_verifier": PASS}
    roles = {"first": [ASK, work("first")], "second": [work("second")], **verifiers}
    return flow.scripted({**roles, "workflow_architect": [[{"say": "I do not know."}]]})


@pytest.mark.full
def test_an_answer_counts_without_a_readable_architect(puzzled: WorkflowRepo) -> None:
    """The person's own words become the resolution, and the question is not asked again (C8)."""
    assert run(puzzled).code == 4
    answered = puzzled.repo.ok("answer", "w1", "Use blue").out
    assert answered == "w1 of agent first is answered; continue with: sow workflow run --executor script\n"
    result = run(puzzled)
    assert result.code == 0, result
    archived = next((puzzled.orchestration / "agents/first/completion_drive").glob("session_2*.json")).read_text()
    assert '"resolution": "Use blue"' in archived and '"resolved_by": "user"' in archived


@pytest.mark.full
def test_a_workflow_asks_on_its_terminal_and_continues(puzzled: WorkflowRepo, on_terminal: Any) -> None:
    """One call asks, reads the answer and completes the workflow; Ctrl-C leaves the question open (C15)."""
    arguments, prompt = ("workflow", "run", "--executor", "script"), "Your answer to w1"
    code, shown = on_terminal(puzzled.repo, *arguments).until(prompt).type(b"\x03").end()
    assert code == 130 and "sow answer w1" in shown[shown.index(prompt) :], shown
    code, shown = on_terminal(puzzled.repo, *arguments).until(prompt).type(b"Use blue\n").end()
    assert code == 0 and puzzled.state["status"] == "completed", shown
    assert "w1 is answered\r\n" in shown


@pytest.mark.full
def test_a_second_terminal_answers_but_does_not_start_a_run(puzzled: WorkflowRepo, on_terminal: Any) -> None:
    """While a workflow run asks, a second run is refused; an answer from there continues the first one (C15)."""
    screen = on_terminal(puzzled.repo, "workflow", "run", "--executor", "script").until("Your answer to w1")
    second = run(puzzled)
    assert (second.code, "sow workflow run is in progress (pid " in second.err) == (4, True), second
    answered = puzzled.repo.ok("answer", "w1", "Use blue")
    assert answered.out == "w1 of agent first is answered; the active run continues it\n"
    code, shown = screen.end()
    assert code == 0 and puzzled.state["status"] == "completed", shown


@pytest.mark.full
def test_the_report_names_the_answer_for_a_failed_agent(flow: WorkflowRepo) -> None:
    """(C10) A run that fails with an open question names the answer command in its report, as the inbox does."""
    flow.scripted({"first": [[{"exit": 9}]]})
    assert run(flow).code == 1
    (item,) = flow.repo.ok("inbox", "--json").json["items"]
    report = flow.repo.ok("runs", "show", "--json").json
    assert item["do"] == 'sow answer w1 "…"'
    assert report["next"][0]["command"] == item["do"], report["next"]


@pytest.mark.full
def test_notes_of_an_agent_are_listed_by_its_name(flow: WorkflowRepo) -> None:
    """`sow note list --task NAME` shows an agent's notes to a person, and completion knows the agents."""
    flow.scripted({"first": [[{"note": {"description": "Odd", "category": "detail"}}, {"hang": True}]]})
    started = start(flow)
    try:
        wait_for(lambda: flow.status["agents"]["first"]["completion_drive_notes_count"] == 1)
        assert "Odd" in flow.repo.ok("note", "list", "--task", "first").out
        assert flow.status["overall_completion_drive_gate"] == "blocked"
    finally:
        started.terminate()
        started.communicate(timeout=300)
    offered = flow.repo.ok("completion", "words", "--", "workflow", "set", "status", "working", "--agent", "").out
    assert offered.split() == ["first", "second"]


@pytest.mark.full
def test_only_changed_parts_of_the_plan_are_repeated(flow: WorkflowRepo) -> None:
    """After a new approval the agent whose section changed works and is verified again; the others stay as they are."""
    again = [*work("first")[1:3], {"say": "again"}]
    flow.scripted(
        {
            "first": [work("first"), again],
            "second": [[{"stand": "completion_drive_review"}, {"exit": 1}]],
            "first_verifier": PASS,
            "second_verifier": PASS,
        }
    )
    assert run(flow).code == 1
    assert flow.status["agents"]["first"]["status"] == "verified"
    head = flow.head()
    head["agents"][0]["criteria"].append("and the line is not empty")
    flow.plan(head)
    flow.repo.ok("workflow", "verify", "--executor", "simulated", "--yes")
    assert flow.status["agents"]["first"]["status"] == "working"
    assert flow.state["members"]["first"]["iteration"] == 2
    flow.scripted(
        {
            "first": [again],
            "second": [work("second")[:1] + work("second")[2:]],
            "first_verifier": PASS,
            "second_verifier": PASS,
        }
    )
    flow.repo.ok("workflow", "set", "status", "working", "--agent", "second")
    result = run(flow)
    assert result.code == 0, result
    assert "agent first: verification 2 passed by first_verifier" in result.out
