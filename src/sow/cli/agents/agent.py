"""Starts and resumes workers, and shows, checks and creates roles (`sow agent`)."""

from __future__ import annotations

from sow.cli.command import LOG_OPTIONS, Argument, Command, Option

CONFIG_HELP = """Agent selection uses configuration from ~/.config/sow/config.yaml
Run 'sow config init' to create a configuration file.
Run 'sow config path' to see the full path."""


TURN = (
    Option("--model", "MODEL", "Another model than the executor's"),
    Option("--timeout", "DURATION", "How long the turn may take, such as 30m"),
    Option("--verbose", help="Say how the executor was chosen"),
    Option("--dry-run", help="Print the command line and the names of its environment, and start nothing"),
)

COMMANDS = (
    Command(
        "agent spawn",
        "agents.spawn:spawn_worker",
        "Put a worker on a task, and wait until its turn has ended",
        Argument("agent", "The role", completes="agents"),
        Argument("task", "The task's id", completes="tasks"),
        Option("--executor", "NAME", "Another executor than the one that is bound to the role", completes="executors"),
        *TURN,
        Option("--fresh", help="Start a new session although the task has one"),
        Option("--worktree", help="Refused: only 'sow run' gives a task a worktree, because it merges from there"),
        json=True,
        details=CONFIG_HELP,
    ),
    Command(
        "agent resume",
        "agents.spawn:resume_worker",
        "Go on with a task's session: answer it, or send its work back",
        Argument("task", "The task's id", completes="tasks"),
        Argument("prompt", "What the worker is told (TEXT, @FILE or -)"),
        Option("--executor", "NAME", "Another executor than the one of the session", completes="executors"),
        *TURN,
        json=True,
        details=CONFIG_HELP,
    ),
    Command("agent list", "agents.show:list_agents", "List the roles and who plays them", json=True),
    Command(
        "agent show",
        "agents.show:show_agent",
        "Show one role and its words",
        Argument("agent", "The role", completes="agents"),
        json=True,
    ),
    Command(
        "agent validate",
        "agents.show:validate_agents",
        "Check the files that define roles",
        Argument("file", "A file; without: all that are found", repeat=True, optional=True, completes="files"),
        json=True,
    ),
    Command(
        "agent new",
        "agents.new:new",
        "Write the file of a new role, in .claude/agents of this repository",
        Argument("name", "Its name, such as database-specialist", optional=True),
        Option("--description", "TEXT", "When to use it, in one sentence"),
        Option("--prompt", "TEXT", "What it must know and do (TEXT, @FILE or -); without: a form to fill in"),
        Option("--from-workflow", help="Write what the workflow's plan needs: all of it, or NAME"),
        details="A file that is there already stays as it is.",
    ),
    Command(
        "agent log",
        "project.log:agent_log",
        "Append an entry to the log of the worker's own task",
        Argument("log_text", "What was done (TEXT, @FILE or -)"),
        *LOG_OPTIONS,
        details="The task is --task, SOW_TASK, or the only one in progress.",
        forwarded=True,
    ),
)
