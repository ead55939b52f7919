"""Settles the end of a turn, also of one that a crash of sow cut off.

Hand edits of state files are undone, the task's status is inferred, and what the turn left running is ended.
"""

from __future__ import annotations

import os

from sow.domain import task as rules
from sow.domain.task import WORKER, Actor
from sow.engine.turns.runner import read_connection, refusals_of
from sow.errors import SowError
from sow.executors.adapter import TurnSummary
from sow.executors.settings import recorded_adapter
from sow.store.files import state_file
from sow.store.projects import project as projects
from sow.store.projects import tasks
from sow.store.projects.task_folder import TaskFolder, backup_if_newer
from sow.store.runs import sessions
from sow.store.state_watcher import HandEdit
from sow.system import clock, plain_file
from sow.system import environment as environments
from sow.system.process import process_tree
from sow.system.process.child_process import MAX_LINE, GrowingLines, network_log
from sow.system.terminal import escape_control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sow.domain.documents.state import Refusal, SessionTurn, Task
    from sow.store.files.checkout_home import Home
    from sow.store.runs.sessions import SessionRecord
    from sow.store.state_watcher import Snapshot, StateWatcher
    from sow.store.workflows.folder import AgentFolder


def undo_foreign_edits(snapshot: Snapshot, folder: TaskFolder, *, judging: bool = False) -> list[str]:
    """Undoes hand edits of state files during a turn, except what its worker may write in its own task folder.

    A judge may write nothing there. The folder of a task that another agent works on is settled when that turn ends.
    """
    remarks = []
    for edit in snapshot.hand_edits(folder.id):
        if edit.task == folder.id and not judging:
            remarks.append(_own_notes(edit, folder) if edit.is_notes else _own_state(edit, folder))
        elif edit.task == folder.id or _is_free(edit, folder.home):
            remarks.append(_foreign(edit, folder.home))
    return remarks


def undo_deferred_edits(seen: StateWatcher) -> list[tuple[str, str]]:
    """Undoes what ended turns wrote outside their own task folders, if that was deferred; returns tasks and remarks."""
    if seen.deferred is None:
        return []
    with seen.home.lock():
        edits = [edit for edit in seen.deferred.hand_edits() if _is_free(edit, seen.home)]
        return [(edit.task or "project", _foreign(edit, seen.home)) for edit in edits]


def _is_free(edit: HandEdit, home: Home) -> bool:
    return not edit.task or not home.has_turn(edit.task)


def reset_after_crash(folder: TaskFolder, *, at_work: bool) -> list[str]:
    """Settles a turn whose end nobody saw: resets the task's state to its last backup.

    If sow stopped before it wrote the backup of its own change, that change is reset, too, and made again. If no worker
    was at work, the newer state is valid and is backed up.
    """
    with folder.home.lock():
        project_id = projects.load_anywhere(folder.home)["project_id"]
        if not at_work:
            backup_if_newer(folder, project_id)
            return []
        backup = state_file.load_backup(folder.home, project_id, folder.id)
        current = _text(folder)
        if backup is None or current is None or current == backup:
            return []
        edit = HandEdit(name=folder.id, task=folder.id, path=folder.state_path, now=current, good=backup)
        return [] if edit.in_conflict else [_own_state(edit, folder)]


def _text(folder: TaskFolder) -> str | None:
    try:
        return folder.home.read(folder.state_path)
    except (FileNotFoundError, SowError):  # the code that needs the state reports the problem and repairs it
        return None


def _foreign(edit: HandEdit, home: Home) -> str:
    """Restores a state file of another task or of the project. A failure becomes a remark and does not end the turn."""
    path = home.relative(edit.path)
    if edit.task and edit.in_conflict:
        return f"task {edit.task}: {path} has a merge conflict; it is left as it is"
    if edit.expected is None:
        return f"{path} appeared during the turn, and not through sow; look at it, or remove it"
    from sow.store.files import set_aside

    try:
        edit_path = set_aside.save_copy(home, edit.name, edit.text) if edit.text else ""
        edit.revert(home)
    except SowError as error:
        return f"{path} was edited by hand and cannot be restored: {error.message}"
    subject = f"task {edit.task}: its {'notes were' if edit.is_notes else 'state file was'}" if edit.task else ""
    edit_note = f", the edit is in {edit_path}" if edit_path else ""
    return f"{subject or f'{path} was'} edited by hand; the last good state is back{edit_note}"


def _own_state(edit: HandEdit, folder: TaskFolder) -> str:
    """Restores the last good state, then applies a legal status from the edited file like a call of the worker."""
    status = _status(folder)
    edit.revert(folder.home)
    task = folder.task()
    if not status or status == task["status"]:
        return f"task {folder.id}: its state file was edited by hand; the last good state is back"
    actor = Actor(kind=WORKER, name=task["assigned_agent"], task=folder.id)
    try:
        tasks.move(folder.home, folder.id, status, actor=actor)
        return f"task {folder.id}: the worker edited its state file; only the status {status} was taken from it"
    except SowError as error:
        return f"task {folder.id}: the worker edited its state file: {error.message}; the last good state is back"


def _status(folder: TaskFolder) -> str:
    try:
        return folder.task()["status"]
    except SowError:
        return ""


def _own_notes(edit: HandEdit, folder: TaskFolder) -> str:
    """Keeps notes that the worker added by hand; restore notes that it removed or closed against the rules."""
    from sow.store.projects import notes

    actor = Actor(kind=WORKER, name="worker", task=folder.id)
    try:
        before = notes.parse(folder, edit.expected) if edit.expected else None
        session = notes.load(folder)
        if session and (before is None or notes.is_legal_change(before, session, actor)):
            notes.save(folder, session)
            return f"task {folder.id}: the worker wrote notes by hand; they count"
    except SowError:
        pass  # broken notes are restored below
    edit.revert(folder.home)
    return f"task {folder.id}: the worker edited its notes by hand; the last good ones are back"


def record_refusals(folder: TaskFolder, refused_commands: list[Refusal], *, again: bool = False) -> None:
    """Records on the task what its agent CLI refused; `again` if the turn is read a second time after a crash."""
    from sow.domain.checks import refusals

    loaded = folder.load()
    changed = refusals.record(loaded["task"], refused_commands, again=again)
    if changed is not loaded["task"]:
        folder.save(loaded, {**changed, "updated_at": clock.now()}, folder.owner)


def infer_status(folder: TaskFolder, *, worked: bool) -> tuple[Task, bool]:
    """Returns the task after a turn that ended well. A worker that worked but set no status has handed its work in."""
    loaded = folder.load()
    task = loaded["task"]
    if task["status"] != "in_progress" or not worked or folder.open_notes():
        return task, False
    actor = Actor(kind=WORKER, name=task["assigned_agent"], task=folder.id)
    changed, _ = rules.move(task, "needs_review", actor=actor, now=clock.now())
    folder.save(loaded, changed, folder.owner)
    _note(folder, task, "inferred", "The worker ended its turn without a status: its work counts as handed in")
    return changed, True


def fail_task(folder: TaskFolder, reason: str) -> Task:
    """Returns the task after a turn without a result: failed, if it was in progress."""
    loaded = folder.load()
    task = loaded["task"]
    if task["status"] != "in_progress":
        return task
    actor = Actor(kind=WORKER, name=task["assigned_agent"], task=folder.id)
    changed, _ = rules.move(task, "failed", actor=actor, now=clock.now(), reason=reason)
    folder.save(loaded, changed, folder.owner)
    _note(folder, task, "failed", reason)
    return changed


def _note(folder: TaskFolder, task: Task, action: str, text: str) -> None:
    from sow.store.projects import log

    entry = {"timestamp": clock.now(), "agent": "sow", "action": action, "result": "info", "files": [], "text": text}
    log.append(folder.home, folder.log_path, entry)  # type: ignore[arg-type]


def recover(folder: TaskFolder | AgentFolder, environment: Mapping[str, str]) -> list[str]:
    """Recovers every session of a task, for a caller that holds its claim; returns remarks."""
    records = sessions.records(folder)
    remarks = [remark for record in records for remark in end_session(record, environment)]
    if isinstance(folder, TaskFolder):  # a workflow's state is checked whenever it is opened
        unsettled = [record for record in records if _is_open(record)]
        remarks += reset_after_crash(folder, at_work=bool(unsettled))
        remarks += _record_refusals(folder, unsettled)
    return remarks


def _record_refusals(folder: TaskFolder, unsettled: list[SessionRecord]) -> list[str]:
    """Records what was refused in a last turn that nobody settled, unless its output may still hold a secret."""
    refused_commands = []
    for record in unsettled:
        turn = record.session["turns"][-1]
        if "unstruck" not in turn:
            refused_commands += refusals_of(record, turn, _summary_of(record, turn), escape_control)
    if not refused_commands:
        return []
    try:
        with folder.home.lock():
            record_refusals(folder, refused_commands, again=True)
    except SowError as error:
        return [f"the commands that were refused could not be recorded: {error.message}"]
    return []


def is_needed(folder: TaskFolder | AgentFolder) -> bool:
    """Tells whether a turn on a task never ended or was never settled, according to its records."""
    return any(map(_is_open, sessions.records(folder)))


def _is_open(record: SessionRecord) -> bool:
    """Tells whether a turn never ended, or the state after the last one was never checked; a judge's needs no check."""
    turns = record.session["turns"]
    if record.is_out:
        return False
    if any("ended_at" not in turn for turn in turns):
        return True
    return bool(turns) and turns[0]["kind"] != "review" and "status" not in turns[-1]


def recover_task(home: Home, task: str, environment: Mapping[str, str]) -> list[str]:
    """Recovers a task that is about to end, so that nothing of an earlier turn is left."""
    folder = TaskFolder(home, "", task)
    if not _has_any(folder, environment):
        return []
    with home.claim(f"task-{task}", purpose=f"puts an earlier turn on task {task} in order"):
        return recover(folder, environment)


def end_left_turns(folder: TaskFolder | AgentFolder, environment: Mapping[str, str]) -> list[str]:
    """Ends what is left of the turns of a task on which nobody works; its state is checked when work continues."""
    if folder.home.task_holder(folder.id) or not _has_any(folder, environment):
        return []
    with folder.home.claim(f"task-{folder.id}", purpose=f"ends an earlier turn on {folder.label}"):
        return [remark for record in sessions.records(folder) for remark in end_session(record, environment)]


def _has_any(folder: TaskFolder | AgentFolder, environment: Mapping[str, str]) -> bool:
    return any(
        _needs_recovery(turn, environment) for record in sessions.records(folder) for turn in record.session["turns"]
    )


def _needs_recovery(turn: SessionTurn, environment: Mapping[str, str]) -> bool:
    """Tells whether a turn of this machine never ended, or a turn holds a secret that can be redacted now."""
    return _is_unfinished(turn) or not environment.keys().isdisjoint(turn.get("unstruck", ()))


def _is_unfinished(turn: SessionTurn) -> bool:
    """Tells whether a turn of this host never ended; a review on another host is not waited for, but repeated."""
    return "ended_at" not in turn and ("remote" not in turn or turn["kind"] == "review")


def end_session(record: SessionRecord, environment: Mapping[str, str]) -> list[str]:
    """Ends what is left of the turns of one session, and completes their records; returns remarks."""
    turns_to_fix = [turn for turn in record.session["turns"] if _needs_recovery(turn, environment)]
    if not turns_to_fix:
        return []
    unfinished = [turn for turn in turns_to_fix if _is_unfinished(turn)]
    process_count = process_tree.kill_marked(record.session["mark"]) if unfinished else 0
    for turn in unfinished:
        _end(record, turn)
    for turn in turns_to_fix:
        redact_turn(record, turn, environment)
    record.save()
    if not unfinished:
        return []
    ended = f"; processes of it that had to be ended: {process_count}" if process_count else ""
    return [f"an earlier turn on {record.owner_folder.label} was cut off{ended}"]


def give_up(record: SessionRecord, status: str) -> None:
    """Counts a turn on another host as lost, because the user says so; its packets here are removed."""
    turn = record.session["turns"][-1]
    _end(record, turn)
    turn.update({"reason": "the user continues without its host", "status": status})
    record.save()


def _end(record: SessionRecord, turn: SessionTurn) -> None:
    """Records the end of a turn that nobody saw; the CLI's output may name the session."""
    if "session_id" not in record.session:
        session_id = _summary_of(record, turn).session
        if session_id:
            record.session["session_id"] = session_id
    if "remote" in turn:
        from sow.gitwork.repository import Repository  # here, because it loads git

        Repository(record.owner_folder.home).drop_turn(turn["remote"]["token"])
    turn.update({"ended_at": clock.now(), "outcome": "lost", "reason": "sow ended before the turn did"})


def redact_turn(
    record: SessionRecord, turn: SessionTurn, environment: Mapping[str, str], more: Iterable[str] = ()
) -> int:
    """Redacts secrets in all files of a turn; a secret without a value in the environment stays listed by its name."""
    names = turn.get("unstruck", [])
    values = environments.secrets(environment, names)
    struck = 0
    if values:
        paths = dict.fromkeys((*record.files(turn["number"]), *more))
        struck = sum(environments.redact_file(path, values) for path in paths)
    turn["redacted"] += struck
    missing = [name for name in names if name not in environment]
    if missing:
        turn["unstruck"] = missing
    else:
        turn.pop("unstruck", None)
    return struck


def _summary_of(record: SessionRecord, turn: SessionTurn) -> TurnSummary:
    """Returns the summary of a turn's recorded output, as far as its adapter can read it."""
    summary, path = TurnSummary(), record.file(turn["number"], "out")
    if os.path.isfile(path):
        adapter, lines = recorded_adapter(record.session["type"]), GrowingLines(path)
        try:
            for line in lines.rest():
                for event in adapter.read(line):
                    summary.add(event)
            for line in _lines(network_log(path)):
                for event in read_connection(line):
                    summary.add(event)
        except SowError:  # an adapter of another package failed; that must not keep a run from starting
            return summary
        finally:
            lines.close()
    return summary


def _lines(path: str) -> list[str]:
    return plain_file.read_text(path, MAX_LINE).splitlines() if os.path.exists(path) else []


def settle_unrecorded_turn(folder: TaskFolder, record: SessionRecord, *, allow_empty: bool) -> bool:
    """Hands in the work of a session's last turn; returns whether there was such a turn and it did something."""
    turns = record.session["turns"]
    if not turns or turns[-1].get("outcome") != "done" or "status" in turns[-1]:
        return False
    turn = turns[-1]
    with folder.home.lock():
        iteration = folder.iteration
        if turn.get("iteration", iteration) != iteration:  # it was handed in and sent back since
            return False
        task, inferred = infer_status(folder, worked=allow_empty or _worked(record, turn))
    if task["status"] == "in_progress":
        return False
    turn.update({"status": task["status"], "inferred": inferred})
    record.save()
    return True


def _worked(record: SessionRecord, turn: SessionTurn) -> bool:
    """Tells whether the turn used a tool; if its CLI does not report tools, whether there is work in its folder."""
    if turn.get("tools"):
        return True
    structured = recorded_adapter(record.session["type"]).capabilities.structured
    if structured:
        return False
    from sow.gitwork.repository import differing_files  # here, because it loads git

    return bool(differing_files(record.session["cwd"]))
