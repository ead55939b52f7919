"""Questions before a run: how each checkout is set up, and whether checks may import code from the user's checkout."""

from __future__ import annotations

import os

from sow.domain.command_line import words
from sow.domain.intake import checks_of
from sow.domain.task import OPEN_STATUSES
from sow.engine import outside_imports
from sow.engine.outside_imports import ACCEPTED, WHY
from sow.engine.setup_plan import Setups, copy_text, reader_at, reader_of
from sow.errors import InvalidFile, Waiting
from sow.store import desk as desks
from sow.store import project as projects
from sow.store import runs
from sow.system.terminal import NO, YES, ask, confirm, err, harmless_line, is_interactive, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.cli.context import Context
    from sow.cli.plan_source import Reading
    from sow.cli.run import Wish
    from sow.config import Config
    from sow.domain.shapes import RunSettings
    from sow.engine.outside_imports import Outside
    from sow.engine.setup_detection import Read
    from sow.engine.setup_plan import Setup
    from sow.store.home import Home
    from sow.store.runs import RunFolder

OWN = "write your own setup: sow config edit (worktree.setup; an empty list is no setup)"
STOPPED = "nothing was started"


def agree(context: Context, home: Home, config: Config, reading: Reading, wish: Wish) -> list[str]:
    """Ask how checkouts are set up, and about imports from outside; returns the doubts that the user accepted."""
    if wish.settings["isolation"] == "none":
        return []
    setups = Setups(home, config, context.environment)
    read, commands = reader_at(home.root, "HEAD"), _commands(reading)
    call = Call(context, home, wish)
    _require_tools(setups, read, commands)
    for each in [read, *_reads_of_open_work(home)]:
        _ask_about_setup(setups, each, call)
    _ask_about_copies(setups)
    found = outside_imports.find(setups, setups.of(read), commands)
    if not found:
        return []
    if "accept" in wish.asked or ACCEPTED in _accepted_before(home):
        return [ACCEPTED]
    return _ask_about_imports(setups, read, commands, found, call)


def missing(context: Context, home: Home, config: Config, wish: Wish) -> list[str]:
    """The setup commands that the user has neither agreed to nor refused."""
    if wish.settings["isolation"] == "none":
        return []
    setups = Setups(home, config, context.environment)
    found: dict[str, None] = {}
    for read in [reader_at(home.root, "HEAD"), *_reads_of_open_work(home)]:
        setup = setups.proposed(read)
        if not setups.is_refused(setup):
            found |= dict.fromkeys(setups.missing(setup))
    return list(found)


def _reads_of_open_work(home: Home) -> list[Read]:
    """Readers of the work that open tasks have: it may need another setup than HEAD does."""
    try:
        if not projects.exists(home):
            return []
        tasks = [task for _, task in desks.load_all(home, projects.load_anywhere(home))[0]]
    except InvalidFile:  # the engine brings such state back, and asks later
        return []
    reads = []
    for task in tasks:
        if task["status"] not in OPEN_STATUSES:
            continue
        if "work" in task:
            reads.append(reader_at(home.root, task["work"]["commit"]))
        folder = f"{home.sow}/local/worktrees/{task['id']}"
        if os.path.isdir(folder):
            reads.append(reader_of(folder))
    return reads


class Call:
    """The present call of `sow run`, which hints repeat with other options."""

    __slots__ = ("context", "home", "wish")

    def __init__(self, context: Context, home: Home, wish: Wish) -> None:
        self.context = context
        self.home = home
        self.wish = wish

    def again(self, **options: str) -> str:
        """The same call with more options, as a command that works where it is read."""
        return self.wish.again(self.context, self.home, **options)


def record(folder: RunFolder, accepted: list[str]) -> None:
    """Write down what the user accepted for this run."""
    if folder.run.get("accepted", []) != accepted:
        folder.run["accepted"] = accepted
        folder.save()


def forecast(
    context: Context, home: Home, config: Config, reading: Reading, settings: RunSettings
) -> dict[str, Any] | None:
    """The setup of a run for `--dry-run`: commands, consent, files to copy, and imports from outside."""
    if settings["isolation"] == "none":
        return None
    setups = Setups(home, config, context.environment)
    read = reader_at(home.root, "HEAD")
    setup, found = look(setups, read, _commands(reading))
    missing = setups.missing(setup)
    consent = "refused" if setups.is_refused(setup) else "needed" if missing else "given"
    return {
        "commands": setup.texts,
        "consent": consent if setup.commands else "",
        "links": setup.links,
        "copies": setup.copies,
        "copies_proposed": setups.copies(agreed=False),
        "missing_tools": list({} if setups.is_declared else setups.proposal(read).missing),
        "outside_imports": [str(each) for each in found],
    }


def look(setups: Setups, read: Read, commands: list[str]) -> tuple[Setup, list[Outside]]:
    """The setup that is used or would be proposed, and the outside imports that are left with it."""
    setup = setups.proposed(read)
    used = setups.of(read) if setups.is_refused(setup) else setup
    return setup, outside_imports.find(setups, used, commands)


def say(facts: dict[str, Any] | None) -> None:
    """Print the setup for `--dry-run`."""
    if facts is None:
        return
    states = {"given": "you agreed", "needed": "needs your consent", "refused": "you refused it, so it is not used"}
    if facts["commands"]:
        out(f"each checkout would be set up with ({states[facts['consent']]}):")
        for text in facts["commands"]:
            out(f"  {harmless_line(text)}")
    for name, what in (
        ("links", "linked into each checkout"),
        ("copies", "copied into each checkout"),
        ("copies_proposed", "the run would ask to copy into each checkout"),
        ("missing_tools", "a setup would need a program that is not on PATH"),
    ):
        if facts[name]:
            out(harmless_line(f"{what}: {', '.join(facts[name])}"))
    for each in facts["outside_imports"]:
        out(harmless_line(f"warning: {each}"))


def _commands(reading: Reading) -> list[str]:
    return list(dict.fromkeys(check["command"] for task in reading.plan.tasks for check in checks_of(task)))


def _require_tools(setups: Setups, read: Read, commands: list[str]) -> None:
    """Stop if a setup needs a program that is not on PATH, and the checkout or a check uses it."""
    if setups.is_declared:
        return
    named = {os.path.basename((words(each) or [""])[0]) for each in commands}
    for tool, file in setups.proposal(read).missing.items():
        is_used = tool in named or (file != "uv.lock" and os.path.isdir(f"{setups.home.root}/node_modules"))
        if is_used:
            raise Waiting(f"{file} needs {tool}, which is not on PATH; {STOPPED}", f"install {tool}, or {OWN}")
        err(f"note: checkouts are not set up: {file} needs {tool}, which is not on PATH")


def _ask_about_setup(setups: Setups, read: Read, call: Call) -> None:
    setup = setups.proposed(read)
    if not setups.missing(setup) or setups.is_refused(setup):
        return
    if call.wish.yes:
        setups.agree(setup.texts)
        return
    _show_setup(setup)
    answer = ask("Run this setup in each checkout? [y/N]") if is_interactive() else ""
    if answer in YES:
        setups.agree(setup.texts)
    elif answer in NO:
        setups.refuse(setup.texts)
        err(f"note: checkouts are not set up, now and later; to change that, {OWN}")
    else:  # an empty line is no, but only a typed no is remembered
        raise Waiting(f"the setup of checkouts needs your consent; {STOPPED}", f"{call.again(yes='')}\nor {OWN}")


def _show_setup(setup: Setup) -> None:
    err("Tasks are worked on and checked in checkouts of their own. Each would be set up with:")
    for text in setup.texts:
        err(f"  {harmless_line(text)}")


def _ask_about_copies(setups: Setups) -> None:
    """Ask about files with local settings; they may hold secrets, so that --yes does not cover them."""
    files = setups.copies(agreed=False)
    if not files:
        return
    shown = harmless_line(", ".join(files))
    if not is_interactive():
        err(f"note: not copied (no interactive terminal): {shown}")
        return
    err(f"Your checkout has local files that git ignores: {shown}")
    texts = [copy_text(each) for each in files]
    if confirm("Copy them into each checkout, where agents and checks can read them?"):
        setups.agree(texts)
    else:
        setups.refuse(texts)


def _accepted_before(home: Home) -> list[str]:
    """Returns the doubts that the user accepted for the run that this call continues."""
    try:
        known = runs.unfinished(home, projects.load_anywhere(home)["project_id"]) if projects.exists(home) else None
    except InvalidFile:
        return []
    return known.run.get("accepted", []) if known is not None else []


def _ask_about_imports(setups: Setups, read: Read, commands: list[str], found: list[Outside], call: Call) -> list[str]:
    err("Checks would import this repository's code from your checkout, not from the checkout of the task:")
    for line in outside_imports.shown(found):
        err(f"  {harmless_line(line)}")
    err(WHY)
    setup = setups.proposed(read)
    helps = bool(setup.commands) and not outside_imports.find(setups, setup, commands)
    if not is_interactive():
        accept = call.again(accept="outside-imports")
        raise Waiting(
            f"checks would import this repository's code from outside; {STOPPED}",
            f"{OWN}\nor accept results that are YELLOW at best: {accept}",
        )
    if helps:
        _show_setup(setup)
    offer = "(s)et up each checkout, " if helps else ""
    answer = ask(f"{offer}(a)ccept results that are YELLOW at best, or stop?")
    if helps and answer in ("s", "set up"):
        setups.agree(setup.texts)
        return []
    if answer in ("a", "accept"):
        return [ACCEPTED]
    raise Waiting(STOPPED, OWN)
