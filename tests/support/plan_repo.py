"""A repository in which plans are run: worker and reviewer are shell scripts by role, task and turn."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import yaml
from conftest import SOW, Repo, Result

from support.simulated_workers import environment_of, processes

# Each turn stores its prompt and runs the script for this role, task and turn, or the most specific one that exists.
PLAYER = """#!/bin/sh
cd_to={folder}
key="$SOW_AGENT-$SOW_TASK"
turn=$(( $(cat "$cd_to/$key.count" 2>/dev/null || echo 0) + 1 ))
echo $turn > "$cd_to/$key.count"
cat > "$cd_to/$key-$turn.prompt"
pwd > "$cd_to/$key-$turn.cwd"
NONCE=$(sed -n 's/.*nonce \\([0-9a-f-]*\\):.*/\\1/p' "$cd_to/$key-$turn.prompt" | head -n 1)
export NONCE
for script in "$key-$turn" "$key" "$SOW_AGENT"; do
    if [ -f "$cd_to/$script.sh" ]; then exec sh "$cd_to/$script.sh"; fi
done
"""
WORK = 'echo "by $SOW_TASK" > "part_$SOW_TASK.txt"\n'
GREEN = "printf 'Quality Control: GREEN\\n\\nFeedback: fine\\n'\n"


class PlanRepo:
    """One repository, its plan, its crew and its runs."""

    def __init__(self, repo: Repo, folder: Path) -> None:
        self.repo = repo
        self.folder = folder / "crew"
        self.folder.mkdir()
        self.started: list[subprocess.Popen[bytes]] = []
        self.file = "plan.yaml"
        player = self.folder / "player"
        player.write_text(PLAYER.format(folder=self.folder))
        player.chmod(0o755)
        self.settings: dict[str, Any] = {
            "agents": {
                "executors": {
                    "hand": {"type": "command", "settings": {"command": [str(player)]}},
                    "judge": {"type": "command", "settings": {"command": [str(player)]}},
                },
                "bindings": {"implementer": "hand", "quality-control": "judge", "reviewer": "judge"},
            },
            "limits": {"stop_grace": "1s"},
            "checks": {"allow": ["*"]},  # tests about consent remove this
            "run": {"baseline": "off"},  # most tests do not need it; guarantees/evidence turns it on
        }
        self.configure()
        self.act("implementer", WORK)
        self.act("quality-control", GREEN)
        self.act("reviewer", GREEN)

    def configure(self, **sections: Any) -> None:
        """Changes sections of the user's config; commands stay allowed unless `checks` says something else."""
        checks = {"allow": ["*"], **sections.pop("checks", self.settings["checks"])}
        self.settings |= {**sections, "checks": checks}
        path = Path(self.repo.environment["HOME"], ".config", "sow", "config.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(self.settings))

    def simulated(self, name: str, role: str, *turns: list[dict[str, Any]], **tasks: Any) -> None:
        """Lets a simulated agent play a role; its turns are for every task, or by task as `t010=[…]`."""
        path = self.folder / f"{name}.yaml"
        values = {key.removeprefix("t"): value for key, value in tasks.items()}
        path.write_text(yaml.safe_dump({"tasks": {**values, **({"default": list(turns)} if turns else {})}}))
        agents = self.settings["agents"]
        agents["executors"][name] = {"type": "simulated", "settings": {"scenario": str(path)}}
        if role:
            agents["bindings"][role] = name
        self.configure()

    def act(self, who: str, script: str) -> None:
        """Sets what `role`, `role-task` or `role-task-turn` does."""
        (self.folder / f"{who}.sh").write_text(script)

    def judge(self, task: str, *flags: str) -> None:
        """Sets the verdicts on a task, one after the other."""
        for number, flag in enumerate(flags, 1):
            text = f"printf 'Quality Control: {flag}\\n\\nFeedback: round {number} of {task}\\n'\n"
            self.act(f"quality-control-{task}-{number}", text)

    def plan(self, *tasks: dict[str, Any] | str, commit: bool = True, **options: Any) -> None:
        """Writes a plan of these tasks, numbered from 1; a text is a name, after `<` come its dependencies."""
        listed = []
        for number, task in enumerate(tasks, 1):
            name, _, needs = task.partition("<") if isinstance(task, str) else (f"Part {number}", "", "")
            each = {"task_number": number, "name": name.strip(), "description": "Make it."}
            each |= {"depends_on": [int(need) for need in needs.split()]} if needs else {}
            listed.append(each | (task if isinstance(task, dict) else {}))
        data = {"plan": {"name": "Harbour", "tasks": listed, **options.pop("inner", {})}, **options}
        (self.repo.root / "plan.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
        if commit:
            self.repo.git("add", "plan.yaml")
            self.repo.git("commit", "-q", "-m", "The plan")

    def run(self, *arguments: str, plan: str = "", **options: Any) -> Result:
        return self.repo.sow("run", plan or self.file, *arguments, **options)

    def start(self, *arguments: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
        """Starts the same in the background; it ends with the test at the latest."""
        run = subprocess.Popen(
            [SOW, "run", self.file, *arguments],
            cwd=self.repo.root,
            env=self.repo.environment,
            stdout=stdout,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.started.append(run)
        return run

    def close(self) -> None:
        """Ends the processes that a failed test left."""
        for run in self.started:
            if run.poll() is None:
                run.send_signal(signal.SIGTERM)
            run.communicate(timeout=300)

    def tree(self) -> list[str]:
        """Returns mode, content and name of each file of the user's branch, without the state of sow."""
        listed = self.repo.git("ls-tree", "-r", "HEAD").splitlines()
        return [line for line in listed if not line.partition("\t")[2].startswith((".sow/", "orchestration/"))]

    def prompt(self, task: str, turn: int = 1, role: str = "implementer") -> str:
        return (self.folder / f"{role}-{task}-{turn}.prompt").read_text()

    def turns(self, task: str, role: str = "implementer") -> int:
        """Returns how many turns a role had on a task."""
        path = self.folder / f"{role}-{task}.count"
        return int(path.read_text()) if path.exists() else 0

    def task(self, task: str) -> dict[str, Any]:
        """Returns a task from its state file."""
        result: dict[str, Any] = yaml.safe_load(self.repo.state(task))["task"]
        return result

    def statuses(self) -> dict[str, str]:
        folder = self.repo.project / "phases" / "implementation" / "tasks"
        return {path.name: self.task(path.name)["status"] for path in sorted(folder.iterdir())}

    def runs(self) -> list[dict[str, Any]]:
        """Returns the states of all runs, oldest first."""
        paths = sorted((self.repo.root / ".sow/local/runs").glob("*/state.yaml"))
        return [yaml.safe_load(path.read_text())["run"] for path in paths]

    def journal(self, *events: str) -> list[dict[str, Any]]:
        """Returns the journal of the last run, or its entries of some events."""
        path = max((self.repo.root / ".sow/local/runs").glob("*/journal.jsonl"))
        entries = [json.loads(line) for line in path.read_text().splitlines()]
        return [entry for entry in entries if not events or entry["event"] in events]

    def has_happened(self, event: str, **facts: Any) -> bool:
        """Tells whether the journal has such an entry."""
        try:
            return any(facts.items() <= entry.items() for entry in self.journal(event))
        except (ValueError, OSError):  # not there yet, or half written
            return False

    def worktrees(self) -> set[str]:
        """Returns the folders of git's worktrees, without the home and the slots, which stay for the next run."""
        lines = self.repo.git("worktree", "list", "--porcelain").splitlines()
        names = {Path(line.split(" ", 1)[1]).name for line in lines if line.startswith("worktree ")}
        return {name for name in names if name != "repo" and not name.startswith("slot-")}

    def alive(self) -> list[int]:
        """Returns processes with the mark of any turn or check of this test's agents."""
        home = f"HOME={self.repo.environment['HOME']}".encode()
        return [pid for pid in processes() if pid != os.getpid() and home in environment_of(pid)]
