"""The question about commands: every command that the user has not agreed to is shown once, grouped by program."""

from __future__ import annotations

from sow.domain.command_line import program
from sow.errors import Failed, Waiting
from sow.store import consents
from sow.system.terminal import confirm, err, harmless, harmless_line, is_interactive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sow.domain.agreed import Agreed
    from sow.domain.shapes import Check, Task
    from sow.store.home import Home


def agree(
    home: Home, environment: Mapping[str, str], agreed: Agreed, commands: Iterable[str], *, yes: bool, again: str
) -> Agreed:
    """Ask about the commands that need consent and remember it; returns all that is agreed to then.

    `again` is the same call with --yes, for those who cannot be asked.
    """
    missing = agreed.missing(commands)
    if not missing:
        return agreed
    if not yes:
        _show(missing)
        what = f"{len(missing)} command{'s need' if len(missing) > 1 else ' needs'} your consent; nothing was started"
        if not is_interactive():
            raise Waiting(what, again)
        if not confirm("Run them?" if len(missing) > 1 else "Run it?"):
            raise Waiting(what, again)
    try:
        consents.give(environment, home.checkout.common, missing)
    except Failed as problem:  # the consent holds for this call, and is asked for again next time
        err(f"note: your consent is not remembered: {harmless_line(problem.message)}")
    return agreed.with_more(missing)


def _show(commands: Sequence[str]) -> None:
    err("You have not agreed to these commands yet. They run on this machine with your rights:")
    for name, group in by_program(commands).items():
        err(f"  {harmless_line(name)}")
        for command in group:
            err(shown(command, "    "))
    err("Consent covers the text of a command in this repository, not the scripts that it runs.")


def by_program(commands: Iterable[str]) -> dict[str, list[str]]:
    """Commands by their first word, in the order in which the programs appear."""
    found: dict[str, list[str]] = {}
    for command in commands:
        found.setdefault(program(command), []).append(command)
    return found


def shown(command: str, indent: str) -> str:
    """The whole text of a command; each of its lines is indented."""
    return "\n".join(f"{indent}{line}" for line in harmless(command).split("\n"))


def of_tasks(tasks: Iterable[Task], chosen: Iterable[str]) -> dict[str, list[str]]:
    """The commands that stored tasks bring, each with the ids of its tasks.

    The chosen tasks are worked on. The checks of completed ones run again on what is merged later.
    """
    wanted = set(chosen)
    return collect(
        (task["id"], task.get("checks", ()))
        for task in tasks
        if task["status"] == "completed" or (task["id"] in wanted and task["status"] != "abandoned")
    )


def collect(given: Iterable[tuple[str, Iterable[Check]]]) -> dict[str, list[str]]:
    """The commands of checks, each with the ids of the tasks that have it."""
    found: dict[str, list[str]] = {}
    for task, checks in given:
        for check in checks:
            tasks = found.setdefault(check["command"], [])
            if task not in tasks:
                tasks.append(task)
    return found
