"""The lifecycles of tasks, their notes and phases: the moves, and the actors that may make them."""

from __future__ import annotations

from sow.domain.inputs import is_member, is_phase_name
from sow.errors import IllegalStatusChange, SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sow.domain.documents.state import Answered, Approval, Chosen, Concern, Note, Phase, Task


class Lifecycle:
    """The legal moves of one kind of thing. The tables in the docs are generated from it."""

    __slots__ = ("moves", "noun", "start", "statuses")

    def __init__(self, noun: str, *, start: str, moves: Mapping[tuple[str, str], str]) -> None:
        self.noun = noun
        self.start = start
        self.moves = dict(moves)
        self.statuses = tuple(dict.fromkeys([start, *(status for pair in self.moves for status in pair)]))

    def targets(self, status: str) -> tuple[str, ...]:
        """Returns the statuses that can follow this one."""
        return tuple(to for source, to in self.moves if source == status)

    def move(self, subject: str, status: str, to: str) -> str:
        """Returns the name of the move from `status` to `to`, or raises IllegalStatusChange."""
        event = self.moves.get((status, to))
        if event is not None:
            return event
        if to not in self.statuses:
            raise IllegalStatusChange(
                f"{subject}: unknown status {to!r}", "a status is one of: " + ", ".join(self.statuses)
            )
        if status == to:
            raise IllegalStatusChange(f"{subject} is {status} already", "nothing to do")
        targets = self.targets(status)
        hint = f"from {status} it can go to: {', '.join(targets)}" if targets else f"no status follows {status}"
        raise IllegalStatusChange(f"{subject} cannot go from {status} to {to}", hint)


PERSON = "person"
ORCHESTRATOR = "orchestrator"
WORKER = "worker"


class Actor:
    """The caller of a command. A worker also has the task that it was started for."""

    __slots__ = ("kind", "name", "task")

    def __init__(self, *, kind: str, name: str, task: str = "") -> None:
        self.kind = kind
        self.name = name
        self.task = task

    @property
    def is_worker(self) -> bool:
        """Returns whether the actor is a supervised agent."""
        return self.kind == WORKER


ANSWERER = Actor(kind=PERSON, name="standing-answer")  # gives answers that a person gave earlier

OPEN_STATUSES = ("pending", "in_progress", "needs_review", "paused", "failed")
ENDED_STATUSES = ("completed", "abandoned")
FIELDS = (
    "status",
    "name",
    "agent",
    "priority",
    "depends_on",
    "criteria",
    "references",
    "tests",
)  # those that `sow task set` changes
PRIORITIES = ("low", "medium", "high")
DEFAULT_AGENT = "implementer"
FINAL_CHECKS_PREFIX = "final checks: "  # begins a question about a check that fails on the final tree

TASK = Lifecycle(
    "task",
    start="pending",
    moves={
        ("pending", "in_progress"): "start",
        ("in_progress", "needs_review"): "submit",
        ("in_progress", "paused"): "ask",
        ("in_progress", "failed"): "fail",
        **{(status, "completed"): "approve" for status in ("needs_review", "paused", "failed")},
        ("needs_review", "in_progress"): "send_back",
        ("paused", "in_progress"): "answer",
        ("failed", "in_progress"): "retry",
        ("completed", "in_progress"): "reopen",
        **{(status, "abandoned"): "abandon" for status in OPEN_STATUSES},
    },
)

# A worker may not approve, answer or abandon its own task. Only the orchestrator or a person may.
WORKER_MOVES = frozenset({"start", "submit", "ask", "fail"})
MAX_REASON = 2000
MAY_FIT = "may fit: "  # how the reason of a chosen document begins that the worker should judge by its name
NEW_ITERATION = frozenset({"send_back", "answer", "retry", "reopen"})


def require_may_move(actor: Actor, task: Task, event: str) -> None:
    """Raises IllegalStatusChange if this actor may not make this move."""
    if actor.kind != WORKER:
        return
    if actor.task != task["id"]:
        raise IllegalStatusChange(
            f"a worker on task {actor.task} may not move task {task['id']}",
            'a worker moves only its own task; write what you found to the log: sow agent log "…"',
        )
    if event not in WORKER_MOVES:
        raise IllegalStatusChange(
            f"a worker may not {event.replace('_', ' ')} task {task['id']}",
            "set it to needs_review, paused or failed; the orchestrator or a person decides the rest",
        )


def refuse_ended(task: Task) -> None:
    """Raises IllegalStatusChange if the task is completed or abandoned."""
    hints = {
        "completed": f'revert it (sow revert {task["id"]} --reason "…"), or add a task that follows it: '
        f"sow task create … --depends-on {task['id']}",
        "abandoned": "create a new task for more work on it: sow task create …",
    }
    if task["status"] in hints:
        raise IllegalStatusChange(f"task {task['id']} is {task['status']}", hints[task["status"]])


def waits_for(task: Task, statuses: Mapping[str, str]) -> list[str]:
    """Returns the dependencies that are not completed, each with its status."""
    return [
        f"{dependency} ({statuses.get(dependency, 'missing')})"
        for dependency in task["depends_on"]
        if statuses.get(dependency) != "completed"
    ]


def require_dependencies_done(task: Task, statuses: Mapping[str, str]) -> None:
    """Raises IllegalStatusChange if a dependency of the task is not completed."""
    unfinished = waits_for(task, statuses)
    if unfinished:
        raise IllegalStatusChange(
            f"task {task['id']} waits for {', '.join(unfinished)}",
            f'finish that first, or remove all dependencies: sow task set {task["id"]} depends_on ""',
        )


def resolve_command(ident: str, note_id: str) -> str:
    """Returns the command by which a worker or a person resolves a note of a task."""
    return f'sow note resolve {note_id} --task {ident} --resolution "…"'


def answer_command(target: str, question: str) -> str:
    """Returns the command that answers a question. A question about final checks has fixed answers."""
    return f'sow answer {target} "{"send back" if question.startswith(FINAL_CHECKS_PREFIX) else "…"}"'


def is_approved(task: Task) -> bool:
    """Returns whether the current iteration is approved. In a run its work may still have to be merged."""
    return "approval" in task and task["approval"]["iteration"] == task["iteration"]


def shown_result(task: Mapping[str, object]) -> str:
    """Returns a task's result for people. Work that nobody reviewed has no verdict, so it is not shown as GREEN."""
    result = str(task.get("result") or "")
    return "" if result == "GREEN" and not task.get("reviews") else result


def current_concerns(task: Task) -> list[Concern]:
    """Returns the concerns of the current iteration, and those of earlier iterations whose work is merged."""
    unique: dict[tuple[str, str], Concern] = {}
    for concern in task.get("concerns", ()):
        if concern["iteration"] == task["iteration"] or concern.get("merged"):
            unique.setdefault((concern["kind"], concern["text"]), concern)
    return list(unique.values())


def approve(task: Task, *, actor: Actor, now: str, reason: str = "") -> Task:
    """Returns the task with an approval, as one that needs review. If its work is not merged, a run merges it later.

    A question of the task is answered by this. Work that was RED or failed becomes YELLOW, because somebody accepts it.
    If it was collected before, the next iteration begins: the person may have changed it, and a merge is tried again.
    """
    is_refused = task.get("result") in ("RED", "FAILED", "TIMEOUT")
    is_collected = task["status"] != "needs_review" and task.get("work", {}).get("iteration") == task["iteration"]
    iteration = task["iteration"] + (is_refused and is_collected)
    approval: Approval = {"by": actor.name, "at": now, "iteration": iteration}
    if reason:
        approval["reason"] = reason
    answered = answer_question(task, f"accept: {reason}" if reason else "accept", actor=actor, now=now)
    accepted: Task = {**answered, "status": "needs_review", "iteration": iteration, "approval": approval}
    accepted.pop("failed_reason", None)
    if is_refused:
        accepted["result"] = "YELLOW"
    return accepted


def move(
    task: Task,
    to: str,
    *,
    actor: Actor,
    now: str,
    reason: str = "",
    may_reopen: bool = False,
    open_notes: Callable[[], Sequence[str]] = tuple,
) -> tuple[Task, str]:
    """Returns the task after the move, and the name of the move. The given task is not changed.

    `may_reopen` is for a run whose final checks found that a completed task broke another one. `open_notes` lists the
    notes of the task that nobody has resolved: with one of them it is neither handed in nor approved.
    """
    if task["status"] == "completed" and to in OPEN_STATUSES and not may_reopen:
        refuse_ended(task)
    event = TASK.move(f"task {task['id']}", task["status"], to)
    require_may_move(actor, task, event)
    if event in ("submit", "approve") and (note_ids := open_notes()):
        raise IllegalStatusChange(
            f"task {task['id']} has open notes: {', '.join(note_ids)}",
            f"resolve each: {resolve_command(task['id'], note_ids[0])}, or escalate it and set the task to paused",
        )
    changed: Task = {**task, "status": to, "updated_at": now}
    changed.pop("failed_reason", None)
    if event == "fail" and reason:
        changed["failed_reason"] = reason[:MAX_REASON]
    if event == "start":
        changed["started_at"] = now
    if event in NEW_ITERATION:
        changed["iteration"] = task["iteration"] + 1
        changed.pop("approval", None)
        changed.pop("result", None)  # the result of the last iteration
        changed.pop("completed_at", None)
    if event == "approve":
        changed = {**approve(task, actor=actor, now=now, reason=reason), "status": to, "completed_at": now}
    if event == "abandon":
        if not reason:
            raise SowError(
                f"task {task['id']} is abandoned only with a reason", f'sow task abandon {task["id"]} --reason "…"'
            )
        changed["abandoned_reason"] = reason
    if to in ENDED_STATUSES:
        changed.pop("session_id", None)
        changed.pop("question", None)
    return changed, event


def ask(task: Task, text: str, *, number: int, now: str) -> Task:
    """Returns the task with a question. If it already has one, the text is appended, so that one answer covers both."""
    previous = task.get("question")
    if previous is None:
        return {**task, "question": {"number": number, "text": text, "asked_at": now}, "updated_at": now}
    joined = previous["text"] if text in previous["text"].split("\n") else f"{previous['text']}\n{text}"
    return {**task, "question": {**previous, "text": joined}, "updated_at": now}


def answer_question(task: Task, answer: str, *, actor: Actor, now: str) -> Task:
    """Returns the task with its question moved to the answered ones."""
    settled: Task = {**task, "updated_at": now}
    question = settled.pop("question", None)
    if question is not None:
        answered: Answered = {**question, "answer": answer, "answered_at": now, "answered_by": actor.name}
        settled["questions"] = [*settled["questions"], answered]
    return settled


def check_dependencies(task: str, depends_on: Iterable[str], graph: Mapping[str, Iterable[str]]) -> None:
    """Raises SowError if a dependency is unknown, is the task itself, or closes a cycle."""
    for dependency in depends_on:
        if dependency == task:
            raise SowError(f"task {task} cannot depend on itself", "leave it out of --depends-on")
        if dependency not in graph:
            raise SowError(
                f"task {task} depends on {dependency}, which does not exist", "see 'sow task list' for the ids"
            )
        path = _path(dependency, task, graph)
        if path:
            raise SowError(
                f"task {task} would wait for itself: {' → '.join([task, *path])}", "remove one of these dependencies"
            )


def _path(start: str, goal: str, graph: Mapping[str, Iterable[str]]) -> list[str]:
    came_from: dict[str, str] = {start: ""}
    stack = [start]
    while stack:
        current = stack.pop()
        if current == goal:
            path = [current]
            while came_from[path[0]]:
                path.insert(0, came_from[path[0]])
            return path
        for dependency in graph.get(current, ()):
            if dependency not in came_from:
                came_from[dependency] = current
                stack.append(dependency)
    return []


def worktree_name(task: Task) -> str:
    """Returns the name of the task's worktree. A follow-up that continues a conversation works in its owner's."""
    return task["follows"].get("worktree", task["id"]) if "follows" in task else task["id"]


def unused_worktrees(tasks: Iterable[Task]) -> dict[str, Task]:
    """Returns the ended tasks by id, except those in whose worktree a follow-up is done."""
    loaded = list(tasks)
    used = {worktree_name(task) for task in loaded if task["status"] not in ENDED_STATUSES}
    return {task["id"]: task for task in loaded if task["status"] in ENDED_STATUSES and task["id"] not in used}


def user_references(task: Task) -> list[str]:
    """Returns the references that a person gave the task, without those that sow chose."""
    chosen_paths = {choice["path"] for choice in task.get("context", ())}
    return [path for path in task["references"] if path not in chosen_paths]


def set_chosen_references(task: Task, chosen: list[Chosen], *, now: str) -> Task:
    """Returns the task with new chosen references. Those that a person gave stay, and come first."""
    given_paths = user_references(task)
    kept = [choice for choice in chosen if choice["path"] not in given_paths]
    references = [*given_paths, *(choice["path"] for choice in kept)]
    return {**task, "references": references, "context": kept, "updated_at": now}


NOTE = Lifecycle(
    "note",
    start="open",
    moves={("open", "resolved"): "resolve", ("open", "escalated"): "escalate", ("escalated", "resolved"): "answer"},
)

# A worker lacks the authority to decide these matters and must escalate them.
AUTHORITY_CATEGORIES = ("technology", "architecture", "security", "requirements", "conflict")
SELF_CATEGORIES = ("consistency", "bug", "detail", "documentation")
CATEGORIES = AUTHORITY_CATEGORIES + SELF_CATEGORIES

RESOLVED_BY = {WORKER: "agent_self", ORCHESTRATOR: "workflow_executor", PERSON: "user"}


def unresolved_notes(notes: Iterable[Note]) -> list[str]:
    """Returns the ids of the notes that are not resolved."""
    return [note["note_id"] for note in notes if note["status"] != "resolved"]


def resolve_note(note: Note, resolution: str, *, actor: Actor, epoch: int) -> Note:
    """Returns the note with its resolution. A worker may resolve only matters that it can decide itself."""
    event = NOTE.move(note["note_id"], note["status"], "resolved")
    if actor.is_worker and event == "answer":
        raise IllegalStatusChange(
            f"{note['note_id']} is escalated: its own agent may not resolve it",
            f"{'set your status to blocked' if is_member(actor.task) else 'set the task to paused'} and end your turn",
        )
    if actor.is_worker and note.get("category") in AUTHORITY_CATEGORIES:
        raise IllegalStatusChange(
            f"{note['note_id']} is a matter of {note.get('category')}: its own agent may not resolve it",
            f'sow note escalate {int(note["note_id"][5:])} --reason "…"',
        )
    return {
        **note,
        "status": "resolved",
        "resolution": resolution,
        "resolved_by": RESOLVED_BY[actor.kind],
        "resolution_timestamp": epoch,
    }


def escalate_note(note: Note, reason: str) -> Note:
    """Returns the note as a question for somebody else."""
    NOTE.move(note["note_id"], note["status"], "escalated")
    return {**note, "status": "escalated", "escalation_reason": reason}


def is_allowed_note_change(before: Note, after: Note | None, actor: Actor) -> bool:
    """Returns whether this actor could have changed the note from `before` to `after`. Nobody may delete a note."""
    if after is None or before["description"] != after["description"]:
        return False
    try:
        if after["status"] == "resolved" != before["status"]:
            resolve_note(before, "", actor=actor, epoch=0)
        elif after["status"] == "escalated" != before["status"]:
            escalate_note(before, "")
    except IllegalStatusChange:
        return False
    return after["status"] != "open" or before == after


def is_answered_note(before: Note, after: Note | None, answer: str) -> bool:
    """Returns whether the only change to an escalated note is this answer, and another actor gave it."""
    if after is None or not answer or before["status"] != "escalated" or after["status"] != "resolved":
        return False
    resolution_fields = {key: after.get(key) for key in ("status", "resolution", "resolved_by", "resolution_timestamp")}
    return (
        {**before, **resolution_fields} == after
        and after.get("resolution") == answer
        and resolution_fields["resolved_by"] != "agent_self"
    )


DEFAULT_PHASE = "implementation"
ALIASES = {"implement": "implementation"}

PHASE = Lifecycle(
    "phase",
    start="proposed",
    moves={
        ("proposed", "pending"): "approve",
        ("pending", "active"): "begin",
        ("pending", "completed"): "pass",
        ("active", "completed"): "complete",
        ("active", "pending"): "wait",
        ("completed", "active"): "reopen",
        ("completed", "pending"): "wait",
    },
)


def canonical(name: str) -> str:
    """Returns the full name of a phase: `implement` is an alias of `implementation`."""
    return ALIASES.get(name, name)


def check_name(name: str) -> str:
    """Returns the canonical name, or raises SowError if it cannot be the name of a folder."""
    if not is_phase_name(name):
        raise SowError(f"{name!r} is not a name for a phase", "use up to 40 of a-z, 0-9, - and _, such as: discovery")
    return canonical(name)


def find_name(name: str, phases: Sequence[Phase]) -> str:
    """Returns the name of the phase with this name, alias or unique prefix."""
    names = [phase["name"] for phase in phases]
    wanted = canonical(name)
    if wanted in names:
        return wanted
    candidates = [phase_name for phase_name in names if name and phase_name.startswith(name)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise SowError(f"phase {name!r} is ambiguous", "it could be: " + ", ".join(candidates))
    raise SowError(
        f"there is no phase {name!r}",
        f'the phases are: {", ".join(names)}; a new one: sow phase add {name or "NAME"} --reason "…"',
    )


def new_phases(names: Iterable[str], *, now: str) -> list[Phase]:
    """Returns the phases of a new project. The first one is active."""
    checked = [check_name(name) for name in names] or [DEFAULT_PHASE]
    repeated = {name for name in checked if checked.count(name) > 1}
    if repeated:
        raise SowError(f"phase {min(repeated)!r} is given twice", "name each phase once")
    return [
        {"name": name, "status": "pending" if index else "active", "created_at": now}
        for index, name in enumerate(checked)
    ]


def active(phases: Sequence[Phase]) -> Phase | None:
    """Returns the active phase, or None if all are completed."""
    return next((phase for phase in phases if phase["status"] == "active"), None)


def default_phase(phases: Sequence[Phase]) -> str:
    """Returns the phase for a plan's tasks: implementation if it exists, else the active phase, else the last one."""
    names = [phase["name"] for phase in phases]
    current = active(phases)
    return DEFAULT_PHASE if DEFAULT_PHASE in names else current["name"] if current else names[-1]


def propose(
    phases: Sequence[Phase], name: str, *, reason: str, before: str = "", after: str = "", question: int, now: str
) -> list[Phase]:
    """Returns the phases with a proposed one before or after the named one, by default after the active one."""
    name = check_name(name)
    if any(phase["name"] == name for phase in phases):
        raise SowError(f"there is a phase {name!r} already", "see 'sow phase list'")
    proposal: Phase = {"name": name, "status": "proposed", "created_at": now, "reason": reason, "question": question}
    return _insert(phases, proposal, before=before, after=after)


def move_phase(phases: Sequence[Phase], name: str, *, before: str = "", after: str = "") -> list[Phase]:
    """Returns the phases with one at another place. The first one that is not completed is active."""
    name = find_name(name, phases)
    (moved,) = (phase for phase in phases if phase["name"] == name)
    others = [phase for phase in phases if phase["name"] != name]
    if not (before or after) or name == find_name(before or after, phases):
        raise SowError(
            f"phase {name} needs a place next to another phase",
            f"name that phase: sow phase move {name} --before {others[0]['name']}" if others else "there is no other",
        )
    return _begin_first(_insert(others, moved, before=before, after=after))


def _insert(phases: Sequence[Phase], added: Phase, *, before: str, after: str) -> list[Phase]:
    if before and after:
        raise SowError(f"phase {added['name']!r}: more than one place is given", "give --before, --after or --now")
    names = [phase["name"] for phase in phases]
    current = active(phases)
    anchor = find_name(before or after, phases) if before or after else current["name"] if current else names[-1]
    position = names.index(anchor) + (0 if before else 1)
    return [*phases[:position], added, *phases[position:]]


def approve_phase(phases: Sequence[Phase], name: str) -> list[Phase]:
    """Returns the phases with the proposed one approved. If it comes before the active phase, work begins in it."""
    return _begin_first([_with_status(phase, "pending") if phase["name"] == name else phase for phase in phases])


def _begin_first(phases: Sequence[Phase]) -> list[Phase]:
    """Returns the phases with the first one active that is neither completed nor proposed."""
    waiting = [index for index, phase in enumerate(phases) if phase["status"] in ("active", "pending")]
    return _arrange(phases, waiting[0] if waiting else len(phases))


def reject(phases: Sequence[Phase], name: str) -> list[Phase]:
    """Returns the phases without the proposed one."""
    return [phase for phase in phases if not (phase["name"] == name and phase["status"] == "proposed")]


def advance(phases: Sequence[Phase], open_tasks: Mapping[str, Iterable[str]]) -> list[Phase]:
    """Returns the phases with the next one active; raises if this or an earlier phase has open tasks."""
    current = active(phases)
    if current is None:
        raise IllegalStatusChange(
            "all phases are completed", "add one with 'sow phase add NAME --reason \"…\"', or finish: sow cleanup"
        )
    current_index = _index(phases, current)
    for phase in phases[: current_index + 1]:
        open_ids = sorted(open_tasks.get(phase["name"], ()))
        if open_ids:
            raise IllegalStatusChange(
                f"phase {phase['name']} has open tasks: {', '.join(open_ids)}",
                "complete or abandon them first; see 'sow status'",
            )
    following = [index for index in range(current_index + 1, len(phases)) if phases[index]["status"] != "proposed"]
    return _arrange(phases, following[0] if following else len(phases))


def back(phases: Sequence[Phase], name: str = "") -> list[Phase]:
    """Returns the phases with an earlier one active."""
    current = active(phases)
    current_index = _index(phases, current) if current else len(phases)
    earlier = [index for index in range(current_index) if phases[index]["status"] != "proposed"]
    if not earlier:
        raise IllegalStatusChange("there is no earlier phase to go back to", "see 'sow phase list'")
    if not name:
        return _arrange(phases, earlier[-1])
    target = [phase["name"] for phase in phases].index(find_name(name, phases))
    if target not in earlier:
        raise IllegalStatusChange(
            f"phase {phases[target]['name']} is not an earlier phase", "to start the next phase: sow phase advance"
        )
    return _arrange(phases, target)


def require_approved(phases: Sequence[Phase], name: str) -> None:
    """Raises IllegalStatusChange if the phase is only proposed, because a rejection would delete its tasks."""
    if _status(phases, name) == "proposed":
        raise IllegalStatusChange(f"phase {name} is only proposed", f"approve it first: sow phase approve {name}")


def require_begun(phases: Sequence[Phase], name: str) -> None:
    """Raises IllegalStatusChange if the phase has not begun."""
    require_approved(phases, name)
    if _status(phases, name) == "pending":
        current = active(phases)  # there is one, because another phase waits
        raise IllegalStatusChange(
            f"phase {name} waits: the active phase is {current['name'] if current else 'none'}",
            "finish the active phase and run: sow phase advance",
        )


def _status(phases: Sequence[Phase], name: str) -> str:
    return next(phase["status"] for phase in phases if phase["name"] == name)


def _index(phases: Sequence[Phase], phase: Phase | None) -> int:
    return next(
        (index for index, candidate in enumerate(phases) if phase and candidate["name"] == phase["name"]), len(phases)
    )


def _arrange(phases: Sequence[Phase], active_index: int) -> list[Phase]:
    """Marks all phases before `active_index` as completed and all after it as pending. Proposals stay proposals."""
    arranged = []
    for index, phase in enumerate(phases):
        status = "active" if index == active_index else "completed" if index < active_index else "pending"
        arranged.append(phase if phase["status"] == "proposed" else _with_status(phase, status))
    return arranged


def _with_status(phase: Phase, status: str) -> Phase:
    if phase["status"] == status:
        return phase
    PHASE.move(f"phase {phase['name']}", phase["status"], status)
    changed: Phase = {**phase, "status": status}
    changed.pop("question", None)
    return changed
