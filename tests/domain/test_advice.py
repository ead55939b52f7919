"""The next step: one sentence and one command for every state."""

from __future__ import annotations

import re
import shlex
from functools import partial

from support.quick_cases import all_of
from support.samples import BEFORE, LATER, NOW, phase, task

from sow.cli.command import find, parse
from sow.domain.inbox import items, next_step, ready, resume_command
from sow.domain.task import TASK
from sow.reports.idle_tasks import task_next_step

DESIGN, BUILD = phase("design", "completed"), phase("implementation", "active")
TEST, NEW = phase("test"), phase("discovery", "proposed")
DONE = [phase("design", "completed"), phase("implementation", "completed")]
QUESTION = {"number": 4, "text": "unique?", "asked_at": NOW}


def advise(tasks=(), phases=(DESIGN, BUILD, TEST), broken=None, idle=None, left=(), runs_plan=False, **where):
    """Returns the next step; a task is in the phase implementation by default."""
    tasks, phases = list(tasks), list(phases)
    places = {task["id"]: where.get(f"t{task['id']}", "implementation") for task in tasks}
    command = (lambda each: f"sow run {each['source']['plan']}") if runs_plan else None
    return next_step(tasks, places, phases, items(tasks, phases, broken or {}), idle or {}, left, command)


SITUATIONS = {
    "a new project": (
        partial(advise),
        "create the first task of phase implementation",
        'sow task create --name "…" --agent implementer',
    ),
    "a question": (
        partial(advise, [task(status="paused", question=QUESTION)]),
        "answer question 4 of task 010: unique?",
        'sow answer 4 "…"',
    ),
    "a pause without a question": (
        partial(advise, [task(status="paused")]),
        "answer task 010: paused: Task 010",
        'sow answer 010 "…"',
    ),
    "a review": (
        partial(advise, [task(status="needs_review")]),
        "review task 010: Task 010 (iteration 1) waits for your approval",
        "sow approve 010",
    ),
    "a failure": (
        partial(advise, [task(status="failed")]),
        "try task 010 again, which failed: Task 010",
        "sow task set 010 status in_progress",
    ),
    "a proposed phase": (
        partial(advise, phases=[BUILD, NEW]),
        "decide on the project: add phase discovery? a race",
        "sow phase approve discovery",
    ),
    "a broken file": (
        partial(advise, broken={"010": "state.yaml: not a mapping of fields"}),
        "repair task 010: state.yaml: not a mapping of fields",
        "sow doctor",
    ),
    "a question comes before work": (
        partial(advise, [task("010", "in_progress"), task("020", "paused")]),
        "answer task 020: paused: Task 020",
        'sow answer 020 "…"',
    ),
    "work in progress": (
        partial(advise, [task("010"), task("020", "in_progress")]),
        "no worker is on task 020: Task 020",
        "sow agent spawn implementer 020",
    ),
    "a worker at work": (
        partial(advise, [task("010"), {**task("020", "in_progress"), "session_id": "s"}]),
        "a worker is on task 020: Task 020",
        "sow task show 020",
    ),
    "a task that can start": (
        partial(advise, [task("010", "completed"), task("020", depends_on=["010"])]),
        "start a worker on task 020: Task 020",
        "sow agent spawn implementer 020",
    ),
    "an imported plan": (
        partial(advise, [{**task("010"), "source": {"plan": "plan.md", "id": "1", "digest": ""}}], runs_plan=True),
        "run the plan",
        "sow run plan.md",
    ),
    "a task of an earlier phase comes up later": (
        partial(advise, [task("010")], t010="design"),
        "start a worker on task 010: Task 010",
        "sow agent spawn implementer 010",
    ),
    "tasks that wait": (
        partial(advise, [task("010", "completed"), task("020", "abandoned"), task("030", depends_on=["010", "020"])]),
        "decide on task 030: Task 030: waits for task 020, which was abandoned",
        'sow task set 030 depends_on "010"',
    ),
    "a task that waits for a later phase": (
        partial(advise, [task("010", depends_on=["020"]), task("020")], t020="test"),
        "task 010 waits for 020 (pending)",
        "sow task show 010",
    ),
    "a turn without its sow": (
        partial(advise, [task("010", "in_progress"), task("020", "in_progress")], idle={"020": "sow x"}, left=["010"]),
        "an earlier turn on task 010 still runs, and nobody supervises it: end it",
        "sow runs stop",
    ),
    "a phase whose tasks have ended": (
        partial(advise, [task("010", "completed"), task("020", "abandoned")]),
        "phase implementation has no open task: start the next phase",
        "sow phase advance",
    ),
    "the last phase, whose tasks have ended": (
        partial(advise, [task("010", "completed"), task("020", "abandoned")], (DESIGN, BUILD)),
        "all tasks have ended: clean up, then merge the branch",
        "sow cleanup",
    ),
    "only tasks of a later phase": (
        partial(advise, [task("010")], t010="test"),
        "phase implementation has no open task: start the next phase",
        "sow phase advance",
    ),
    "a phase that has just begun": (
        partial(advise, [task("010", "completed")], t010="design"),
        "create the first task of phase implementation",
        'sow task create --name "…" --agent implementer',
    ),
    "all phases are completed": (
        partial(advise, [task("010", "completed")], DONE),
        "all tasks have ended: clean up, then merge the branch",
        "sow cleanup",
    ),
    "a new task after the last phase": (
        partial(advise, [task("010")], DONE),
        "start a worker on task 010: Task 010",
        "sow agent spawn implementer 010",
    ),
}


@all_of("situation", SITUATIONS)
def test_every_situation_has_its_next_step(situation):
    """Every situation has one next step, as a sentence and as a command."""
    step, text, command = SITUATIONS[situation]
    assert step() == {"text": text, "command": command}


def typed(text: str) -> None:
    """Checks that the real parser accepts the command."""
    parts = shlex.split(text)
    assert parts[0] == "sow"
    command, rest = find(parts[1:])
    parse(command, rest)


@all_of("situation", SITUATIONS)
def test_every_advised_command_parses(situation):
    """The command of every next step parses with the real parser."""
    typed(SITUATIONS[situation][0]()["command"])


@all_of("gated", [False, True])
@all_of("status", TASK.statuses)
def test_every_command_of_a_task_page_parses(status, gated):
    """Every command in the last line of a task's page parses; an ended task has none."""
    for current in (task(status=status), task(status=status, question=QUESTION)):
        commands = re.findall(r"sow .*?(?= and |[,)]|$)", task_next_step(current, gated))
        assert bool(commands) == (status not in ("completed", "abandoned"))
        for command in commands:
            typed(command)


def test_a_task_with_open_notes_is_advised_about_them():
    """A worker with open notes is advised to resolve them before it hands in."""
    assert task_next_step(task(status="in_progress"), True).endswith("sow note list --task 010")
    assert task_next_step(task(status="in_progress"), False).endswith("sow task set 010 status needs_review")


ID = {"session_id": "x"}
DOORS = [
    (task(), True, "sow agent spawn implementer 010"),
    (task(status="in_progress"), True, "sow agent spawn implementer 010"),
    (task(status="in_progress", **ID), True, 'sow agent resume 010 "Continue"'),
    (task(status="in_progress", **ID), False, "sow agent spawn implementer 010 --fresh"),
    (task(status="needs_review", **ID), True, 'sow agent resume 010 "what is wrong"'),
    (task(status="paused", question=QUESTION, **ID), True, 'sow agent resume 010 "the answer"'),
    (task(status="paused", question=QUESTION, **ID), False, 'sow answer 4 "…"'),
    (task(status="paused", question=QUESTION), True, 'sow answer 4 "…"'),
    (task(status="failed", **ID), True, 'sow agent resume 010 "Continue"'),
    (task(status="completed"), True, "sow task show 010"),
    (task(status="abandoned"), False, "sow task show 010"),
]


@all_of(("current", "resumes", "command"), DOORS)
def test_the_next_command_of_a_task(current, resumes, command):
    """The command follows from the status, the session, and whether its CLI can resume; and it parses."""
    assert resume_command(current, resumes=resumes) == command
    typed(command)


def test_the_most_important_ready_task_comes_first():
    """Ready tasks are sorted by priority and then by number, also with more than three digits."""
    tasks = [
        task("1000", priority="medium"),
        task("990", priority="medium"),
        task("010", priority="low"),
        task("020", priority="high", created_at=LATER),
        task("030", priority="high", depends_on=["010"]),
        task("040", "completed", created_at=BEFORE),
        task("050", depends_on=["040"]),
    ]
    assert [entry["id"] for entry in ready(tasks)] == ["020", "050", "990", "1000", "010"]
