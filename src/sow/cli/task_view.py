"""How tasks are shown: the list, and the one page that a worker with no history goes on from."""

from __future__ import annotations

from sow.cli.context import Context
from sow.cli.output import emit, table
from sow.domain import phase as phases
from sow.domain import refusals
from sow.domain.ids import agent_id
from sow.domain.task import concerns
from sow.store import desk as desks
from sow.store import project as projects
from sow.store.task_document import document
from sow.system.terminal import harmless, harmless_line, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.shapes import Task

RECENT = 20


def list_tasks(context: Context, *, phase: str, status: str, json: bool) -> int:
    home = context.home()
    project = projects.load(home)
    only = phases.match(phase, project["phases"]) if phase else ""
    readable, broken = desks.load_all(home, project)
    shown = [(d, t) for d, t in readable if (not only or d.phase == only) and (not status or t["status"] == status)]
    if json:
        emit({"tasks": [{**task, "phase": desk.phase} for desk, task in shown], "broken": broken})
        return 0
    if not shown and not broken:
        out("no tasks")
        return 0
    rows = [
        (
            t["id"],
            t["status"],
            d.phase,
            agent_id(t["assigned_agent"], t["iteration"]),
            ", ".join(t["depends_on"]),
            titled(t),
        )
        for d, t in shown
    ]
    rows += [(each, "broken", "", "", "", problem) for each, problem in broken.items()]
    out(table([("ID", "STATUS", "PHASE", "AGENT", "AFTER", "NAME"), *rows]))
    return 0


def titled(task: Task) -> str:
    """A task's name, and its id in the plan that it comes from."""
    return f"{task['name']} (plan's {task['source']['id']})" if "source" in task else task["name"]


def show_task(context: Context, ident: str, *, json: bool) -> int:
    home = context.home()
    project = projects.load(home)
    desk = desks.find(home, project, ident)
    known = document(desk, project, desk.task())
    if json:
        emit(known)
        return 0
    out(paint(f"Task {ident}: {harmless_line(known['name'])}", "bold"))
    out(table(_facts(known)))
    _section("Description", known["description"])
    _section("References", "\n".join(_references(known, home.root)))
    _section(
        "Feedback",
        "\n\n".join(
            f"[{each['number']}, by {each['by'] or 'hand'}, on iteration {each['iteration'] or '?'}]\n{each['text']}"
            for each in known["feedback"]
        ),
    )
    _section("Checks", "\n".join(_checks(known)))
    _section("Notes", "\n".join(_note(each) for each in known["notes"]))
    _section(
        "Questions answered",
        "\n".join(f"{each['number']}. {each['text']}\n   → {each['answer']}" for each in known["questions"]),
    )
    if "question" in known:
        _section("Question", f"{known['question']['number']}. {known['question']['text']}")
    _section("Refused", "\n".join(_refused(known)))
    _section("Look at this", "\n".join(_concerns(known)))
    recent = known["log"][-RECENT:]
    title = "Log" if len(recent) == len(known["log"]) else f"Log (the last {RECENT} of {len(known['log'])})"
    _section(title, "\n".join(_entry(each) for each in recent))
    _section("Next", known["next"])
    return 0


def _facts(known: dict[str, Any]) -> list[tuple[str, ...]]:
    source = known.get("source")
    facts = [
        ("status", f"{known['status']}, iteration {known['iteration']}"),
        ("agent", known["agent_id"]),
        ("phase", known["phase"]),
        ("priority", known["priority"]),
        ("after", ", ".join(known["depends_on"])),
        ("result", known.get("result", "")),
        ("protected", ", ".join(known.get("protected", ()))),
        ("plan", f"task {source['id']} of {source['plan']}" if source else ""),
        ("session", known.get("session_id", "")),
        ("abandoned", known.get("abandoned_reason", "")),
        ("folder", known["path"]),
    ]
    if "approval" in known:
        approval = known["approval"]
        facts.append(("approved", f"by {approval['by']} at {approval['at']}, iteration {approval['iteration']}"))
    return [row for row in facts if row[1]]


def _references(known: dict[str, Any], root: str) -> list[str]:
    """What the worker should read; of what was chosen for it, why. Paths of ours are given in full, for worktrees."""
    chosen = {each["path"]: each for each in known.get("context", ())}
    found = []
    for path in known["references"]:
        each = chosen.get(path)
        part = f", lines {each['lines']}" if each and "lines" in each else ""
        place = f"{root}/{path}" if path.startswith(".sow/") else path
        found.append(f"{place}{part} ({each['kind']}: {each['reason']})" if each else place)
    return found


def _refused(known: dict[str, Any]) -> list[str]:
    """The commands that the agent CLI refused, and the setting that allows them."""
    found = known.get("refusals", [])
    lines = [_refusal(each) for each in found]
    return [*lines, refusals.advice(found)] if lines else []


def _refusal(each: dict[str, Any]) -> str:
    times = f", {each['count']} times" if each["count"] > 1 else ""
    why = f": {harmless_line(each['reason'])}" if each["reason"] else ""
    return f"{refusals.called(each['tool'], each.get('command', ''))} (iteration {each['iteration']}{times}){why}"


def _concerns(known: dict[str, Any]) -> list[str]:
    """What keeps the present iteration from being GREEN without a review; refused commands have their own section."""
    return [each["text"] for each in concerns(known) if each["kind"] != refusals.KIND]  # type: ignore[arg-type]


def _checks(known: dict[str, Any]) -> list[str]:
    """The results of the present iteration, and what each belongs to."""
    return [
        f"{'passed' if each['passed'] else 'FAILED'}: {each['command']} (exit {each['exit']}{_scope(each)})"
        for each in known.get("evidence", ())
        if each["iteration"] == known["iteration"]
    ]


def _scope(evidence: dict[str, Any]) -> str:
    if evidence.get("scope") == "folder":
        return ", in the shared folder: it belongs to no commit"
    return f", on tree {evidence['tree'][:10]}" if evidence.get("tree") else ""


def _note(note: dict[str, Any]) -> str:
    category = f", {note['category']}" if "category" in note else ""
    ending = {"resolved": note.get("resolution"), "escalated": note.get("escalation_reason")}.get(note["status"])
    return f"{note['note_id']} [{note['status']}{category}] {note['description']}" + (f" → {ending}" if ending else "")


def _entry(entry: dict[str, Any]) -> str:
    files = f" ({', '.join(entry['files'])})" if entry["files"] else ""
    return f"{entry['timestamp']} {entry['agent']} {entry['action']} {entry['result']}: {entry['text']}{files}"


def _section(title: str, body: str) -> None:
    """A heading and its text; an empty one is left out."""
    if body.strip():
        out(f"\n{paint(title, 'bold')}\n{harmless(body).strip()}")
