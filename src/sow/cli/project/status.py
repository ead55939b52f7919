"""Shows the project: its tasks, what waits for the user and what to do next (`sow status`)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sow.cli.command import Command
from sow.cli.context import Context
from sow.cli.output import emit, table
from sow.cli.tasks.inbox import title
from sow.cli.tasks.show import agent_text, display_name, status_text
from sow.domain.inbox import STOP_COMMAND, Item, next_step, without_project
from sow.domain.text.similar_text import without_details
from sow.gitwork.merge_command import command_after_removal
from sow.reports.idle_tasks import ProjectRuns, idle_tasks, name_commands
from sow.reports.next_steps import HintContext
from sow.store.files.checkout_home import Home, start_command
from sow.store.inbox import items_outside_project, project_inbox_items
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.workflows import summary
from sow.system.terminal import escape_control, escape_line, fold, out, paint

RECENT = 5
MOST_ROWS = 50
SAID = ("note", "project_new", "project_adopt", "plan_import")  # actions whose log entry is a sentence


def status(context: Context, *, json: bool) -> int:
    home = context.project_home()
    if not projects.exists(home):
        projects.refuse_pulled_delivery(home)
        return _no_project(home, json=json)
    facts = document(home, context.hints())
    if json:
        emit(facts)
    else:
        _show(facts)
    return 0


def _no_project(home: Home, *, json: bool) -> int:
    workflow = summary.summary(home)
    step = without_project(
        workflow, items_outside_project(home) or (), start_command(home), command_after_removal(home)
    )
    if json:
        emit({"project": None, "branch": home.checkout.branch(), "root": home.root, "workflow": workflow, "next": step})
    else:
        out(escape_line(f"no project on branch {home.checkout.branch() or '(detached)'} of {home.root}"))
        _show_workflow(workflow)
        out(fold(f"next: {step['text']}: {step['command']}", 6))
    return 0


def _show_workflow(workflow: dict[str, Any] | None) -> None:
    if workflow and workflow["name"]:
        counts = f"{workflow['done']} of {workflow['agents']} agents verified"
        out(escape_line(f"workflow {workflow['name']}: {workflow['status']}, {counts}; see: sow workflow status"))
    elif workflow:
        out(escape_line(f"workflow: {workflow['problem']}; see: sow doctor"))


def document(home: Home, hint_context: HintContext) -> dict[str, Any]:
    """Returns the state of the project as JSON."""
    from sow.store.projects import log

    project = projects.load(home)
    readable, broken = task_folder.load_readable(home, project)
    tasks = [task for _, task in readable]
    waiting = project_inbox_items(home, project, tasks, broken)
    runs = ProjectRuns(home, hint_context)
    unsupervised, idle = idle_tasks(readable, runs)
    phase_of = {task["id"]: folder.phase for folder, task in readable}
    name_commands(waiting, runs)
    step = next_step(
        tasks,
        phase_of,
        project["phases"],
        waiting,
        idle,
        unsupervised,
        runs.plan_command,
        lambda: runs.last_step,
    )
    if not waiting and runs.live_tasks():
        step = {"text": "a run is in progress; follow it", "command": "sow watch"}
    counts = Counter(task["status"] for task in tasks)
    return {
        "project": {
            key: project[key] for key in ("project_id", "name", "description", "branch", "created_at", "updated_at")
        },
        "root": home.root,
        "workflow": summary.summary(home),
        "phases": project["phases"],
        "counts": counts,
        "tasks": [{**task, "phase": folder.phase} for folder, task in readable],
        "broken": broken,
        "inbox": waiting,
        "memories": projects.read_memories(home),
        "log": log.read(home, f"{home.project}/log.md")[-RECENT:],
        "left": [{"task": ident, "do": STOP_COMMAND} for ident in unsupervised],
        "idle": [{"task": ident, "do": command} for ident, command in idle.items()],
        "next": step,
    }


def _show(facts: dict[str, Any]) -> None:
    project = facts["project"]
    out(paint(escape_line(project["name"]), "bold") + " " + escape_line(f"on branch {project['branch']}"))
    if project["description"]:
        out(escape_control(project["description"]).strip())
    out("phases: " + " → ".join(_phase(phase) for phase in facts["phases"]))
    _show_workflow(facts["workflow"])
    counts = Counter(status_text(task) for task in facts["tasks"])
    out("tasks: " + (", ".join(f"{count} {name}" for name, count in counts.items()) or "none"))
    rows = [(t["id"], status_text(t), t["phase"], agent_text(t), display_name(t)) for t in facts["tasks"]]
    rows += [(ident, "broken", "", "", problem) for ident, problem in facts["broken"].items()]
    if len(rows) > MOST_ROWS:
        rows = [row for row in rows if row[1] not in ("completed", "abandoned")][:MOST_ROWS]
    if rows:
        out("\n" + table([("ID", "STATUS", "PHASE", "ROLE", "NAME"), *rows], indent="  "))
    step = facts["next"]
    shown_commands = {step["command"], *(item["do"] for item in facts["inbox"])}
    for heading, lines in (
        (
            "Needs you",
            [_item(item, step["command"]) for item in facts["inbox"]],
        ),
        (
            "Left running",
            [f"a turn on task {item['task']}  →  {item['do']}" for item in facts["left"]],
        ),
        (
            "Continue",
            [f"task {item['task']}  →  {item['do']}" for item in facts["idle"] if item["do"] not in shown_commands],
        ),
        ("Decisions", [escape_control(memory) for memory in facts["memories"]]),
        (
            "Recent log",
            [escape_line(f"{e['timestamp']} {e['agent']}{_action(e)}: {e['text']}") for e in facts["log"]],
        ),
    ):
        if lines:
            out(f"\n{paint(heading, 'bold')}\n" + "\n".join(fold(f"  {line}", 4) for line in lines))
    is_told = any(item["do"] == step["command"] for item in facts["inbox"])
    text = "" if is_told else fold(f"  {escape_line(step['text'])}", 4) + "\n"
    out(f"\n{paint('Next', 'bold')}\n{text}  {paint(step['command'], 'cyan')}")


def _item(item: Item, next_command: str) -> str:
    """Returns an item on one line; the command that continues a run is named only as the next step."""
    about = ": ".join(filter(None, (title(item, _kind(item)), escape_line(without_details(item["text"])))))
    is_next = item["kind"] == "delivery" and item["do"] == next_command
    return f"{about}  →  {'see Next' if is_next else item['do']}"


def _kind(item: Item) -> str:
    return f"question {item['number']} of" if item["kind"] == "question" and item["number"] else item["kind"]


def _action(entry: dict[str, Any]) -> str:
    """Returns the action of a log entry, unless its text says it."""
    return "" if entry["action"] in SAID else f", {entry['action'].replace('_', ' ')}"


def _phase(phase: dict[str, Any]) -> str:
    mark = {"completed": "✓", "active": "●", "pending": "○", "proposed": "?"}[phase["status"]]
    return f"{mark} {phase['name']}"


COMMANDS = (Command("status", status, "Show the tasks, what needs you, and the next step", json=True),)
