"""Measures what a run adds to its work: many tasks that do nothing, tasks that only sleep, and a hundred at once."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.timing import PYTHON, SOW, SYNCED
from sow.domain.plans import graph

TASKS = 1000
SLOTS = 8
OVERHEAD = 3.0  # times the same programs and the same durable writes
SAMPLE = 250  # tasks, before the run and after it, because the speed of a disk varies
WRITES_PER_TASK = 9  # durable writes of a task, as many as a run makes for one
FILES = 3  # the files that they replace
UNIT = 6  # seconds that a sleeping task of length one takes
MAX_OVER_BOUND = 1.05  # times the lower bound
BOXED = 1000  # tasks in the sandbox, in so many runs
PARTS = 5
MAX_SANDBOX = 1.5  # times the same tasks without it
WRITERS = 100
MEGABYTES = 100

# Each reads its length from a file, so that one executor works for the whole plan.
SLEEPER = '#!/bin/sh\nexec sleep "$(cat "$0.$SOW_TASK")"\n'
# A worker that uses a tool has worked, so its turn counts as handed in.
CLAUDE = """#!/bin/sh
echo '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Read","input":{}}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
"""
WRITER = "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9 10; do echo some words of a worker; sleep 0.5; done\n"

Needs = dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A plan of sleeping tasks: how many units each takes, and what it waits for."""

    length: dict[str, float]
    needs: Needs

    def bound(self) -> float:
        """Returns the seconds that the best schedule with so many slots takes."""
        path = max(graph.chain_lengths(self.needs, self.length).values())
        return UNIT * max(path, sum(self.length.values()) / SLOTS)

    def in_waves(self) -> float:
        """Returns the least seconds if each wave waits for the slowest task of the one before."""
        return UNIT * sum(max(self.length[task] for task in wave) for wave in graph.waves(self.needs))


def mixed() -> Shape:
    """Returns a chain of four, seven tasks of two, and seven pairs: they can keep eight slots busy to the end."""
    length = {str(task): 2.0 if 5 <= task < 12 else 1.0 for task in range(1, 26)}
    needs: Needs = {task: [] for task in length}
    for task in (2, 3, 4, *range(13, 26, 2)):
        needs[str(task)] = [str(task - 1)]
    return Shape(length=length, needs=needs)


def crossed() -> Shape:
    """Returns two chains, one with its long task first, one with it last: a barrier between them waits for both."""
    return Shape(length={"1": 3, "2": 1, "3": 1, "4": 3}, needs={"1": [], "2": ["1"], "3": [], "4": ["3"]})


def independent_tasks(tasks: int) -> Shape:
    """Returns so many independent tasks."""
    numbers = [str(number) for number in range(1, tasks + 1)]
    return Shape(length=dict.fromkeys(numbers, 1.0), needs={number: [] for number in numbers})


def idle_tasks(scratch: Path) -> tuple[float, float, int]:
    """Returns seconds for a run of tasks that do nothing, for bare programs and writes, and the number of writes."""
    root = _repository(scratch / "many", ["true"], independent_tasks(TASKS))
    before = _programs(scratch), _durable(scratch)
    start = time.perf_counter()
    _require(_begin(root, "--max-concurrency", str(SLOTS)).wait(), root)
    seconds = time.perf_counter() - start
    after = _programs(scratch), _durable(scratch)
    programs, write = ((first + second) / 2 for first, second in zip(before, after, strict=True))
    writes = _writes(root)
    return seconds, programs + writes * write, writes


def in_sandbox(scratch: Path) -> tuple[float, float]:
    """Returns seconds for tasks that do nothing, in the sandbox and without it; parts of both take turns."""
    program, seconds = _program(scratch / "claude", CLAUDE), {"bwrap": 0.0, "off": 0.0}
    for mode, part in [(mode, part) for part in range(PARTS) for mode in seconds]:
        root = _repository(scratch / f"sandbox-{mode}-{part}", [str(program)], independent_tasks(BOXED // PARTS))
        _settings(_home(root)).write_text(
            f"agents:\n  executors:\n    bench:\n      type: claude\n      settings: {{binary: {program}}}\n"
            f"  bindings: {{implementer: bench}}\nsandbox: {{mode: {mode}}}\n"
        )
        start = time.perf_counter()
        _require(_begin(root, "--max-concurrency", str(SLOTS)).wait(), root)
        seconds[mode] += time.perf_counter() - start
    return seconds["bwrap"], seconds["off"]


def sleeping(scratch: Path) -> dict[str, float]:
    """Returns seconds for each plan of sleeping tasks; all run at the same time, since they need no processor."""
    plans = {"mixed": (mixed(), "ready"), "ready": (crossed(), "ready"), "waves": (crossed(), "waves")}
    roots = {name: _sleepers(scratch / name, shape) for name, (shape, _) in plans.items()}
    start = time.perf_counter()
    running = {
        name: _begin(roots[name], "--max-concurrency", str(SLOTS), "--schedule", schedule)
        for name, (_, schedule) in plans.items()
    }
    seconds: dict[str, float] = {}
    while len(seconds) < len(running):
        for name in running.keys() - seconds.keys():
            if running[name].poll() is not None:
                seconds[name] = time.perf_counter() - start
                _require(running[name].returncode, roots[name])
        time.sleep(0.005)
    return seconds


def memory(scratch: Path) -> float:
    """Returns the peak memory in megabytes of a run with a hundred small writers at once."""
    program = _program(scratch / "writer", WRITER)
    root = _repository(scratch / "writers", [str(program)], independent_tasks(WRITERS))
    process = _begin(root, "--max-concurrency", str(WRITERS))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    _require(process.returncode, root)
    return usage.ru_maxrss / 1024


def _begin(root: Path, *options: str) -> subprocess.Popen[bytes]:
    """Starts a `sow run` of the plan in one folder, without reviews."""
    command = [SOW, "run", "plan.md", "--isolation", "none", "--review", "off", "--yes", *options]
    environment = {"PATH": os.environ["PATH"], "HOME": str(_home(root))}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=root, env=environment, stdin=quiet, stdout=quiet, stderr=quiet)


def _require(code: int, root: Path) -> None:
    if code:
        raise SystemExit(f"sow run in {root.name}: exit {code}")


def executor(home: Path, command: list[str]) -> None:
    """Writes the user's settings: one program plays every role, and may change nothing."""
    settings = _settings(home)
    settings.parent.mkdir(parents=True)
    arguments = ", ".join(f'"{argument}"' for argument in command)
    settings.write_text(
        "agents:\n  executors:\n    bench:\n      type: command\n"
        f"      settings: {{command: [{arguments}], allow_empty: true}}\n"
        "  bindings: {implementer: bench}\n"
    )


def _settings(home: Path) -> Path:
    return home / ".config/sow/config.yaml"


def _sleepers(root: Path, shape: Shape) -> Path:
    program = _program(root.parent / f"{root.name}-sleeper", SLEEPER)
    for task, units in shape.length.items():
        program.with_name(f"{program.name}.{int(task) * 10:03d}").write_text(str(units * UNIT))
    return _repository(root, [str(program)], shape)


def _program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def _repository(root: Path, command: list[str], shape: Shape) -> Path:
    """Makes a repository with the plan on its own branch; the user's home is next to it."""
    root.mkdir()
    for arguments in (["init", "-qb", "work"], ["config", "user.email", "b@b.b"], ["config", "user.name", "b"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    (root / "plan.md").write_text(plan(shape))
    for arguments in (["add", "."], ["commit", "-qm", "plan"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    executor(_home(root), command)
    return root


def plan(shape: Shape) -> str:
    """Writes the plan; no two tasks share a file, so that all can work in one folder."""
    return "# Bench\n\n" + "".join(
        f"## Task {task}: Part {task}\n\n**File(s)**: `part{task}.txt`\n"
        f"**Depends on**: {', '.join(f'Task {need}' for need in shape.needs.get(task, ())) or 'None'}\n"
        f"**Estimated time**: {units:g}m\n**Agent**: implementer\n\nDo part {task}.\n\n"
        for task, units in shape.length.items()
    )


def _home(root: Path) -> Path:
    return root.with_name(f"{root.name}-home")


def _programs(scratch: Path) -> float:
    """Returns seconds for the bare programs."""
    numbers = scratch / "numbers"
    numbers.write_text("\n".join(map(str, range(TASKS))))
    start = time.perf_counter()
    with numbers.open() as file:
        subprocess.run(["xargs", f"-P{SLOTS}", "-n1", "true"], stdin=file, check=True)
    return time.perf_counter() - start


def _writes(root: Path) -> int:
    """Counts the durable writes that a run made for its tasks: every state file counts its own."""
    writes = 0
    for path in (root / ".sow").rglob("*"):
        if path.name in ("state.yaml", "record.yaml"):
            writes += int(path.read_text().partition("\nrevision: ")[2].partition("\n")[0])
        elif path.name == "description.md":
            writes += 1
        elif path.name == "log.md":
            writes += path.read_text().count("### ")
    return writes


def _durable(scratch: Path) -> float:
    """Returns the seconds of one durable replacement with only `os`, averaged over many.

    Each task has a new folder, as in a run. Some disks are slow with files in new folders after many files were
    removed; with one old folder the two measurements would not be comparable.
    """
    folder = Path(tempfile.mkdtemp(dir=scratch))
    for task in range(SAMPLE):
        (folder / str(task)).mkdir()
    code = f"""{SYNCED}
import time
start = time.perf_counter()
for task in range({SAMPLE}):
    os.chdir(f"{folder}/{{task}}")
    for n in range({WRITES_PER_TASK}): replace(n % {FILES})
print(time.perf_counter() - start)
"""
    process = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True)
    return float(process.stdout) / (SAMPLE * WRITES_PER_TASK)
