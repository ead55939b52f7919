"""sow consent: the commands that you agreed to or refused in this repository."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit
from sow.errors import SowError
from sow.store.user import consents
from sow.store.user.consents import CONSENTS, REFUSED
from sow.system.terminal import escape_line, out, paint


def list_consents(context: Context, *, json: bool) -> int:
    answers = _known(context)
    if json:
        facts = [{"command": command, "refused": kind == REFUSED, "since": at} for at, command, kind in answers]
        return emit({"consents": [{"number": number, **consent} for number, consent in enumerate(facts, 1)]})
    for number, (at, command, kind) in enumerate(answers, 1):
        since = f"({'refused' if kind == REFUSED else 'allowed'} {escape_line(at[:10])})"
        out(f"{paint(f'{number}.', 'bold')} {escape_line(command)} {paint(since, 'dim')}")
    if not answers:
        out("you have not allowed or refused any command in this repository")
    return 0


def forget(context: Context, *, number: str, refused: bool, all: bool) -> int:
    context.require_person("delete a consent")
    if [bool(number), refused, all].count(True) != 1:
        raise SowError("no consent is named", "give a number of 'sow consent list', --refused or --all")
    chosen = [
        consent
        for place, consent in enumerate(_known(context), 1)
        if all or str(place) == number or (refused and consent[2] == REFUSED)
    ]
    if number and not chosen:
        raise SowError(f"there is no consent {number!r:.40}", "see the numbers: sow consent list")
    for _, command, kind in chosen:
        consents.forget(context.environment, context.checkout().checkout.common, [command], kind=kind)
        out(escape_line(f"deleted: {command}"))
    if not chosen:
        out("nothing to delete")
    return 0


def _known(context: Context) -> list[tuple[str, str, str]]:
    """The time, the command and the kind of each answer, oldest first; their places are their numbers."""
    where = (context.environment, context.checkout().checkout.common)
    files = {kind: consents.read(consents.path(*where, kind)) for kind in (CONSENTS, REFUSED)}
    return sorted((at, command, kind) for kind, commands in files.items() for command, at in commands.items())


COMMANDS = (
    Command(
        "consent list",
        list_consents,
        "List the commands that you allowed or refused here",
        json=True,
        details="The list is kept in ~/.local/state/sow. Patterns of checks.allow are in your settings.",
    ),
    Command(
        "consent forget",
        forget,
        "Delete consents, so that the next run asks again",
        Argument("number", "The number in 'sow consent list'", optional=True),
        Option("--refused", help="Delete all refusals"),
        Option("--all", help="Delete everything"),
    ),
)
