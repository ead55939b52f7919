"""Asks for consent to commands of plans, stored state and setup, and refuses those that the user has not agreed to."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from sow.config import Config
from sow.domain.checks.task_checks import Consent
from sow.domain.documents.state import Check, Task
from sow.domain.plans.command_line import program
from sow.errors import SystemFailure, Waiting
from sow.store.files.checkout_home import Home
from sow.store.user import consents
from sow.system.sandbox import sandbox_state
from sow.system.terminal import confirm, err, escape_control, escape_line, is_interactive

BOXED = "in the sandbox. There setup and dependency checks reach the network, and other checks may"


class NotAgreed(Waiting):
    """A command that the user has not agreed to was about to run."""


def load_consents(home: Home, config: Config, environment: Mapping[str, str]) -> Consent:
    """Returns what the user agreed to for this repository; setup commands of the user's config need no question."""
    return consents.load(
        environment, home.checkout.common, allow=config.setting("checks", "allow"), own=setup_commands(config)
    )


def setup_commands(config: Config) -> list[str]:
    """Returns the setup commands of the user's config, as the text that is run."""
    return [shlex.join(map(str, arguments)) for arguments in config.setting("worktree", "setup")]


def require(agreed: Consent, command: str) -> None:
    """Refuses a command that the user has not agreed to."""
    if not agreed.reason(command):
        raise NotAgreed(
            f"you have not agreed to this command: {command}", "run 'sow run PLAN' again: it shows the command and asks"
        )


def ask_consent(
    home: Home,
    config: Config,
    environment: Mapping[str, str],
    agreed: Consent,
    commands: Iterable[str],
    *,
    yes: bool,
    again: str,
) -> Consent:
    """Asks for consent to new commands, saves it and returns all commands that the user agreed to.

    `again` is the same call with --yes, as a hint if there is no terminal.
    """
    missing = agreed.missing(commands)
    if not missing:
        return agreed
    if not yes:
        _show(missing, boxed=sandbox_state(str(config.setting("sandbox", "mode")), environment).is_on)
        text = f"{len(missing)} command{'s need' if len(missing) > 1 else ' needs'} your consent; nothing was started"
        if not is_interactive():
            raise Waiting(text, again)
        if not confirm("Run them?" if len(missing) > 1 else "Run it?"):
            raise Waiting(text, again)
    try:
        consents.record(environment, home.checkout.common, missing)
    except SystemFailure as problem:  # the consent holds for this call only
        err(f"note: your consent is not remembered: {escape_line(problem.message)}")
    return agreed.with_more(missing)


def _show(commands: Sequence[str], *, boxed: bool) -> None:
    err(
        f"You have not agreed to these commands yet. They run {BOXED if boxed else 'on this machine with your rights'}:"
    )
    for name, group in by_program(commands).items():
        err(f"  {escape_line(name)}")
        for command in group:
            err(indented(command, "    "))
    more = " It also holds if you turn the sandbox off." if boxed else ""
    err(f"Consent covers the text of a command in this repository, not the scripts that it runs.{more}")


def by_program(commands: Iterable[str]) -> dict[str, list[str]]:
    """Groups commands by program, in the order in which the programs appear."""
    groups: dict[str, list[str]] = {}
    for command in commands:
        groups.setdefault(program(command), []).append(command)
    return groups


def indented(command: str, indent: str) -> str:
    """Returns the whole text of a command, indented."""
    return "\n".join(f"{indent}{line}" for line in escape_control(command).split("\n"))


def commands_of_tasks(tasks: Iterable[Task], chosen: Iterable[str]) -> dict[str, list[str]]:
    """Returns the commands of stored tasks, each with the ids of its tasks.

    Checks of completed tasks are included, because they run again on later merges.
    """
    wanted = set(chosen)
    return commands_of_checks(
        (task["id"], task.get("checks", ()))
        for task in tasks
        if task["status"] == "completed" or (task["id"] in wanted and task["status"] != "abandoned")
    )


def commands_of_checks(given: Iterable[tuple[str, Iterable[Check]]]) -> dict[str, list[str]]:
    """Returns the commands of checks, each with the ids of its tasks."""
    tasks_of: dict[str, list[str]] = {}
    for task, checks in given:
        for check in checks:
            tasks = tasks_of.setdefault(check["command"], [])
            if task not in tasks:
                tasks.append(task)
    return tasks_of
