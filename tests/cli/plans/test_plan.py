"""sow plan: show, validate, waves, simulate, import and update."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from conftest import Repo
from support.paths import ROOT

EXAMPLES = ROOT / "examples"
PLANS = sorted(path for path in EXAMPLES.iterdir() if not path.name.startswith(("workflow-", "executor-")))
PLAN = """\
# Add a login

## Task 1: Store users
**Files**: src/users.py
**Estimated time**: 45m

Keep users.

**Test Commands**:
```bash
make test
```

## Task 2: Login form
**Depends on**: 1
**Estimated time**: 1h

Show the form.

## Task 3: Logout
**Depends on**: 1

Show a button.
"""


@pytest.fixture
def plan(repo: Repo) -> Path:
    path = repo.root / "plan.md"
    path.write_text(PLAN)
    return path


def change(path: Path, *pairs: tuple[str, str]) -> None:
    """Changes the text of a plan."""
    text = path.read_text()
    for before, after in pairs:
        assert before in text
        text = text.replace(before, after)
    path.write_text(text)


@pytest.mark.parametrize("example", PLANS, ids=lambda path: path.name)
def test_an_example_has_no_finding(repo, example):
    """Every example plan is valid and has no warning."""
    document = repo.ok("plan", "validate", str(example), "--json").json
    assert document == {"valid": True, "errors": [], "warnings": []}


def test_there_are_five_examples():
    """Files and folders in examples/ are plans that people can copy."""
    assert len(PLANS) >= 5


def test_show_prints_waves_and_the_critical_path(repo, plan):
    """The table shows which tasks run in parallel, their dependencies, their time and the critical path."""
    shown = repo.ok("plan", "show", "plan.md").out
    assert "Add a login (plan.md): 3 tasks in 2 waves" in shown
    assert "1     1   Store users  implementer  -           45m       pending" in shown
    assert "estimated work: 2h 15m (1 task assumed to take 30m), done after 1h 45m at the earliest" in shown
    assert "critical path: 1 → 2" in shown


def test_the_json_document_is_complete(repo, plan):
    """--json holds the tasks with their fields, the waves, the critical path and the warnings."""
    change(plan, ("**Estimated time**: 1h", "**Estimated time**: soon"))
    document = repo.ok("plan", "show", "plan.md", "--json").json
    assert document["name"] == "Add a login"
    assert document["waves"] == [["1"], ["2", "3"]]
    assert document["critical_path"] == ["1", "2"]
    assert document["order"] == ["1", "2", "3"]
    assert document["warnings"][0]["file"] == "plan.md"
    assert document["warnings"][0]["line"] == 16
    first = document["tasks"][0]
    assert first["id"] == "1"
    assert first["depends_on"] == []
    assert first["files"] == ["src/users.py"]
    assert first["estimated_minutes"] == 45
    assert first["test_commands"] == ["make test"]
    assert first["status"] == "pending"


def test_a_longer_chain_comes_first(repo, plan):
    """Of two ready tasks, the one with the longer chain of dependents comes first."""
    change(plan, ("**Depends on**: 1\n**Estimated time**: 1h", "**Depends on**: 3\n**Estimated time**: 1h"))
    change(plan, ("**Depends on**: 1\n\nShow a button", "Show a button"))
    assert repo.ok("plan", "show", "plan.md", "--json").json["order"] == ["3", "2", "1"]


def test_waves_have_names_and_a_limit(repo, plan):
    """`plan waves --json` names each wave as the seed does, with the plan's own limit."""
    change(plan, ("# Add a login\n", "---\nconductor:\n  max_concurrency: 2\n---\n# Add a login\n"))
    waves = repo.ok("plan", "waves", "plan.md", "--json").json["waves"]
    assert waves == [
        {"name": "Wave 1", "tasks": ["1"], "max_concurrency": 2},
        {"name": "Wave 2", "tasks": ["2", "3"], "max_concurrency": 2},
    ]


def test_a_plan_can_be_shown_anywhere(tmp_path, bare_repo):
    """No repository and no project is needed to look at a plan."""
    (tmp_path / "plan.md").write_text(PLAN)
    assert bare_repo.ok("plan", "show", "plan.md", cwd=tmp_path).out.startswith("Add a login")


def test_all_errors_are_reported_at_once(repo, plan):
    """All errors come in one pass, each with its place and a hint, and the exit code is 2."""
    change(plan, ("**Depends on**: 1\n\nShow", "**Depends on**: 9\n\nShow"), ("## Task 2: Login form", "## Task 2:"))
    (repo.root / "empty.md").write_text("")
    result = repo.sow("plan", "validate", "plan.md", "empty.md", "missing.md")
    assert result.code == 2
    lines = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert [line.split(": ")[1] for line in lines] == ["empty.md", "missing.md", "plan.md:14", "plan.md:21"]
    assert result.err.count("\nhint: ") == len(lines)
    assert "Traceback" not in result.err


def test_errors_come_before_warnings(repo, plan):
    """`plan validate` prints all errors, then all warnings, each line with its label."""
    change(plan, ("## Task 1", "### Task 8: too deep\n\n## Task 1"), ("## Task 3", "## Task 7 is next\n\n## Task 3"))
    change(plan, ("**Depends on**: 1\n\nShow", "**Depends on**: 9\n\nShow"), ("## Task 2: Login form", "## Task 2:"))
    lines = repo.sow("plan", "validate", "plan.md").err.splitlines()
    labels = [line.partition(": ")[0] for line in lines]
    assert labels == ["error", "hint", "error", "hint", "warning", "warning"]


def test_show_refuses_what_validate_refuses(repo, plan):
    """A plan with an error is not shown in part."""
    change(plan, ("**Depends on**: 1\n\nShow a", "**Depends on**: 3\n\nShow a"))
    for item in (["show"], ["show", "--json"], ["waves"], ["simulate"], ["import"]):
        result = repo.sow("plan", item[0], "plan.md", *item[1:])
        assert result.code == 2, result
        assert result.out == ""
        assert result.err.startswith("error: plan.md:21: task 3 depends on itself\nhint: ")


def test_an_unknown_agent_is_a_warning(repo, plan):
    """The warning suggests the nearest name; a role file in the repository makes the name known."""
    change(plan, ("**Estimated time**: 45m", "**Agent**: implementor"))
    (warning,) = repo.ok("plan", "show", "plan.md", "--json").json["warnings"]
    assert warning["message"] == "task 1: there is no role 'implementor'; the default role is used"
    assert warning["hint"] == "did you mean implementer?"
    agents = repo.root / ".claude" / "agents"
    agents.mkdir(parents=True)
    (agents / "implementor.md").write_text("---\nname: implementor\ndescription: Builds\n---\nBuild it.\n")
    assert repo.ok("plan", "show", "plan.md", "--json").json["warnings"] == []


@pytest.mark.parametrize("form", ["mermaid", "dot"])
def test_the_graph_is_drawn_in_both_languages(repo, plan, form):
    """Both languages have every task and every edge, and no text of a plan breaks out of its label."""
    change(plan, ("Store users", 'Store "users" <b> # \\ ]'))
    drawn = repo.ok("plan", "show", "plan.md", "--graph", form).out
    assert drawn.count("t1") >= 3
    if form == "mermaid":
        assert 't1["1: Store #quot;users#quot; #lt;b#gt; #35; \\ ]"]:::pending' in drawn
        assert "t1 ==> t2" in drawn
        assert "t1 --> t3" in drawn
    else:
        assert 't1 [label="1: Store \\"users\\" <b> # \\\\ ]"' in drawn
        assert "t1 -> t2 [penwidth=3];" in drawn


def test_the_simulation_estimates_the_time(repo, plan):
    """More workers are never slower, and with enough of them the critical path remains."""
    document = repo.ok("plan", "simulate", "plan.md", "--json").json
    assert [item["minutes"] for item in document["by_concurrency"]] == [135, 105, 105]
    assert document["lower_bound"] == 105
    shown = repo.ok("plan", "simulate", "plan.md", "--max-concurrency", "2").out
    assert "2        1h 45m    1.3×" in shown
    assert "with 2 at once:" in shown


def test_barriers_take_longer(repo, plan):
    """With --schedule waves a wave waits for the slowest of the one before."""
    change(plan, ("**Depends on**: 1\n\nShow a button", "Show a button"))
    ready = repo.ok("plan", "simulate", "plan.md", "--json").json["minutes"]
    waves = repo.ok("plan", "simulate", "plan.md", "--schedule", "waves", "--json").json["minutes"]
    assert ready == 105
    assert waves == 105
    change(plan, ("## Task 3: Logout", "## Task 3: Logout\n**Estimated time**: 90m"))
    assert repo.ok("plan", "simulate", "plan.md", "--json").json["minutes"] == 105
    assert repo.ok("plan", "simulate", "plan.md", "--schedule", "waves", "--json").json["minutes"] == 150


def test_an_import_makes_tasks(repo, plan):
    """Task N gets the id N×10, its fields, its description and where it comes from; a second import changes nothing."""
    result = repo.ok("plan", "import", "plan.md")
    assert result.out.endswith("3 new\n")
    task = repo.task("020")
    assert task["depends_on"] == ["010"]
    assert task["estimated_minutes"] == 60
    assert task["source"]["plan"] == "plan.md"
    assert task["source"]["id"] == "2"
    assert repo.task("010")["checks"] == [{"kind": "test", "command": "make test"}]
    assert "Keep users." in (repo.task_folder("010") / "description.md").read_text()
    before = repo.snapshot()
    assert repo.ok("plan", "import", "plan.md").out == "3 unchanged\n"
    assert repo.snapshot() == before


def test_both_ids_are_shown(repo, plan):
    """Every view shows the plan's id beside sow's."""
    repo.ok("plan", "import", "plan.md")
    assert "Login form (task 2 of the plan)" in repo.ok("task", "list").out
    assert "Login form (task 2 of the plan)" in repo.ok("status").out
    assert "task 2 of plan.md" in repo.ok("task", "show", "020").out


def test_numbers_become_ids(repo, plan):
    """2.5 becomes 025, a word gets the next free id, and no id is used twice."""
    repo.ok("task", "create", "--name", "Here first")
    change(plan, ("## Task 2: Login form", "## Task 2.5: Login form"), ("## Task 3:", "## Task integration-1:"))
    repo.ok("plan", "import", "plan.md")
    ids = {
        task["source"]["id"]: task["id"] for task in repo.ok("task", "list", "--json").json["tasks"] if "source" in task
    }
    assert ids == {"1": "030", "2.5": "025", "integration-1": "040"}


def test_a_change_needs_consent(repo, plan):
    """Without a terminal and without --yes nothing is changed; with it the change is applied."""
    repo.ok("plan", "import", "plan.md")
    change(
        plan, ("Show the form.", "Show the form, in two languages."), ("**Estimated time**: 1h", "**Agent**: architect")
    )
    before = repo.snapshot()
    refused = repo.sow("plan", "import", "plan.md")
    assert refused.code == 4
    assert "assigned_agent: implementer → architect; estimated_minutes: 60 → nothing" in refused.out
    assert repo.snapshot() == before
    assert repo.ok("plan", "import", "plan.md", "--yes").out.endswith("1 changed, 2 unchanged\n")
    task = repo.task("020")
    assert task["assigned_agent"] == "architect"
    assert "estimated_minutes" not in task
    assert "in two languages" in (repo.task_folder("020") / "description.md").read_text()


def test_a_task_that_left_the_plan_is_abandoned_with_consent(repo, plan):
    """The task is kept with the reason, and other tasks of the project stay as they are."""
    repo.ok("task", "create", "--name", "Mine")
    repo.ok("plan", "import", "plan.md")
    text = plan.read_text()
    plan.write_text(text[: text.index("## Task 3")])
    assert repo.sow("plan", "import", "plan.md").code == 4
    repo.ok("plan", "import", "plan.md", "--yes")
    statuses = {task["name"]: task["status"] for task in repo.ok("task", "list", "--json").json["tasks"]}
    assert statuses == {"Mine": "pending", "Store users": "pending", "Login form": "pending", "Logout": "abandoned"}
    assert repo.ok("plan", "import", "plan.md").out == "2 unchanged\n"


def test_finished_tasks_are_untouched(repo, plan):
    """A completed task stays as it is, whatever the plan says now, and the import says so."""
    repo.ok("plan", "import", "plan.md")
    for status in ("in_progress", "needs_review", "completed"):
        repo.ok("task", "set", "--id", "010", "status", status)
    change(plan, ("Store users", "Store people"))
    before = repo.state("010")
    result = repo.ok("plan", "import", "plan.md")
    assert "has ended: stays as it is (name: Store users → Store people)" in result.out
    assert repo.state("010") == before


def test_a_plan_that_was_begun_elsewhere(repo, plan):
    """A completed task is imported as completed, a skipped one as abandoned, and no task waits for them."""
    change(
        plan,
        ("## Task 1: Store users", "## Task 1: Store users\n**Status**: ✅ COMPLETE"),
        ("## Task 2: Login form", "## Task 2: Login form\n**Status**: skipped"),
        ("**Depends on**: 1\n\nShow a", "**Depends on**: 1, 2\n\nShow a"),
    )
    repo.ok("plan", "import", "plan.md")
    assert repo.task("010")["status"] == "completed"
    assert repo.task("020")["status"] == "abandoned"
    assert repo.task("030")["depends_on"] == ["010"]
    repo.ok("task", "set", "--id", "030", "status", "in_progress")


def test_the_description_of_a_yaml_task_is_complete(repo):
    """Structured parts and unknown keys are in the description, since the worker reads nothing else."""
    repo.ok("plan", "import", str(EXAMPLES / "search.yaml"))
    text = (repo.task_folder("010") / "description.md").read_text()
    for name in (
        "Words of every page",
        "## Test first",
        "unicodedata",
        "Add an index of the words",
        "tests/test_index.py",
    ):
        assert name in text


def test_an_import_makes_a_missing_project(bare_repo):
    """Without a project the import makes one; on main it is refused."""
    bare_repo.ok("init")
    (bare_repo.root / "plan.md").write_text(PLAN)
    refused = bare_repo.sow("plan", "import", "plan.md")
    assert refused.code == 2
    assert "no project on main" in refused.err
    bare_repo.git("switch", "-q", "-c", "feat/login")
    assert bare_repo.ok("plan", "import", "plan.md", "--dry-run").out.endswith("3 new (dry run: nothing was changed)\n")
    assert not bare_repo.project.exists()
    bare_repo.ok("plan", "import", "plan.md")
    assert bare_repo.ok("project", "show", "--json").json["name"] == "Add a login"


def test_a_killed_import_can_be_repeated(repo, plan):
    """Tasks are made in the order of work, and the same import again adds the rest."""
    repo.ok("plan", "import", "plan.md")
    shutil.rmtree(repo.task_folder("030"))
    assert repo.ok("plan", "import", "plan.md").out.endswith("1 new, 2 unchanged\n")
    assert repo.task("030")["name"] == "Logout"


def test_a_worker_imports_nothing(task_repo):
    """A worker may not import a plan."""
    (task_repo.root / "plan.md").write_text(PLAN)
    result = task_repo.sow("plan", "import", "plan.md", SOW_TASK="010", SOW_AGENT="implementer")
    assert result.code != 0
    assert not task_repo.task_folder("020").exists()


def test_statuses_are_written_into_the_plan(repo, plan):
    """Only status lines change, and a second update changes nothing."""
    repo.ok("plan", "import", "plan.md")
    for status in ("in_progress", "needs_review", "completed"):
        repo.ok("task", "set", "--id", "010", "status", status)
    repo.ok("task", "set", "--id", "020", "status", "in_progress")
    assert "1   pending  completed" in repo.ok("plan", "update", "--dry-run").out
    assert plan.read_text() == PLAN
    repo.ok("plan", "update")
    lines = plan.read_text().splitlines()
    added = [line for line in lines if line not in PLAN.splitlines()]
    assert added == ["**Status**: completed", "**Status**: in-progress"]
    assert [line for line in lines if line not in added] == PLAN.splitlines()
    assert repo.ok("plan", "update", "plan.md").out == "nothing to change\n"
    assert repo.ok("plan", "import", "plan.md").out == "3 unchanged\n"


def test_an_update_of_another_plan_is_refused(repo, plan):
    """A plan that was never imported has no statuses to get."""
    result = repo.sow("plan", "update", "plan.md")
    assert result.code == 2
    assert "no task of this project comes from plan.md" in result.err
    assert repo.sow("plan", "update").code == 2


def test_json_of_an_import_is_one_document(repo, plan):
    """The JSON of an import says what happened to each task."""
    data = json.loads(repo.ok("plan", "import", "plan.md", "--json").out)
    assert [task["change"] for task in data["tasks"]] == ["new", "new", "new"]
    assert [task["task"] for task in data["tasks"]] == ["010", "020", "030"]
