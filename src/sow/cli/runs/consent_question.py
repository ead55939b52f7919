"""Asks for consent to commands; each new command is shown once, grouped by program."""

from __future__ import annotations

from sow.domain.plans.command_line import program
from sow.errors import SystemFailure, Waiting
from sow.store.user import consents
from sow.system.terminal import confirm, err, escape_control, escape_line, is_interactive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sow.domain.checks.consent import Consent
    from sow.domain.documents.state import Check, Task
    from sow.store.files.checkout_home import Home


def ask_consent(
    home: Home, environment: Mapping[str, str], agreed: Consent, commands: Iterable[str], *, yes: bool, again: str
) -> Consent:
    """Asks for consent to new commands, saves it and returns all commands that the user agreed to.

    `again` is the same call with --yes, as a hint if there is no terminal.
    """
    missing = agreed.missing(commands)
    if not missing:
        return agreed
    if not yes:
        _show(missing)
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


def _show(commands: Sequence[str]) -> None:
    err("You have not agreed to these commands yet. They run on this machine with your rights:")
    for name, group in by_program(commands).items():
        err(f"  {escape_line(name)}")
        for command in group:
            err(indented(command, "    "))
    err("Consent covers the text of a command in this repository, not the scripts that it runs.")


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
