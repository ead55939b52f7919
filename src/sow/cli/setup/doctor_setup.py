"""Reports on the setup of checkouts, the sandbox and the program of the forge, for `sow doctor`."""

from __future__ import annotations

from sow.cli.context import Context
from sow.domain.checks.task_checks import ASK_AGAIN
from sow.domain.health_finding import Finding, new_finding, of_error
from sow.engine.checks.setup_detection import Read
from sow.engine.checks.setup_plan import Setups, commit_reader, import_lines
from sow.engine.launch.preflight import OWN_SETUP_HINT, setup_and_outside_imports
from sow.engine.runs.run_context import require_sandbox
from sow.errors import SowError
from sow.forge.api import INSTALL
from sow.forge.connect import readiness, unknown_host
from sow.store.files.checkout_home import Home
from sow.store.projects import project as projects
from sow.store.projects import task_folder

SAFE_GH = (2, 63)  # an older gh can send the token along when a log is on another host
PYTHON = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")


def examine_setup(context: Context) -> list[Finding]:
    """Returns findings about the checkouts in which checks run; none outside of a repository."""
    try:
        home = context.checkout()
        setups = Setups(home, context.config(), context.environment)
        return _findings(setups, commit_reader(home.root, "HEAD"))
    except SowError:  # reported elsewhere
        return []


def examine_sandbox(context: Context) -> list[Finding]:
    """Returns whether agents and checks run in a sandbox here, and how to get one."""
    try:
        state = require_sandbox(context.config(), context.environment, afresh=True)
    except SowError as error:
        return [of_error("problem", error)]
    if state.is_on:
        return [new_finding("ok", "agents and checks run in a sandbox (bubblewrap)")]
    hint = state.hint or "allow it: sandbox.mode: auto (sow config edit)"
    what = f"agents and checks run without a sandbox{f': {state.problem}' if state.problem else ''}"
    return [new_finding("warning" if state.problem else "ok", what, hint)]


def examine_forge(context: Context) -> list[Finding]:
    """Returns whether `sow deliver` can use gh or glab for the remote origin; nothing without such a remote."""
    try:
        ready = readiness(context.checkout().root, context.environment)
    except SowError as error:
        return [of_error("warning", error)]
    if ready is None:
        return []
    if not ready.program:
        return [new_finding("ok", *unknown_host(ready.host))]
    program, login = ready.program, f"{ready.program} auth login --hostname {ready.host}"
    if not ready.is_installed:
        hint = f"to deliver requests, install it from {INSTALL[program]}, then: {login}"
        return [new_finding("ok", f"{program} is not installed: sow deliver needs it for {ready.host}", hint)]
    version = ".".join(map(str, ready.version)) or "of an unknown version"
    if not ready.is_logged_in:
        return [new_finding("warning", f"{program} {version} is not logged in to {ready.host}", login)]
    findings = [new_finding("ok", f"{program} {version} is logged in to {ready.host}")]
    if program == "gh" and ready.version < SAFE_GH:
        what = f"gh {version} is old: it sends your token along when a log is on another host"
        findings.append(new_finding("warning", what, f"install a newer gh from {INSTALL[program]}"))
    return findings


def _findings(setups: Setups, read: Read) -> list[Finding]:
    setup, imports = setup_and_outside_imports(setups, read, _commands(setups.home, read))
    findings = []
    if setup.commands:
        missing, refused = setups.missing(setup), setups.is_refused(setup)
        hint = ASK_AGAIN if refused else ""
        state = "you refused it" if refused else "sow run asks for your consent" if missing else "you agreed"
        message = f"setup of each checkout: {'; '.join(setup.texts)} ({'your config' if setups.is_declared else state})"
        findings.append(new_finding("ok", message, hint))
    for tool, file in ({} if setups.is_declared else setups.proposal(read).missing_tools).items():
        message = f"checkouts cannot be set up: {file} needs {tool}, which is not on PATH"
        findings.append(new_finding("warning", message, f"install {tool}, or {OWN_SETUP_HINT}"))
    lines = import_lines(imports)
    return [*findings, *(new_finding("warning", f"in a clean checkout, {line}", OWN_SETUP_HINT) for line in lines)]


def _commands(home: Home, read: Read) -> list[str]:
    """Returns the check commands of the project's tasks, or the usual ones of the repository's language."""
    commands: dict[str, None] = {}
    if projects.exists(home):
        for _, task in task_folder.load_readable(home, projects.load(home))[0]:
            commands |= dict.fromkeys(check["command"] for check in task.get("checks", ()))
    if commands:
        return list(commands)
    defaults = ["python3 -m pytest"] if any(read(name) is not None for name in PYTHON) else []
    return [*defaults, *(["npm test"] if read("package.json") is not None else [])]
