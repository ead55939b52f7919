"""The caller is known by marks in its environment and in that of its ancestors, which it cannot remove."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from conftest import PYTHONPATH
from support.quick_cases import all_of, few_of

from sow.errors import SowError
from sow.system import caller
from sow.system.caller import LONGEST_NAME, supervisor_name

MARKED = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}
# A process with marks starts one without any, which forks `depth` times; the last one says who it is.
OUTER = """
import os, subprocess, sys
clean = {name: value for name, value in os.environ.items() if "SOW" not in name + value}
sys.exit(subprocess.run(sys.argv[1:], env=clean).returncode)
"""
INNER = """
import ctypes, json, os, sys
from sow.system import caller
if sys.argv[2] == "hidden":
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: from now on /proc hides its environment
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
who = caller.actor(json.loads(sys.argv[3]))
print(who.kind, who.name, who.task)
"""

# A process that shows a name of its own choice runs another one.
NAMED = """
import subprocess, sys
from sow.system.caller import set_process_name
set_process_name(sys.argv[1])
sys.exit(subprocess.run(sys.argv[2:]).returncode)
"""

ACTORS = [
    ({}, ("person", "person", "")),
    ({"USER": "ada"}, ("person", "ada", "")),
    ({"LOGNAME": "bob"}, ("person", "bob", "")),
    ({"USER": "ada", "LOGNAME": "bob"}, ("person", "ada", "")),
    ({"USER": "ada", "SOW_AGENT": "orchestrator"}, ("orchestrator", "orchestrator", "")),
    ({"USER": "ada", "SOW_AGENT": "implementer"}, ("person", "ada", "")),
    ({"USER": "ada", "CLAUDECODE": "1"}, ("orchestrator", "orchestrator", "")),
    ({"USER": "ada", "CODEX_THREAD_ID": "x"}, ("orchestrator", "orchestrator", "")),
    ({"USER": "ada", "CLAUDECODE": ""}, ("person", "ada", "")),
    ({"SOW_TASK": "010", "CLAUDECODE": "1"}, ("worker", "worker", "010")),
    ({"USER": "ada", "SOW_TASK": "010"}, ("worker", "worker", "010")),
    ({"USER": "ada", "SOW_TASK": "010", "SOW_AGENT": "reviewer"}, ("worker", "reviewer", "010")),
    ({"SOW_TASK": "1000", "SOW_AGENT": "orchestrator"}, ("worker", "orchestrator", "1000")),
    ({"SOW_TASK": "api_agent", "SOW_AGENT": "implementer"}, ("worker", "implementer", "api_agent")),
    ({"USER": "ada", "SOW_TASK": ""}, ("person", "ada", "")),
    ({"USER": " \n "}, ("person", "person", "")),
    ({"USER": "a\x1b[31m\nb·c"}, ("person", "a␛[31m b-c", "")),
    ({"USER": "x" * 100}, ("person", "x" * 64, "")),
]


@all_of(("environment", "expected"), ACTORS)
def test_the_marks_name_the_actor(environment, expected):
    """A task makes a worker, the orchestrator's mark without a task the orchestrator, and no mark a person."""
    who = caller.actor(environment)
    assert (who.kind, who.name, who.task) == expected
    assert who.is_worker == (expected[0] == "worker")


@pytest.mark.parametrize("task", ["10", "Abc", "0010", " 010", "010\n", "-1", "../010"])
def test_an_invalid_mark_is_refused(task):
    """An invalid SOW_TASK is an error, never a person."""
    with pytest.raises(SowError, match="which is not a task id"):
        caller.actor({"SOW_TASK": task})


@pytest.mark.parametrize("environment", [{"USER": "ada"}, {"SOW_AGENT": "orchestrator"}])
def test_people_and_the_orchestrator_may_judge(environment):
    """A caller that is no worker may approve, answer and complete."""
    assert not caller.require_non_worker(environment, "approve a task").is_worker


def test_a_worker_may_not_judge():
    """A worker is refused, whatever its role is called, with what it can do instead."""
    for role in ("implementer", "orchestrator", "reviewer"):
        with pytest.raises(SowError) as refused:
            caller.require_non_worker({"SOW_TASK": "010", "SOW_AGENT": role}, "approve a task")
        assert refused.value.message == "a worker may not approve a task"
        assert "needs_review or paused" in refused.value.hint


def below(marks: dict[str, str], own: dict[str, str], *, depth: int = 1, way: str = "open") -> str:
    """Returns the caller for a process with these marks below an ancestor with other ones."""
    inner = [sys.executable, "-c", INNER, str(depth), way, json.dumps(own)]
    result = subprocess.run(
        [sys.executable, "-c", OUTER, *inner],
        env={"PYTHONPATH": PYTHONPATH, **marks},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return result.stdout.strip()


def test_without_marks_the_caller_is_a_person():
    """Processes between a person and sow change nothing."""
    assert below({}, {"USER": "ada"}) == "person ada"


@pytest.mark.parametrize("depth", [0, 1, 5, 70])
def test_a_worker_cannot_remove_its_marks(depth):
    """With any number of processes without marks between, the mark of the ancestor is found."""
    assert below(MARKED, {"USER": "ada"}, depth=depth) == "worker worker 010"


def test_a_worker_cannot_take_the_marks_of_another():
    """The task that a worker was started for counts, not the one that it claims."""
    assert below(MARKED, {"SOW_TASK": "020", "SOW_AGENT": "reviewer"}) == "worker reviewer 010"
    assert below(MARKED, {"SOW_AGENT": "orchestrator"}) == "worker orchestrator 010"


def test_a_hidden_process_does_not_hide_its_ancestors():
    """If /proc does not show one process, the marks above it are still found."""
    assert below(MARKED, {"USER": "ada"}, way="hidden") == "worker worker 010"


def test_similar_names_are_no_marks():
    """Other variables that end or begin like the mark, or have it in their value, make no worker."""
    marks = {"XSOW_TASK": "010", "SOW_TASKS": "010", "NOTE": "SOW_TASK=010\nSOW_TASK=010"}
    assert below(marks, {"USER": "ada"}) == "person ada"


def below_names(*names: str, own: dict[str, str]) -> str:
    """Returns the caller for a process without marks, below processes of these names."""
    arguments = [sys.executable, "-c", INNER, "0", "open", json.dumps(own)]
    for name in reversed(names):
        arguments = [sys.executable, "-c", NAMED, name, *arguments]
    result = subprocess.run(
        arguments, env={"PYTHONPATH": PYTHONPATH}, capture_output=True, text=True, timeout=300, check=True
    )
    return result.stdout.strip()


NAMES = [
    (("sow-turn-010",), {"USER": "ada"}, "worker worker 010"),
    (("sow-turn-010",), {"SOW_AGENT": "orchestrator"}, "worker orchestrator 010"),
    (("sow-turn-010",), {"SOW_TASK": "020"}, "worker worker 010"),
    (("sow-turn-010", "sow-turn-020"), {"USER": "ada"}, "worker worker 010"),
    (("sow-turn-",), {"USER": "ada"}, "worker worker"),
    (("sow-turn-",), {"SOW_TASK": "020"}, "worker worker 020"),
    (("sow-turn-x) S 1",), {"USER": "ada"}, "worker worker"),
    ((supervisor_name("api_agent"),), {"SOW_TASK": "api_agent"}, "worker worker api_agent"),
    ((supervisor_name("api_agent"),), {"SOW_TASK": "database_agent"}, "worker worker"),
    ((supervisor_name("api_agent"),), {"SOW_TASK": "010"}, "worker worker"),
    ((supervisor_name("api_agent"),), {"USER": "ada"}, "worker worker"),
    ((supervisor_name("1234567"),), {"SOW_TASK": "1234567"}, "worker worker 1234567"),
    (("sow-turn-",), {"SOW_TASK": "api_agent"}, "worker worker"),
    (("sow",), {"USER": "ada"}, "person ada"),
    (("sow-turn",), {"USER": "ada"}, "person ada"),
    (("my-sow-turn-010",), {"USER": "ada"}, "person ada"),
]


@few_of(("names", "own", "expected"), NAMES, 6)
def test_a_process_below_a_supervisor_is_a_worker(names, own, expected):
    """Without any mark, the badge in the supervisor's process name decides, the highest one first."""
    assert below_names(*names, own=own) == expected


def test_every_badge_fits_into_a_process_name():
    """No name of a task or an agent is cut off, and the agents of a large crew differ."""
    names = [f"agent_{number}" for number in range(1000)]
    shown = [supervisor_name(name) for name in names]
    assert len(set(shown)) == len(names)
    assert all(
        len(item) <= LONGEST_NAME
        for item in (*shown, supervisor_name("x" * 63), supervisor_name("999999999"), supervisor_name("010"))
    )


def test_the_mark_of_an_agent_counts_below_a_shared_badge():
    """Below a sow that supervises several turns, the mark of the process above decides."""
    arguments = [sys.executable, "-c", INNER, "1", "open", json.dumps({"SOW_TASK": "database_agent"})]
    arguments = ["env", "SOW_TASK=api_agent", sys.executable, "-c", OUTER, *arguments]
    arguments = [sys.executable, "-c", NAMED, "sow-turn-", *arguments]
    result = subprocess.run(
        arguments, env={"PYTHONPATH": PYTHONPATH}, capture_output=True, text=True, timeout=300, check=True
    )
    assert result.stdout.strip() == "worker worker api_agent"


HIDING = {
    "unset": "unset SOW_TASK SOW_AGENT; sow approve 010; exit $?",
    "another environment": 'env -i PATH="$PATH" USER=ada sow approve 010; exit $?',
    "another session": 'setsid -w env -i PATH="$PATH" USER=ada sow approve 010; exit $?',
    "as the orchestrator": "unset SOW_TASK; SOW_AGENT=orchestrator sow approve 010; exit $?",
    "an empty mark": "SOW_TASK= sow approve 010; exit $?",
    "another task": "SOW_TASK=020 sow approve 010; exit $?",
}


@pytest.mark.parametrize("way", HIDING)
def test_the_real_command_recognises_a_worker(task_repo, way):
    """A worker in a real shell cannot approve its own task, whatever it does to its environment."""
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    before = task_repo.snapshot()
    result = subprocess.run(
        ["sh", "-c", HIDING[way]],
        cwd=task_repo.root,
        env={**task_repo.environment, **MARKED},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (result.returncode, result.stderr.splitlines()[0]) == (2, "error: a worker may not approve a task")
    assert task_repo.snapshot() == before


def test_the_same_shell_without_marks_approves(task_repo):
    """In a person's shell the same commands work."""
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    result = subprocess.run(
        ["sh", "-c", HIDING["another session"]], cwd=task_repo.root, env=task_repo.environment, timeout=300
    )
    assert result.returncode == 0
    assert task_repo.task("010")["status"] == "completed"
