"""`sow run`: its options, what it refuses before anything is written, and what it prints."""

from __future__ import annotations

import json
import shlex

import fakes
import pytest
from conftest import Repo
from support.plan_repo import WORK, PlanRepo
from support.simulated_workers import wait_for


def picture(plan_repo: PlanRepo) -> tuple[str, set[str]]:
    """Returns every ref and every file of the checkout and the user's home."""
    roots = (plan_repo.repo.root, plan_repo.folder.parent / "home")
    files = {str(path) for root in roots for path in root.rglob("*") if path.is_file()}
    return plan_repo.repo.git("for-each-ref"), files


def test_a_dry_run_writes_nothing(plan_repo: PlanRepo) -> None:
    """--dry-run shows the plan and its duration, starts no agent, and changes no file or ref."""
    plan_repo.plan({"estimated_time": "30m"}, {"estimated_time": "1h", "depends_on": [1]}, {"estimated_time": "20m"})
    before = picture(plan_repo)
    result = plan_repo.run("--dry-run", "--max-concurrency", "2")
    assert result.code == 0, result
    assert "nothing was started (dry run)" in result.out
    assert "time: about 1h 30m for 3 tasks, at most 2 at once" in result.out
    assert "implementer: hand (works on 3 tasks)" in result.out
    assert "quality-control: judge (reviews)" in result.out
    assert "cost: unknown" in result.out
    document = plan_repo.run("--dry-run", "--json", "--retries", "5").json
    assert (document["dry_run"], document["minutes"], document["settings"]["retries"]) == (True, 90, 5)
    starts = {task["id"]: (task["start"], task["end"]) for task in document["tasks"]}
    assert (starts["1"], starts["2"]) == ((0, 30), (30, 90))
    assert picture(plan_repo) == before
    only = plan_repo.run("--dry-run", "--json", "--task", "3").json
    assert (only["minutes"], [task["id"] for task in only["tasks"]]) == (20, ["3"])


def test_a_cli_that_needs_yolo_mode_is_named_before_the_run(plan_repo: PlanRepo) -> None:
    """A worker's CLI that cannot change files with its settings is named once, before the start (A11)."""
    fakes.install(plan_repo.repo, "cursor-agent", plan_repo.folder / "bin")
    plan_repo.plan("One", "Two")
    result = plan_repo.run("--dry-run", "--review", "off", "--executor", "cursor")
    assert result.code == 0 and result.err.count("note: cursor can change nothing without yolo_mode: true") == 1, result


def test_a_missing_reviewer_names_its_role(plan_repo: PlanRepo) -> None:
    """A run without the reviewer's program says which role wants it and why (A18)."""
    del plan_repo.settings["agents"]["bindings"]["quality-control"]
    plan_repo.configure()
    plan_repo.plan("One")
    result = plan_repo.run()
    assert result.code == 2, result
    assert "error: executor binary not found: claude (for role quality-control)" in result.err
    assert "Role quality-control uses executor claude-code (default)." in result.err
    plan_repo.settings["agents"]["default"] = "judge"
    plan_repo.configure()
    assert plan_repo.run().code == 0


@pytest.mark.full
def test_a_missing_fallback_does_not_stop_a_run(plan_repo: PlanRepo) -> None:
    """A fallback that is not installed is named once, and the run does without it (A18)."""
    plan_repo.settings["agents"]["fallbacks"] = {"implementer": ["codex"], "quality-control": ["codex"]}
    plan_repo.configure()
    plan_repo.plan("One")
    result = plan_repo.run()
    assert result.code == 0 and result.err.count("note: the fallback codex is left out") == 1, result


@pytest.mark.full
def test_all_failed_tasks_are_retried_at_once(plan_repo: PlanRepo) -> None:
    """After a run with failures its last hint retries all of them, and their dependents are done, too (D16)."""
    for task in ("010", "020"):
        plan_repo.act(f"implementer-{task}-1", "exit 1\n")
    plan_repo.plan("One", "Two", "Three < 1", "Four")
    failed = plan_repo.run()
    assert failed.code == 1
    assert "to try the 2 failed tasks again\n    sow run plan.yaml --retry-failed\n" in failed.out
    dry = plan_repo.run("--dry-run")
    assert "skipped: task 1 failed; to retry it, add --retry-failed" in dry.out
    dry = plan_repo.run("--dry-run", "--retry-failed")
    assert "will be continued: 1, 2" in dry.out and "skipped: " not in dry.out
    assert sorted(plan_repo.statuses().values()) == ["completed", "failed", "failed", "pending"]
    result = plan_repo.run("--retry-failed")
    assert result.code == 0 and "trying again: task 010, 020" in result.err, result
    assert set(plan_repo.statuses().values()) == {"completed"}
    again = plan_repo.run("--retry-failed")
    assert again.code == 0 and "note: no task has failed" in again.err and "nothing to do: 4 completed" in again.out


@pytest.mark.full
def test_only_chosen_tasks_are_retried(plan_repo: PlanRepo) -> None:
    """With --task only the failed tasks among them are retried (D16)."""
    plan_repo.act("implementer", "exit 1\n")
    plan_repo.plan("One", "Two")
    assert plan_repo.run().code == 1
    plan_repo.act("implementer", WORK)
    assert plan_repo.run("--retry-failed", "--task", "2").code == 0
    assert plan_repo.statuses() == {"010": "failed", "020": "completed"}


@pytest.mark.full
def test_a_run_ends_with_a_short_summary(plan_repo: PlanRepo) -> None:
    """One line of totals, the next step, and a line per task; `sow runs show` has the rest (C19)."""
    plan_repo.plan("First", "Second < 1")
    result = plan_repo.run("--executor", "hand", "--review", "off")
    assert result.code == 0, result
    head, totals, *rest = result.out[result.out.index("\nRun ") + 1 :].splitlines()
    run = head.split()[1].removesuffix(":")
    assert totals.startswith("  2 completed in ") and totals.endswith(f"(more: sow runs show {run})")
    assert rest[1] == "Next" and len(rest) == 10
    assert [line.split()[0] for line in rest[7:]] == ["TASK", "1", "2"]
    whole = plan_repo.repo.ok("runs", "show", run).out
    assert "  turns  " in whole and "By agent" not in whole and "By executor" not in whole


@pytest.mark.full
def test_a_quiet_run_prints_only_its_result(plan_repo: PlanRepo) -> None:
    """With -q a run prints its summary, and no event and no note before it."""
    plan_repo.plan("First")
    result = plan_repo.run("--executor", "hand", "--review", "off", "-q")
    assert result.code == 0, result
    assert result.out.startswith("Run ")
    assert "note: " not in result.err


def test_a_dry_run_names_the_commands_of_workers(plan_repo: PlanRepo) -> None:
    """The commands that a worker's CLI may run are shown in one short line, and whole as JSON (C19)."""
    fakes.install(plan_repo.repo, "claude", plan_repo.folder / "bin")
    (plan_repo.repo.root / "Makefile").write_text("test:\n\ttrue\nlint:\n\ttrue\n")
    plan_repo.plan({"test_commands": ["pytest -q tests"]})
    options = ("--dry-run", "--review", "off", "--executor", "claude-code")
    shown = [line for line in plan_repo.run(*options).out.splitlines() if "may run" in line]
    only_read = "and commands that only read, such as ls and grep"
    assert shown == [f"  may run: sow, git, pytest -q tests, make test, make lint; {only_read}"]
    commands = plan_repo.run(*options, "--json").json["crew"][0]["commands"]
    assert commands[1:] == ["sow", "git", "pytest -q tests", "make test", "make lint"]
    assert "  may run: whatever its agent CLI allows" in plan_repo.run("--dry-run").out


@pytest.mark.full
def test_a_dry_run_shows_completed_tasks(plan_repo: PlanRepo) -> None:
    """A completed task is shown as such, and takes no time and no worker."""
    plan_repo.plan(*[{"estimated_time": "30m"}] * 3, {"estimated_time": "30m", "depends_on": [1]})
    assert plan_repo.run("--task", "1", "--task", "2").code == 0
    result = plan_repo.run("--dry-run", "--max-concurrency", "1")
    rows = [line.split() for line in result.out.splitlines() if "Part" in line]
    assert sorted((row[row.index("Part") + 1], row[-1]) for row in rows) == [
        ("1", "completed"),
        ("2", "completed"),
        ("3", "pending"),
        ("4", "pending"),
    ]
    assert "for 2 tasks, at most 1 at once" in result.out
    assert "implementer: hand (works on 2 tasks)" in result.out
    document = plan_repo.run("--dry-run", "--json").json
    assert {task["id"] for task in document["tasks"]} == {"3", "4"}
    assert plan_repo.run("--dry-run", "--task", "1").out.endswith("nothing is left to do\n")


@pytest.mark.full
def test_a_dry_run_names_tasks_that_would_not_run(plan_repo: PlanRepo) -> None:
    """A task that failed, asks or waits for such a task is named with its reason."""
    plan_repo.act("implementer-010", "exit 1\n")
    plan_repo.act("implementer-020-1", "sow task set status paused --reason 'Which port?'\n")
    tasks = [{"estimated_time": "30m"}] * 3
    plan_repo.plan(*tasks, {"estimated_time": "30m", "depends_on": [1]}, {"estimated_time": "30m", "depends_on": [4]})
    assert plan_repo.run("--task", "1", "--task", "2").code == 1
    document = plan_repo.run("--dry-run", "--json").json
    assert ([task["id"] for task in document["tasks"]], document["minutes"], document["goes_on"]) == (["3"], 30, [])
    assert {entry["id"]: entry["why"] for entry in document["left_alone"]} == {
        "1": "failed; to retry it, add --retry-failed",
        "2": "asks a question: sow inbox",
        "4": "waits for 1 (failed)",
        "5": "waits for 4 (waits too)",
    }
    shown = plan_repo.run("--dry-run").out
    assert "time: about 30m for 1 task, at most 3 at once" in shown
    assert "implementer: hand (works on 1 task)" in shown
    assert "skipped: task 2 asks a question: sow inbox\n" in shown
    assert plan_repo.run("--dry-run", "--task", "5").out.endswith(
        "skipped: task 5 waits for 4 (not in this run)\nnothing would be started\n"
    )
    assert plan_repo.run().code == 1
    assert [plan_repo.turns(name) for name in ("010", "020", "030", "040", "050")] == [1, 1, 1, 0, 0]


@pytest.mark.full
def test_a_dry_run_shows_what_a_run_would_continue(plan_repo: PlanRepo) -> None:
    """After an answer and a retry both tasks are listed again, and so are those that waited for them."""
    plan_repo.act("implementer-010-1", "exit 1\n")
    plan_repo.act("implementer-020-1", "sow task set status paused --reason 'Which port?'\n")
    plan_repo.plan("First", "Second", "Third < 1 2", {"status": "failed"}, {"status": "skipped"}, {"depends_on": [5]})
    assert plan_repo.run("--task", "1", "--task", "2").code == 1
    plan_repo.repo.ok("answer", "1", "Port 8080")
    plan_repo.repo.ok("task", "set", "--id", "010", "status", "in_progress")
    document = plan_repo.run("--dry-run", "--json").json
    assert ({task["id"] for task in document["tasks"]}, document["left_alone"]) == ({"1", "2", "3", "4", "6"}, [])
    assert document["goes_on"] == ["1", "2"]
    assert "will be continued: 1, 2\n" in plan_repo.run("--dry-run").out
    assert plan_repo.run().code == 0
    assert {task for task, status in plan_repo.statuses().items() if status == "abandoned"} == {"050"}


@pytest.mark.full
def test_a_dry_run_estimates_the_cost_from_history(plan_repo: PlanRepo) -> None:
    """The expected cost follows earlier tasks, and is compared with --max-cost."""
    turns = [{"write": {"path": "part_{task}.txt", "text": "done\n"}}, {"status": "needs_review"}]
    plan_repo.simulated("paid", "implementer", turns)
    plan_repo.configure(review={"enabled": False})
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    (turn,) = plan_repo.journal("turn_ended")
    plan_repo.plan("First", "Second", "Third")
    document = plan_repo.run("--dry-run", "--json", "--task", "2", "--task", "3").json
    assert (document["cost_usd"], document["cost_unknown"]) == (round(2 * turn["cost_usd"], 4), 0)
    assert "which is above --max-cost" in plan_repo.run("--dry-run", "--max-cost", "0").out


def test_json_is_a_stream_of_documents(plan_repo: PlanRepo) -> None:
    """With --json every line of stdout is one event, from run_started to run_ended, and nothing else is there."""
    plan_repo.plan("First")
    result = plan_repo.run("--json", "--update-plan")
    assert result.code == 0, result
    events = [json.loads(line) for line in result.out.splitlines()]
    assert (events[0]["event"], events[-1]["event"]) == ("run_started", "run_ended")
    assert (events[-1]["exit"], events[-1]["completed"]) == (0, 1)
    assert events == plan_repo.journal()


@pytest.mark.full
def test_one_task_of_a_plan(plan_repo: PlanRepo) -> None:
    """--task runs only that task, by its number in the plan or its id, and leaves the others pending."""
    plan_repo.plan("First", "Second", "Third")
    assert plan_repo.run("--task", "2").code == 0
    assert plan_repo.statuses() == {"010": "pending", "020": "completed", "030": "pending"}
    assert plan_repo.run("--task", "010", "--task", "3").code == 0
    assert set(plan_repo.statuses().values()) == {"completed"}


@pytest.mark.full
def test_one_agent_and_one_executor_for_all(plan_repo: PlanRepo) -> None:
    """--agent sets the role of every task, and --executor who plays every role, reviewers included."""
    plan_repo.settings["agents"]["bindings"] = {}
    plan_repo.configure()
    plan_repo.act("documenter", WORK)
    plan_repo.plan({"agent": "architect"})
    result = plan_repo.run("--agent", "documenter", "--executor", "hand")
    assert result.code == 0, result
    assert (plan_repo.turns("010", "documenter"), plan_repo.turns("010", "quality-control")) == (1, 1)
    assert {entry["executor"] for entry in plan_repo.journal("turn_started")} == {"hand"}


@pytest.mark.full
def test_statuses_are_written_into_the_plan_file(plan_repo: PlanRepo) -> None:
    """--update-plan writes each task's status into the plan file; without it the file is not touched."""
    plan_repo.plan("First", "Second")
    before = (plan_repo.repo.root / "plan.yaml").read_text()
    assert plan_repo.run("--task", "1").code == 0
    assert (plan_repo.repo.root / "plan.yaml").read_text() == before
    assert plan_repo.run("--task", "1", "--update-plan").code == 0
    assert (plan_repo.repo.root / "plan.yaml").read_text().count("status: completed") == 1
    assert plan_repo.run().code == 0  # a status that we wrote is no change of the plan


def test_a_changed_plan_needs_consent(plan_repo: PlanRepo) -> None:
    """A task that the plan changed since the last call is shown, and stays as it is without --yes."""
    plan_repo.act("implementer-020", "exit 1\n")
    plan_repo.plan("First", "Second")
    assert plan_repo.run().code == 1
    plan_repo.plan("First", {"name": "Second, but better"})
    refused = plan_repo.run()
    assert refused.code == 4
    assert "task 020, 2 in the plan: name: Second → Second, but better" in refused.err
    assert plan_repo.task("020")["name"] == "Second"
    assert plan_repo.run("--yes").code == 1
    assert plan_repo.task("020")["name"] == "Second, but better"


@pytest.mark.full
def test_an_edit_of_the_plan_during_the_run_is_reported(plan_repo: PlanRepo) -> None:
    """The run continues with the plan as it began, and says that the file changed."""
    plan_repo.act("implementer-010", f"until test -e {plan_repo.folder}/go; do sleep 0.05; done\n{WORK}")
    plan_repo.plan("First", commit=False)
    run = plan_repo.start()
    wait_for(lambda: (plan_repo.folder / "implementer-010-1.cwd").exists())
    plan_repo.plan("First", "Second", commit=False)
    wait_for(lambda: plan_repo.has_happened("plan_changed", path="plan.yaml"))
    (plan_repo.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    assert b"plan.yaml was edited" in out
    assert plan_repo.statuses() == {"010": "completed"}


def test_a_run_without_a_terminal_prints_plain_lines(plan_repo: PlanRepo) -> None:
    """Each event is a line, and the report with its next steps follows."""
    plan_repo.judge("010", "RED", "GREEN")
    plan_repo.act("implementer-010-2", "echo more >> part_010.txt\n")
    plan_repo.plan("First")
    out = plan_repo.run().out
    for text in (
        "run 20",
        "task 1 (010) First: started, implementer on hand",
        "RED by quality-control",
        "sent back: the review is RED",
        "GREEN by quality-control",
        "merged as ",
        "completed GREEN",
        "the run has ended",
    ):
        assert text in out, text


def test_a_bad_plan_is_refused(plan_repo: PlanRepo) -> None:
    """A plan with a dependency circle ends with exit 2 before anything is written."""
    plan_repo.plan("First < 2", "Second < 1")
    before = picture(plan_repo)
    result = plan_repo.run()
    assert result.code == 2
    assert "1 → 2 → 1" in result.err or "2 → 1 → 2" in result.err
    assert picture(plan_repo) == before


def test_a_missing_program_is_reported_first(plan_repo: PlanRepo) -> None:
    """A reviewer whose CLI is not installed is found before the first state is written."""
    plan_repo.settings["agents"]["executors"]["judge"]["settings"]["command"] = ["/no/such/judge"]
    plan_repo.configure()
    plan_repo.plan("First")
    before = picture(plan_repo)
    result = plan_repo.run()
    assert result.code == 2, result
    assert "/no/such/judge" in result.err
    assert picture(plan_repo) == before


def test_a_detached_head_is_refused(plan_repo: PlanRepo) -> None:
    """A run needs a branch; the error says what to do."""
    plan_repo.plan("First")
    plan_repo.repo.git("switch", "-q", "--detach")
    result = plan_repo.run()
    assert result.code == 2
    assert "git switch -c" in result.err


def test_a_repository_without_a_commit_is_refused(plan_repo: PlanRepo) -> None:
    """There is no commit to branch from."""
    plan_repo.plan("First")
    plan_repo.repo.git("switch", "-q", "--orphan", "empty")
    plan_repo.plan("First", commit=False)
    result = plan_repo.run()
    assert result.code == 2
    assert "has no commit yet" in result.err


def test_no_branch_can_be_made_during_a_merge(plan_repo: PlanRepo) -> None:
    """On main during a merge the call ends with exit 2 and a hint; the merge stays as it is."""
    git = plan_repo.repo.git
    plan_repo.plan("First")
    git("switch", "-q", "-C", "main")
    git("switch", "-q", "-c", "side")
    (plan_repo.repo.root / "both.txt").write_text("side\n")
    git("add", "both.txt")
    git("commit", "-q", "-m", "Side")
    git("switch", "-q", "main")
    git("merge", "--no-ff", "--no-commit", "side")
    result = plan_repo.run()
    assert result.code == 2, result
    assert "error: sow does not run on main, and branch sow/harbour cannot be made: git switch failed" in result.err
    assert (plan_repo.repo.root / ".git/MERGE_HEAD").exists()
    assert not (plan_repo.repo.root / ".sow").exists()


@pytest.mark.full
def test_a_finished_plan_is_not_run_again(plan_repo: PlanRepo) -> None:
    """With nothing left to do, `sow run` says so: no run, no branch and no commit is added (D9)."""
    plan_repo.act("implementer-020", "exit 1\n")
    plan_repo.plan("First", "Second")
    assert plan_repo.run().code == 1
    plan_repo.repo.ok("task", "abandon", "020", "--reason", "not needed")
    assert "1 completed, 1 abandoned" in plan_repo.repo.ok("runs", "show").out
    before = picture(plan_repo)[0], len(plan_repo.runs())
    result = plan_repo.run()
    assert (result.code, result.out) == (0, "nothing to do: 1 completed, 1 abandoned\n"), result
    quiet = plan_repo.run("--json")
    assert (quiet.code, quiet.out) == (0, "")
    assert (picture(plan_repo)[0], len(plan_repo.runs())) == before
    plan_repo.plan("First", "Second", "Third")
    assert plan_repo.run("--yes").code == 0
    assert plan_repo.statuses()["030"] == "completed"


@pytest.mark.full
def test_a_task_behind_an_abandoned_one_has_a_way_out(plan_repo: PlanRepo) -> None:
    """The inbox, the report and `--task` name the command that lets it start, and it works as printed (C10)."""
    plan_repo.act("implementer-010", "sow task set status failed\n")
    plan_repo.plan("First", "Second < 1", "Third < 1 2")
    assert plan_repo.run().code == 1
    plan_repo.repo.ok("task", "abandon", "010", "--reason", "too hard")
    waits = plan_repo.repo.ok("inbox", "--json").json["items"]
    commands = ['sow task set 020 depends_on ""', 'sow task set 030 depends_on "020"']
    assert [(item["kind"], item["task"], item["blocks"]) for item in waits] == [
        ("blocked", "020", 1),
        ("blocked", "030", 0),
    ]
    assert [item["do"] for item in waits] == commands
    result = plan_repo.run()
    assert result.code == 4 and all(command in result.out for command in commands), result
    only = plan_repo.run("--task", "2")
    assert only.code == 2 and f"hint: {commands[0]}\n" in only.err, only
    for command in commands:
        plan_repo.repo.ok(*shlex.split(command)[1:])
    assert plan_repo.run().code == 0
    assert plan_repo.statuses() == {"010": "abandoned", "020": "completed", "030": "completed"}


@pytest.mark.full
def test_an_abandoned_task_does_not_stop_its_worktree_group(plan_repo: PlanRepo) -> None:
    """A task that only follows an abandoned one in its worktree group starts without it (C10)."""
    plan_repo.act("implementer-010", "sow task set status failed\n")
    group = {"worktree_group": "dock"}
    plan_repo.plan({"name": "First", **group}, {"name": "Second", **group})
    assert plan_repo.run().code == 1
    plan_repo.repo.ok("task", "abandon", "010", "--reason", "too hard")
    result = plan_repo.run()
    assert result.code == 0 and plan_repo.statuses() == {"010": "abandoned", "020": "completed"}, result


@pytest.mark.full
def test_a_chosen_task_with_an_open_dependency_is_refused(plan_repo: PlanRepo) -> None:
    """`--task 3` while 1 is pending starts nothing, and the hint names a call with all that is missing (C10)."""
    plan_repo.plan("First", "Second < 1", "Third < 2")
    refused = plan_repo.run("--task", "3")
    assert refused.code == 2 and "task 030 waits for 020 (pending), which is not part of this run" in refused.err
    assert "hint: sow run plan.yaml --task 3 --task 2 --task 1\n" in refused.err
    assert not (plan_repo.repo.root / ".sow").exists()
    assert plan_repo.run("--task", "1").code == 0
    refused = plan_repo.run("--task", "3")
    assert "hint: sow run plan.yaml --task 3 --task 2\n" in refused.err
    assert plan_repo.run("--task", "3", "--task", "2").code == 0


@pytest.mark.full
def test_a_run_that_stopped_at_its_budget_is_in_the_inbox(plan_repo: PlanRepo) -> None:
    """Inbox and status name the call that continues it with a higher budget, not a spawn (C10)."""
    plan_repo.simulated("sim", "implementer", [{"say": "ready"}, {"write": {"path": "a", "text": "x"}}])
    plan_repo.plan("First", "Second < 1")
    assert plan_repo.run("--review", "off", "--max-cost", "0.0001").code == 4
    command = "sow run plan.yaml --review off --max-cost 0.01"
    assert [item["do"] for item in plan_repo.repo.ok("inbox", "--json").json["items"]] == [command]
    assert plan_repo.repo.ok("status", "--json").json["next"]["command"] == command
    plan_repo.run("--review", "off", "--max-cost", "5")
    assert plan_repo.repo.ok("inbox", "--json").json["items"] == []


@pytest.mark.full
def test_a_plan_number_leads_to_the_id(plan_repo: PlanRepo) -> None:
    """If a command needs a task's id, its error for a number of the plan names the id."""
    plan_repo.plan("First", "Second")
    plan_repo.repo.ok("run", "plan.yaml")
    for case in (("task", "show", "2"), ("approve", "2")):
        refused = plan_repo.repo.sow(*case)
        assert (refused.code, "hint: task 2 of plan.yaml has the id 020" in refused.err) == (2, True), refused


@pytest.mark.full
def test_setup_commands_are_no_checks(plan_repo: PlanRepo) -> None:
    """The report counts only checks, and the live step says that a checkout is set up."""
    plan_repo.configure(worktree={"setup": [["true", "setup"]]})
    plan_repo.plan({"test_commands": ["true"]})
    result = plan_repo.run("--final-checks", "off")
    assert result.code == 0, result
    assert {entry["kind"] for entry in plan_repo.journal("check")} == {"setup", "test"}
    (row,) = plan_repo.repo.ok("runs", "show", "--json").json["tasks"]
    kinds = [entry["kind"] for entry in plan_repo.journal("check")]
    assert row["checks"] == {"passed": len(kinds) - kinds.count("setup"), "failed": 0}
    assert any(entry["text"] == "setting up: true setup" for entry in plan_repo.journal("step"))


def test_a_run_without_merges_offers_no_review(plan_repo: PlanRepo) -> None:
    """The next steps of a run without merges do not name an empty range of commits."""
    plan_repo.plan("First")
    assert plan_repo.run("--isolation", "none").code == 0
    assert "git log" not in str(plan_repo.repo.ok("runs", "show", "--json").json["next"])


@pytest.mark.full
def test_two_plans_on_two_branches_are_independent(bare_repo: Repo) -> None:
    """The empty folders that `git switch` leaves are no tasks of the other branch, and keep no number."""
    repo = bare_repo
    for name in ("first", "second"):
        (repo.root / f"{name}.md").write_text(f"# {name}\n\n## Task 1: The {name}\n\nWith care.\n")
    repo.git("add", ".")
    repo.git("commit", "-q", "-m", "Two plans")
    for name in ("first", "second"):
        repo.git("switch", "-q", "main")
        repo.ok("run", f"{name}.md", "--executor", "simulated", "--review", "off", "--yes")
        # The sandbox makes this folder for the worker's notes; git does not remove it with the task.
        (repo.project / "phases/implementation/tasks/010/completion_drive").mkdir(exist_ok=True)
    for name in ("first", "second"):
        repo.git("switch", "-q", f"sow/{name}")
        tasks = repo.ok("task", "list", "--json").json["tasks"]
        assert [(task["id"], task["name"], task["status"]) for task in tasks] == [("010", f"The {name}", "completed")]
        assert "nothing to do" in repo.ok("run", f"{name}.md", "--executor", "simulated", "--review", "off").out
