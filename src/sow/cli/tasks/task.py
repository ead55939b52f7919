"""Creates, lists, shows and changes tasks (`sow task`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.domain import ids, inputs
from sow.domain.task import DEFAULT_AGENT, ENDED_STATUSES, PRIORITIES, TASK, is_approved
from sow.errors import SowError
from sow.store.projects import tasks
from sow.system.terminal import err, escape_line, out

FIELDS = ("status", "name", "assigned_agent", "priority", "depends_on")
ALIASES = {"agent": "assigned_agent"}


def create(
    context: Context,
    *,
    name: str,
    agent: str,
    phase: str,
    description: str,
    criterion: list[str],
    reference: list[str],
    depends_on: list[str],
    after: str,
    priority: str,
    allow_empty: bool,
    json: bool,
) -> int:
    home = context.project_home()
    change = tasks.create(
        home,
        name=inputs.checked_line(name, "--name"),
        agent=inputs.role_name(agent, "--agent"),
        phase_name=phase,
        description=inputs.checked_text(context.text(description, "--description"), "--description")
        if description
        else "",
        criteria=[inputs.checked_line(value, "--criterion", 4000) for value in criterion],
        references=[inputs.path(value, "--reference") for value in reference],
        depends_on=list(
            dict.fromkeys(ids.task_id(ident) for value in depends_on for ident in value.replace(",", " ").split())
        ),
        after=ids.task_id(after) if after else "",
        priority=priority,
        allow_empty=allow_empty,
        actor=context.actor(),
    )
    if json:
        from sow.cli.output import emit

        return emit({**change.task, "phase": change.folder.phase, "path": home.relative(change.folder.folder)})
    out(f"task {change.task['id']} in {change.folder.phase}: {home.relative(change.folder.folder)}")
    return 0


def set_value(context: Context, *, field: str, value: str, id: str, reason: str) -> int:
    task = context.task(id)
    field = ALIASES.get(field, field)
    if field not in FIELDS:
        raise SowError(f"task {task} has no field {field!r} to set", "the fields are: " + ", ".join(FIELDS))
    home = context.project_home()
    if field == "status":
        actor = context.require_non_worker("complete a task") if value == "completed" else context.actor()
        reason_text = inputs.checked_line(reason, "--reason", 2000) if reason else ""
        if value in ENDED_STATUSES and not actor.is_worker:
            context.recover_tasks(home, task)
        change = tasks.set_status(home, task, value, actor=actor, reason=reason_text)
    else:
        checked = {
            "name": lambda: inputs.checked_line(value, "the name"),
            "assigned_agent": lambda: inputs.role_name(value),
        }.get(field, lambda: value)()
        if field == "priority" and value not in PRIORITIES:
            raise SowError(f"unknown priority {value!r}", "a priority is one of: " + ", ".join(PRIORITIES))
        change = tasks.set_field(home, task, field, checked, actor=context.actor())
    print_change(change, field)
    return 0


def print_change(change: tasks.TaskChange, field: str = "status") -> None:
    """Prints the new value of a task's field, and what had to be repaired."""
    for remark in change.remarks:
        err(f"warning: {escape_line(remark)}")
    if field == "status" and change.task["status"] == "needs_review" and is_approved(change.task):
        out(f"task {change.task['id']} is approved; 'sow run' merges it from its worktree and completes it")
        return
    value = change.task[field]  # type: ignore[literal-required]
    shown = ", ".join(value) or "nothing" if isinstance(value, list) else value
    number = (
        f" (question {change.task['question']['number']})" if field == "status" and "question" in change.task else ""
    )
    out(f"task {change.task['id']}: {field} is {escape_line(shown)}{number}")


def abandon(context: Context, *, task: str, reason: str) -> int:
    actor = context.require_non_worker("abandon a task")
    home, ident, reason_text = context.project_home(), ids.task_id(task), inputs.checked_line(reason, "--reason", 2000)
    context.recover_tasks(home, ident)
    change = tasks.set_status(home, ident, "abandoned", actor=actor, reason=reason_text)
    print_change(change)
    return 0


CREATE_OPTIONS = (
    Option("--name", "NAME", "What is to be done, in one line", required=True),
    Option("--agent", "ROLE", "Which role works on it", default=DEFAULT_AGENT),
    Option("--phase", "PHASE", "Which phase it belongs to; without: the active one", completes="phases"),
    Option("--description", "TEXT", "What is to be done, in full (TEXT, @FILE or -)"),
    Option("--criterion", "TEXT", "When it is accepted", repeat=True),
    Option("--reference", "PATH", "A file that the worker should read", repeat=True),
    Option("--depends-on", "ID", "A task that must be completed first", repeat=True, completes="tasks"),
    Option("--after", "ID", "Give it an id right behind this task's", completes="tasks"),
    Option("--priority", "PRIORITY", "How urgent it is", choices=PRIORITIES, default="medium"),
    Option("--allow-empty", help="A result without changes is fine; otherwise it is YELLOW at best"),
)

COMMANDS = (
    Command("task create", create, "Create a task", options=CREATE_OPTIONS, json=True),
    Command("task add", create, "The same as task create", options=CREATE_OPTIONS, json=True),
    Command(
        "task list",
        "tasks.show:list_tasks",
        "List the tasks",
        options=(
            Option("--phase", "PHASE", "Only those of one phase", completes="phases"),
            Option("--status", "STATUS", "Only those with one status", choices=TASK.statuses),
        ),
        json=True,
    ),
    Command(
        "task show",
        "tasks.show:show_task",
        "Show all that a worker with no history needs to go on with a task",
        arguments=(Argument("task", "The task's id; without: SOW_TASK", optional=True, completes="tasks"),),
        json=True,
    ),
    Command(
        "task set",
        set_value,
        "Set a field of a task, most often its status",
        arguments=(
            Argument("field", "Which field", completes="fields"),
            Argument("value", "Its new value", completes="statuses"),
        ),
        options=(
            Option("--id", "ID", "Which task; without: SOW_TASK", completes="tasks"),
            Option("--reason", "TEXT", "Why; for paused it is the question, and abandoned needs one"),
        ),
        details="Fields: " + ", ".join(FIELDS) + "\nStatuses: " + ", ".join(TASK.statuses),
    ),
    Command(
        "task abandon",
        abandon,
        "Give a task up; it is kept, with the reason",
        arguments=(Argument("task", "The task's id", completes="tasks"),),
        options=(Option("--reason", "TEXT", "Why", required=True),),
    ),
)
