"""Lists the commands that workers call most (`sow task`, `sow note`, `sow log`), without the functions that run them.

A worker in a sandbox only sends them, so it needs this table and nothing that writes.
"""

from __future__ import annotations

from sow.cli.command import LOG_OPTIONS, Argument, Command, Option
from sow.domain.task import CATEGORIES, DEFAULT_AGENT, FIELDS, PRIORITIES, TASK

NOTE_OWNER = Option("--task", "ID", "The task or workflow agent (default: SOW_TASK)", completes="tasks")
NUMBER = Argument("number", "The note's number, such as 1 or note_001")
CREATE_OPTIONS = (
    Option("--name", "NAME", "The task in one line", required=True),
    Option("--agent", "ROLE", "The role that works on it", default=DEFAULT_AGENT, completes="agents"),
    Option("--phase", "PHASE", "The task's phase; without it, the active one", completes="phases"),
    Option("--description", "TEXT", "The full description (TEXT, @FILE or -)"),
    Option("--criterion", "TEXT", "A condition for accepting the work", repeat=True),
    Option("--test", "COMMAND", "A check that must pass, such as: pytest -q", repeat=True),
    Option("--reference", "PATH", "A file that the worker should read", repeat=True),
    Option("--depends-on", "ID", "A task that must be completed first", repeat=True, completes="tasks"),
    Option("--after", "ID", "Number it right after this task", completes="tasks"),
    Option("--priority", "PRIORITY", "The priority", choices=PRIORITIES, default="medium"),
    Option("--allow-empty", help="Accept a result without changes; without it, YELLOW at best"),
)

COMMANDS = (
    Command("task create", "tasks.task:create", "Create a task", *CREATE_OPTIONS, json=True, forwarded=True),
    Command("task add", "tasks.task:create", "Alias of task create", *CREATE_OPTIONS, json=True, forwarded=True),
    Command(
        "task list",
        "tasks.show:list_tasks",
        "List the tasks",
        Option("--phase", "PHASE", "Only tasks of this phase", completes="phases"),
        Option("--status", "STATUS", "Only tasks with this status", choices=TASK.statuses),
        json=True,
    ),
    Command(
        "task show",
        "tasks.show:show_task",
        "Show a task with everything that a new worker needs",
        Argument("task", "The task's id (default: SOW_TASK)", optional=True, completes="tasks"),
        json=True,
    ),
    Command(
        "task set",
        "tasks.task:set_value",
        "Set a field of a task, most often its status",
        Argument("field", "The field", completes="fields"),
        Argument("value", "The new value", completes="statuses"),
        Option("--id", "ID", "The task's id, also as the first argument (default: SOW_TASK)", completes="tasks"),
        Option("--reason", "TEXT", "The reason; for paused, the question"),
        details="Fields: " + ", ".join(FIELDS) + ".\nStatuses: " + ", ".join(TASK.statuses) + ".\n"
        "A value of criteria, references or tests is added to the list. The status abandoned needs a reason.\n"
        "Every command that names a task accepts 010, --task 010 and --id 010.",
        forwarded=True,
    ),
    Command(
        "task abandon",
        "tasks.task:abandon",
        "Abandon a task, and keep it with the reason",
        Argument("task", "The task's id", completes="tasks"),
        Option("--reason", "TEXT", "The reason", required=True),
    ),
    Command(
        "note add",
        "tasks.note:add",
        "Record an assumption or an open point",
        Option("--description", "TEXT", "The assumption (TEXT, @FILE or -)", required=True),
        Option("--context", "TEXT", "What you were doing (TEXT, @FILE or -)", required=True),
        Option("--category", "KIND", "The category", choices=CATEGORIES),
        NOTE_OWNER,
        details="While a note is open or escalated, its task cannot be set to needs_review.\n"
        "A workflow agent with such a note cannot be set to ready_for_verification.\n"
        "Agents must escalate notes on technology, architecture, security, requirements and conflict.",
        forwarded=True,
    ),
    Command(
        "note resolve",
        "tasks.note:resolve",
        "Resolve a note with a decision",
        NUMBER,
        Option("--resolution", "TEXT", "The decision and its evidence (TEXT, @FILE or -)", required=True),
        NOTE_OWNER,
        forwarded=True,
    ),
    Command(
        "note escalate",
        "tasks.note:escalate",
        "Turn a note into a question",
        NUMBER,
        Option("--reason", "TEXT", "Why you cannot resolve it (TEXT, @FILE or -)", required=True),
        NOTE_OWNER,
        forwarded=True,
    ),
    Command("note list", "tasks.note:list_notes", "List the notes of a task or workflow agent", NOTE_OWNER, json=True),
    Command(
        "log",
        "project.log:log",
        "Append an entry to the log of a task or the project",
        Argument("log_text", "What was done (TEXT, @FILE or -)", optional=True),
        *LOG_OPTIONS,
        Option("--list", help="List the entries"),
        json=True,
        details="Without --task and SOW_TASK, the entry goes to the project's log.",
        forwarded=True,
    ),
)
