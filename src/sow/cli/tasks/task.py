"""Creates, lists, shows and changes tasks (`sow task`)."""

from __future__ import annotations

from sow.cli.context import Context
from sow.domain import inputs
from sow.domain.task import ENDED_STATUSES, FIELDS, PERSON, PRIORITIES, is_approved
from sow.errors import SowError
from sow.store.projects import tasks
from sow.system.terminal import escape_line, is_interactive, notes, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.task import Actor
    from sow.store.files.checkout_home import Home
    from sow.store.projects.task_folder import TaskChange

STORED_AS = {"agent": "assigned_agent", "tests": "checks"}
ALIASES = {"assigned_agent": "agent", "criterion": "criteria", "reference": "references", "test": "tests"}


def create(
    context: Context,
    *,
    name: str,
    agent: str,
    phase: str,
    description: str,
    criterion: list[str],
    test: list[str],
    reference: list[str],
    depends_on: list[str],
    after: str,
    priority: str,
    allow_empty: bool,
    json: bool,
) -> int:
    home, actor = context.project_home(), context.actor()
    tests = [inputs.checked_line(value, "--test", 4000) for value in test]
    change = tasks.create(
        home,
        name=inputs.checked_line(name, "--name"),
        agent=_known_role(context, home.root, inputs.role_name(agent, "--agent")),
        phase_name=phase,
        description=context.checked_text(description, "--description") if description else "",
        criteria=[inputs.checked_line(value, "--criterion", 4000) for value in criterion],
        tests=tests,
        references=[inputs.checked_path(value, "--reference") for value in reference],
        depends_on=list(
            dict.fromkeys(inputs.task_id(ident) for value in depends_on for ident in value.replace(",", " ").split())
        ),
        after=inputs.task_id(after) if after else "",
        priority=priority,
        allow_empty=allow_empty,
        actor=actor,
    )
    _agree_to_typed(context, home, tests, actor)
    if json:
        from sow.cli.output import emit

        return emit({**change.task, "phase": change.folder.phase, "path": home.relative(change.folder.folder)})
    out(f"created task {change.task['id']} in phase {change.folder.phase}: {home.relative(change.folder.folder)}")
    return 0


def _known_role(context: Context, root: str, name: str) -> str:
    """Returns a role's name; raises an error with the nearest name if there is no such role."""

    return context.config().agents(root, context.environment).get(name).name


def _agree_to_typed(context: Context, home: Home, commands: list[str], actor: Actor) -> None:
    """Records the consent to test commands that a person typed on a terminal."""
    if commands and actor.kind == PERSON and is_interactive():
        from sow.store.user import consents

        consents.record(context.environment, home.checkout.common, commands)


def set_value(context: Context, *, field: str, value: str, id: str, reason: str) -> int:
    task = context.task(id)
    field = ALIASES.get(field, field)
    if field not in FIELDS:
        raise SowError(f"task {task} has no field {field!r}", "the fields are: " + ", ".join(FIELDS))
    field, home = STORED_AS.get(field, field), context.project_home()
    if field == "status":
        actor = context.require_non_worker("complete a task") if value == "completed" else context.actor()
        reason_text = inputs.checked_line(reason, "--reason", 2000) if reason else ""
        if value in ENDED_STATUSES and not actor.is_worker:
            context.recover_tasks(home, task)
        if value == "completed":
            from sow.store.projects import acceptance

            change = acceptance.approve(home, task, actor=actor, reason=reason_text, waive=[])
        else:
            change = tasks.set_status(home, task, value, actor=actor, reason=reason_text)
    else:
        actor = context.actor()
        checked = {
            "name": lambda: inputs.checked_line(value, "the name"),
            "assigned_agent": lambda: (
                value if actor.is_worker else _known_role(context, home.root, inputs.role_name(value))
            ),
            "criteria": lambda: inputs.checked_line(value, "the criterion", 4000),
            "references": lambda: inputs.checked_path(value, "the reference"),
            "checks": lambda: inputs.checked_line(value, "the test command", 4000),
        }.get(field, lambda: value)()
        if field == "priority" and value not in PRIORITIES:
            raise SowError(f"unknown priority {value!r}", "the priorities are: " + ", ".join(PRIORITIES))
        change = tasks.set_field(home, task, field, checked, actor=actor)
        _agree_to_typed(context, home, [checked] if field == "checks" else [], actor)
    print_change(context, change, field)
    return 0


def print_change(context: Context, change: TaskChange, field: str = "status") -> None:
    """Prints the new value of a task's field, and what had to be repaired."""
    notes(change.remarks, "warning")
    if field == "status" and change.task["status"] == "needs_review" and is_approved(change.task):
        print_next_merge(context, change, "approved; merge it with")
        return
    value = change.task[field]  # type: ignore[literal-required]
    if field == "checks":
        field, value = "tests", [check["command"] for check in value]
    field = "agent" if field == "assigned_agent" else field
    shown = ", ".join(value) or "nothing" if isinstance(value, list) else value
    number = (
        f" (question {change.task['question']['number']})" if field == "status" and "question" in change.task else ""
    )
    out(f"task {change.task['id']}: {field} is {escape_line(shown)}{number}")


def print_next_merge(context: Context, change: TaskChange, text: str) -> None:
    """Prints that a task is accepted, and the command of the run that merges it."""
    from sow.reports.idle_tasks import ProjectRuns, continuation  # here, because few calls come to this

    live, command = continuation(change.folder, change.task, ProjectRuns(change.folder.home, context.hints()))
    state, _, then = text.partition("; ")
    out(escape_line(f"task {change.task['id']} is {state}; {f'{then}: {command}' if command else live}"))


def abandon(context: Context, *, task: str, reason: str) -> int:
    actor = context.require_non_worker("abandon a task")
    home, ident, reason_text = (
        context.project_home(),
        inputs.task_id(task),
        inputs.checked_line(reason, "--reason", 2000),
    )
    context.recover_tasks(home, ident)
    change = tasks.set_status(home, ident, "abandoned", actor=actor, reason=reason_text)
    print_change(context, change)
    return 0
