"""What a run adds to the work itself: many tasks that do nothing, tasks that only sleep, and a hundred at once."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.timing import PYTHON, SOW, SYNCED
from sow.domain import graph

TASKS = 1000
SLOTS = 8
OVERHEAD = 3.0  # times the same programs and the same durable writes
SAMPLE = 250  # tasks, before the run and after it: disks are not equally fast all the time
EACH = 9  # durable writes of a task, as many as a run makes for one
FILES = 3  # that they go to
UNIT = 6  # seconds that a sleeping task of length one takes
LATE = 1.05  # times the lower bound
WRITERS = 100
MEGABYTES = 100

# Each reads its length where the bench has written it, so that one executor serves the whole plan.
SLEEPER = '#!/bin/sh\nexec sleep "$(cat "$0.$SOW_TASK")"\n'
WRITER = "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9 10; do echo some words of a worker; sleep 0.5; done\n"

Needs = dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A plan of sleeping tasks: how many units each takes, and what it waits for."""

    length: dict[str, float]
    needs: Needs

    def bound(self) -> float:
        """No schedule with so many slots takes fewer seconds."""
        path = max(graph.lengths(self.needs, self.length).values())
        return UNIT * max(path, sum(self.length.values()) / SLOTS)

    def in_waves(self) -> float:
        """What it takes at least when each wave waits for the slowest task of the one before."""
        return UNIT * sum(max(self.length[task] for task in wave) for wave in graph.waves(self.needs))


def mixed() -> Shape:
    """A chain of four, seven tasks of two, and seven pairs: eight slots can be kept busy to the very end."""
    length = {str(task): 2.0 if 5 <= task < 12 else 1.0 for task in range(1, 26)}
    needs: Needs = {task: [] for task in length}
    for task in (2, 3, 4, *range(13, 26, 2)):
        needs[str(task)] = [str(task - 1)]
    return Shape(length=length, needs=needs)


def crossed() -> Shape:
    """Two chains, one with its long task first, one with it last: a barrier between them waits for both."""
    return Shape(length={"1": 3, "2": 1, "3": 1, "4": 3}, needs={"1": [], "2": ["1"], "3": [], "4": ["3"]})


def alike(tasks: int) -> Shape:
    """So many tasks that have nothing to do with each other."""
    numbers = [str(number) for number in range(1, tasks + 1)]
    return Shape(length=dict.fromkeys(numbers, 1.0), needs={number: [] for number in numbers})


def many(scratch: Path) -> tuple[float, float, int]:
    """Seconds for a run of tasks that do nothing, for the bare programs and writes, and how many writes that were."""
    root = _repository(scratch / "many", ["true"], alike(TASKS))
    before = _programs(scratch), _durable(scratch)
    start = time.perf_counter()
    _require(_begin(root, "--max-concurrency", str(SLOTS)).wait(), root)
    taken = time.perf_counter() - start
    after = _programs(scratch), _durable(scratch)
    programs, one = ((early + late) / 2 for early, late in zip(before, after, strict=True))
    writes = _writes(root)
    return taken, programs + writes * one, writes


def sleeping(scratch: Path) -> dict[str, float]:
    """Seconds for each plan of sleeping tasks, all at the same time: they are in nobody's way."""
    wanted = {"mixed": (mixed(), "ready"), "ready": (crossed(), "ready"), "waves": (crossed(), "waves")}
    roots = {name: _sleepers(scratch / name, shape) for name, (shape, _) in wanted.items()}
    start = time.perf_counter()
    running = {
        name: _begin(roots[name], "--max-concurrency", str(SLOTS), "--schedule", schedule)
        for name, (_, schedule) in wanted.items()
    }
    taken: dict[str, float] = {}
    while len(taken) < len(running):
        for name in running.keys() - taken.keys():
            if running[name].poll() is not None:
                taken[name] = time.perf_counter() - start
                _require(running[name].returncode, roots[name])
        time.sleep(0.005)
    return taken


def memory(scratch: Path) -> float:
    """The most megabytes that a run with a hundred small writers at once ever has."""
    program = _program(scratch / "writer", WRITER)
    root = _repository(scratch / "writers", [str(program)], alike(WRITERS))
    process = _begin(root, "--max-concurrency", str(WRITERS))
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    _require(process.returncode, root)
    return used.ru_maxrss / 1024


def _begin(root: Path, *options: str) -> subprocess.Popen[bytes]:
    """A `sow run` of the plan in one folder, without reviews."""
    words = [SOW, "run", "plan.md", "--isolation", "none", "--review", "off", "--yes", *options]
    environment = {"PATH": os.environ["PATH"], "HOME": str(_home(root))}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(words, cwd=root, env=environment, stdin=quiet, stdout=quiet, stderr=quiet)


def _require(code: int, root: Path) -> None:
    if code:
        raise SystemExit(f"sow run in {root.name}: exit {code}")


def executor(home: Path, command: list[str]) -> None:
    """The user's settings: one program plays every role, and may leave nothing behind."""
    settings = home / ".config/sow/config.yaml"
    settings.parent.mkdir(parents=True)
    words = ", ".join(f'"{word}"' for word in command)
    settings.write_text(
        "agents:\n  executors:\n    bench:\n      type: command\n"
        f"      settings: {{command: [{words}], allow_empty: true}}\n"
        "  bindings: {implementer: bench}\n"
    )


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
    """A repository with the plan, on a branch of its own; the user's home lies beside it."""
    root.mkdir()
    for words in (["init", "-qb", "work"], ["config", "user.email", "b@b.b"], ["config", "user.name", "b"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    (root / "plan.md").write_text(plan(shape))
    for words in (["add", "."], ["commit", "-qm", "plan"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    executor(_home(root), command)
    return root


def plan(shape: Shape) -> str:
    """The plan as people write it; no two tasks have a file in common, so that all may work in one folder."""
    return "# Bench\n\n" + "".join(
        f"## Task {task}: Part {task}\n\n**File(s)**: `part{task}.txt`\n"
        f"**Depends on**: {', '.join(f'Task {each}' for each in shape.needs.get(task, ())) or 'None'}\n"
        f"**Estimated time**: {units:g}m\n**Agent**: implementer\n\nDo part {task}.\n\n"
        for task, units in shape.length.items()
    )


def _home(root: Path) -> Path:
    return root.with_name(f"{root.name}-home")


def _programs(scratch: Path) -> float:
    """Seconds for the bare programs."""
    numbers = scratch / "numbers"
    numbers.write_text("\n".join(map(str, range(TASKS))))
    start = time.perf_counter()
    with numbers.open() as given:
        subprocess.run(["xargs", f"-P{SLOTS}", "-n1", "true"], stdin=given, check=True)
    return time.perf_counter() - start


def _writes(root: Path) -> int:
    """How many durable writes a run has made for its tasks: every state file counts its own."""
    found = 0
    for path in (root / ".sow").rglob("*"):
        if path.name in ("state.yaml", "record.yaml"):
            found += int(path.read_text().partition("\nrevision: ")[2].partition("\n")[0])
        elif path.name == "description.md":
            found += 1
        elif path.name == "log.md":
            found += path.read_text().count("### ")
    return found


def _durable(scratch: Path) -> float:
    """Seconds for one durable replacement with nothing but os, on the average of many.

    Each task has a new folder for them, as in a run. Some disks are slow with files in new folders after much was
    removed; one old folder would not feel that, and the same writes would be two different things.
    """
    ground = Path(tempfile.mkdtemp(dir=scratch))
    for task in range(SAMPLE):
        (ground / str(task)).mkdir()
    code = f"""{SYNCED}
import time
start = time.perf_counter()
for task in range({SAMPLE}):
    os.chdir(f"{ground}/{{task}}")
    for n in range({EACH}): replace(n % {FILES})
print(time.perf_counter() - start)
"""
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout) / (SAMPLE * EACH)
