"""`sow run`: its options, what it refuses before anything is written, and what it prints."""

from __future__ import annotations

import json

from support.plan_repo import WORK, Harbour
from support.simulated_workers import wait_for


def picture(harbour: Harbour) -> tuple[str, set[str]]:
    """Every ref, and every file of the checkout and the user's home."""
    roots = (harbour.repo.root, harbour.folder.parent / "home")
    files = {str(path) for root in roots for path in root.rglob("*") if path.is_file()}
    return harbour.repo.git("for-each-ref"), files


def test_a_dry_run_writes_nothing(harbour: Harbour) -> None:
    """--dry-run shows the plan and how long it would take, starts nobody, and leaves every file and ref alone."""
    harbour.plan({"estimated_time": "30m"}, {"estimated_time": "1h", "depends_on": [1]}, {"estimated_time": "20m"})
    before = picture(harbour)
    result = harbour.run("--dry-run", "--max-concurrency", "2")
    assert result.code == 0, result
    assert "nothing was started (dry run)" in result.out
    assert "3 tasks with 2 at once: about 1h 30m of work" in result.out
    assert "implementer: hand (works on 3)" in result.out
    assert "quality-control: judge (reviews)" in result.out
    assert "cost: unknown" in result.out
    found = harbour.run("--dry-run", "--json", "--retries", "5").json
    assert (found["dry_run"], found["minutes"], found["settings"]["retries"]) == (True, 90, 5)
    starts = {each["id"]: (each["start"], each["end"]) for each in found["tasks"]}
    assert (starts["1"], starts["2"]) == ((0, 30), (30, 90))
    assert picture(harbour) == before
    only = harbour.run("--dry-run", "--json", "--task", "3").json
    assert (only["minutes"], [each["id"] for each in only["tasks"]]) == (20, ["3"])


def test_a_dry_run_foretells_the_rest(harbour: Harbour) -> None:
    """What is completed already is shown so, and takes no time and nobody any more."""
    harbour.plan(*[{"estimated_time": "30m"}] * 3, {"estimated_time": "30m", "depends_on": [1]})
    assert harbour.run("--task", "1", "--task", "2").code == 0
    result = harbour.run("--dry-run", "--max-concurrency", "1")
    rows = [line.split() for line in result.out.splitlines() if "Part" in line]
    assert sorted((row[row.index("Part") + 1], row[-1]) for row in rows) == [
        ("1", "completed"),
        ("2", "completed"),
        ("3", "pending"),
        ("4", "pending"),
    ]
    assert "2 tasks with 1 at once: about " in result.out
    assert "implementer: hand (works on 2)" in result.out
    found = harbour.run("--dry-run", "--json").json
    assert {each["id"] for each in found["tasks"]} == {"3", "4"}
    assert harbour.run("--dry-run", "--task", "1").out.endswith("nothing of it is left to do\n")


def test_a_dry_run_leaves_alone_what_a_run_would(harbour: Harbour) -> None:
    """What failed, asks or waits for such a task is no work that would be done: it is named with its reason."""
    harbour.act("implementer-010", "exit 1\n")
    harbour.act("implementer-020-1", "sow task set status paused --reason 'Which port?'\n")
    tasks = [{"estimated_time": "30m"}] * 3
    harbour.plan(*tasks, {"estimated_time": "30m", "depends_on": [1]}, {"estimated_time": "30m", "depends_on": [4]})
    assert harbour.run("--task", "1", "--task", "2").code == 1
    found = harbour.run("--dry-run", "--json").json
    assert ([each["id"] for each in found["tasks"]], found["minutes"], found["goes_on"]) == (["3"], 30, [])
    assert {each["id"]: each["why"] for each in found["left_alone"]} == {
        "1": "failed, and is not tried again by itself",
        "2": "asks a question: sow inbox",
        "4": "waits for 1 (failed)",
        "5": "waits for 4 (blocked)",
    }
    shown = harbour.run("--dry-run").out
    assert "1 task with 3 at once: about 30m of work" in shown
    assert "implementer: hand (works on 1)" in shown
    assert "left alone: 2 asks a question: sow inbox\n" in shown
    assert harbour.run("--dry-run", "--task", "5").out.endswith(
        "left alone: 5 waits for 4 (not in this run)\nnothing of it would be started\n"
    )
    assert harbour.run().code == 1
    assert [harbour.turns(each) for each in ("010", "020", "030", "040", "050")] == [1, 1, 1, 0, 0]


def test_a_dry_run_tells_what_a_run_goes_on_with(harbour: Harbour) -> None:
    """After an answer and another try both tasks are work again, begun already, and what waited for them begins."""
    harbour.act("implementer-010-1", "exit 1\n")
    harbour.act("implementer-020-1", "sow task set status paused --reason 'Which port?'\n")
    harbour.plan("First", "Second", "Third < 1 2", {"status": "failed"}, {"status": "skipped"}, {"depends_on": [5]})
    assert harbour.run("--task", "1", "--task", "2").code == 1
    harbour.repo.ok("answer", "1", "Port 8080")
    harbour.repo.ok("task", "set", "--id", "010", "status", "in_progress")
    found = harbour.run("--dry-run", "--json").json
    assert ({each["id"] for each in found["tasks"]}, found["left_alone"]) == ({"1", "2", "3", "4", "6"}, [])
    assert found["goes_on"] == ["1", "2"]
    assert "begun already, and gone on with: 1, 2\n" in harbour.run("--dry-run").out
    assert harbour.run().code == 0
    assert {task for task, status in harbour.statuses().items() if status == "abandoned"} == {"050"}


def test_a_dry_run_tells_the_cost_by_history(harbour: Harbour) -> None:
    """What tasks cost before is what such tasks are expected to cost, also against --max-cost."""
    turns = [{"write": {"path": "part_{task}.txt", "text": "done\n"}}, {"status": "needs_review"}]
    harbour.simulated("paid", "implementer", turns)
    harbour.configure(review={"enabled": False})
    harbour.plan("First")
    assert harbour.run().code == 0
    (turn,) = harbour.journal("turn_ended")
    harbour.plan("First", "Second", "Third")
    found = harbour.run("--dry-run", "--json", "--task", "2", "--task", "3").json
    assert (found["cost_usd"], found["cost_unknown"]) == (round(2 * turn["cost_usd"], 4), 0)
    assert "which is above --max-cost" in harbour.run("--dry-run", "--max-cost", "0").out


def test_json_is_a_stream_of_documents(harbour: Harbour) -> None:
    """With --json every line of stdout is one event, from run_started to run_ended, and nothing else is there."""
    harbour.plan("First")
    result = harbour.run("--json", "--update-plan")
    assert result.code == 0, result
    events = [json.loads(line) for line in result.out.splitlines()]
    assert (events[0]["event"], events[-1]["event"]) == ("run_started", "run_ended")
    assert (events[-1]["exit"], events[-1]["completed"]) == (0, 1)
    assert events == harbour.journal()


def test_one_task_of_a_plan(harbour: Harbour) -> None:
    """--task runs only that task, by its number in the plan or its id here, and leaves the others pending."""
    harbour.plan("First", "Second", "Third")
    assert harbour.run("--task", "2").code == 0
    assert harbour.statuses() == {"010": "pending", "020": "completed", "030": "pending"}
    assert harbour.run("--task", "010", "--task", "3").code == 0
    assert set(harbour.statuses().values()) == {"completed"}


def test_one_task_whose_dependency_is_open(harbour: Harbour) -> None:
    """A chosen task whose dependency is not completed is blocked: exit 4, and nothing is started."""
    harbour.plan("First", "Second < 1")
    result = harbour.run("--task", "2")
    assert result.code == 4, result
    assert harbour.turns("020") == 0
    assert harbour.journal("run_ended")[-1]["blocked"] == 1


def test_one_agent_and_one_executor_for_all(harbour: Harbour) -> None:
    """--agent sets the role of every task, and --executor who plays every role, reviewers included."""
    harbour.settings["agents"]["bindings"] = {}
    harbour.configure()
    harbour.act("documenter", WORK)
    harbour.plan({"agent": "architect"})
    result = harbour.run("--agent", "documenter", "--executor", "hand")
    assert result.code == 0, result
    assert (harbour.turns("010", "documenter"), harbour.turns("010", "quality-control")) == (1, 1)
    assert {each["executor"] for each in harbour.journal("turn_started")} == {"hand"}


def test_the_statuses_come_back_into_the_plan(harbour: Harbour) -> None:
    """--update-plan writes each task's status into the plan file; without it the file is not touched."""
    harbour.plan("First", "Second")
    before = (harbour.repo.root / "plan.yaml").read_text()
    assert harbour.run("--task", "1").code == 0
    assert (harbour.repo.root / "plan.yaml").read_text() == before
    assert harbour.run("--task", "1", "--update-plan").code == 0
    assert (harbour.repo.root / "plan.yaml").read_text().count("status: completed") == 1
    assert harbour.run().code == 0  # a status that we wrote is no change of the plan


def test_a_changed_plan_needs_consent(harbour: Harbour) -> None:
    """A task that the plan changed since the last call is shown and not touched before --yes."""
    harbour.act("implementer-020", "exit 1\n")
    harbour.plan("First", "Second")
    assert harbour.run().code == 1
    harbour.plan("First", {"name": "Second, but better"})
    refused = harbour.run()
    assert refused.code == 4
    assert "task 020, 2 in the plan: name: Second → Second, but better" in refused.err
    assert harbour.task("020")["name"] == "Second"
    assert harbour.run("--yes").code == 1
    assert harbour.task("020")["name"] == "Second, but better"


def test_a_plan_edited_during_the_run_is_told(harbour: Harbour) -> None:
    """The run goes on with the plan as it began, and says that the file is another one now."""
    harbour.act("implementer-010", f"until test -e {harbour.folder}/go; do sleep 0.05; done\n{WORK}")
    harbour.plan("First", commit=False)
    run = harbour.start()
    wait_for(lambda: (harbour.folder / "implementer-010-1.cwd").exists())
    harbour.plan("First", "Second", commit=False)
    wait_for(lambda: harbour.has_happened("plan_changed", path="plan.yaml"))
    (harbour.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    assert b"plan.yaml was edited" in out
    assert harbour.statuses() == {"010": "completed"}


def test_plain_lines_tell_the_story(harbour: Harbour) -> None:
    """Without a terminal each event is a line, and the report with its next steps follows."""
    harbour.judge("010", "RED", "GREEN")
    harbour.act("implementer-010-2", "echo more >> part_010.txt\n")
    harbour.plan("First")
    out = harbour.run().out
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


def test_a_bad_plan_is_refused(harbour: Harbour) -> None:
    """A plan with a circle ends with exit 2 and its path, before anything is written."""
    harbour.plan("First < 2", "Second < 1")
    before = picture(harbour)
    result = harbour.run()
    assert result.code == 2
    assert "1 → 2 → 1" in result.err or "2 → 1 → 2" in result.err
    assert picture(harbour) == before


def test_a_missing_program_is_said_first(harbour: Harbour) -> None:
    """A reviewer whose CLI is not installed is found before the first state is written."""
    harbour.settings["agents"]["executors"]["judge"]["settings"]["command"] = ["/no/such/judge"]
    harbour.configure()
    harbour.plan("First")
    before = picture(harbour)
    result = harbour.run()
    assert result.code == 2, result
    assert "/no/such/judge" in result.err
    assert picture(harbour) == before


def test_a_detached_head_is_refused(harbour: Harbour) -> None:
    """A run works for a branch: on none it is refused, with what to do."""
    harbour.plan("First")
    harbour.repo.git("switch", "-q", "--detach")
    result = harbour.run()
    assert result.code == 2
    assert "git switch -c" in result.err


def test_a_repository_without_a_commit_is_refused(harbour: Harbour) -> None:
    """There is nothing to branch from yet."""
    harbour.plan("First")
    harbour.repo.git("switch", "-q", "--orphan", "empty")
    harbour.plan("First", commit=False)
    result = harbour.run()
    assert result.code == 2
    assert "has no commit yet" in result.err


def test_no_branch_can_be_made_during_a_merge(harbour: Harbour) -> None:
    """On main with a merge under way the call ends with 2 and says what to do; the merge stays as it is."""
    git = harbour.repo.git
    harbour.plan("First")
    git("switch", "-q", "-C", "main")
    git("switch", "-q", "-c", "side")
    (harbour.repo.root / "both.txt").write_text("side\n")
    git("add", "both.txt")
    git("commit", "-q", "-m", "Side")
    git("switch", "-q", "main")
    git("merge", "--no-ff", "--no-commit", "side")
    result = harbour.run()
    assert result.code == 2, result
    assert "error: nothing is run on main, and branch sow/harbour cannot be made: git switch failed" in result.err
    assert (harbour.repo.root / ".git/MERGE_HEAD").exists()
    assert not (harbour.repo.root / ".sow").exists()
