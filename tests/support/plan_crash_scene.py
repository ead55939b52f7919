"""A plan of three tasks whose run is killed at some point, and the checks after its end."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import yaml
from conftest import SOW, Repo, Result, fresh_environment

from sow.system.clock import CROSSINGS, VARIABLE
from support.simulated_workers import environment_of, processes, wait_for

BRANCH = "feat/parts"
PLAN = """\
# Three parts

## Task 1: First
Make the first part.

**Test Commands**:
```
test -f part_010.txt
```

## Task 2: Second
**Depends on**: 1

Make the second part.

## Task 3: Third
Make the third part.
"""
HANDED_IN = ("needs_review", "completed", "paused")
MOST_CALLS = 8


def scenario(ledger: Path) -> dict[str, Any]:
    """Returns turns of three tasks: one is RED once, one sets no status, and one asks; each records its starts."""
    start = {"append": {"path": str(ledger), "text": "{task}\n"}}

    def write(text: str) -> dict[str, Any]:
        return {"write": {"path": "part_{task}.txt", "text": text}}

    hand_in, commit = {"status": "needs_review"}, {"commit": "Part {task}"}
    return {
        "010": [[start, write("one\n"), commit, hand_in], [start, write("one\ntwo\n"), commit, hand_in]],
        "020": [[start, write("one\ntwo\n"), commit]],
        "030": [
            [start, {"sow": ["task", "set", "status", "paused", "--reason", "Which colour?"]}],
            [start, write("one\ntwo\n"), hand_in],
        ],
    }


class PlanCrashScene:
    """One repository with its own home, its workers, and the ledger with their starts."""

    def __init__(self, folder: Path, template: Path, tasks: dict[str, Any] | None = None) -> None:
        self.folder = folder
        self.ledger = folder / "ledger"
        self.log = folder / "said"
        folder.mkdir()
        shutil.copytree(template, folder / "repo", symlinks=True)
        self.repo = Repo(folder / "repo", fresh_environment(folder / "home"))
        self._write("worker.yaml", {"tasks": tasks or scenario(self.ledger)})
        self._write("judge.yaml", {"tasks": {"default": [[{"verdict": {"path": "part_{task}.txt", "holds": "two"}}]]}})
        executors = {
            name: {"type": "simulated", "settings": {"scenario": str(folder / f"{name}.yaml")}}
            for name in ("worker", "judge")
        }
        bindings = {"implementer": "worker", "quality-control": "judge"}
        (folder / "home/.config/sow").mkdir(parents=True)
        self._write("home/.config/sow/config.yaml", {"agents": {"executors": executors, "bindings": bindings}})

    def _write(self, name: str, data: Any) -> None:
        (self.folder / name).write_text(yaml.safe_dump(data))

    def plan(self, text: str) -> None:
        """Commits another plan as the user."""
        (self.repo.root / "plan.md").write_text(text)
        self.repo.git("commit", "-q", "-m", "another plan", "--", "plan.md")

    def run(self, kill_at: int = -1, **environment: str) -> Result:
        """Calls `sow run`, which may be told to die at a boundary."""
        if kill_at >= 0:
            crossings = self.folder / "crossings"
            crossings.unlink(missing_ok=True)
            environment |= {VARIABLE: str(kill_at), CROSSINGS: str(crossings)}
        return self.repo.sow("run", "plan.md", "--max-concurrency", "3", "--yes", "--json", **environment)

    def start(self) -> subprocess.Popen[bytes]:
        """Starts `sow run` in the background."""
        return self.call("run", "plan.md", "--max-concurrency", "3", "--yes")

    def call(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts any call of sow in the background, in a process group of its own, together with its git calls."""
        with self.log.open("ab") as output:
            return subprocess.Popen(
                [SOW, *arguments],
                cwd=self.repo.root,
                env=self.repo.environment,
                stdout=subprocess.DEVNULL,
                stderr=output,
                start_new_session=True,
            )

    def crossings(self) -> list[str]:
        """Returns the boundaries of the last counted call."""
        path = self.folder / "crossings"
        return path.read_text().splitlines() if path.exists() else []

    def answer(self) -> None:
        """Answers everything that waits for a person, always with the same text."""
        for item in self.repo.ok("inbox", "--json").json["items"]:
            self.repo.ok("answer", str(item["number"]), "blue")

    def to_the_end(self) -> list[Result]:
        """Repeats the run until everything is done, and answers whenever it waits."""
        calls: list[Result] = []
        while not calls or calls[-1].code == 4:
            assert len(calls) < MOST_CALLS, calls
            if calls:
                self.answer()
            calls.append(self.run())
        return calls

    def states(self) -> dict[str, dict[str, Any]]:
        """Returns every task's state on disk."""
        paths = sorted(self.repo.project.glob("phases/*/tasks/[0-9]*/state.yaml"))
        return {path.parent.name: yaml.safe_load(path.read_text())["task"] for path in paths}

    def records(self) -> list[dict[str, Any]]:
        paths = sorted((self.repo.root / ".sow/local/sessions").glob("*/*/record.yaml"))
        return [yaml.safe_load(path.read_text())["session"] for path in paths]

    def starts(self) -> dict[str, int]:
        """Returns how often a worker started on each task."""
        lines = self.ledger.read_text().splitlines() if self.ledger.exists() else []
        return {task: lines.count(task) for task in dict.fromkeys(lines)}

    def still_to_start(self) -> dict[str, int]:
        """Returns how often a worker may still start on each task, if only the work on disk is handed in.

        A worker that was killed with the run may have written its entry after the last read.
        """
        records = self.records()
        result = {}
        for ident, task in self.states().items():
            turns = [turn for record in records if record["task"] == ident and record["role"] == "implementer"
                     for turn in record["turns"]]  # fmt: skip
            last = turns[-1] if turns else {"ended_at": "", "status": ""}
            ended_well = last.get("outcome") == "done" and "status" not in last
            may = 0 if task["status"] in HANDED_IN or ended_well else 1
            result[ident] = may + ("ended_at" not in last) - task["iteration"]
        return result

    def alive(self) -> list[int]:
        """Returns every live process of this repository with a mark of sow."""
        root = f"SOW_ROOT={self.repo.root}".encode()
        own = f"HOME={self.folder}/home".encode()
        result = []
        for pid in processes():
            variables = environment_of(pid)
            if root in variables or (
                own in variables and any(variable.startswith(b"SOW_MARK=") for variable in variables)
            ):
                result.append(pid)
        return result

    def held(self) -> list[str]:
        """Returns every held claim, and every lock that git left."""
        git = self.repo.root / ".git"
        paths = [str(path) for path in git.rglob("*.lock") if not path.name.startswith("claim-")]
        paths = [path for path in paths if "/sow/" not in path]
        for path in (git / "sow/claims").glob("claim-*.lock"):
            descriptor = os.open(path, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                paths.append(str(path))
            finally:
                os.close(descriptor)
        return paths

    def lost(self) -> list[str]:
        """Returns commits of workers that no ref reaches."""
        listed = self.repo.git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)")
        commits = [line.split()[1] for line in listed.splitlines() if line.startswith("commit")]
        reached = set(self.repo.git("rev-list", "--glob=refs/").split())
        free = [commit for commit in commits if commit not in reached]
        return [item for item in free if self.repo.git("show", "-s", "--format=%s", item).startswith("Part ")]

    def end(self) -> dict[str, Any]:
        """Returns what every way to the end must have in common."""
        listed = self.repo.git("ls-tree", "-r", BRANCH).splitlines()
        return {
            "statuses": {ident: (task["status"], task.get("result")) for ident, task in self.states().items()},
            "branch": [line for line in listed if "\t.sow/" not in line],
            "head": (self.repo.root / ".git/HEAD").read_text(),
            "files": {name: (self.repo.root / name).read_bytes() for name in ("other.txt", "untracked.txt")},
            "staged": self.repo.git("diff", "--cached", "--", ":(exclude).sow"),
            "status": self.repo.git("status", "--porcelain", "--", ":(exclude).sow"),
            "stash": self.repo.git("stash", "list"),
        }

    def feedback(self) -> dict[str, list[str]]:
        """Returns the feedback on each task, file by file, without the time."""
        result: dict[str, list[str]] = {}
        for path in sorted(self.repo.project.glob("phases/*/tasks/[0-9]*/feedback/*.md")):
            lines = [line for line in path.read_text().splitlines() if not line.startswith("- at: ")]
            result.setdefault(path.parts[-3], []).append("\n".join(lines))
        return result

    def complaints(self) -> list[str]:
        """Returns what is wrong at the end, independently of the way."""
        wrong = [f"process {pid} is alive" for pid in self.alive()]
        wrong += [f"{path} is held" for path in self.held()]
        wrong += [f"commit {item} is lost" for item in self.lost()]
        files = [str(path) for path in self.repo.root.glob(".sow/**/state.yaml") if "/worktrees/" not in str(path)]
        files += [str(path) for path in self.repo.root.glob(".sow/local/sessions/*/*/record.yaml")]
        for case in (("validate", *files), ("doctor",)):
            result = self.repo.sow(*case)
            if result.code:
                wrong.append(f"sow {case[0]}: {result}")
        return wrong


ROUGH = """\
# Two that meet

## Task 1: First
Make the first part.

**Test Commands**:
```
grep -q two part_010.txt
```

## Task 2: Second
Make the second part.
"""
FIRST_IS_MERGED = """\
until git for-each-ref --format='%(contents)' refs/heads/sow/int | grep -q 'Sow-Task: 010/'; do sleep 0.05; done
"""
BOTH = """\
git merge -q $(git for-each-ref --format='%(refname)' refs/heads/sow/int) || true
printf 'one\\ntwo\\n' > shared.txt
git add --all
git commit -q -m 'Part of both' || true
"""


def rough(ledger: Path) -> dict[str, Any]:
    """Returns turns: the first worker fails its check, the second conflicts with it and resolves that."""
    start = {"append": {"path": str(ledger), "text": "{task}\n"}}
    commit, hand_in = {"commit": "Part {task}"}, {"status": "needs_review"}

    def write(path: str, text: str) -> dict[str, Any]:
        return {"write": {"path": path, "text": text}}

    part, wait = write("part_{task}.txt", "two\n"), {"run": ["sh", "-c", FIRST_IS_MERGED]}
    again = [start, part, {"run": ["sh", "-c", BOTH]}, hand_in]
    return {
        "010": [[start, write("shared.txt", "one\n"), commit, hand_in], again],
        "020": [[start, wait, part, write("shared.txt", "two\n"), commit, hand_in], again],
    }


MEETING = """\
# Two that break each other

## Task 1: First
Make the first part.

**Test Commands**:
```
test ! -e wrong.txt
```

## Task 2: Second
Make the second part.
"""


# A task that is sent back has a new session, whose first turn sees that its earlier work is merged.
WRONG_FIRST = """\
until git log --format=%B --branches='sow/int/*' | grep -q 'Sow-Task: 010/'; do sleep 0.05; done
if git log --format=%s | grep -qx Second; then rm -f wrong.txt; echo > more.txt; else echo > wrong.txt; fi
"""


def meeting(ledger: Path) -> dict[str, Any]:
    """Returns turns: the second worker breaks the check of the first, and the final checks send it back."""
    start = {"append": {"path": str(ledger), "text": "{task}\n"}}
    commit, hand_in = {"commit": "Part {task}"}, {"status": "needs_review"}
    part = {"write": {"path": "part_{task}.txt", "text": "two\n"}}
    return {
        "010": [[start, part, commit, hand_in]],
        "020": [[start, part, {"run": ["sh", "-c", WRONG_FIRST]}, commit, hand_in]],
    }


def template(folder: Path) -> Path:
    """Returns a repository with a plan on a branch of its own, and uncommitted work of the user."""
    root = folder / "repo"
    root.mkdir()
    repo = Repo(root, fresh_environment(folder / "home"))
    for name in ("README.md", "other.txt"):
        (root / name).write_text(f"{name}\n")
    (root / "plan.md").write_text(PLAN)
    repo.git("init", "-q", "-b", "main")
    repo.git("add", ".")
    repo.git("commit", "-q", "-m", "first")
    repo.git("switch", "-q", "-c", BRANCH)
    (root / "other.txt").write_text("changed and not committed\n")
    (root / "staged.txt").write_text("staged\n")
    repo.git("add", "staged.txt")
    (root / "untracked.txt").write_bytes(b"bytes \0\xff of the user\n")
    return root


def was_killed(result: Result) -> bool:
    return result.code == -signal.SIGKILL


class GatedScene(PlanCrashScene):
    """The same plan with workers that wait at a gate."""

    def __init__(self, folder: Path, source: Path, *, before: Any = (), after: Any = ()) -> None:
        self.gate = folder.parent / f"{folder.name}.gate"
        wait = {"run": ["sh", "-c", f"until [ -e {self.gate} ]; do sleep 0.05; done"]}
        start = {"append": {"path": str(folder / "ledger"), "text": "{task}\n"}}
        work = [{"write": {"path": "part_{task}.txt", "text": "two\n"}}, *after, {"status": "needs_review"}]
        super().__init__(folder, source, {"default": [[start, *before, wait, *work]]})

    def begin(self) -> subprocess.Popen[bytes]:
        """Starts a run whose first two workers are working."""
        before = sum(self.starts().values())
        process = self.start()
        wait_for(lambda: sum(self.starts().values()) >= before + 2)
        return process

    def open(self, process: subprocess.Popen[bytes]) -> int:
        """Opens the gate and waits for the end of the run; returns its exit code."""
        self.gate.touch()
        return process.wait(300)

    def leave(self) -> None:
        """Ends every worker that waits at the gate."""
        self.gate.touch()
        wait_for(lambda: not self.alive())
