"""The hot verbs import little, because an agent calls them hundreds of times."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from conftest import Repo

import sow

LIST = "sys.stderr.write(' '.join(sys.modules))"
BARE = f"import sys; {LIST}"
COLLECTED = "sum(each['collections'] for each in gc.get_stats())"
RUN = f"import sys; from sow.cli.main import main; code = main(sys.argv[1:]); {LIST}; sys.exit(code)"

# Each of these costs a hot verb at least a tenth of the time in which bare Python starts.
HEAVY = {
    "argparse", "ast", "asyncio", "contextlib", "copy", "csv", "ctypes", "dataclasses", "datetime", "decimal",
    "difflib", "email", "enum", "functools", "glob", "hashlib", "importlib.metadata", "inspect", "json", "locale",
    "logging", "multiprocessing", "pathlib", "platform", "random", "re", "shlex", "shutil", "signal", "socket",
    "string", "subprocess", "tempfile", "textwrap", "threading", "traceback", "typing", "unittest", "urllib",
    "uuid", "yaml",
}  # fmt: skip

# The modules on the path of a hot verb or of a worker's start, without packages and generated validators. Only they
# follow the start-up rules: nothing heavy is imported, and what only the type checker needs is not imported at all.
HOT_MODULES = """
agents.registry agents.briefing cli.agents.agent cli.agents.spawn cli.agents.turn_output
cli.command cli.context cli.main cli.project.log cli.tasks.note cli.tasks.task cli.worker_commands config domain.task
domain.inputs engine.turns.allowed_commands
engine.turns.settle engine.turns.runner
engine.turns.task_turn engine.turns.turn errors executors.adapter
executors.settings executors.clis.claude
record store.files.state_file store.files.checkout_home store.files.disk
store.formats.json_text store.formats.validation store.formats.yaml_text
store.note_updates store.projects.log store.projects.project store.projects.notes
store.projects.task_folder store.projects.tasks
store.runs.sessions store.state_watcher system.caller system.checkout system.clock
system.environment system.plain_file system.process.child_process
system.process.process_tree system.sandbox system.terminal
""".split()  # noqa: SIM905
# `sow plan show` is measured by the benchmark: these modules on its path import nothing for the type checker either.
PLAN_SHOW = {"cli.output", "cli.plans.show", "domain.plans.plan", "plans.reader"}
# Packages in which all other modules import types as usual.
PLAIN = (
    "agents", "cli", "dashboard/data", "domain/plans", "domain/reviews", "domain/text", "domain/workflows",
    "engine/launch", "gitwork", "plans", "store/formats", "store/knowledge", "store/workflows",
)  # fmt: skip

# What is loaded beyond bare Python, a little above today's count: who needs more raises it knowingly.
HOT = {
    ("--version",): 7,
    ("log", "--task", "010", "done"): 44,
    ("agent", "log", "done"): 44,
    ("task", "set", "--id", "010", "status", "needs_review"): 50,
    ("task", "set", "--id", "010", "status", "paused", "--reason", "why?"): 50,
    ("note", "add", "--task", "010", "--description", "d", "--context", "c"): 47,
}
# At the moment when a worker's process starts: what was looked at for garbage since we began, and what is loaded.
START = f"""import gc, sys
from sow.cli.main import main
before = {COLLECTED}
def hear(event, _):
    if event == "subprocess.Popen":
        sys.stderr.write(f"start: {{{COLLECTED} - before}} {{' '.join(sys.modules)}}\\n")
sys.addaudithook(hear)
sys.exit(main(sys.argv[1:]))
"""
# What is needed for the end of a turn, for other commands, or for few turns.
LATE = {
    "json", "pathlib", "sow.cli.agents.result", "sow.cli.project.log", "sow.cli.output",
    "sow.store.files.set_aside", "sow.store.projects.log",
    "sow.store.formats.json_text", "sow.store.projects.notes", "sow.store.validators.notes",
    "sow.store.validators.user_config",
}  # fmt: skip
MOST_AT_START = 66  # modules of sow, a little above today's count
hot = pytest.mark.parametrize("words", HOT, ids=" ".join)


def loaded(repo: Repo, code: str, *arguments: str) -> set[str]:
    """Returns the modules in a Python that has run this code."""
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=repo.root,
        env=repo.environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return set(result.stderr.split())


def own_modules(names: Iterable[str]) -> set[str]:
    """Returns the modules of sow among these, as names below `sow`, without packages and generated validators."""
    package = Path(sow.__file__).parent
    ours = {name.removeprefix("sow.") for name in names if name.startswith("sow.")}
    files = {name for name in ours if (package / name.replace(".", "/")).with_suffix(".py").is_file()}
    return {name for name in files if not name.startswith("store.validators")}


@hot
def test_no_heavy_module_is_loaded(task_repo: Repo, words: tuple[str, ...]):
    """No hot verb loads a module that costs more than the work itself."""
    assert loaded(task_repo, RUN, *words) & HEAVY - loaded(task_repo, BARE) == set()


@hot
def test_masking_a_secret_loads_no_heavy_module(task_repo: Repo, words: tuple[str, ...]):
    """A worker with a key in its environment, as all have, loads no heavy module."""
    task_repo.environment["EXAMPLE_API_KEY"] = "sk-dummy-0123456789/abc+de="
    assert loaded(task_repo, RUN, *words) & HEAVY - loaded(task_repo, BARE) == set()


@hot
def test_few_modules_are_loaded(task_repo: Repo, words: tuple[str, ...]):
    """Every hot verb stays within its number of modules beyond bare Python."""
    more = loaded(task_repo, RUN, *words) - loaded(task_repo, BARE)
    assert HOT[words] - 8 <= len(more) <= HOT[words], sorted(more)


@hot
def test_every_hot_module_is_listed(task_repo: Repo, words: tuple[str, ...]):
    """A hot verb loads no module that does not follow the start-up rules."""
    assert own_modules(loaded(task_repo, RUN, *words)) <= set(HOT_MODULES)


def test_showing_a_plan_loads_no_heavy_module(task_repo: Repo):
    """`sow plan show` starts as light as a hot verb."""
    (task_repo.root / "plan.md").write_text("## Task 1: Build it\n\nWith care.\n")
    assert loaded(task_repo, RUN, "plan", "show", "plan.md") & HEAVY - loaded(task_repo, BARE) == set()


def test_only_hot_modules_follow_the_start_up_rules():
    """The list names existing modules, and other modules hide no import from Python."""
    package = Path(sow.__file__).parent
    names = {str(path.relative_to(package).with_suffix("")).replace("/", "."): path for path in package.rglob("*.py")}
    assert set(HOT_MODULES) <= names.keys()
    others = [path for name, path in names.items() if name not in PLAN_SHOW.union(HOT_MODULES)]
    plain = [path for path in others if str(path.relative_to(package)).startswith(PLAIN)]
    assert len(plain) > 80
    assert [str(path) for path in plain if "TYPE_CHECKING = False" in path.read_text()] == []


@hot
def test_only_its_own_command_group_is_loaded(task_repo: Repo, words: tuple[str, ...]):
    """A hot verb loads its own file of the command line, and no other group's."""
    groups = {name.removeprefix("sow.cli.") for name in loaded(task_repo, RUN, *words) if name.startswith("sow.cli.")}
    frame = {"main", "context", "command"}
    log = {"project", "project.log"}
    tasks = {"worker_commands", "tasks", f"tasks.{words[0]}"}
    own = {
        "agent": {"agents", "agents.agent", *log},
        "log": {"worker_commands", *log},
        "--version": set(),
    }.get(words[0], tasks)
    assert groups - frame == own


@hot
def test_no_garbage_is_collected(task_repo: Repo, words: tuple[str, ...]):
    """A hot verb ends before Python's first garbage collection."""
    code = f"import gc, sys; from sow.cli.main import main; before = {COLLECTED}; main(sys.argv[1:]); "
    assert loaded(task_repo, f"{code} sys.stderr.write(str({COLLECTED} - before))", *words) == {"0"}


def test_a_second_note_loads_no_heavy_module(task_repo: Repo):
    """A file of notes that sow wrote is read without the json module."""
    arguments = ("note", "add", "--task", "010", "--description", "d", "--context", "c")
    task_repo.ok(*arguments)
    assert "json" not in loaded(task_repo, RUN, *arguments)


def test_handing_in_with_resolved_notes_loads_no_heavy_module(task_repo: Repo):
    """The notes are read without the json module."""
    task_repo.ok("note", "add", "--task", "010", "--description", "d", "--context", "c")
    task_repo.ok("note", "resolve", "1", "--task", "010", "--resolution", "yes")
    assert "json" not in loaded(task_repo, RUN, "task", "set", "--id", "010", "status", "needs_review")


@pytest.fixture
def start(task_repo: Repo, tmp_path: Path) -> list[str]:
    """Returns the garbage collections and the modules before the start of a worker's process."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    result = subprocess.run(
        [sys.executable, "-c", START, "agent", "spawn", "implementer", "010"],
        cwd=task_repo.root,
        env={**task_repo.environment, "PATH": f"{program.parent}:{task_repo.environment['PATH']}"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    (output,) = [line for line in result.stderr.splitlines() if line.startswith("start: ")]
    return output.split()[1:]


def test_the_start_of_a_worker_loads_nothing_for_its_end(start: list[str]):
    """No module that only the end, or another command, needs is loaded before the start of a worker's process."""
    assert LATE.isdisjoint(start)


def test_a_worker_starts_with_few_modules(start: list[str]):
    """The start of a worker stays within its number of modules."""
    ours = [name for name in start if name.partition(".")[0] == "sow"]
    assert MOST_AT_START - 8 <= len(ours) <= MOST_AT_START, sorted(ours)
    assert own_modules(ours) <= set(HOT_MODULES)


def test_a_worker_starts_before_a_garbage_collection(start: list[str]):
    """Python looks for garbage not once before a worker's process starts."""
    assert start[0] == "0"
