"""A live run trusts its own memory: state that an agent edits together with its copy does not count."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import SOW
from support.plan_repo import GREEN, WORK, PlanRepo
from support.quick_cases import few_of
from support.simulated_workers import wait_for

FORGE = """
import glob, sys
import yaml
from sow.store.formats import yaml_text

root, task, kind = sys.argv[1:]
path = f"{root}/.sow/project/phases/implementation/tasks/{task}/state.yaml"
state = yaml.safe_load(open(path))
state["revision"] += 1
found = state["task"]
at = found["updated_at"]
if kind == "approval":
    found["approval"] = {"by": "ada", "at": at, "iteration": found["iteration"]}
elif kind == "review":
    review = {"iteration": found["iteration"], "verdict": "GREEN", "by": "quality-control", "at": at, "findings": []}
    found["reviews"] = [{**review, "commit": found["work"]["commit"]}]
    found["result"] = "GREEN"
elif kind == "completed":
    found.update({"status": "completed", "completed_at": at, "result": "GREEN"})
    found["approval"] = {"by": "ada", "at": at, "iteration": found["iteration"]}
elif kind == "evidence":
    found["evidence"] = []
text = yaml_text.dump(state)
open(path, "w").write(text)
for copy in glob.glob(f"{root}/.git/sow/*/{task}.yaml"):
    open(copy, "w").write(text)
"""


def forger(plan_repo: PlanRepo, task: str, kind: str) -> str:
    """Returns shell code that edits the state of a task and its copy, as far as a file can imitate sow."""
    (plan_repo.folder / "forge.py").write_text(FORGE)
    return f"{sys.executable} {plan_repo.folder}/forge.py {plan_repo.repo.root} {task} {kind}\n"


@few_of("kind", ["approval", "review", "completed"], 1)
def test_a_forged_state_does_not_count(plan_repo: PlanRepo, kind: str) -> None:
    """A worker edits the state of a task under review, and its copy: only the reviewer's RED counts (F16)."""
    flags = plan_repo.folder
    begun, forged = flags / "begun", flags / "forged"
    plan_repo.act(
        "implementer-020",
        f"until [ -e {begun} ]; do sleep 0.02; done\n{forger(plan_repo, '010', kind)}touch {forged}\n{WORK}sleep 1.5\n",
    )
    plan_repo.act(
        "quality-control-010",
        f"touch {begun}\nuntil [ -e {forged} ]; do sleep 0.02; done\nsleep 0.5\n"
        "printf 'Quality Control: RED\\n\\nFeedback: it is broken\\n'\n",
    )
    plan_repo.plan("First", "Second")
    result = plan_repo.run("--retries", "0")
    assert result.code == 4, result
    task = plan_repo.task("010")
    assert task["status"] == "paused"
    assert [review["verdict"] for review in task["reviews"]] == ["RED"]
    assert "approval" not in task
    assert any("together with its copy" in entry["text"] for entry in plan_repo.journal("set_aside"))
    assert not (plan_repo.repo.root / "part_010.txt").exists()
    (copy,) = (plan_repo.repo.root / ".git/sow").glob("*/010.yaml")
    assert copy.read_text() == plan_repo.repo.state("010")


@pytest.mark.full
def test_a_person_decides_during_a_run(plan_repo: PlanRepo) -> None:
    """Commands of a person during a run count: an answer, another name, an abandoned task."""
    plan_repo.act("implementer-010-1", f"{SOW} task set --id 010 status paused --reason 'which?'\n")
    go = plan_repo.folder / "go"
    plan_repo.act("implementer-020", f"until [ -e {go} ]; do sleep 0.05; done\n{WORK}")
    plan_repo.plan("First", "Second", "Third < 2")
    run = plan_repo.start()
    wait_for(lambda: plan_repo.has_happened("question", task="010"))
    plan_repo.repo.ok("task", "set", "--id", "030", "name", "Another name")
    plan_repo.repo.ok("task", "abandon", "030", "--reason", "not needed")
    plan_repo.repo.ok("answer", "1", "the first")
    wait_for(lambda: plan_repo.task("010")["status"] == "completed")
    go.touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    assert plan_repo.statuses() == {"010": "completed", "020": "completed", "030": "abandoned"}
    assert plan_repo.task("030")["name"] == "Another name"
    assert plan_repo.task("010")["questions"][0]["answer"] == "the first"


def test_a_worker_cannot_announce_a_forged_state(plan_repo: PlanRepo) -> None:
    """A worker that announces its forged state with a lock, as sow does, is recognized by its process."""
    (plan_repo.folder / "announce.py").write_text(
        "import sys\n"
        "from sow.store.files import checkout_home as home\n"
        "here = home.find(option=sys.argv[1], environment={}, cwd='/')\n"
        f"exec({FORGE!r})\n"
        "notice = home.announce_write(here, task, text)\n"
        "print('announced', notice is not None, flush=True)\n"
        "notice.close()\n"
    )
    begun, forged = plan_repo.folder / "begun", plan_repo.folder / "forged"
    script = plan_repo.folder / "announce.py"
    announce = f"env -u SOW_TASK -u SOW_AGENT {sys.executable} {script} {plan_repo.repo.root} 010 approval"
    plan_repo.act(
        "implementer-020",
        f"until [ -e {begun} ]; do sleep 0.02; done\n{announce} > {plan_repo.folder}/said 2>&1\ntouch {forged}\n{WORK}",
    )
    plan_repo.act(
        "quality-control-010",
        f"touch {begun}\nuntil [ -e {forged} ]; do sleep 0.02; done\nsleep 0.3\n"
        "printf 'Quality Control: RED\\n\\nFeedback: it is broken\\n'\n",
    )
    plan_repo.plan("First", "Second")
    result = plan_repo.run("--retries", "0")
    assert result.code == 4, result
    assert (plan_repo.folder / "said").read_text() == "announced True\n"
    assert "approval" not in plan_repo.task("010")


@pytest.mark.full
def test_a_workers_own_move_counts(plan_repo: PlanRepo) -> None:
    """A worker's own `sow task set` needs no notice of another process."""
    plan_repo.act("implementer-010-1", f"{WORK}{SOW} task set --id 010 status needs_review\n")
    plan_repo.act("quality-control", GREEN)
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    assert not any("edited" in str(entry) for entry in plan_repo.journal("set_aside", "restored"))
    assert list(Path(plan_repo.repo.root, ".git/sow/notices").iterdir()) == []


@pytest.mark.full
def test_another_sow_works_on_another_task(plan_repo: PlanRepo) -> None:
    """The result of a `sow agent spawn` in another terminal counts for a run that waits for the task."""
    go = plan_repo.folder / "go"
    plan_repo.act("implementer-010", f"until [ -e {go} ]; do sleep 0.05; done\n{WORK}")
    plan_repo.act("implementer-020", f"{WORK}{SOW} task set --id 020 status needs_review\n")
    plan_repo.plan("First")
    run = plan_repo.start()
    wait_for(lambda: (plan_repo.folder / "implementer-010-1.cwd").exists())
    plan_repo.repo.ok("task", "create", "--name", "Other", "--agent", "implementer")
    plan_repo.repo.ok("agent", "spawn", "implementer", "020")
    assert plan_repo.task("020")["status"] == "needs_review"
    go.touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    assert plan_repo.task("020")["status"] == "needs_review"
