"""Lists the commands that workers call most (`sow task`, `sow note`, `sow log`), without the functions that run them.

A worker in a sandbox only sends them, so it needs this table and nothing that writes.
"""

from __future__ import annotations

from sow.cli.command import LOG_OPTIONS, Argument, Command, Option
from sow.domain.note import CATEGORIES
from sow.domain.task import DEFAULT_AGENT, FIELDS, PRIORITIES, TASK

NOTE_OWNER = Option("--task", "ID", "The task or workflow agent (default: SOW_TASK)", completes="tasks")
NUMBER = Argument("number", "The note's number, such as 1 or note_001")
CREATE_OPTIONS = (
    Option("--name", "NAME", "What is to be done, in one line", required=True),
    Option("--agent", "ROLE", "Which role works on it", default=DEFAULT_AGENT),
    Option("--phase", "PHASE", "Which phase it belongs to; without: the active one", completes="phases"),
    Option("--description", "TEXT", "What is to be done, in full (TEXT, @FILE or -)"),
    Option("--criterion", "TEXT", "When it is accepted", repeat=True),
    Option("--test", "COMMAND", "A command that must pass; the worker may run it, such as: pytest -q", repeat=True),
    Option("--reference", "PATH", "A file that the worker should read", repeat=True),
    Option("--depends-on", "ID", "A task that must be completed first", repeat=True, completes="tasks"),
    Option("--after", "ID", "Give it an id right behind this task's", completes="tasks"),
    Option("--priority", "PRIORITY", "How urgent it is", choices=PRIORITIES, default="medium"),
    Option("--allow-empty", help="A result without changes is fine; otherwise it is YELLOW at best"),
)

COMMANDS = (
    Command("task create", "tasks.task:create", "Create a task", *CREATE_OPTIONS, json=True, forwarded=True),
    Command("task add", "tasks.task:create", "The same as task create", *CREATE_OPTIONS, json=True, forwarded=True),
    Command(
        "task list",
        "tasks.show:list_tasks",
        "List the tasks",
        Option("--phase", "PHASE", "Only those of one phase", completes="phases"),
        Option("--status", "STATUS", "Only those with one status", choices=TASK.statuses),
        json=True,
    ),
    Command(
        "task show",
        "tasks.show:show_task",
        "Show all that a worker with no history needs to go on with a task",
        Argument("task", "The task's id; without: SOW_TASK", optional=True, completes="tasks"),
        json=True,
    ),
    Command(
        "task set",
        "tasks.task:set_value",
        "Set a field of a task, most often its status",
        Argument("field", "Which field", completes="fields"),
        Argument("value", "Its new value", completes="statuses"),
        Option("--id", "ID", "Which task; without: SOW_TASK", completes="tasks"),
        Option("--reason", "TEXT", "Why; for paused it is the question, and abandoned needs one"),
        details="Fields: " + ", ".join(FIELDS) + "\nA value of criteria, references or tests is added to those "
        "that the task has.\nStatuses: " + ", ".join(TASK.statuses) + "\n"
        "Every command that names a task takes its id alone, --task ID or --id ID: sow task set 010 status completed",
        forwarded=True,
    ),
    Command(
        "task abandon",
        "tasks.task:abandon",
        "Give a task up; it is kept, with the reason",
        Argument("task", "The task's id", completes="tasks"),
        Option("--reason", "TEXT", "Why", required=True),
    ),
    Command(
        "note add",
        "tasks.note:add",
        "Write down an assumption or an uncertainty",
        Option("--description", "TEXT", "What is assumed or unclear (TEXT, @FILE or -)", required=True),
        Option("--context", "TEXT", "What you were doing when it arose (TEXT, @FILE or -)", required=True),
        Option("--category", "KIND", "What kind of matter it is", choices=CATEGORIES),
        NOTE_OWNER,
        details="A task with an open or escalated note cannot be set to needs_review, nor an agent of a\n"
        "workflow to ready_for_verification.\n"
        "Matters of technology, architecture, security, requirements and conflict\n"
        "cannot be resolved by their own agent: escalate them.",
        forwarded=True,
    ),
    Command(
        "note resolve",
        "tasks.note:resolve",
        "Close a note with what was decided",
        NUMBER,
        Option("--resolution", "TEXT", "How it was settled, with the evidence (TEXT, @FILE or -)", required=True),
        NOTE_OWNER,
        forwarded=True,
    ),
    Command(
        "note escalate",
        "tasks.note:escalate",
        "Make a note a question for somebody else",
        NUMBER,
        Option("--reason", "TEXT", "Why you cannot settle it (TEXT, @FILE or -)", required=True),
        NOTE_OWNER,
        forwarded=True,
    ),
    Command("note list", "tasks.note:list_notes", "Show the notes of a task or workflow agent", NOTE_OWNER, json=True),
    Command(
        "log",
        "project.log:log",
        "Append an entry to the log of a task, or of the project",
        Argument("log_text", "What was done (TEXT, @FILE or -)", optional=True),
        *LOG_OPTIONS,
        Option("--list", help="Read the entries back"),
        json=True,
        details="Without --task and SOW_TASK the entry goes to the project's log, signed by the orchestrator.",
        forwarded=True,
    ),
)
