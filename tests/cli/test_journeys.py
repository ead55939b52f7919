"""Complete stories of users with their agents, from the first command to merged work and its report.

The agents are stand-ins for Cursor and Claude Code; a directive in their prompts tells them what to do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fakes
import pytest
import yaml
from support.plan_repo import PlanRepo

GREEN = "printf 'Quality Control: GREEN\\n\\nFeedback: fine\\n'\n"
DONE = "sow task set status needs_review\n"


class Journey:
    """One repository, the agent CLIs on its PATH, and the user's settings only."""

    def __init__(self, plan_repo: PlanRepo, folder: Path) -> None:
        self.plan_repo = plan_repo
        self.repo = plan_repo.repo
        self.config = Path(self.repo.environment["HOME"], ".config", "sow", "config.yaml")
        self.config.unlink()
        for name in ("cursor-agent", "claude"):
            fakes.install(self.repo, name, folder / "bin")
        self.play = f"[[sh:{plan_repo.folder}/player]]"  # an agent that is told so does what the crew does
        plan_repo.act("implementer", DONE)

    def plan(self, text: str) -> None:
        """Writes and commits the user's plan."""
        (self.repo.root / "plan.md").write_text(text.replace("PLAY", self.play))
        self.repo.git("add", "plan.md")
        self.repo.git("commit", "-q", "-m", "The plan")

    def sessions(self, task: str) -> list[dict[str, Any]]:
        """Returns the sessions of a task, oldest first."""
        paths = sorted((self.repo.root / ".sow/local/sessions" / task).glob("*/record.yaml"))
        return [yaml.safe_load(path.read_text())["session"] for path in paths]

    def prompt(self, task: str, session: int, turn: int) -> str:
        return (self.repo.root / f".sow/local/sessions/{task}/{session}/turn-{turn:03d}.prompt").read_text()

    def check_end(self, branch: str, tasks: dict[str, int], phase: str = "implementation") -> dict[str, Any]:
        """Checks that all tasks are completed in these iterations and merged, and that nothing is left behind."""
        repo = self.repo
        shown = repo.ok("status", "--json").json
        assert {task["id"]: task["status"] for task in shown["tasks"]} == dict.fromkeys(tasks, "completed")
        assert repo.ok("inbox", "--json").json["items"] == []
        for task, iteration in tasks.items():
            repo.ok("validate", str(repo.task_folder(task, phase) / "state.yaml"))
            state = yaml.safe_load(repo.state(task, phase))["task"]
            assert (state["iteration"], state["result"]) == (iteration, "GREEN")
            assert "session_id" not in state and "question" not in state
        merged = repo.git("log", "--format=%(trailers:key=Sow-Task,valueonly,separator=%x2C)", branch).split()
        assert sorted(merged) == [f"{task}/{iteration}" for task, iteration in tasks.items()]
        self.check_nothing_left(branch)
        report: dict[str, Any] = repo.ok("runs", "show", "--format", "json").json
        assert (report["run"]["status"], report["run"]["exit"], report["run"]["branch"]) == ("ended", 0, branch)
        assert (report["counts"]["completed"], report["counts"]["total"]) == (len(tasks), len(tasks))
        return report

    def check_nothing_left(self, branch: str) -> None:
        """Checks that the checkout is clean, and that no process, worktree, task branch or temporary file is left."""
        repo = self.repo
        assert repo.git("branch", "--show-current").strip() == branch
        assert repo.git("status", "--porcelain", "--untracked-files=no") == ""
        assert self.plan_repo.worktrees() == set()
        left = {path.name for path in (repo.root / ".sow/local/worktrees").iterdir()}
        assert left <= {"slot-1", "slot-2"}  # the next run uses them
        assert not [path for path in repo.root.rglob("*.tmp") if path.is_file()]
        assert self.plan_repo.alive() == []


@pytest.fixture
def journey(plan_repo: PlanRepo, tmp_path: Path) -> Journey:
    """A repository on branch feat/harbour with both CLIs installed and nothing configured."""
    return Journey(plan_repo, tmp_path)


FEATURE = """\
# Token signing

## Task 1: Sign tokens PLAY
**File(s)**: signing.py
**Estimated time**: 30m
**Test Commands**:
- `grep -q RS256 signing.py`

## Task 2: Verify tokens PLAY
**Depends on**: Task 1
**File(s)**: verifying.py
**Test Commands**:
- `grep -q signing verifying.py`
"""


def test_a_feature_with_cursor_as_implementer(journey: Journey) -> None:
    """Cursor implements on the branch that the run makes, Claude reviews: RED once, the same chat again, and merged."""
    repo, plan_repo = journey.repo, journey.plan_repo
    repo.git("switch", "-q", "main")
    repo.ok("init")
    repo.ok("config", "init")
    template = journey.config.read_text()
    bound = 'implementer: "claude-code"'
    assert bound in template
    script = plan_repo.folder / "editor"
    cursor = "s/^  executors:.*/&\\n    cursor: {type: cursor, settings: {yolo_mode: true}}/"
    script.write_text(f"#!/bin/sh\nsed -i -e 's/{bound}/implementer: \"cursor\"/' -e '{cursor}' \"$1\"\n")
    script.chmod(0o755)
    repo.ok("config", "edit", EDITOR=str(script))
    assert "cursor-agent" not in repo.ok("config", "validate").err
    assert "# Change to" in journey.config.read_text()
    journey.plan(FEATURE)
    plan_repo.act("implementer-010-1", f"echo 'RS256, no expiry' > signing.py\n{DONE}")
    plan_repo.act("implementer-010-2", f"echo 'RS256, an hour' > signing.py\n{DONE}")
    plan_repo.act("implementer-020", f"sed 's/^/signing: /' signing.py > verifying.py\n{DONE}")
    red = f"printf 'Quality Control: RED\\n\\nFeedback: tokens never expire {journey.play}\\n'\n"
    plan_repo.act("quality-control-010-1", red)
    result = plan_repo.run("--yes", plan="plan.md")
    assert result.code == 0, result
    assert "switched to the new branch sow/token-signing" in result.err
    report = journey.check_end("sow/token-signing", {"010": 2, "020": 1})
    assert repo.git("show", "HEAD:verifying.py") == "signing: RS256, an hour\n"
    assert repo.git("log", "-1", "--format=%s", "main") == "The plan\n"
    turns = {entry["name"]: (entry["turns"], entry["cost_usd"]) for entry in report["by_executor"]}
    assert turns["cursor"] == (3, None) and turns["claude-code"][0] == 3
    worker, *judges = journey.sessions("010")
    assert (worker["executor"], [turn["kind"] for turn in worker["turns"]]) == ("cursor", ["spawn", "resume"])
    assert [(judge["executor"], judge["role"]) for judge in judges] == [("claude-code", "quality-control")] * 2
    assert "tokens never expire" in journey.prompt("010", 1, 2)
    assert [review["verdict"] for review in report["tasks"][0]["reviews"]] == ["RED", "GREEN"]


DESIGN = """\
---
sow:
  quality_control:
    agents: [reviewer, design-verifier]
---
# Search

## Task 1: What others do PLAY
**Agent**: researcher
**File(s)**: docs/research.md

Look at what others do, and write down what is worth having.

## Task 2: How we search PLAY
**Agent**: architect
**Depends on**: 1
**File(s)**: docs/search.md
**Success Criteria**:
- The design names its sources
  Command: `grep -q research.md docs/search.md`
"""


@pytest.mark.full
def test_a_design_project_all_on_claude(journey: Journey) -> None:
    """With no settings at all Claude plays every role: documents are written, judged by two roles and merged."""
    repo, plan_repo = journey.repo, journey.plan_repo
    repo.ok("init", "--project", "Search", "--phase", "design")
    journey.plan(DESIGN)
    for role in ("reviewer", "design-verifier"):
        plan_repo.act(role, GREEN)
    plan_repo.act("researcher", f"mkdir -p docs && echo 'Others use an index' > docs/research.md\n{DONE}")
    adr = "mkdir -p .sow/knowledge/adrs && echo 'We use an index' > .sow/knowledge/adrs/001.md\n"
    summary = 'mkdir -p "$SOW_DESK/task_output" && echo short > "$SOW_DESK/task_output/summary.md"\n'
    design = "echo 'By an index, see research.md' > docs/search.md\n"
    plan_repo.act("architect", f"{design}{adr}{summary}{DONE}")
    result = plan_repo.run("--yes", plan="plan.md")
    assert result.code == 0, result
    report = journey.check_end("feat/harbour", {"010": 1, "020": 1}, "design")
    assert repo.git("show", "HEAD:docs/search.md") == "By an index, see research.md\n"
    assert repo.git("show", "HEAD:.sow/knowledge/adrs/001.md") == "We use an index\n"
    kept = repo.task_folder("020", "design") / "task_output" / "summary.md"
    assert kept.read_text() == "short\n" == repo.git("show", f"HEAD:{kept.relative_to(repo.root)}")
    assert [entry["name"] for entry in report["by_executor"]] == ["claude-code"]
    roles = {entry["name"]: entry["turns"] for entry in report["by_agent"]}
    assert roles == {"researcher": 1, "architect": 1, "reviewer": 2, "design-verifier": 2}
    money = report["totals"]
    assert (money["cost_unknown_turns"], money["input_tokens"], money["output_tokens"]) == (0, 600, 120)
    assert not journey.config.exists()


BUG = """\
# Expired tokens

## Task 1: Refuse expired tokens PLAY
**File(s)**: tokens.py
**Test Commands**:
- `grep -q expired tokens.py`

## Task 2: Note the change PLAY
**File(s)**: changes.md

Tell people what has changed.

## Task 3: Release PLAY
**Depends on**: 1
**File(s)**: release.md

Put it all together.
"""


@pytest.mark.full
def test_a_bug_fix_with_a_pause(journey: Journey) -> None:
    """A worker asks and the rest continues; after the answer the same command ends the work in its session."""
    repo, plan_repo = journey.repo, journey.plan_repo
    repo.ok("init", "--project", "Expired tokens")
    journey.plan(BUG)
    asks = "sow note add --description 'Is a minute of grace fine?' --context tokens.py --category requirements\n"
    asks += "sow note escalate 1 --reason 'only the owner knows'\nsow task set status paused\n"
    plan_repo.act("implementer-010-1", f"echo '# begun' > tokens.py\n{asks}")
    plan_repo.act("implementer-010-2", f"echo 'expired: no grace' >> tokens.py\n{DONE}")
    plan_repo.act("implementer-020", f"echo 'Fixed' > changes.md\n{DONE}")
    plan_repo.act("implementer-030", f"cat tokens.py > release.md\n{DONE}")
    result = plan_repo.run("--yes", plan="plan.md")
    assert result.code == 4, result
    assert plan_repo.statuses() == {"010": "paused", "020": "completed", "030": "pending"}
    assert (repo.root / "changes.md").read_text() == "Fixed\n"
    assert not (repo.root / "tokens.py").exists()
    (asked,) = repo.ok("inbox", "--json").json["items"]
    assert (asked["number"], asked["task"], asked["blocks"]) == (1, "010", 1)
    assert "Is a minute of grace fine?" in repo.ok("inbox").out
    assert "Is a minute of grace fine?" in repo.ok("status").out
    waiting = repo.ok("runs", "show", "--format", "json").json
    assert (waiting["run"]["status"], waiting["run"]["exit"], waiting["counts"]["waiting"]) == ("waiting", 4, 1)
    assert plan_repo.alive() == []
    repo.ok("answer", "1", f"No grace at all {journey.play}")
    result = plan_repo.run(plan="plan.md")
    assert result.code == 0, result
    report = journey.check_end("feat/harbour", {"010": 2, "020": 1, "030": 1})
    assert repo.git("show", "HEAD:release.md") == "# begun\nexpired: no grace\n"
    (worker,) = (session for session in journey.sessions("010") if session["role"] == "implementer")
    assert [(turn["kind"], turn["status"]) for turn in worker["turns"]] == [
        ("spawn", "paused"),
        ("resume", "needs_review"),
    ]
    assert "No grace at all" in journey.prompt("010", 1, 2)
    (question,) = report["questions"]
    assert (question["task"], question["text"]) == ("010", "Is a minute of grace fine?")
    assert (report["run"]["calls"], report["totals"]["questions"]) == (2, 1)
    (note,) = repo.ok("note", "list", "--task", "010", "--json").json["notes"]
    assert (note["status"], note["resolved_by"]) == ("resolved", "user")
