"""Starts and resumes workers, and shows, checks and creates roles (`sow agent`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.project.log import LOG_OPTIONS
from sow.domain import ids
from sow.domain.text import inputs

CONFIG_HELP = """Agent selection uses configuration from ~/.config/sow/config.yaml
Run 'sow config init' to create a configuration file.
Run 'sow config path' to see the full path."""


def spawn(
    context: Context,
    *,
    agent: str,
    task: str,
    executor: str,
    model: str,
    timeout: str,
    verbose: bool,
    dry_run: bool,
    fresh: bool,
    json: bool,
) -> int:
    from sow.cli.agents.spawn import TurnOptions, spawn_worker

    options = TurnOptions(model=model, timeout=timeout, verbose=verbose, dry_run=dry_run, json=json)
    return spawn_worker(context, agent, ids.task_id(task), options, executor=executor, fresh=fresh)


def resume(
    context: Context,
    *,
    task: str,
    prompt: str,
    executor: str,
    model: str,
    timeout: str,
    verbose: bool,
    dry_run: bool,
    json: bool,
) -> int:
    from sow.cli.agents.spawn import TurnOptions, resume_worker

    message = inputs.checked_text(context.text(prompt, "the prompt"), "the prompt", 4 << 20)
    options = TurnOptions(model=model, timeout=timeout, verbose=verbose, dry_run=dry_run, json=json)
    return resume_worker(context, ids.task_id(task), message, options, executor=executor)


def list_roles(context: Context, *, json: bool) -> int:
    from sow.cli.agents.show import list_agents

    return list_agents(context, json=json)


def show(context: Context, *, agent: str, json: bool) -> int:
    from sow.cli.agents.show import show_agent

    return show_agent(context, agent, json=json)


def validate(context: Context, *, file: list[str], json: bool) -> int:
    from sow.cli.agents.show import validate_agents

    return validate_agents(context, file, json=json)


def new(context: Context, *, name: str, description: str, prompt: str, from_workflow: bool) -> int:
    from sow.cli.agents import new

    if from_workflow:
        return new.from_workflow(context, name)
    return new.new(context, name, description, prompt)


def log(context: Context, *, log_text: str, file: list[str], action: str, result: str, task: str) -> int:
    from sow.cli.project.log import agent_log

    return agent_log(context, log_text=log_text, file=file, action=action, result=result, task=task)


TURN = (
    Option("--model", "MODEL", "Another model than the executor's"),
    Option("--timeout", "DURATION", "How long the turn may take, such as 30m"),
    Option("--verbose", help="Say how the executor was chosen"),
    Option("--dry-run", help="Print the command line and the names of its environment, and start nothing"),
)

COMMANDS = (
    Command(
        "agent spawn",
        spawn,
        "Put a worker on a task, and wait until its turn has ended",
        arguments=(
            Argument("agent", "The role", completes="agents"),
            Argument("task", "The task's id", completes="tasks"),
        ),
        options=(
            Option(
                "--executor", "NAME", "Another executor than the one that is bound to the role", completes="executors"
            ),
            *TURN,
            Option("--fresh", help="Start a new session although the task has one"),
        ),
        json=True,
        details=CONFIG_HELP,
    ),
    Command(
        "agent resume",
        resume,
        "Go on with a task's session: answer it, or send its work back",
        arguments=(
            Argument("task", "The task's id", completes="tasks"),
            Argument("prompt", "What the worker is told (TEXT, @FILE or -)"),
        ),
        options=(
            Option("--executor", "NAME", "Another executor than the one of the session", completes="executors"),
            *TURN,
        ),
        json=True,
        details=CONFIG_HELP,
    ),
    Command("agent list", list_roles, "List the roles and who plays them", json=True),
    Command(
        "agent show",
        show,
        "Show one role and its words",
        arguments=(Argument("agent", "The role", completes="agents"),),
        json=True,
    ),
    Command(
        "agent validate",
        validate,
        "Check the files that define roles",
        arguments=(
            Argument("file", "A file; without: all that are found", repeat=True, optional=True, completes="files"),
        ),
        json=True,
    ),
    Command(
        "agent new",
        new,
        "Write the file of a new role, in .claude/agents of this repository",
        arguments=(Argument("name", "Its name, such as database-specialist", optional=True),),
        options=(
            Option("--description", "TEXT", "When to use it, in one sentence"),
            Option("--prompt", "TEXT", "What it must know and do (TEXT, @FILE or -); without: a form to fill in"),
            Option("--from-workflow", help="Write what the workflow's plan needs: all of it, or NAME"),
        ),
        details="A file that is there already stays as it is.",
    ),
    Command(
        "agent log",
        log,
        "Append an entry to the log of the worker's own task",
        arguments=(Argument("log_text", "What was done (TEXT, @FILE or -)"),),
        options=LOG_OPTIONS,
        details="The task is --task, SOW_TASK, or the only one in progress.",
    ),
)
