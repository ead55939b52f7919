"""Adds, resolves, escalates and lists notes; a task with an open note cannot be completed (`sow note`)."""

from __future__ import annotations

from sow.cli.context import Context
from sow.domain import inputs
from sow.store import note_updates
from sow.system.terminal import escape_control, out


def add(call: Context, *, description: str, context: str, category: str, task: str) -> int:
    note = note_updates.add(
        call.project_home(),
        call.task_or_agent(task),
        description=call.checked_text(description, "--description", 20_000),
        context=call.checked_text(context, "--context", 20_000),
        category=category,
        actor=call.actor(),
    )
    out(f"{note['note_id']} is open")
    return 0


def resolve(context: Context, *, number: str, resolution: str, task: str) -> int:
    answer = context.checked_text(resolution, "--resolution", 100_000)
    note = note_updates.resolve(
        context.project_home(), context.task_or_agent(task), number, resolution=answer, actor=context.actor()
    )
    out(f"{note['note_id']} is resolved by {note['resolved_by']}")
    return 0


def escalate(context: Context, *, number: str, reason: str, task: str) -> int:
    ident = context.task_or_agent(task)
    reason_text = context.checked_text(reason, "--reason", 20_000)
    actor = context.actor()
    note = note_updates.escalate(context.project_home(), ident, number, reason=reason_text, actor=actor)
    named = f"--id {ident}" if actor.is_worker else ident  # the form that a worker's prompt teaches
    command = "workflow set status blocked" if inputs.is_member(ident) else f"task set {named} status paused"
    out(f"{note['note_id']} is escalated; {'end your turn with' if actor.is_worker else 'next'}: sow {command}")
    return 0


def list_notes(context: Context, *, task: str, json: bool) -> int:
    folder, notes = note_updates.load_notes(context.project_home(), context.task_or_agent(task))
    if json:
        from sow.cli.output import emit

        return emit(
            {"task": folder.id, "notes": notes, "unresolved": sum(note["status"] != "resolved" for note in notes)}
        )
    for note in notes:
        category = f", {note['category']}" if "category" in note else ""
        out(
            escape_control(
                f"{note['note_id']}  [{note['status']}{category}]  {note['description']}\n  while: {note['context']}"
            )
        )
        ending = note.get("resolution") or note.get("escalation_reason")
        if ending:
            out(escape_control(f"  → {ending}"))
    if not notes:
        out("no notes")
    return 0
