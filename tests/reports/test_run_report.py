"""The report of a run: its contents, its sources, and damaged journals."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo, fresh_environment
from hypothesis import given
from hypothesis import strategies as st
from support.claim_holder import hold_claim
from support.journals import START, MadeUpRun, stamp

from sow.reports import report_text, run_history, run_report
from sow.store.formats import VERSION
from sow.store.projects import project as projects
from sow.store.projects.task_folder import TaskFolder, find
from sow.store.runs import sessions

NAMES = ("Store users", "Login form", "Logout", "Sessions", "Reset")
IDS = ["010", "020", "030", "040", "050"]


@pytest.fixture(scope="module")
def _crew_template(tmp_path_factory: pytest.TempPathFactory, _project_template: Path) -> Path:
    folder = tmp_path_factory.mktemp("crew")
    shutil.copytree(_project_template, folder / "repo", symlinks=True)
    repo = Repo(folder / "repo", fresh_environment(folder / "home"))
    needs = {"020": "010", "030": "010", "050": "040"}
    for ident, name in zip(IDS, NAMES, strict=True):
        repo.ok("task", "create", "--name", name, *(("--depends-on", needs[ident]) if ident in needs else ()))
    return repo.root


@pytest.fixture
def crew(tmp_path: Path, environment: dict[str, str], _crew_template: Path) -> Repo:
    """Five tasks: 020 and 030 depend on 010, 050 on 040."""
    shutil.copytree(_crew_template, tmp_path / "repo", symlinks=True)
    return Repo(tmp_path / "repo", environment)


def put(repo: Repo, journal: MadeUpRun, ident: str, **facts: Any) -> None:
    """Sets these fields of a task's state, as the run would."""
    project = projects.load(journal.home)
    task_folder = find(journal.home, project, ident)
    loaded = task_folder.load()
    task_folder.save(loaded, {**loaded["task"], **facts}, project["project_id"])  # type: ignore[typeddict-item]


def done(repo: Repo, journal: MadeUpRun, ident: str) -> None:
    approval = {"by": "ada", "at": stamp(9), "iteration": 1}
    put(repo, journal, ident, status="completed", completed_at=stamp(9), started_at=stamp(1), approval=approval)


def record(
    journal: MadeUpRun, ident: str, t: float, *, role: str = "implementer", executor: str = "claude-code", **turn: Any
) -> None:
    """Writes a session's record with one turn."""
    made = sessions.create(
        TaskFolder(journal.home, "implementation", ident),
        {
            "number": 1,
            "key": "6f1c02d4-8a3e-4e53-bb0c-0f3f7a6f5d21",
            "task": ident,
            "role": role,
            "executor": executor,
            "type": "claude",
            "model": "",
            "cwd": "/",
            "mark": "0" * 32,
            "started_at": stamp(t),
            "turns": [],
        },
    )
    begun = {"number": 1, "kind": "spawn", "started_at": stamp(t), "reason": "", "inferred": False, "redacted": 0}
    made.session["turns"].append({**begun, **turn})  # type: ignore[typeddict-item]
    made.save()


def by_id(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in document["tasks"]}


def test_reasons_are_shown_once(crew):
    """A task that failed in an earlier run has its reason, and a question is not repeated as one (C16)."""
    journal = MadeUpRun(crew, ["010", "040"])
    journal.begin()
    journal.work(5, 8, "040", "paused")
    journal.end(9, "waiting", 4)
    put(crew, journal, "010", status="failed", failed_reason="there is no such library")
    asked = {"number": 3, "text": "the review is RED", "asked_at": stamp(8)}
    put(crew, journal, "040", status="paused", question=asked, review_feedback="the review is RED")
    document = run_report.report_data(journal.home, journal.folder)
    assert by_id(document)["010"]["why"] == "there is no such library"
    lines = run_report.render_markdown(document).partition("## What is not done")[2].split("\n")
    assert next(line for line in lines if "Sessions" in line).count("the review is RED") == 1


def test_tasks_by_outcome(crew):
    """A task is completed, failed, waiting with its question, or blocked with its dependencies."""
    journal = MadeUpRun(crew, IDS)
    journal.begin(needs={"020": ["010"], "030": ["010"], "050": ["040"]})
    journal.work(1, 5, "010", "failed")
    journal.work(5, 8, "040", "paused")
    journal.end(9, "waiting", 4)
    put(crew, journal, "010", status="failed")
    put(crew, journal, "040", status="paused", question={"number": 3, "text": "Which store?", "asked_at": stamp(8)})
    rows = by_id(run_report.report_data(journal.home, journal.folder))
    assert {ident: row["outcome"] for ident, row in rows.items()} == {
        "010": "failed",
        "020": "blocked",
        "030": "blocked",
        "040": "waiting",
        "050": "blocked",
    }
    assert rows["020"]["waits_for"] == [{"id": "010", "plan_id": "1", "outcome": "failed"}]
    assert rows["050"]["waits_for"] == [{"id": "040", "plan_id": "4", "outcome": "waiting"}]
    assert rows["040"]["question"] == {"number": 3, "text": "Which store?"}
    document = run_report.report_data(journal.home, journal.folder)
    assert document["counts"]["blocked"] == 3
    shown = run_report.render_markdown(document)  # in words, it is paused, as in the task's status
    assert "| 4 (040) | Sessions | paused |" in shown and "4 (040), paused" in shown and "waiting" not in shown


def test_the_fields_of_a_task(crew):
    """Ids, agent, executor, iterations, result, retries, verdicts, checks, times, estimate, cost and tokens."""
    journal = MadeUpRun(crew, ["010"])
    journal.begin()
    journal.add(1, "task_started", task="010", iteration=1, slot=0)
    journal.turn(1, 31, "010")
    journal.add(32, "check", task="010", iteration=1, kind="test", command="make test", exit=1, seconds=1, passed=False)
    journal.turn(33, 43, "010", role="reviewer", executor="codex", kind="review")
    journal.add(44, "reviewed", task="010", iteration=1, verdict="RED", by="reviewer", findings=2, feedback="no test")
    journal.add(44, "sent_back", task="010", iteration=1, reason="no test")
    journal.turn(45, 55, "010", kind="resume", iteration=2)
    journal.add(56, "check", task="010", iteration=2, kind="test", command="make test", exit=0, seconds=1, passed=True)
    journal.add(57, "reviewed", task="010", iteration=2, verdict="GREEN", by="reviewer", findings=0, feedback="")
    journal.add(58, "merged", task="010", iteration=2, commit="c" * 40)
    journal.add(61, "task_ended", task="010", status="completed", result="GREEN", seconds=60, retry_count=1)
    journal.end(61)
    done(crew, journal, "010")
    (row,) = run_report.report_data(journal.home, journal.folder)["tasks"]
    expected = {
        "id": "010",
        "plan_id": "1",
        "name": "Store users",
        "agent": "implementer",
        "executor": "claude-code",
        "outcome": "completed",
        "result": "GREEN",
        "iterations": 2,
        "tries": 2,
        "retries": 1,
        "checks": {"passed": 1, "failed": 1},
        "started_at": stamp(1),
        "ended_at": stamp(61),
        "active_seconds": 60,
        "work_seconds": 50,
        "estimated_minutes": 1,
        "against_estimate": 1.0,
        "turns": 3,
        "cost_usd": 0.75,
        "cost_unknown_turns": 0,
        "input_tokens": 3000,
        "output_tokens": 300,
        "tokens_unknown_turns": 0,
        "merges": 1,
        "conflicts": 0,
    }
    assert {key: row[key] for key in expected} == expected
    assert [(review["verdict"], review["findings"]) for review in row["reviews"]] == [("RED", 2), ("GREEN", 0)]


def test_the_plans_id_comes_from_the_task(crew):
    """If the task's state has the plan's id, that is shown."""
    journal = MadeUpRun(crew, ["010"])
    journal.begin()
    put(crew, journal, "010", source={"plan": "plan.md", "id": "2.5", "digest": "d" * 64})
    assert run_report.report_data(journal.home, journal.folder)["tasks"][0]["plan_id"] == "2.5"


def test_the_speed_up(crew):
    """Three parallel turns of ten seconds are three times as fast; waiting is shown apart."""
    journal = MadeUpRun(crew, IDS[:3])
    journal.begin()
    for ident in IDS[:3]:
        journal.add(
            0, "turn_started", task=ident, iteration=1, role="implementer", executor="e", kind="spawn", model=""
        )
    for ident in IDS[:3]:
        journal.add(
            10, "turn_ended", task=ident, iteration=1, role="implementer", executor="e", kind="spawn", outcome="done",
            status="needs_review", seconds=10.0, cost_usd=None, input_tokens=None, output_tokens=None, tools=1,
        )  # fmt: skip
    journal.add(10, "waiting", reason="a question", until=None)
    journal.add(30, "answered", task="010", number=1, origin="ada")
    journal.add(30, "limit", executor="e", until=START + 70, reason="usage limit")
    journal.add(30, "waiting", reason="e is limited", until=START + 70)
    journal.add(40, "waiting", reason="e is limited", until=START + 70)
    journal.add(70, "run_ended", status="ended", exit=0, seconds=70, completed=0, failed=0, blocked=0, waiting=0)
    total = run_report.report_data(journal.home, journal.folder)["totals"]
    assert (total["wall_seconds"], total["busy_seconds"], total["work_seconds"]) == (70, 10, 30)
    assert (total["waited_for_people_seconds"], total["waited_for_limits_seconds"]) == (20, 40)
    assert total["speed_up"] == 3.0


def test_waiting_during_work_does_not_count(crew):
    """While a turn runs, the run as a whole does not wait."""
    journal = MadeUpRun(crew, IDS[:1])
    journal.begin()
    journal.add(1, "turn_started", task="010", iteration=1, role="implementer", executor="e", kind="spawn", model="")
    journal.add(2, "waiting", reason="a question", until=None)
    journal.add(9, "step", task="010", text="running make test")
    assert run_report.report_data(journal.home, journal.folder)["totals"]["waited_for_people_seconds"] == 0


def test_unknown_cost_is_never_zero(crew):
    """A turn without a cost counts as unknown; if none is known, there is no sum."""
    journal = MadeUpRun(crew, IDS[:2])
    journal.begin()
    journal.work(1, 5, "010", cost_usd=None, input_tokens=None, output_tokens=None)
    document = run_report.report_data(journal.home, journal.folder)
    assert (document["totals"]["cost_usd"], document["totals"]["cost_unknown_turns"]) == (None, 1)
    assert "- cost: unknown" in run_report.render_markdown(document)
    journal.work(6, 9, "020", role="documenter", executor="codex")
    document = run_report.report_data(journal.home, journal.folder)
    assert (document["totals"]["cost_usd"], document["totals"]["cost_unknown_turns"]) == (0.25, 1)
    assert "- cost: $0.25 and 1 turn of unknown cost" in run_report.render_markdown(document)
    assert [(entry["name"], entry["cost_usd"]) for entry in document["by_agent"]] == [
        ("implementer", None),
        ("documenter", 0.25),
    ]
    assert [(entry["name"], entry["output_tokens"]) for entry in document["by_executor"]] == [
        ("claude-code", None),
        ("codex", 100),
    ]


def test_a_killed_and_continued_run_is_one_run(crew):
    """The time between its two calls does not count, and the interrupted turn counts up to its last entry."""
    journal = MadeUpRun(crew, IDS[:2])
    journal.begin()
    journal.add(1, "task_started", task="010", iteration=1, slot=0)
    journal.add(1, "turn_started", task="010", iteration=1, role="implementer", executor="e", kind="spawn", model="")
    journal.add(11, "step", task="010", text="running make test")
    later = {"at": stamp(50_000)}
    journal.begin(0, recovered=True, **later)
    journal.add(1, "task_started", task="010", iteration=1, slot=0, **later)
    journal.add(1, "turn_started", task="010", iteration=1, role="implementer", executor="e", kind="recovery", **later)
    journal.add(
        5, "turn_ended", task="010", iteration=1, role="implementer", executor="e", kind="recovery", outcome="done",
        status="needs_review", seconds=4.0, cost_usd=0.5, input_tokens=1, output_tokens=1, tools=1, **later,
    )  # fmt: skip
    journal.add(6, "task_ended", task="010", status="completed", result="GREEN", seconds=5, retry_count=0, **later)
    document = run_report.report_data(journal.home, journal.folder)
    assert (document["run"]["calls"], document["run"]["recovered"]) == (2, 1)
    assert document["totals"]["wall_seconds"] == 11 + 6
    assert document["totals"]["work_seconds"] == 10 + 4
    assert by_id(document)["010"]["active_seconds"] == 10 + 5
    assert (document["totals"]["turns"], document["totals"]["cost_unknown_turns"]) == (2, 1)


def test_a_lost_start_is_found_by_the_clock(crew):
    """If the entry of a second start is lost, time that runs backwards shows the new call."""
    journal = MadeUpRun(crew, IDS[:1])
    journal.begin()
    journal.work(1, 100, "010", "failed")
    journal.work(2, 7, "010")
    document = run_report.report_data(journal.home, journal.folder)
    assert document["run"]["calls"] == 2
    assert document["totals"]["wall_seconds"] == 100 + 5


@pytest.mark.parametrize("t", [1, 90_000])
def test_the_time_of_a_delivery_is_no_time_of_the_run(crew, t):
    """`sow deliver --watch` writes to the journal of the run, from a process whose clock is behind or ahead."""
    journal = MadeUpRun(crew, IDS[:1])
    journal.begin()
    journal.work(2, 7, "010")
    journal.add(8, "run_ended", exit=0)
    before = run_report.report_data(journal.home, journal.folder)
    journal.add(t, "request_opened", number=7, url="https://example.org/7", at=stamp(50_000))
    journal.add(t + 4000, "request_merged", number=7, commit="1" * 40, at=stamp(54_000))
    after = run_report.report_data(journal.home, journal.folder)
    assert (after["totals"], after["run"]["calls"]) == (before["totals"], 1)


@pytest.mark.parametrize("jump", [3600, -3600, 86400 * 365, -86400 * 365])
def test_a_clock_jump_changes_no_duration(crew, jump):
    """The system clock may jump within a call: durations follow the run's own clock."""
    journal = MadeUpRun(crew, IDS[:1])
    journal.begin()
    journal.add(1, "task_started", task="010", iteration=1, slot=0)
    journal.turn(2, 12, "010", at=stamp(jump))
    journal.add(15, "task_ended", task="010", status="completed", result="GREEN", seconds=14, retry_count=0)
    document = run_report.report_data(journal.home, journal.folder)
    assert document["totals"]["wall_seconds"] == 15
    assert by_id(document)["010"]["active_seconds"] == 14


def test_without_the_runs_clock_time_stamps_are_used(crew):
    """An entry without `t` still has a time; one that jumps back counts as no time."""
    journal = MadeUpRun(crew, IDS[:1])
    for t, event in ((0, "run_started"), (5, "task_started"), (2, "step"), (12, "task_ended")):
        journal.folder.append_event(event, at=stamp(t), task="010", status="completed")
    document = run_report.report_data(journal.home, journal.folder)
    assert document["totals"]["wall_seconds"] == 15
    assert by_id(document)["010"]["active_seconds"] == 10


TOLD = {"outcome": "done", "cost_usd": 1.5, "input_tokens": 7, "output_tokens": 8, "seconds": 20.0}


def test_session_records_fill_gaps_of_the_journal(crew):
    """A turn without its end takes its cost from the record, and a missing one is added once."""
    journal = MadeUpRun(crew, IDS[:2])
    journal.begin()
    journal.add(1, "turn_started", task="010", iteration=1, role="implementer", executor="claude-code", kind="spawn")
    journal.work(1, 30, "020")
    journal.add(30, "step", task="010", text="running make test")
    record(journal, "010", 1, ended_at=stamp(21), **TOLD)
    record(journal, "010", 25, role="reviewer", ended_at=stamp(29), **TOLD)
    document = run_report.report_data(journal.home, journal.folder)
    assert by_id(document)["010"]["turns"] == 2
    assert by_id(document)["010"]["cost_usd"] == 3.0
    assert by_id(document)["020"]["cost_usd"] == 0.25
    assert [(entry["name"], entry["work_seconds"]) for entry in document["by_agent"]] == [
        ("implementer", 49),
        ("reviewer", 20),
    ]


def test_several_turns_that_the_journal_has_as_one(crew):
    """If a limit, another executor or a reminder made several turns of one, the records have the cost of all."""
    journal = MadeUpRun(crew, IDS[:1])
    journal.begin()
    begun = {"task": "010", "iteration": 1, "role": "implementer", "kind": "spawn"}
    journal.add(1, "turn_started", executor="claude-code", **begun)
    journal.add(30, "turn_ended", executor="codex", **begun, **TOLD)
    record(journal, "010", 1, ended_at=stamp(2), **{**TOLD, "outcome": "limited", "cost_usd": 0.25})
    record(journal, "010", 3, executor="codex", ended_at=stamp(20), **{**TOLD, "cost_usd": 0.5})
    record(journal, "010", 21, executor="codex", ended_at=stamp(30), **TOLD)
    document = run_report.report_data(journal.home, journal.folder)
    assert (document["totals"]["turns"], document["totals"]["cost_usd"]) == (3, 2.25)
    assert {entry["name"]: entry["turns"] for entry in document["by_executor"]} == {"codex": 2, "claude-code": 1}
    assert by_id(document)["010"]["executor"] == "codex"


def test_a_turn_with_a_fallback_is_one_turn(crew):
    """Without records, the journal's turn ends under the name of the executor that ended it."""
    journal = MadeUpRun(crew, IDS[:1])
    journal.begin()
    begun = {"task": "010", "iteration": 1, "role": "implementer", "kind": "spawn"}
    journal.add(1, "turn_started", executor="claude-code", **begun)
    journal.add(30, "turn_ended", executor="codex", **begun, **TOLD)
    document = run_report.report_data(journal.home, journal.folder)
    assert [(entry["name"], entry["turns"]) for entry in document["by_executor"]] == [("codex", 1)]


def test_a_broken_record_affects_only_itself(crew):
    """An unreadable record is a remark, and the journal's facts stay."""
    journal = MadeUpRun(crew, IDS[:1])
    journal.begin()
    journal.work(1, 5, "010")
    record(journal, "010", 1, ended_at=stamp(5), **TOLD)
    (crew.root / ".sow/local/sessions/010/1/record.yaml").write_text("schema_version: [")
    document = run_report.report_data(journal.home, journal.folder)
    assert "the sessions of task 010 cannot be read" in document["remarks"][0]
    assert document["totals"]["cost_usd"] == 0.25


def test_turns_outside_the_run_do_not_count(crew):
    """Turns before or after the run belong to the person who started them."""
    journal = MadeUpRun(crew, IDS[:1])
    journal.begin(100)
    journal.add(200, "run_ended", status="ended", exit=0, seconds=100, completed=0, failed=0, blocked=0, waiting=0)
    for t in (50, 500):
        record(journal, "010", t, ended_at=stamp(t + 5), outcome="done", cost_usd=1.0)
    assert run_report.report_data(journal.home, journal.folder)["totals"]["turns"] == 0


@pytest.mark.parametrize(("began", "ended"), [(99, 100), (100, 100), (98, 99)])
def test_a_turn_by_hand_right_before_the_run_does_not_count(crew, began, ended):
    """A person may resume a worker in the second in which the run then starts: its journal has only its own turns."""
    journal = MadeUpRun(crew, IDS[:1])
    record(journal, "010", began, ended_at=stamp(ended), outcome="done", cost_usd=0.0024)
    journal.begin(100)
    journal.turn(103, 105, "010", role="implementer", executor="claude-code", cost_usd=0.0036)
    journal.end(106)
    totals = run_report.report_data(journal.home, journal.folder)["totals"]
    assert (totals["turns"], totals["cost_usd"]) == (1, 0.0036)


def test_the_expected_time_does_not_depend_on_when_it_is_asked_for(crew):
    """The tasks of a run are expected to take the same time before and after one of them is completed."""
    journal = MadeUpRun(crew, IDS[:4])
    for ident in IDS:
        put(crew, journal, ident, estimated_minutes=30)
    expected = run_history.expected_minutes(journal.folder)
    assert expected == dict.fromkeys(IDS[:4], 30)
    for ident in IDS[:3]:
        record(journal, ident, 1, ended_at=stamp(4), outcome="done", seconds=3.0)
        done(crew, journal, ident)
    assert run_history.expected_minutes(journal.folder) == expected


def test_runs_within_one_second_have_their_own_turns(crew):
    """A turn belongs to the run whose journal has it, although another run was alive in the same second."""
    first = MadeUpRun(crew, IDS)
    first.begin()
    first.turn(0, 1, "010", role="implementer", executor="claude-code")
    first.end(1, "stopped", 130)
    second = MadeUpRun(crew, IDS, id="20990101-000000-0002", started_at=stamp(1))
    second.begin(1)
    second.turn(1, 2, "010", role="implementer", executor="claude-code")
    second.end(2)
    third = MadeUpRun(crew, IDS, id="20990101-000000-0003", started_at=stamp(2))
    third.begin(2)
    third.end(2)
    for t in (0, 1):
        record(second, "010", t, ended_at=stamp(t + 1), outcome="done", cost_usd=1.0 + t, seconds=1.0)
    totals = [run_report.report_data(journal.home, journal.folder)["totals"] for journal in (first, second, third)]
    assert [total["turns"] for total in totals] == [1, 1, 0]
    assert [total["cost_usd"] for total in totals[:2]] == [1.0, 2.0]


def test_a_run_without_a_journal(crew):
    """The report uses states and records, and says that the journal is missing."""
    journal = MadeUpRun(crew, IDS[:2])
    done(crew, journal, "010")
    record(journal, "010", 3, ended_at=stamp(9), outcome="done", cost_usd=1.0, seconds=6.0)
    document = run_report.report_data(journal.home, journal.folder)
    assert {ident: row["outcome"] for ident, row in by_id(document).items()} == {"010": "completed", "020": "pending"}
    assert document["totals"]["cost_usd"] == 1.0
    assert "it has no journal" in document["remarks"][0]


def test_an_unreadable_journal_is_a_remark(crew):
    """With a folder in place of the journal the report lacks the history only."""
    journal = MadeUpRun(crew, IDS[:1])
    os.mkdir(journal.folder.journal_path)
    document = run_report.report_data(journal.home, journal.folder)
    assert "its journal cannot be read" in document["remarks"][0]
    assert document["counts"]["total"] == 1


def test_a_removed_project_keeps_its_report(crew):
    """After `sow project delete` the journal still has the results of the tasks."""
    journal = MadeUpRun(crew, IDS[:2])
    journal.begin()
    journal.work(1, 5, "010")
    journal.end(6)
    shutil.rmtree(crew.project)
    document = run_report.report_data(journal.home, journal.folder)
    assert {ident: row["outcome"] for ident, row in by_id(document).items()} == {"010": "completed", "020": "unknown"}
    assert by_id(document)["010"]["name"] == "Task 1"
    assert "the journal alone" in document["remarks"][0]


def test_another_projects_state_is_not_used(crew):
    """Tasks with the same ids in another project do not belong to this run."""
    journal = MadeUpRun(crew, IDS[:1], project_id="6f1c02d4-8a3e-4e53-bb0c-0f3f7a6f5d21")
    journal.begin()
    journal.work(1, 5, "010")
    document = run_report.report_data(journal.home, journal.folder)
    assert by_id(document)["010"]["name"] == "Task 1"
    assert "is not on branch feat/auth" in document["remarks"][0]


def test_an_ended_run_does_not_change(crew):
    """Later changes of a task do not change the run's report."""
    journal = MadeUpRun(crew, IDS[:1])
    journal.begin()
    journal.work(1, 5, "010", "failed")
    journal.end(6, code=1)
    done(crew, journal, "010")
    (row,) = run_report.report_data(journal.home, journal.folder)["tasks"]
    assert (row["outcome"], row["status"]) == ("failed", "completed")


def test_a_live_run_has_running_tasks(crew):
    """While a process holds the run, its begun tasks are running; when it is gone, the run is stopped."""
    journal = MadeUpRun(crew, IDS[:2])
    journal.begin()
    journal.add(1, "task_started", task="010", iteration=1, slot=0)
    with hold_claim(crew, "run", journal.folder.id):
        document = run_report.report_data(journal.home, journal.folder)
        assert (document["run"]["live"], document["run"]["status"]) == (True, "running")
        assert by_id(document)["010"]["outcome"] == "running"
        assert document["next"][-1]["command"] == f"sow runs stop {journal.folder.id}"
        passed = time.time() - START  # its times go on until now
        assert document["totals"]["wall_seconds"] == pytest.approx(passed, abs=60)
        assert by_id(document)["010"]["active_seconds"] == pytest.approx(passed - 1, abs=60)
    document = run_report.report_data(journal.home, journal.folder)
    assert (document["run"]["live"], document["run"]["status"]) == (False, "stopped")
    assert document["totals"]["wall_seconds"] == 1
    assert by_id(document)["010"]["outcome"] == "pending"


def test_the_next_steps(crew):
    """Questions come first, then failures, then how to continue, each with its command."""
    journal = MadeUpRun(crew, IDS)
    journal.begin()
    journal.work(1, 5, "010", "failed")
    journal.work(5, 8, "040", "paused")
    journal.add(8, "merged", task="020", iteration=1, commit="b" * 40)
    journal.end(9, "waiting", 4)
    put(crew, journal, "010", status="failed")
    put(crew, journal, "040", status="paused", question={"number": 3, "text": "Which store?", "asked_at": stamp(8)})
    done(crew, journal, "020")
    assert [step["command"] for step in run_report.report_data(journal.home, journal.folder)["next"]] == [
        'sow answer 3 "…"',
        "sow task show 010",
        f"sow --root {crew.root} run {crew.root}/plan.md --retry-failed",
        f"sow --root {crew.root} run {crew.root}/plan.md",
        "git log --stat aaaaaaaaaaaa..sow/int/20260921-143320-ab12",
    ]


def test_the_next_steps_when_all_is_done(crew):
    """The result of a good run is reviewed; an undelivered one is integrated."""
    journal = MadeUpRun(crew, IDS[:1])
    journal.begin()
    journal.work(1, 5, "010")
    journal.add(5, "merged", task="010", iteration=1, commit="b" * 40)
    done(crew, journal, "010")
    journal.end(6)
    assert [step["command"] for step in run_report.report_data(journal.home, journal.folder)["next"]] == [
        "git log --stat aaaaaaaaaaaa..feat/auth",
        "sow cleanup",
    ]
    journal.end(7, "waiting", 4)
    assert run_report.report_data(journal.home, journal.folder)["next"][0]["command"] == "sow integrate"


def test_questions_and_how_long_they_waited(crew):
    """Each question has its answer's origin and its wait, also when the answer came to a later call."""
    journal = MadeUpRun(crew, IDS[:2])
    journal.begin()
    journal.add(5, "question", task="010", number=1, text="Which store?")
    journal.add(9, "answered", task="010", number=1, origin="ada")
    journal.add(10, "question", task="020", number=2, text="Which port?")
    journal.begin(0, at=stamp(100))
    journal.add(1, "answered", task="020", number=2, origin="a standing answer", at=stamp(110))
    document = run_report.report_data(journal.home, journal.folder)
    assert [(question["origin"], question["waited_seconds"]) for question in document["questions"]] == [
        ("ada", 4),
        ("a standing answer", 100),
    ]
    assert "answered by ada after 4.0s" in run_report.render_markdown(document)


def test_the_state_replaces_a_missing_journal(crew):
    """If the journal has no review and no check, the task's own state is used, but of this run only."""
    journal = MadeUpRun(crew, ["010"])
    review = {"iteration": 1, "verdict": "GREEN", "by": "reviewer", "findings": []}
    proof = {
        "kind": "test",
        "command": "true",
        "exit": 0,
        "seconds": 1.0,
        "output": "e" * 64,
        "iteration": 1,
        "passed": True,
    }
    put(
        crew,
        journal,
        "010",
        reviews=[{**review, "verdict": "RED", "at": stamp(-50)}, {**review, "at": stamp(5)}],
        evidence=[{**proof, "at": stamp(-50)}, {**proof, "at": stamp(5)}, {**proof, "at": stamp(6), "passed": False}],
        retry_count=2,
        result="GREEN",
    )
    (row,) = run_report.report_data(journal.home, journal.folder)["tasks"]
    assert [review["verdict"] for review in row["reviews"]] == ["GREEN"]
    assert row["checks"] == {"passed": 1, "failed": 1}
    assert (row["retries"], row["result"]) == (2, "GREEN")


HOSTILE = "a|b `c` <script> [x](y) \\ \x1b[31m\nnext \u202e ```"


def test_no_text_becomes_a_part_of_the_page(crew):
    """Names, questions and reasons stay inside their cell or line, with any content."""
    journal = MadeUpRun(crew, ["010"], name="Add a | login")
    journal.begin()
    journal.add(1, "question", task="010", number=1, text=HOSTILE)
    journal.add(2, "limit", executor=HOSTILE, until=None, reason=HOSTILE)
    journal.work(3, 4, "010", "failed", role=HOSTILE, executor=HOSTILE)
    shutil.rmtree(crew.project)
    page = run_report.render_markdown(run_report.report_data(journal.home, journal.folder))
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "<script>" not in page.replace("\\<script\\>", "")
    for line in page.splitlines():
        assert not line.startswith("next")
        if line.startswith("| 1 (010)"):
            assert line.replace("\\|", "").count("|") == 10


def test_the_document_is_plain_json(crew):
    """The document is the same after a round through JSON."""
    journal = MadeUpRun(crew, IDS)
    journal.begin()
    journal.work(1, 5, "010")
    document = run_report.report_data(journal.home, journal.folder)
    assert json.loads(run_report.render_json(document)) == document
    assert list(run_report.FORMATS) == ["md", "json", "html"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, _project_template: Path) -> Iterator[MadeUpRun]:
    """A run with every kind of event, shared by many examples; each writes the journal anew."""
    folder = tmp_path_factory.mktemp("whole")
    shutil.copytree(_project_template, folder / "repo", symlinks=True)
    repo = Repo(folder / "repo", fresh_environment(folder / "home"))
    repo.ok("task", "create", "--name", "Login")
    repo.ok("task", "create", "--name", "Logout", "--depends-on", "010")
    journal = MadeUpRun(repo, ["010", "020"])
    journal.begin(settings={"max_concurrency": 2})
    journal.work(1, 5, "010", "paused")
    journal.add(5, "question", task="010", number=1, text="Which?")
    journal.add(6, "waiting", reason="a question", until=None)
    journal.add(9, "answered", task="010", number=1, origin="ada")
    journal.add(9, "limit", executor="claude-code", until=START + 70, reason="usage")
    journal.add(9, "breaker", until=START + 70, failures=3)
    journal.add(9, "budget", reason="spent")
    journal.begin(0, recovered=True)
    journal.work(1, 5, "010")
    journal.add(5, "collected", task="010", iteration=1, commit="c" * 40, files=2, remarks=[])
    journal.add(5, "check", task="010", iteration=1, kind="test", command="true", exit=0, seconds=1, passed=True)
    journal.add(6, "reviewed", task="010", iteration=1, verdict="RED", by="reviewer", findings=1, feedback="no")
    journal.add(6, "sent_back", task="010", iteration=1, reason="no")
    journal.add(7, "conflict", task="010", paths=["a.py"])
    journal.add(8, "merged", task="010", iteration=2, commit="d" * 40)
    journal.end(9)
    yield journal


def looked_at(run: MadeUpRun, journal: bytes) -> dict[str, Any]:
    """Returns the report of a run with this journal, in every format."""
    Path(run.folder.journal_path).write_bytes(journal)
    document = run_report.report_data(run.home, run.folder)
    for render in run_report.FORMATS.values():
        assert render(document)
    assert json.loads(run_report.render_json(document)) == json.loads(json.dumps(document))
    return document


@given(data=st.data())
def test_any_part_of_a_journal_gives_a_report(whole, data):
    """A journal that ends anywhere, or has a hole anywhere, gives a report of both tasks."""
    if not hasattr(whole, "text"):
        whole.text = Path(whole.folder.journal_path).read_bytes()
    end = data.draw(st.integers(0, len(whole.text)))
    first, last = sorted((data.draw(st.integers(0, end)), data.draw(st.integers(0, end))))
    document = looked_at(whole, whole.text[:first] + whole.text[last:end])
    assert [row["id"] for row in document["tasks"]][:2] == ["010", "020"]
    total = document["totals"]
    assert 0 <= total["busy_seconds"] <= total["wall_seconds"]


FIELDS = ("event", "task", "t", "at", "iteration", "role", "seconds", "cost_usd", "tasks", "until", "number", "paths")
EVENTS = (
    "run_started", "task_started", "task_ended", "turn_started", "turn_ended", "check", "reviewed", "sent_back",
    "merged", "conflict", "question", "answered", "limit", "breaker", "budget", "waiting", "run_ended", "step",
)  # fmt: skip
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["010", "020", stamp(5)]),
    st.lists(st.one_of(st.text(max_size=3), st.dictionaries(st.sampled_from(["id", "needs"]), st.text(max_size=3)))),
)


@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.dictionaries(st.sampled_from(FIELDS), VALUES)), max_size=12))
def test_any_entries_give_a_report(whole, entries):
    """Fields of any type in any order are read as far as possible, without an error."""
    lines = [json.dumps({"event": event, **facts}) for event, facts in entries]
    document = looked_at(whole, "\n".join([*lines, "[" * 60_000]).encode())
    for key in ("wall_seconds", "work_seconds", "busy_seconds"):
        assert 0 <= document["totals"][key] < 10**18


def test_the_test_data_have_the_current_schema(whole):
    """The made-up runs of these tests follow the schema that is shipped."""
    assert whole.folder.loaded["schema_version"] == VERSION


@pytest.mark.parametrize(
    ("factor", "busy", "words"),
    [
        (3.0, 60, "3.0 times as fast as one agent at a time"),
        (0.96, 60, "not faster than one agent at a time"),
        (0.2, 60, "not faster than one agent at a time"),
        (0.2, 4.9, ""),
        (None, 60, ""),
    ],
)
def test_the_speed_as_text(factor, busy, words):
    """A slower run is called slower, and for a few seconds there is no text."""
    assert report_text.speed({"speed_up": factor, "busy_seconds": busy}) == words


def test_without_work_there_is_nothing_to_review(crew):
    """A call that found all tasks completed shows no log of missing commits."""
    journal = MadeUpRun(crew, IDS[:1])
    done(crew, journal, "010")
    journal.begin()
    journal.end(1)
    assert run_report.report_data(journal.home, journal.folder)["next"] == []
