"""Starts and resumes workers, and shows, checks and creates roles (`sow agent`)."""

from __future__ import annotations

from sow.cli.command import LOG_OPTIONS, Argument, Command, Option

CONFIG_HELP = (
    "Agent selection uses configuration from ~/.config/sow/config.yaml.\nCreate the file with: sow config init"
)


TURN = (
    Option("--model", "MODEL", "Use this model"),
    Option("--timeout", "DURATION", "The time limit of the turn, such as 30m"),
    Option("--dry-run", help="Print the command line and its variables, and start nothing"),
)

COMMANDS = (
    Command(
        "agent spawn",
        "agents.spawn:spawn_worker",
        "Start a worker on a task, and wait for its turn to end",
        Argument("agent", "The role", completes="agents"),
        Argument("task", "The task's id", completes="tasks"),
        Option("--executor", "NAME", "Use this executor, not the one bound to the role", completes="executors"),
        *TURN,
        Option("--fresh", help="Start a new session, even if the task has one"),
        Option("--worktree", help="Not supported: only 'sow run' works in worktrees"),
        json=True,
        details=CONFIG_HELP,
    ),
    Command(
        "agent resume",
        "agents.spawn:resume_worker",
        "Continue a task's session with a message",
        Argument("task", "The task's id", completes="tasks"),
        Argument("prompt", "The message for the worker (TEXT, @FILE or -)"),
        Option("--executor", "NAME", "Use this executor, not the one of the session", completes="executors"),
        *TURN,
        json=True,
        details=CONFIG_HELP,
    ),
    Command("agent list", "agents.show:list_agents", "List the roles and their executors", json=True),
    Command(
        "agent show",
        "agents.show:show_agent",
        "Show a role and its prompt",
        Argument("agent", "The role", completes="agents"),
        json=True,
    ),
    Command(
        "agent validate",
        "agents.show:validate_agents",
        "Check the files that define roles",
        Argument(
            "file", "A file; without it, all files that define roles", repeat=True, optional=True, completes="files"
        ),
        json=True,
    ),
    Command(
        "agent new",
        "agents.new:new",
        "Create a role in .claude/agents of this repository",
        Argument("name", "The name, such as database-specialist", optional=True),
        Option("--description", "TEXT", "When to use it, in one sentence"),
        Option("--prompt", "TEXT", "The prompt (TEXT, @FILE or -); without it, a form to fill in"),
        Option("--from-workflow", help="Create the roles that the workflow's plan needs, or only NAME"),
        details="Existing files are not changed.",
    ),
    Command(
        "agent log",
        "project.log:agent_log",
        "Append an entry to the log of your own task",
        Argument("log_text", "What was done (TEXT, @FILE or -)"),
        *LOG_OPTIONS,
        details="The task is --task, SOW_TASK, or the only task in progress.",
        forwarded=True,
    ),
)
