"""State files that a worker edits between turns of others are never used for a decision."""

from __future__ import annotations

import sys

from support.plan_repo import WORK, PlanRepo
from support.quick_cases import few_of

TASKS = "$SOW_ROOT/.sow/project/phases/implementation/tasks"
WAIT = "for _ in $(seq 300); do [ -e {} ] && break; sleep 0.1; done\n"
VERDICT = """
import os, sys, yaml
path, more = sys.argv[1], int(sys.argv[2])
with open(path) as file:
    state = yaml.safe_load(file)
task = state["task"]
facts = {"iteration": task["iteration"], "at": task["updated_at"], "commit": task["work"]["commit"]}
task |= {"result": "GREEN", "reviews": [{**facts, "verdict": "GREEN", "by": "quality-control", "findings": []}]}
state["revision"] += more
with open(f"{path}.new", "w") as file:
    yaml.safe_dump(state, file, sort_keys=False)
os.replace(f"{path}.new", path)  # half a file would be taken for an older one, and restored at once
"""


def scene(plan_repo: PlanRepo, forge: str, until: str, *others: str) -> None:
    """A worker that forges a state during the check of the first task, and continues until it was noticed."""
    begun, forged, over = (plan_repo.folder / name for name in ("begun", "forged", until))
    plan_repo.act("implementer-020", f"{WAIT.format(begun)}{forge}\ntouch {forged}\n{WAIT.format(over)}{WORK}")
    check = f"sh -c 'touch {begun}; until [ -e {forged} ]; do sleep 0.05; done'"
    plan_repo.plan({"name": "First", "test_commands": [check]}, "Forger", *others)


@few_of("more", [0, 50], 1, ids=["as old as the last one", "newer than the last one"])
def test_a_forged_verdict_during_a_check_does_not_count(plan_repo: PlanRepo, more: int) -> None:
    """The evidence is added to sow's own state, the reviewer is asked, and the edit is set aside and reported."""
    (plan_repo.folder / "forge.py").write_text(VERDICT)
    plan_repo.judge("010", "RED")
    plan_repo.act("implementer-010-2", f"touch {plan_repo.folder}/judged\necho better > better.txt\n")
    scene(plan_repo, f"{sys.executable} {plan_repo.folder}/forge.py {TASKS}/010/state.yaml {more}", "judged")
    result = plan_repo.run()
    assert result.code == 0, result
    assert [review["verdict"] for review in plan_repo.task("010")["reviews"]] == ["RED", "GREEN"]
    assert plan_repo.turns("010", "quality-control") == 2
    log = (plan_repo.repo.task_folder("010") / "log.md").read_text()
    assert "its state was edited by hand, which does not count in a run: the edit is in .sow/local/edited/010-" in log


FORGED = {
    "a newer completed one": "sed -i 's/^revision: .*/revision: 99/; s/status: pending/status: completed/' {}",
    "a newer one that breaks a rule": "sed -i 's/^revision: .*/revision: 99/; s/status: pending/status: abandoned/' {}",
    "a newer one without an end": "printf 'schema_version: 1\\nrevision: 99\\ntask: [' > {}",
    "one with an endless revision": "sed -i s/^revision:.*/revision:' '$(printf %05000d 7 | tr 0 9)/ {}",
    "no text": "printf '\\377\\376\\000' > {}",
    "a folder": "rm {0}; mkdir {0}",
}


@few_of("name", FORGED, 1)
def test_a_forged_pending_state_does_not_count(plan_repo: PlanRepo, name: str) -> None:
    """A pending task whose state a worker edits is worked on as planned, and so are all others."""
    forge = FORGED[name].format(f"{TASKS}/030/state.yaml")
    scene(plan_repo, forge, "implementer-030.count", "Waits < 1")
    result = plan_repo.run("--review", "off")
    assert result.code == 0, result
    assert [plan_repo.turns(name) for name in ("010", "020", "030")] == [1, 1, 1]
    assert plan_repo.statuses() == dict.fromkeys(("010", "020", "030"), "completed")
