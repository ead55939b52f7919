"""What a real CLI knows when a follow-up task of a request continues the session of an earlier task."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from conftest import SOW
from support import follow_up_call

from real.cli_repo import PATIENCE, CliRepo
from real.contract import NEEDS_REVIEW, Contract

COMMENT = "Which one was it?"
FINDING = {
    "key": "line-7",
    "kind": "comment",
    "title": "Comment of grace",
    "text": COMMENT,
    "path": "made.txt",
    "line": 1,
}


class SettlesFindings(Contract):
    """A CLI whose sessions can go on in the worktree of the task that began them."""

    def test_a_follow_up_continues_the_session_that_wrote_the_line(self, cli_repo: CliRepo, tmp_path: Path) -> None:
        """The model is told its whole earlier conversation again, and its change comes to the user's branch."""
        self.deliver(cli_repo)
        before = len(cli_repo.stub.requests())
        result = self.settle(cli_repo, tmp_path)
        assert (result["task"], result["outcome"]) == ("020", "fixed"), result
        told = cli_repo.asked(before)
        assert told.index("[[play:work]]") < told.index("wrote seven") < told.index("that is task 020")
        assert f"| {COMMENT}" in cli_repo.asked(-1)
        assert len(cli_repo.stub.requests()) == before + 4
        first, follow_up = cli_repo.session(), self.session_of_follow_up(cli_repo)
        assert (follow_up["session_id"], follow_up["cwd"]) == (first["session_id"], first["cwd"])
        assert [turn["outcome"] for turn in follow_up["turns"]] == ["done"]
        assert cli_repo.repo.git("show", "HEAD:made.txt").split() == ["seven", "more"]
        assert cli_repo.repo.task("010")["status"] == cli_repo.repo.task("020")["status"] == "completed"
        assert cli_repo.marked() == []

    def deliver(self, cli_repo: CliRepo) -> None:
        """Run a plan with one task, whose work is on the user's branch afterwards."""
        root = cli_repo.repo.root
        cli_repo.stub.plays |= {
            "work": ["sh:echo seven > made.txt && echo wrote seven", NEEDS_REVIEW],
            "work again": [
                f"sh:{SOW} task show 020",
                "sh:echo more >> made.txt",
                f"sh:{SOW} task set --id 020 status needs_review",
            ],
        }
        cli_repo.stub.phrases["that is task 020"] = " again"
        (root / "plan.md").write_text("# Plan\n\n## Task 1: Do the work [[play:work]]\n\nWrite a number.\n")
        cli_repo.repo.git("add", ".")
        cli_repo.repo.git("commit", "-q", "-m", "The plan")
        result = cli_repo.sow("run", "plan.md", "--review", "off", "--yes")
        assert result.code == 0, result

    def settle(self, cli_repo: CliRepo, folder: Path) -> Any:
        """Let sow settle a comment on the line that the task wrote; returns what became of it."""
        (run,) = (path.parent.name for path in (cli_repo.repo.root / ".sow/local/runs").glob("*/state.yaml"))
        head = cli_repo.repo.git("rev-parse", "HEAD").strip()
        path = folder / "findings.json"
        path.write_text(json.dumps({"findings": [FINDING], "head": head, "run": run}))
        done = subprocess.run(
            [sys.executable, follow_up_call.__file__, str(path)],
            cwd=cli_repo.repo.root,
            env=cli_repo.repo.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        (result,) = json.loads(done.stdout)
        return result

    def session_of_follow_up(self, cli_repo: CliRepo) -> dict[str, Any]:
        (path,) = (cli_repo.repo.root / ".sow/local/sessions/020").glob("*/record.yaml")
        result: dict[str, Any] = yaml.safe_load(path.read_text())["session"]
        return result
