"""S11: an agent of a workflow in the sandbox writes its own folder and its own status, and nothing of the others."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Repo
from support.in_process_crew import member, write_design

from sow.store.files.checkout_home import Home
from sow.system import checkout
from sow.system.sandbox import sandbox_state

PROBLEM = sandbox_state("bwrap", os.environ).problem
pytestmark = pytest.mark.skipif(bool(PROBLEM), reason=f"no sandbox here: {PROBLEM}")

ACTS = {
    "writes another agent's folder": "echo evil > orchestration/agents/api/task_output/out.md",
    "writes another agent's instructions": "echo evil >> orchestration/agents/api/agent_instructions.md",
    "plants a link in another agent's folder": "ln -s /etc/passwd orchestration/agents/api/link",
    "makes another agent": "mkdir orchestration/agents/evil",
    "moves the workflow": "mv orchestration moved",
    "moves the agents": "mv orchestration/agents orchestration/old",
    "puts a link in place of the agents": "rmdir orchestration/agents; ln -s /tmp orchestration/agents",
    "writes the state of sow": "echo evil > .sow/planted",
    "plants a hook": "echo evil > .git/hooks/post-commit",
    "reads another agent's socket": "ls .sow/local/sandbox/* | grep .",
}
# Replaces the file, as editors do: its own status, and one that is not its own.
EDIT = """
import json, os
path = "orchestration/shared_status.json"
view = json.load(open(path))
view["agents"]["data"]["status"] = "ready_for_verification"
view["agents"]["api"]["status"] = "verified"
open("orchestration/new.json", "w").write(json.dumps(view, indent=2))
os.replace("orchestration/new.json", path)
"""


@pytest.fixture
def crew(repo: Repo, tmp_path: Path) -> Repo:
    """A workflow of two agents whose design is verified; every role follows a script."""
    repo.environment["SOW_SANDBOX"] = "bwrap"
    repo.git("add", ".")
    repo.git("commit", "-q", "-m", "state")
    repo.ok("workflow", "new", "crew")
    result = checkout.at(str(repo.root))
    assert result is not None
    write_design(Home(result), [member("data"), member("api", "data")])
    assert repo.sow("workflow", "verify", "--executor", "simulated", "--yes").code == 0
    folder = tmp_path / "scripts"
    folder.mkdir()
    repo.environment["SOW_SIMULATED_SCENARIO"] = str(folder / "scenario.yaml")
    home = Path(repo.environment["HOME"]) / ".config/sow/config.yaml"
    home.parent.mkdir(parents=True, exist_ok=True)
    home.write_text(yaml.safe_dump({"sandbox": {"read": [str(folder)]}}))
    return repo


def play(repo: Repo, *steps: dict[str, Any]) -> Any:
    """Runs the workflow; the first agent takes these steps."""
    out = {"write": {"path": "orchestration/agents/{task}/task_output/out.md", "text": "made by {task}\n"}}
    passed = [[{"say": "All is there.\n\nVerification: PASSED"}]] * 3
    tasks = {"data": [[out, *steps]], "api": [[out]], "checker": passed}
    Path(repo.environment["SOW_SIMULATED_SCENARIO"]).write_text(yaml.safe_dump({"tasks": tasks}))
    return repo.sow("workflow", "run", "--executor", "simulated", "--json")


def statuses(repo: Repo) -> dict[str, str]:
    state = yaml.safe_load((repo.root / "orchestration/state.yaml").read_text())
    return {name: task["status"] for name, task in state["workflow"]["members"].items()}


def test_the_kernel_protects_the_other_agents(crew: Repo, tmp_path: Path) -> None:
    """Each act of an agent on the folders of others fails, and the workflow is completed."""
    script = "".join(f"({act}) 2>/dev/null && echo {name!r} >> succeeded.txt\n" for name, act in ACTS.items())
    (tmp_path / "scripts/acts.sh").write_text(f"{script}true\n")
    before = (crew.root / "orchestration/agents/api/agent_instructions.md").read_bytes()
    result = play(crew, {"run": ["sh", str(tmp_path / "scripts/acts.sh")]})
    assert result.code == 0, result
    assert not (crew.root / "succeeded.txt").exists(), (crew.root / "succeeded.txt").read_text()
    assert (crew.root / "orchestration/agents/api/agent_instructions.md").read_bytes() == before
    assert statuses(crew) == {"data": "session_complete", "api": "session_complete"}
    assert not (crew.root / ".sow/local/sandbox/data/orchestration").exists()


def test_only_its_own_status_counts(crew: Repo, tmp_path: Path) -> None:
    """An agent replaces shared_status.json: its own legal status counts, that of another agent does not."""
    (tmp_path / "scripts/edit.py").write_text(EDIT)
    look = "cat orchestration/shared_status.json > orchestration/agents/data/task_output/seen.json"
    set_status = ["sow", "workflow", "set", "status", "completion_drive_review"]
    result = play(
        crew, {"run": set_status}, {"run": ["sh", "-c", look]}, {"run": ["python3", str(tmp_path / "scripts/edit.py")]}
    )
    assert result.code == 0, result
    seen = json.loads((crew.root / "orchestration/agents/data/task_output/seen.json").read_text())
    assert seen["agents"]["data"]["status"] == "completion_drive_review"  # the copy is fresh after its own command
    assert (crew.root / "orchestration/agents/api/task_output/out.md").read_text() == "made by api\n"
    journal = "".join(path.read_text() for path in (crew.root / ".sow/local/runs").glob("*/journal.jsonl"))
    assert "only the status ready_for_verification was taken from it" in journal
    assert "agent api: verified" not in journal
    assert statuses(crew) == {"data": "session_complete", "api": "session_complete"}


def test_a_run_names_the_sandbox(crew: Repo) -> None:
    """The start of a workflow's run names the sandbox; wrong settings are exit 2 before anything begins."""
    result = play(crew)
    assert json.loads(result.out.splitlines()[0])["sandbox"] == "agents and checks run in a sandbox"
    config = Path(crew.environment["HOME"]) / ".config/sow/config.yaml"
    config.write_text(yaml.safe_dump({"sandbox": {"write": ["~/nowhere"]}}))
    before = sorted((crew.root / ".sow/local/runs").iterdir())
    for case in (("workflow", "run"), ("agent", "spawn", "implementer", "--prompt", "x")):
        refused = crew.sow(*case, "--executor", "simulated")
        assert refused.code == 2, (case, refused)
    assert sorted((crew.root / ".sow/local/runs").iterdir()) == before


def test_files_of_the_workflow(crew: Repo) -> None:
    """A new file is kept; a change of the plan or of the state is reported and does not count."""
    script = (
        "cd orchestration; echo new > hello.txt; echo evil >> workflow_coordination_plan.md; echo evil > state.yaml"
    )
    plan = (crew.root / "orchestration/workflow_coordination_plan.md").read_bytes()
    result = play(crew, {"run": ["sh", "-c", script]})
    assert result.code == 0, result
    assert (crew.root / "orchestration/hello.txt").read_text() == "new\n"
    assert (crew.root / "orchestration/workflow_coordination_plan.md").read_bytes() == plan
    assert statuses(crew) == {"data": "session_complete", "api": "session_complete"}
