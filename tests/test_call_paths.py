"""The number of modules on a path, which is the number of files that a reader opens."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from conftest import Repo
from support.paths import ROOT
from support.plan_repo import PlanRepo
from support.simulated_workers import WorkerRepo

# Lists the modules of sow in which a function is entered, without class bodies, comprehensions and generated code.
FOLLOW = """
import json, sys
entered = set()
def follow(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_flags & 1 and "<" not in (code.co_name[0], code.co_filename[0]):
        entered.add(frame.f_globals.get("__name__", ""))
from sow.cli.main import main
sys.setprofile(follow)
code = main(sys.argv[2:])
sys.setprofile(None)
with open(sys.argv[1], "w") as file:
    json.dump([code, sorted(name for name in entered if name.startswith("sow."))], file)
"""
MOST_OF_SPAWN, MOST_OF_RUN = 49, 108  # two thirds of 74 and 163: a module more needs a reason


def entered(repo: Repo, *arguments: str) -> list[str]:
    """Returns the modules that a call of sow enters; the call must succeed."""
    path = repo.root.parent / "entered.json"
    command = [sys.executable, "-c", FOLLOW, str(path), *arguments]
    environment = {**repo.environment, "SOW_SANDBOX": "off"}  # a sandbox goes through modules of its own
    result = subprocess.run(command, cwd=repo.root, env=environment, capture_output=True, text=True, timeout=300)
    code, names = json.loads(path.read_text()) if path.exists() else (1, [])
    assert code == 0, result.stderr
    return [str(name) for name in names]


def test_a_turn_goes_through_few_modules(worker: WorkerRepo):
    """`sow agent spawn` of a simulated worker, from the command to the turn's end."""
    worker.scenario([{"write": {"path": "a.txt", "text": "done\n"}}, {"status": "needs_review"}])
    names = entered(worker.repo, "agent", "spawn", "implementer", "010")
    assert MOST_OF_SPAWN - 5 <= len(names) <= MOST_OF_SPAWN, "\n".join([str(len(names)), *names])


def test_a_run_goes_through_few_modules(plan_repo: PlanRepo):
    """`sow run` of a plan with one task, without reviews, until its work is merged and delivered."""
    plan_repo.simulated(
        "robot", "implementer", [{"write": {"path": "a.txt", "text": "done\n"}}, {"status": "needs_review"}]
    )
    (plan_repo.repo.root / "plan.md").write_text("## Task 1: Build it\n\nWith care.\n")
    plan_repo.repo.git("add", "plan.md")
    plan_repo.repo.git("commit", "-q", "-m", "The plan")
    names = entered(plan_repo.repo, "run", "plan.md", "--review", "off", "--yes")
    assert plan_repo.statuses() == {"010": "completed"}
    assert MOST_OF_RUN - 10 <= len(names) <= MOST_OF_RUN, "\n".join([str(len(names)), *names])
    assert set(path_of("A task")) - {"sow.engine.runs.judge"} <= set(names)  # it has no reviews


def path_of(start: str) -> list[str]:
    """Returns the modules of a path in ARCHITECTURE.md, in their order."""
    (line,) = [part for part in (ROOT / "ARCHITECTURE.md").read_text().split("\n- ") if part.startswith(f"**{start}")]
    paths = re.findall(r"`([a-z_/]+)\.py`", line.partition("\n##")[0])
    return [f"sow.{path.replace('/', '.')}" for path in paths]


def test_both_documented_paths_have_few_files():
    """Both paths in ARCHITECTURE.md have at most 25 files, and every file exists."""
    for start in ("A task", "An agent of a workflow"):
        path = path_of(start)
        assert 15 < len(path) <= 25, path
        assert [name for name in path if not (ROOT / "src" / f"{name.replace('.', '/')}.py").is_file()] == []
