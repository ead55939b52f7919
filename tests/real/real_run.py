"""A plan of three tasks that real CLIs work on and review, with the stub model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from conftest import SOW, Repo
from support.simulated_workers import environment_of, processes

from real import install
from real.cli_repo import CliRepo
from real.stub import TOKENS_IN, TOKENS_OUT, Stub

WORDS = {"010": "one", "020": "two", "030": "three"}
PLAN = """\
# Three words

## Task 1: First word [[play:work-010]]
**Test Commands**:
- `python3 -B look.py one 010.txt`

## Task 2: Second word [[play:work-020]]
**Test Commands**:
- `test -s 020.txt`

## Task 3: Third word [[play:work-030]]
**Depends on**: 1, 2
**Test Commands**:
- `python3 -B look.py two 020.txt`
- `python3 -B look.py three 030.txt`
"""
SCRIPT = "import sys\nassert open(sys.argv[2]).read() == sys.argv[1] + '\\n'\nprint('seen ' + sys.argv[1])\n"
LOOK = "sh:git log -1 --format=%H"
GREEN = "text:Quality Control: GREEN\n\nFeedback: all of it is there"
RED = "text:Quality Control: RED\n\nFeedback: The second word is wrong [[play:again-020]]"
TURNS = {"implementer": (4, 4), "quality-control": (4, 2)}  # how many of each role, and the requests of each


class RealRun(CliRepo):
    """One repository whose workers and reviewers are real; the plan's second task is RED once."""

    def __init__(self, worker: str, judge: str, repo: Repo, stub: Stub) -> None:
        super().__init__(worker, repo, stub)
        self.judge = judge
        repo.environment |= install.environment(judge, repo.environment["HOME"], stub.port)
        for role in ("IMPLEMENTER", "REVIEWER"):
            del repo.environment[f"SOW_AGENTS_{role}"]
        (repo.root / "plan.md").write_text(PLAN)
        (repo.root / "look.py").write_text(SCRIPT)
        repo.git("add", ".")
        repo.git("commit", "-q", "-m", "The plan")
        for task, word in WORDS.items():
            stub.plays[f"work-{task}"] = self.work(task, "tow" if task == "020" else word, f"judge-{task}")
            stub.plays[f"judge-{task}"] = [LOOK, RED if task == "020" else GREEN]
        stub.plays |= {"again-020": self.work("020", "two", "judge-again"), "judge-again": [LOOK, GREEN]}

    def crew(self, **models: str) -> None:
        """Writes the user's settings: who works and who reviews, with default permissions."""
        executors: dict[str, Any] = {}
        for name in (self.name, self.judge):
            settings = {"binary": install.binary(name), **({"model": models[name]} if name in models else {})}
            executors[name] = {"type": name, "settings": settings}
        bindings = {"implementer": self.name, "quality-control": self.judge}
        config = {"agents": {"executors": executors, "bindings": bindings}, "limits": {"turn_timeout": "2m"}}
        self.config_path.write_text(yaml.safe_dump(config))

    def work(self, task: str, word: str, judge: str) -> list[str]:
        """Returns a turn: a file by the CLI's own tool, the task's test, the status, and the reviewer's play."""
        path = self.repo.root / ".sow/local/worktrees" / task / f"{task}.txt"
        text = json.dumps({"file_path": str(path), "content": f"{word}\n"})
        test = f"sh:python3 -B look.py {word} {task}.txt"
        return [
            f"call:Write {text}",
            test,
            f"sh:{SOW} task set --id {task} status needs_review",
            f"text:[[play:{judge}]]",
        ]

    def check(self, cost: float) -> None:
        """Runs the plan; checks that all work is on the user's branch, and that the report is complete.

        `cost` is that of one request, if it is known.
        """
        result = self.sow("run", "plan.md", "--yes")
        assert result.code == 0, result
        self.check_states()
        self.check_git()
        self.check_report(cost)
        home = f"HOME={self.repo.environment['HOME']}".encode()
        assert [pid for pid in processes() if home in environment_of(pid)] == []

    def check_states(self) -> None:
        tasks = {task: self.repo.task(task) for task in WORDS}
        result = {task: (value["status"], value["iteration"], value["result"]) for task, value in tasks.items()}
        done = {task: ("completed", 2 if task == "020" else 1, "GREEN") for task in WORDS}
        assert result == done
        verdicts = [(review["iteration"], review["verdict"]) for review in tasks["020"]["reviews"]]
        assert verdicts == [(1, "RED"), (2, "GREEN")]
        kinds = [turn["kind"] for turn in self.sessions("020", "implementer")[0]["turns"]]
        assert kinds == ["spawn", "resume"]
        sent_back = [said for said in map(self.asked, range(len(self.stub.requests()))) if "was not accepted" in said]
        assert sent_back and all("Second word" in said and "The second word is wrong" in said for said in sent_back)
        results = [text for said in self.stub.conversations() for _, kind, text in said if kind == "tool_result"]
        assert {"seen one", "seen three"} <= {text.strip() for text in results}, results

    def sessions(self, task: str, role: str) -> list[dict[str, Any]]:
        paths = sorted((self.repo.root / ".sow/local/sessions" / task).glob("*/record.yaml"))
        result = [yaml.safe_load(path.read_text())["session"] for path in paths]
        return [session for session in result if session["role"] == role]

    def check_git(self) -> None:
        git = self.repo.git
        assert {task: git("show", f"HEAD:{task}.txt") for task in WORDS} == {t: f"{w}\n" for t, w in WORDS.items()}
        assert git("branch", "--show-current").strip() == "feat/auth"
        assert git("status", "--porcelain") == ""
        trailers = git("log", "--format=%(trailers:key=Sow-Task,valueonly,separator=%x2C)").split()
        assert sorted(trailers) == ["010/1", "020/2", "030/1"]
        left = [line for line in git("worktree", "list").splitlines() if "/worktrees/slot-" not in line]
        assert len(left) == 1, left
        pins = {line.split("/", 4)[4] for line in git("for-each-ref", "--format=%(refname)", "refs/sow/keep").split()}
        assert {"010/1", "020/1", "020/2", "030/1"} <= pins, pins

    def check_report(self, cost: float) -> None:
        report = self.repo.ok("runs", "show", "--format", "json").json
        by_agent = {entry["name"]: entry for entry in report["by_agent"]}
        for role, (turns, each) in TURNS.items():
            result, requests = by_agent[role], turns * each
            assert result["turns"] == turns, report
            assert (result["input_tokens"], result["output_tokens"]) == (requests * TOKENS_IN, requests * TOKENS_OUT)
        messages = [item for item in report["by_executor"] if item["cost_usd"] is not None]
        assert {message["name"] for message in messages} == {self.name}
        requests = sum(
            turns * value for role, (turns, value) in TURNS.items() if role == "implementer" or not self.mixed
        )
        assert abs(report["totals"]["cost_usd"] - requests * cost) < 1e-6
        assert (report["totals"]["retries"], report["totals"]["reviews"]) == (1, {"GREEN": 3, "RED": 1})
        assert len(self.stub.requests()) == sum(turns * value for turns, value in TURNS.values())

    @property
    def mixed(self) -> bool:
        return self.name != self.judge


@contextmanager
def real_run(worker: str, judge: str, repo: Repo, folder: Path) -> Iterator[RealRun]:
    """A repository, a stub model and the plan."""
    with Stub(folder / "stub.jsonl") as stub:
        yield RealRun(worker, judge, repo, stub)
