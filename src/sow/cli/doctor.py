"""sow doctor: is this machine, this repository, this project and every agent CLI fit for work?"""

from __future__ import annotations

from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.spec import Command
from sow.domain.advice import END_LEFT
from sow.engine.idle import look
from sow.engine.standpoint import Standpoint
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import project as projects
from sow.store.health import examine
from sow.system.terminal import harmless_line, out, paint

MARKS = {"ok": ("✓", "green"), "warning": ("⚠", "yellow"), "problem": ("✗", "red")}


def doctor(context: Context, *, json: bool) -> int:
    from sow.cli.doctor_executors import examine_executors
    from sow.cli.doctor_layers import examine_layers
    from sow.cli.doctor_setup import examine_setup

    findings = examine(context.home, context.cwd)
    findings += examine_layers(context)
    findings += examine_setup(context)
    findings += _idle(context)
    more, executors = examine_executors(context)
    findings += more
    problems = sum(each["state"] == "problem" for each in findings)
    warnings = sum(each["state"] == "warning" for each in findings)
    if json:
        emit({"healthy": not problems, "findings": findings, "executors": executors})
        return 1 if problems else 0
    for each in findings:
        mark, colour = MARKS[each["state"]]
        out(f"{paint(mark, colour)} {harmless_line(each['what'])}")
        if each["hint"]:
            out(f"    {harmless_line(each['hint'])}")
    out(f"\n{problems} problem{'' if problems == 1 else 's'}, {warnings} warning{'' if warnings == 1 else 's'}")
    return 1 if problems else 0


def _idle(context: Context) -> list[dict[str, str]]:
    """Tasks in progress that nobody works on; where the project cannot be read, that is a finding of its own."""
    try:
        home = context.home()
        known, _ = desks.load_all(home, projects.load(home))
    except SowError:
        return []
    left, idle = look(known, Standpoint(context.environment, context.cwd))
    said = [
        (f"an earlier turn on task {task} still runs, and nobody supervises it", f"end it: {END_LEFT}") for task in left
    ]
    said += [
        (f"task {task} is in progress, and nobody works on it", f"go on: {command}") for task, command in idle.items()
    ]
    return [{"state": "warning", "what": what, "hint": hint} for what, hint in said]


COMMANDS = (
    Command(
        "doctor",
        doctor,
        "Check the machine, the repository, every state file, your settings and the agent CLIs",
        json=True,
        details="It says how the checkouts of checks are set up, and whether a check would import code from your own\n"
        "checkout instead (docs/running.md).\n"
        "An agent CLI that is bound or configured is asked for its version and its flags once; the answer is\n"
        "kept in ~/.cache/sow/probes.json until the program changes.",
    ),
)
