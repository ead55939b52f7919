"""While a run lives, its own memory is the truth: state that an agent edits together with its copy is not believed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import SOW
from support.plan_repo import GREEN, WORK, Harbour
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


def forger(harbour: Harbour, task: str, kind: str) -> str:
    """A line of shell that edits the state of a task and its copy, as far as a file goes like sow itself."""
    (harbour.folder / "forge.py").write_text(FORGE)
    return f"{sys.executable} {harbour.folder}/forge.py {harbour.repo.root} {task} {kind}\n"


@pytest.mark.parametrize("kind", ["approval", "review", "completed"])
def test_a_forged_state_is_not_believed(harbour: Harbour, kind: str) -> None:
    """A worker edits the state of a task under review, and its copy: only the reviewer's RED counts (F16)."""
    flags = harbour.folder
    begun, forged = flags / "begun", flags / "forged"
    harbour.act(
        "implementer-020",
        f"until [ -e {begun} ]; do sleep 0.02; done\n{forger(harbour, '010', kind)}touch {forged}\n{WORK}sleep 1.5\n",
    )
    harbour.act(
        "quality-control-010",
        f"touch {begun}\nuntil [ -e {forged} ]; do sleep 0.02; done\nsleep 0.5\n"
        "printf 'Quality Control: RED\\n\\nFeedback: it is broken\\n'\n",
    )
    harbour.plan("First", "Second")
    result = harbour.run("--retries", "0")
    assert result.code == 4, result
    task = harbour.task("010")
    assert task["status"] == "paused"
    assert [each["verdict"] for each in task["reviews"]] == ["RED"]
    assert "approval" not in task
    assert any("together with its copy" in each["text"] for each in harbour.journal("set_aside"))
    assert not (harbour.repo.root / "part_010.txt").exists()
    (copy,) = (harbour.repo.root / ".git/sow").glob("*/010.yaml")
    assert copy.read_text() == harbour.repo.state("010")


def test_a_person_decides_during_a_run(harbour: Harbour) -> None:
    """What a person does with sow while a run goes on counts: an answer, another name, an abandoned task."""
    harbour.act("implementer-010-1", f"{SOW} task set --id 010 status paused --reason 'which?'\n")
    go = harbour.folder / "go"
    harbour.act("implementer-020", f"until [ -e {go} ]; do sleep 0.05; done\n{WORK}")
    harbour.plan("First", "Second", "Third < 2")
    run = harbour.start()
    wait_for(lambda: harbour.has_happened("question", task="010"))
    harbour.repo.ok("task", "set", "--id", "030", "name", "Another name")
    harbour.repo.ok("task", "abandon", "030", "--reason", "not needed")
    harbour.repo.ok("answer", "1", "the first")
    wait_for(lambda: harbour.task("010")["status"] == "completed")
    go.touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    assert harbour.statuses() == {"010": "completed", "020": "completed", "030": "abandoned"}
    assert harbour.task("030")["name"] == "Another name"
    assert harbour.task("010")["questions"][0]["answer"] == "the first"


def test_a_worker_cannot_vouch(harbour: Harbour) -> None:
    """A worker that vouches for its forged state, with a lock as sow does, is known by the process that it is."""
    (harbour.folder / "vouch.py").write_text(
        "import sys\n"
        "from sow.store.files import checkout_home as home, vouching\n"
        "here = home.find(option=sys.argv[1], environment={}, cwd='/')\n"
        f"exec({FORGE!r})\n"
        "voucher = vouching.vouch(here, task, text)\n"
        "print('vouched', voucher is not None, flush=True)\n"
        "voucher.close()\n"
    )
    begun, forged = harbour.folder / "begun", harbour.folder / "forged"
    vouch = f"env -u SOW_TASK -u SOW_AGENT {sys.executable} {harbour.folder}/vouch.py {harbour.repo.root} 010 approval"
    harbour.act(
        "implementer-020",
        f"until [ -e {begun} ]; do sleep 0.02; done\n{vouch} > {harbour.folder}/said 2>&1\ntouch {forged}\n{WORK}",
    )
    harbour.act(
        "quality-control-010",
        f"touch {begun}\nuntil [ -e {forged} ]; do sleep 0.02; done\nsleep 0.3\n"
        "printf 'Quality Control: RED\\n\\nFeedback: it is broken\\n'\n",
    )
    harbour.plan("First", "Second")
    result = harbour.run("--retries", "0")
    assert result.code == 4, result
    assert (harbour.folder / "said").read_text() == "vouched True\n"
    assert "approval" not in harbour.task("010")


def test_a_workers_own_move_counts(harbour: Harbour) -> None:
    """What a worker sets on its own task with sow needs nobody who vouches."""
    harbour.act("implementer-010-1", f"{WORK}{SOW} task set --id 010 status needs_review\n")
    harbour.act("quality-control", GREEN)
    harbour.plan("First")
    assert harbour.run().code == 0
    assert not any("edited" in str(each) for each in harbour.journal("set_aside", "restored"))
    assert list(Path(harbour.repo.root, ".git/sow/vouched").iterdir()) == []


def test_another_sow_works_on_another_task(harbour: Harbour) -> None:
    """What a `sow agent spawn` in another terminal does to its task counts for a run that waits for it."""
    go = harbour.folder / "go"
    harbour.act("implementer-010", f"until [ -e {go} ]; do sleep 0.05; done\n{WORK}")
    harbour.act("implementer-020", f"{WORK}{SOW} task set --id 020 status needs_review\n")
    harbour.plan("First")
    run = harbour.start()
    wait_for(lambda: (harbour.folder / "implementer-010-1.cwd").exists())
    harbour.repo.ok("task", "create", "--name", "Other", "--agent", "implementer")
    harbour.repo.ok("agent", "spawn", "implementer", "020")
    assert harbour.task("020")["status"] == "needs_review"
    go.touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    assert harbour.task("020")["status"] == "needs_review"
