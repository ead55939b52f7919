"""Reports how the checkouts of checks are set up, and whose code the checks would import."""

from __future__ import annotations

from sow import config as configs
from sow.cli.context import Context
from sow.cli.run_setup import OWN, look
from sow.engine.outside_imports import shown
from sow.engine.setup_plan import UNDO, Setups, reader_at
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import project as projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.engine.setup_detection import Read
    from sow.store.home import Home

PYTHON = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")


def examine_setup(context: Context) -> list[dict[str, str]]:
    """Findings about the checkouts in which checks run; none outside of a repository."""
    try:
        home = context.place()
        setups = Setups(home, configs.load(context.environment), context.environment)
        return _findings(setups, reader_at(home.root, "HEAD"))
    except SowError:  # which is a finding of its own
        return []


def _findings(setups: Setups, read: Read) -> list[dict[str, str]]:
    setup, found = look(setups, read, _commands(setups.home, read))
    said = []
    if setup.commands:
        missing, refused = setups.missing(setup), setups.is_refused(setup)
        hint = UNDO if refused else ""
        state = "you refused it" if refused else "sow run asks for your consent" if missing else "you agreed"
        what = f"setup of each checkout: {'; '.join(setup.texts)} ({'your config' if setups.is_declared else state})"
        said.append({"state": "ok", "what": what, "hint": hint})
    for tool, file in ({} if setups.is_declared else setups.proposal(read).missing).items():
        what = f"checkouts cannot be set up: {file} needs {tool}, which is not on PATH"
        said.append({"state": "warning", "what": what, "hint": f"install {tool}, or {OWN}"})
    for line in shown(found):
        said.append({"state": "warning", "what": f"in a checkout of its own, {line}", "hint": OWN})
    return said


def _commands(home: Home, read: Read) -> list[str]:
    """The commands of the project's tasks; without any, the usual ones of the repository's language."""
    found: dict[str, None] = {}
    if projects.exists(home):
        for _, task in desks.load_all(home, projects.load(home))[0]:
            found |= dict.fromkeys(check["command"] for check in task.get("checks", ()))
    if found:
        return list(found)
    usual = ["python3 -m pytest"] if any(read(name) is not None for name in PYTHON) else []
    return [*usual, *(["npm test"] if read("package.json") is not None else [])]
