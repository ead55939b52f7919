"""Asks for consent to commands of plans, stored state and setup, and refuses those that the user has not agreed to."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sow.config import Config
from sow.domain.checks.task_checks import Consent
from sow.domain.documents.state import Check, RunSettings, Task
from sow.domain.network import ALL, MODEL, NONE, narrower
from sow.domain.plans.command_line import program
from sow.errors import SystemFailure, Waiting
from sow.store.files.checkout_home import Home
from sow.store.user import consents
from sow.system.sandbox import sandbox_state
from sow.system.terminal import confirm, err, escape_control, escape_line, is_interactive

KIND = "network"  # of the file with the user's decision about the network of checks
OPEN, OFFLINE = "checks may use the network", "checks run without the network"
REACHES = {ALL: "and so do other checks", MODEL: "other checks reach named hosts only", NONE: "other checks do not"}


def checks_network(
    home: Home, config: Config, environment: Mapping[str, str], settings: RunSettings | Mapping[str, Any]
) -> str:
    """Returns what the checks of a run with these settings may reach."""
    wanted = config.checks_network()
    if not wanted and is_network_need_detectable(settings):
        wanted = ALL if network_decision(home, environment) == OPEN else NONE
    return narrower(wanted or config.sandbox_network(), settings.get("network", ALL))


def is_network_need_detectable(settings: RunSettings | Mapping[str, Any]) -> bool:
    """Tells whether a run finds out that checks need the network: it repeats them on the base commit."""
    return settings.get("isolation", "worktree") == "worktree" and settings.get("baseline", "on") != "off"


def network_decision(home: Home, environment: Mapping[str, str]) -> str:
    """Returns whether the user lets checks of this repository use the network, or "" if that is not decided."""
    decided = consents.read(consents.path(environment, home.checkout.common, KIND))
    return next((text for text in (OFFLINE, OPEN) if text in decided), "")


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
    settings: RunSettings | None = None,
) -> Consent:
    """Asks for consent to new commands, saves it and returns all commands that the user agreed to.

    The question says what they may reach in a run with these settings, or with the defaults. `again` is the same call
    with --yes, as a hint if there is no terminal.
    """
    missing = agreed.missing(commands)
    if not missing:
        return agreed
    if not yes:
        boxed = sandbox_state(str(config.setting("sandbox", "mode")), environment).is_on
        _show(missing, checks_network(home, config, environment, settings or {}) if boxed else "")
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


def _show(commands: Sequence[str], network: str) -> None:
    """Shows the commands and what they may reach in the sandbox; without a sandbox `network` is empty."""
    boxed = f"in the sandbox. There setup and dependency checks reach the network, {REACHES.get(network)}"
    where = boxed if network else "on this machine with your rights"
    err(f"You have not agreed to these commands yet. They run {where}:")
    for name, group in by_program(commands).items():
        err(f"  {escape_line(name)}")
        for command in group:
            err(indented(command, "    "))
    more = " It also holds if you turn the sandbox off." if network else ""
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
