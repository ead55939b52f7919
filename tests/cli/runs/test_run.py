"""`sow run`: its options, what it refuses before anything is written, and what it prints."""

from __future__ import annotations

import json

from support.plan_repo import WORK, PlanRepo
from support.simulated_workers import wait_for


def picture(plan_repo: PlanRepo) -> tuple[str, set[str]]:
    """Every ref, and every file of the checkout and the user's home."""
    roots = (plan_repo.repo.root, plan_repo.folder.parent / "home")
    files = {str(path) for root in roots for path in root.rglob("*") if path.is_file()}
    return plan_repo.repo.git("for-each-ref"), files


def test_a_dry_run_writes_nothing(plan_repo: PlanRepo) -> None:
    """--dry-run shows the plan and how long it would take, starts nobody, and leaves every file and ref alone."""
    plan_repo.plan({"estimated_time": "30m"}, {"estimated_time": "1h", "depends_on": [1]}, {"estimated_time": "20m"})
    before = picture(plan_repo)
    result = plan_repo.run("--dry-run", "--max-concurrency", "2")
    assert result.code == 0, result
    assert "nothing was started (dry run)" in result.out
    assert "3 tasks with 2 at once: about 1h 30m of work" in result.out
    assert "implementer: hand (works on 3)" in result.out
    assert "quality-control: judge (reviews)" in result.out
    assert "cost: unknown" in result.out
    found = plan_repo.run("--dry-run", "--json", "--retries", "5").json
    assert (found["dry_run"], found["minutes"], found["settings"]["retries"]) == (True, 90, 5)
    starts = {each["id"]: (each["start"], each["end"]) for each in found["tasks"]}
    assert (starts["1"], starts["2"]) == ((0, 30), (30, 90))
    assert picture(plan_repo) == before
    only = plan_repo.run("--dry-run", "--json", "--task", "3").json
    assert (only["minutes"], [each["id"] for each in only["tasks"]]) == (20, ["3"])


def test_a_dry_run_foretells_the_rest(plan_repo: PlanRepo) -> None:
    """What is completed already is shown so, and takes no time and nobody any more."""
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
    assert "2 tasks with 1 at once: about " in result.out
    assert "implementer: hand (works on 2)" in result.out
    found = plan_repo.run("--dry-run", "--json").json
    assert {each["id"] for each in found["tasks"]} == {"3", "4"}
    assert plan_repo.run("--dry-run", "--task", "1").out.endswith("nothing of it is left to do\n")


def test_a_dry_run_leaves_alone_what_a_run_would(plan_repo: PlanRepo) -> None:
    """What failed, asks or waits for such a task is no work that would be done: it is named with its reason."""
    plan_repo.act("implementer-010", "exit 1\n")
    plan_repo.act("implementer-020-1", "sow task set status paused --reason 'Which port?'\n")
    tasks = [{"estimated_time": "30m"}] * 3
    plan_repo.plan(*tasks, {"estimated_time": "30m", "depends_on": [1]}, {"estimated_time": "30m", "depends_on": [4]})
    assert plan_repo.run("--task", "1", "--task", "2").code == 1
    found = plan_repo.run("--dry-run", "--json").json
    assert ([each["id"] for each in found["tasks"]], found["minutes"], found["goes_on"]) == (["3"], 30, [])
    assert {each["id"]: each["why"] for each in found["left_alone"]} == {
        "1": "failed, and is not tried again by itself",
        "2": "asks a question: sow inbox",
        "4": "waits for 1 (failed)",
        "5": "waits for 4 (blocked)",
    }
    shown = plan_repo.run("--dry-run").out
    assert "1 task with 3 at once: about 30m of work" in shown
    assert "implementer: hand (works on 1)" in shown
    assert "left alone: 2 asks a question: sow inbox\n" in shown
    assert plan_repo.run("--dry-run", "--task", "5").out.endswith(
        "left alone: 5 waits for 4 (not in this run)\nnothing of it would be started\n"
    )
    assert plan_repo.run().code == 1
    assert [plan_repo.turns(each) for each in ("010", "020", "030", "040", "050")] == [1, 1, 1, 0, 0]


def test_a_dry_run_tells_what_a_run_goes_on_with(plan_repo: PlanRepo) -> None:
    """After an answer and another try both tasks are work again, begun already, and what waited for them begins."""
    plan_repo.act("implementer-010-1", "exit 1\n")
    plan_repo.act("implementer-020-1", "sow task set status paused --reason 'Which port?'\n")
    plan_repo.plan("First", "Second", "Third < 1 2", {"status": "failed"}, {"status": "skipped"}, {"depends_on": [5]})
    assert plan_repo.run("--task", "1", "--task", "2").code == 1
    plan_repo.repo.ok("answer", "1", "Port 8080")
    plan_repo.repo.ok("task", "set", "--id", "010", "status", "in_progress")
    found = plan_repo.run("--dry-run", "--json").json
    assert ({each["id"] for each in found["tasks"]}, found["left_alone"]) == ({"1", "2", "3", "4", "6"}, [])
    assert found["goes_on"] == ["1", "2"]
    assert "begun already, and gone on with: 1, 2\n" in plan_repo.run("--dry-run").out
    assert plan_repo.run().code == 0
    assert {task for task, status in plan_repo.statuses().items() if status == "abandoned"} == {"050"}


def test_a_dry_run_tells_the_cost_by_history(plan_repo: PlanRepo) -> None:
    """What tasks cost before is what such tasks are expected to cost, also against --max-cost."""
    turns = [{"write": {"path": "part_{task}.txt", "text": "done\n"}}, {"status": "needs_review"}]
    plan_repo.simulated("paid", "implementer", turns)
    plan_repo.configure(review={"enabled": False})
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    (turn,) = plan_repo.journal("turn_ended")
    plan_repo.plan("First", "Second", "Third")
    found = plan_repo.run("--dry-run", "--json", "--task", "2", "--task", "3").json
    assert (found["cost_usd"], found["cost_unknown"]) == (round(2 * turn["cost_usd"], 4), 0)
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


def test_one_task_of_a_plan(plan_repo: PlanRepo) -> None:
    """--task runs only that task, by its number in the plan or its id here, and leaves the others pending."""
    plan_repo.plan("First", "Second", "Third")
    assert plan_repo.run("--task", "2").code == 0
    assert plan_repo.statuses() == {"010": "pending", "020": "completed", "030": "pending"}
    assert plan_repo.run("--task", "010", "--task", "3").code == 0
    assert set(plan_repo.statuses().values()) == {"completed"}


def test_one_task_whose_dependency_is_open(plan_repo: PlanRepo) -> None:
    """A chosen task whose dependency is not completed is blocked: exit 4, and nothing is started."""
    plan_repo.plan("First", "Second < 1")
    result = plan_repo.run("--task", "2")
    assert result.code == 4, result
    assert plan_repo.turns("020") == 0
    assert plan_repo.journal("run_ended")[-1]["blocked"] == 1


def test_one_agent_and_one_executor_for_all(plan_repo: PlanRepo) -> None:
    """--agent sets the role of every task, and --executor who plays every role, reviewers included."""
    plan_repo.settings["agents"]["bindings"] = {}
    plan_repo.configure()
    plan_repo.act("documenter", WORK)
    plan_repo.plan({"agent": "architect"})
    result = plan_repo.run("--agent", "documenter", "--executor", "hand")
    assert result.code == 0, result
    assert (plan_repo.turns("010", "documenter"), plan_repo.turns("010", "quality-control")) == (1, 1)
    assert {each["executor"] for each in plan_repo.journal("turn_started")} == {"hand"}


def test_the_statuses_come_back_into_the_plan(plan_repo: PlanRepo) -> None:
    """--update-plan writes each task's status into the plan file; without it the file is not touched."""
    plan_repo.plan("First", "Second")
    before = (plan_repo.repo.root / "plan.yaml").read_text()
    assert plan_repo.run("--task", "1").code == 0
    assert (plan_repo.repo.root / "plan.yaml").read_text() == before
    assert plan_repo.run("--task", "1", "--update-plan").code == 0
    assert (plan_repo.repo.root / "plan.yaml").read_text().count("status: completed") == 1
    assert plan_repo.run().code == 0  # a status that we wrote is no change of the plan


def test_a_changed_plan_needs_consent(plan_repo: PlanRepo) -> None:
    """A task that the plan changed since the last call is shown and not touched before --yes."""
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


def test_a_plan_edited_during_the_run_is_told(plan_repo: PlanRepo) -> None:
    """The run goes on with the plan as it began, and says that the file is another one now."""
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


def test_plain_lines_tell_the_story(plan_repo: PlanRepo) -> None:
    """Without a terminal each event is a line, and the report with its next steps follows."""
    plan_repo.judge("010", "RED", "GREEN")
    plan_repo.act("implementer-010-2", "echo more >> part_010.txt\n")
    plan_repo.plan("First")
    out = plan_repo.run().out
    for words in (
        "run 20",
        "task 1 (010) First: started, implementer on hand",
        "RED by quality-control",
        "sent back: the review is RED",
        "GREEN by quality-control",
        "merged as ",
        "completed GREEN",
        "the run has ended",
    ):
        assert words in out, words


def test_a_bad_plan_is_refused(plan_repo: PlanRepo) -> None:
    """A plan with a circle ends with exit 2 and its path, before anything is written."""
    plan_repo.plan("First < 2", "Second < 1")
    before = picture(plan_repo)
    result = plan_repo.run()
    assert result.code == 2
    assert "1 → 2 → 1" in result.err or "2 → 1 → 2" in result.err
    assert picture(plan_repo) == before


def test_a_missing_program_is_said_first(plan_repo: PlanRepo) -> None:
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
    """A run works for a branch: on none it is refused, with what to do."""
    plan_repo.plan("First")
    plan_repo.repo.git("switch", "-q", "--detach")
    result = plan_repo.run()
    assert result.code == 2
    assert "git switch -c" in result.err


def test_a_repository_without_a_commit_is_refused(plan_repo: PlanRepo) -> None:
    """There is nothing to branch from yet."""
    plan_repo.plan("First")
    plan_repo.repo.git("switch", "-q", "--orphan", "empty")
    plan_repo.plan("First", commit=False)
    result = plan_repo.run()
    assert result.code == 2
    assert "has no commit yet" in result.err


def test_no_branch_can_be_made_during_a_merge(plan_repo: PlanRepo) -> None:
    """On main with a merge under way the call ends with 2 and says what to do; the merge stays as it is."""
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
    assert "error: nothing is run on main, and branch sow/harbour cannot be made: git switch failed" in result.err
    assert (plan_repo.repo.root / ".git/MERGE_HEAD").exists()
    assert not (plan_repo.repo.root / ".sow").exists()
