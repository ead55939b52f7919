"""A small crew of real processes: simulated agents that call sow, and a run that is killed, stopped and shown."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import SOW, Repo
from support.in_process_crew import member, write_design
from support.quick_cases import few_of
from support.simulated_workers import environment_of, processes, wait_for

from sow.store.files.checkout_home import Home
from sow.system import checkout
from sow.system.clock import CROSSINGS, VARIABLE

OUT = {"write": {"path": "orchestration/agents/{task}/task_output/out.md", "text": "made by {task}\n"}}
HAND_IN = [{"stand": "completion_drive_review"}, {"stand": "ready_for_verification"}]
PASSED = [[{"say": "All is there.\n\nVerification: PASSED"}]]
DECIDE = [
    [
        {
            "say": '{"nonce": "{nonce}", "decisions": [{"note": "note_001", "route": "answer", "resolution": "Blue"}], '
            '"plan_changed": false}'
        }
    ]
]


class Crew:
    """A repository with a designed workflow, whose roles all follow one scenario."""

    def __init__(self, repo: Repo, folder: Path) -> None:
        self.repo = repo
        self.folder = folder
        self.ledger = folder / "ledger"
        repo.git("add", ".")
        repo.git("commit", "-q", "-m", "state")
        start = {"append": {"path": str(self.ledger), "text": "{task}\n"}}
        ask = [{"note": {"description": "Which colour?", "category": "requirements"}}]
        ask += [{"sow": ["note", "escalate", "1", "--reason", "not mine"]}, {"stand": "blocked"}]
        self.tasks: dict[str, Any] = {
            "data": [[start, *ask], [start, OUT, *HAND_IN]],
            "api": [[start, OUT]],
            "checker": PASSED,
            "workflow_architect": DECIDE,
        }
        repo.environment["SOW_SIMULATED_SCENARIO"] = str(folder / "scenario.yaml")
        self.play()
        repo.ok("workflow", "new", "crew")
        result = checkout.at(str(repo.root))
        assert result is not None
        write_design(Home(result), [member("data"), member("api", "data")])
        verified = repo.sow("workflow", "verify", "--executor", "simulated", "--yes", SOW_SIMULATED_SCENARIO="")
        assert verified.code == 0, verified

    def play(self) -> None:
        (self.folder / "scenario.yaml").write_text(yaml.safe_dump({"tasks": self.tasks}))

    def run(self, **environment: str) -> Any:
        return self.repo.sow("workflow", "run", "--executor", "simulated", "--json", **environment)

    def start(self) -> subprocess.Popen[bytes]:
        text = [SOW, "workflow", "run", "--executor", "simulated"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(text, cwd=self.repo.root, env=self.repo.environment, **quiet)

    def statuses(self) -> dict[str, str]:
        state = yaml.safe_load((self.repo.root / "orchestration/state.yaml").read_text())
        return {name: task["status"] for name, task in state["workflow"]["members"].items()}

    def starts(self) -> list[str]:
        return self.ledger.read_text().split() if self.ledger.exists() else []

    def alive(self) -> list[int]:
        root = f"SOW_ROOT={self.repo.root}".encode()
        return [pid for pid in processes() if root in environment_of(pid)]


@pytest.fixture
def crew(repo: Repo, tmp_path: Path) -> Crew:
    return Crew(repo, tmp_path)


DONE = {"data": "session_complete", "api": "session_complete"}


def test_a_crew_of_processes_completes_its_work(crew: Crew) -> None:
    """A note is escalated and answered, work is verified, and `sow runs` shows the agents like tasks."""
    result = crew.run()
    assert result.code == 0, result
    assert crew.statuses() == DONE
    assert crew.starts() == ["data", "data", "api"]
    assert crew.alive() == []
    (listed,) = crew.repo.ok("runs", "list", "--json").json["runs"]
    assert (listed["status"], listed["tasks"], listed["completed"]) == ("ended", 2, 2)
    shown = crew.repo.ok("runs", "show", "--json").json
    assert {row["id"]: row["outcome"] for row in shown["tasks"]} == {"data": "completed", "api": "completed"}
    assert "data" in crew.repo.ok("runs", "report").out


@few_of("part", range(6), 1)
def test_a_killed_crew_continues(crew: Crew, part: int, tmp_path: Path) -> None:
    """After kill -9 at a boundary the same command has the same result; no verified agent works again."""
    crossings = tmp_path / "crossings"
    point = 25 + part * 65
    killed = crew.run(**{VARIABLE: str(point), CROSSINGS: str(crossings)})
    assert killed.code == -signal.SIGKILL, (killed, len(crossings.read_text().splitlines()))
    before = crew.statuses()
    begun = len(crew.starts())
    result = crew.run()
    assert result.code == 0, result
    assert crew.statuses() == DONE
    assert crew.alive() == []
    done = {name for name, status in before.items() if status in ("verified", "session_complete")}
    assert done.isdisjoint(crew.starts()[begun:])


@pytest.mark.full
def test_two_runs_are_refused_and_one_is_stopped(crew: Crew) -> None:
    """A second run is refused during the first; `sow runs stop` ends it, and it continues later."""
    hang = [{"append": {"path": str(crew.ledger), "text": "{task}\n"}}, {"hang": True}]
    whole = crew.tasks["data"]
    crew.tasks["data"] = [hang]
    crew.play()
    process = crew.start()
    try:
        wait_for(crew.starts)
        second = crew.run()
        assert second.code == 4
        assert str(process.pid) in second.err
        stopped = crew.repo.sow("runs", "stop")
        assert stopped.code == 0, stopped
        assert "sow workflow run" in stopped.out
        assert process.wait(300) == 130
    finally:
        process.kill()
        process.wait()
    assert crew.alive() == []
    assert crew.statuses()["data"] == "working"
    crew.tasks["data"] = whole
    crew.play()
    crew.ledger.unlink()
    result = crew.run()
    assert result.code == 0, result
    assert os.path.exists(crew.repo.root / "orchestration/agents/api/task_output/out.md")
