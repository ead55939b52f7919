"""/api/state: the state of a checkout, and that repeated requests cost little."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Repo
from support.dashboard_data import facts_of, fresh
from support.journals import MadeUpRun, home_of
from support.plan_repo import PlanRepo
from support.workflow_repo import WorkflowRepo

from bench import large
from sow.dashboard.data.runs import RunFollower
from sow.dashboard.data.task_cache import TaskCache
from sow.dashboard.data.task_rows import task_row
from sow.reports.next_steps import ANY_FOLDER
from sow.store.projects import project as projects

FIELDS = {
    "id", "plan_id", "name", "agent", "executor", "phase", "status", "result", "check_failed", "iteration", "needs",
    "wave", "priority", "estimated_minutes", "running", "judge", "step", "since", "seconds", "cost_usd", "question",
    "open_notes", "waits_for", "updated_at",
}  # fmt: skip
WHOLE = {
    "version", "root", "branch", "read_only", "person", "project", "workflow", "run", "tasks", "critical", "counts",
    "inbox", "broken", "next", "cursor", "trouble",
}  # fmt: skip


def test_the_state_is_complete(finished: PlanRepo):
    """Project, run, tasks, inbox and the next step are in one document, in the words of the other commands."""
    state = facts_of(finished.repo).state()
    assert set(state) == WHOLE
    assert state["project"]["name"] == "Harbour"
    assert state["counts"] == {"completed": 2, "paused": 1, "pending": 1}
    assert state["inbox"] == finished.repo.ok("inbox", "--json").json["items"]
    assert state["next"] == finished.repo.ok("status", "--json").json["next"]
    assert state["critical"] == ["030", "040"]
    run = state["run"]
    assert (run["kind"], run["status"], run["live"], run["exit"]) == ("plan", "waiting", False, 4)
    assert run["go_on"] == "sow run plan.yaml"
    assert run["elapsed"] > 0


def test_a_row_shows_its_task(finished: PlanRepo):
    """A row has the task's state, its place in the graph, and its events of the run."""
    first, second, third, fourth = facts_of(finished.repo).state()["tasks"]
    assert set(first) == FIELDS
    assert (first["plan_id"], first["executor"], first["result"], first["wave"]) == ("1", "hand", "GREEN", 0)
    assert (second["iteration"], second["needs"], second["wave"]) == (2, ["010"], 1)
    assert third["question"] == {"number": 1, "text": "Which colour?"}
    assert (fourth["status"], fourth["waits_for"]) == ("pending", ["030"])
    assert first["seconds"] > 0
    assert not any(row["running"] for row in (first, second, third, fourth))


def test_work_without_a_review_has_no_verdict(plan_repo: PlanRepo):
    """With review off neither the live lines, the report, the task nor the dashboard show GREEN (D11)."""
    plan_repo.plan("One")
    result = plan_repo.run("--review", "off")
    assert result.code == 0, result
    shown = [
        result.out,
        result.err,
        *(plan_repo.repo.ok(*words).out for words in (("runs", "show"), ("task", "show", "010"))),
    ]
    assert not any("GREEN" in text for text in shown)
    (row,) = facts_of(plan_repo.repo).state()["tasks"]
    assert (row["status"], row["result"]) == ("completed", None)
    assert plan_repo.repo.ok("runs", "show", "--json").json["tasks"][0]["result"] is None


def test_an_empty_checkout_has_a_state(bare_repo: Repo):
    """Without a project the state has only the next step."""
    bare_repo.ok("init")
    state = facts_of(bare_repo).state()
    assert (state["project"], state["run"], state["tasks"], state["inbox"]) == (None, None, [], [])
    assert state["next"]["command"] == 'git switch -c feature/NAME && sow init --project "NAME"'


def test_a_broken_task_hides_no_other(repo: Repo):
    """The broken task has its error, and all the others are listed."""
    repo.ok("task", "create", "--name", "One")
    repo.ok("task", "create", "--name", "Two")
    facts = facts_of(repo)
    assert len(facts.state()["tasks"]) == 2
    (repo.task_folder("010") / "state.yaml").write_text("task: [")
    state = fresh(facts)
    assert list(state["broken"]) == ["010"]
    assert [row["id"] for row in state["tasks"]] == ["020"]
    assert [entry["kind"] for entry in state["inbox"]] == ["broken"]


def test_another_branch_hides_the_project(repo: Repo):
    """The project of another branch is not shown, and the state says why."""
    facts = facts_of(repo)
    assert facts.state()["project"]["name"] == "Add authentication"
    repo.git("switch", "-q", "-c", "other")
    state = fresh(facts)
    assert state["project"] is None
    assert "belongs to branch feat/auth" in state["broken"]["project"]
    assert state["branch"] == "other"


def test_a_task_counts_its_open_notes(task_repo: Repo):
    """A note that a worker writes is counted until it is resolved."""
    facts = facts_of(task_repo)
    assert fresh(facts)["tasks"][0]["open_notes"] == 0
    task_repo.ok("note", "add", "--task", "010", "--description", "Is it so?", "--context", "the work")
    assert fresh(facts)["tasks"][0]["open_notes"] == 1
    task_repo.ok("note", "resolve", "--task", "010", "1", "--resolution", "It is")
    assert fresh(facts)["tasks"][0]["open_notes"] == 0


def test_a_circle_of_tasks_is_shown(repo: Repo):
    """Tasks that wait for each other, as an edit by hand can make them, are on no path and in the first wave."""
    repo.ok("task", "create", "--name", "One")
    repo.ok("task", "create", "--name", "Two", "--depends-on", "010")
    path = repo.task_folder("010") / "state.yaml"
    path.write_text(path.read_text().replace("depends_on: []", 'depends_on:\n    - "020"'))
    state = facts_of(repo).state()
    assert [(row["wave"], row["waits_for"]) for row in state["tasks"]] == [(0, ["020"]), (0, ["010"])]
    assert state["critical"] == []


def test_agents_of_a_workflow_are_rows(repo: Repo, tmp_path: Path):
    """The crew is on the board beside the project's tasks, with the words of tasks and its own status."""
    WorkflowRepo(repo, tmp_path).begin().crew({"first": [], "second": ["first"]})
    repo.ok("workflow", "verify", "--executor", "simulated")
    state = facts_of(repo).state()
    assert [(row["id"], row["phase"], row["status"], row["own_status"]) for row in state["tasks"]] == [
        ("first", "workflow", "pending", "pending"),
        ("second", "workflow", "pending", "pending"),
    ]
    assert state["tasks"][1]["waits_for"] == ["first"]
    assert state["workflow"]["next"] == "sow workflow approve"
    assert [entry["kind"] for entry in state["inbox"]] == ["approval"]


def test_only_changed_files_are_read_again(repo: Repo):
    """A second read opens only the one changed state file, and drops a deleted task."""
    for name in ("One", "Two", "Three"):
        repo.ok("task", "create", "--name", name)
    home = home_of(repo)
    cache = TaskCache(home)
    project = projects.load(home)
    assert cache.refresh(project) == {"010", "020", "030"}
    assert cache.refresh(project) == set()
    repo.ok("task", "set", "--id", "020", "status", "in_progress")
    assert cache.refresh(project) == {"020"}
    shutil.rmtree(repo.task_folder("030"))
    assert cache.refresh(project) == {"030"}
    assert set(cache.tasks) == {"010", "020"}


def test_a_killed_run_is_stopped(repo: Repo):
    """A run without its process is shown as stopped, and none of its tasks as in work."""
    repo.ok("task", "create", "--name", "One")
    journal = MadeUpRun(repo, ["010"])
    journal.begin()
    journal.add(1, "task_started", task="010", iteration=1)
    journal.add(2, "turn_started", task="010", iteration=1, role="implementer", executor="hand", kind="spawn")
    state = facts_of(repo).state()
    assert (state["run"]["status"], state["run"]["live"]) == ("stopped", False)
    assert (state["tasks"][0]["running"], state["tasks"][0]["since"]) == (False, None)


@pytest.mark.parametrize(
    ("reviews", "check_failed"),
    [([], True), ([(1, "RED")], True), ([(2, "GREEN")], True), ([(2, "RED")], False)],
)
def test_a_failed_check_is_no_verdict(reviews: list[tuple[int, str]], check_failed: bool):
    """A RED result without a RED review of its iteration is shown as a failed check."""
    task = {"id": "010", "name": "One", "assigned_agent": "implementer", "status": "failed", "iteration": 2}
    given = [{"iteration": iteration, "verdict": verdict} for iteration, verdict in reviews]
    document = {**task, "depends_on": [], "result": "RED", "reviews": given}
    row = task_row(document, phase="p", notes=0, executor="hand", run=None)
    assert row["check_failed"] is check_failed


def test_a_task_in_review_names_its_reviewer(repo: Repo):
    """While a reviewer's turn is open, the row names it beside the worker; before and after, it does not."""
    repo.ok("task", "create", "--name", "One")
    journal = MadeUpRun(repo, ["010"])
    run = RunFollower(journal.folder, ANY_FOLDER)
    task = {"id": "010", "name": "One", "assigned_agent": "implementer", "status": "needs_review", "iteration": 1}

    def judge() -> str | None:
        run.refresh()
        run.live = True
        row = task_row({**task, "depends_on": []}, phase="p", notes=0, executor="hand", run=run)
        return row["judge"]

    journal.begin()
    journal.add(1, "task_started", task="010", iteration=1)
    journal.add(2, "turn_started", task="010", iteration=1, role="implementer", executor="hand", kind="spawn")
    assert judge() is None
    journal.add(3, "turn_ended", task="010", iteration=1, role="implementer", executor="hand", kind="spawn")
    journal.add(4, "turn_started", task="010", iteration=1, role="quality-control", executor="codex", kind="review")
    assert judge() == "quality-control on codex"
    journal.add(5, "turn_ended", task="010", iteration=1, role="quality-control", executor="codex", kind="review")
    assert judge() is None


@pytest.fixture(scope="module")
def thousands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of ten thousand tasks and a run over them."""
    root = tmp_path_factory.mktemp("large") / "repo"
    large.make(root, 10_000)
    return root


MEASURE = """
import sys, time
from sow.dashboard.server import reply
from sow.dashboard.data.dashboard_data import DashboardData
from sow.store.files.checkout_home import find
facts = DashboardData(find(option=sys.argv[1], environment={}, cwd="/"), {}, read_only=True, person="ada")
feeds = [facts.feed("") for _ in range(10)]
state = facts.state()
text = reply.text(state)
begun = time.thread_time()
facts.watch.refresh(whole=True)
look = time.thread_time() - begun
for feed in feeds:
    feed.close()
status = open("/proc/self/status").read()  # its own high mark: that of getrusage begins with the parent's
peak = int(status.split("VmHWM:")[1].split()[0]) // 1024
print(len(state["tasks"]), len(text), round(look, 3), peak)
"""


@pytest.mark.full
def test_a_run_without_work_is_not_the_current_one(plan_repo: PlanRepo):
    """After a call that found nothing to start, the page still shows the run that worked."""
    plan_repo.act("implementer", "exit 1\n")
    plan_repo.plan("First")
    assert [plan_repo.run().code for _ in range(2)] == [1, 1]
    first, empty = plan_repo.runs()
    assert first["id"] < empty["id"]
    assert facts_of(plan_repo.repo).state()["run"]["id"] == first["id"]


@pytest.mark.full
def test_ten_thousand_tasks_are_shown_in_little_memory(thousands: Path, record_property: pytest.RecordProperty):
    """All of them are in the state, a refresh without changes is quick, and the process stays below 150 MB."""
    text = [sys.executable, "-c", MEASURE, str(thousands)]
    result = subprocess.run(text, capture_output=True, text=True, timeout=900)
    assert result.returncode == 0, result.stderr
    tasks, size, look, peak = (float(word) for word in result.stdout.split())
    record_property("measured", f"10,000 tasks and 10 listeners: {peak:.0f} MB, a look {look} s, {size:,.0f} bytes")
    assert tasks == 10_000
    assert look < 5
    assert peak < 150
