"""Creates, shows, checks, edits and resets the user's settings file (`sow config init` and others)."""

from __future__ import annotations

import os

from sow import config as configs
from sow.cli.agents.show import roles
from sow.cli.context import Context
from sow.cli.open_cli import editor
from sow.cli.output import emit, print_error
from sow.cli.setup import config_show
from sow.cli.setup.config_check import check, located, print_finding
from sow.domain.health_finding import Finding
from sow.domain.text.units import counted
from sow.errors import SowError, SystemFailure, Waiting
from sow.store.files import user_file
from sow.system.process.exit_code import ending_text
from sow.system.process.program import run_in_front
from sow.system.terminal import confirm, escape_control, escape_line, is_interactive, out, require_yes

TEMPLATE = os.path.join(os.path.dirname(__file__), "config_template.yaml")


def init(context: Context, *, yes: bool) -> int:
    context.require_non_worker("change the user's settings")
    file = configs.path(context.environment)
    if os.path.lexists(file):
        _consent(f"{file} exists", "Overwrite it?", "sow config init --yes", yes=yes)
    backup = user_file.keep_copy(file) if os.path.exists(file) else ""
    _write_template(file)
    out(f"wrote {file}")
    if backup:
        out(f"backup: {backup}")
    return 0


def validate(context: Context, *, json: bool) -> int:
    file = configs.path(context.environment)
    findings = check(context)
    problems = [finding for finding in findings if finding["state"] == "problem"]
    if json:
        emit({"path": file, "exists": os.path.exists(file), "valid": not problems, "findings": findings})
        return SowError.exit_code if problems else 0
    out(f"Validating configuration at {file}...\n")
    _list(findings, file)
    return 0


def _list(findings: list[Finding], file: str) -> None:
    """Prints the findings, and each problem as an error with its line."""
    for finding in findings:
        if finding["state"] != "problem":
            print_finding(finding)
    problems = _problems(findings, file)
    for message, hint in problems[:-1]:
        print_error(message, "" if hint == configs.FIX_HINT else hint)
    if problems:
        raise SowError(*problems[-1])
    warnings = sum(finding["state"] == "warning" for finding in findings)
    suffix = f" with {counted(warnings, 'warning')}" if warnings else ""
    out(f"\nConfiguration is valid{suffix}.")


def _problems(findings: list[Finding], file: str) -> list[tuple[str, str]]:
    """Returns the message and the hint of each problem, in the order of the lines."""
    problems = [finding for finding in findings if finding["state"] == "problem"]
    problems.sort(key=lambda problem: problem.get("line", 0))
    return [(located(problem, file), problem["hint"]) for problem in problems]


def show(context: Context, *, json: bool) -> int:
    config = context.config()
    role_names = list(roles(context, config).agents)
    if json:
        emit(config_show.document(config, role_names))
    else:
        out(escape_control(config_show.text(config, role_names)))
    return 0


def edit(context: Context) -> int:
    context.require_non_worker("change the user's settings")
    file = configs.path(context.environment)
    command = editor(context.environment, f"edit {file} yourself")
    is_new = not os.path.exists(file)
    if is_new:
        _write_template(file)
    edit_again = True
    while edit_again:
        _run_editor(command, file, is_new=is_new)
        findings = check(context)
        problems = [escape_line(message) for message, _ in _problems(findings, file)]
        edit_again = bool(problems) and is_interactive() and confirm("\n".join([*problems, "Edit it again?"]))
    if problems and is_interactive():  # the question had them
        raise SowError(f"{file} has {counted(len(problems), 'mistake')}", configs.FIX_HINT)
    _list(findings, file)
    return 0


def _run_editor(command: list[str], file: str, *, is_new: bool) -> None:
    """Runs the editor; if it fails, removes a new template that the user did not change."""
    code = run_in_front([*command, file])
    if not code:
        return
    if is_new and configs.read(file) == template(configs.abbreviated_path(file)):
        os.unlink(file)
    raise SystemFailure(f"{command[0]} {ending_text(code)}", f"set EDITOR to another editor, or edit {file} yourself")


def template(location: str) -> str:
    """Returns the text of a new settings file for this path; unedited, it changes nothing."""
    with open(TEMPLATE, encoding="utf-8") as file:
        return file.read().replace("{location}", location)


def _write_template(file: str) -> None:
    user_file.write(file, template(configs.abbreviated_path(file)))


def reset(context: Context, *, yes: bool) -> int:
    context.require_non_worker("change the user's settings")
    file = configs.path(context.environment)
    if not os.path.lexists(file):
        out(f"{file} does not exist; sow uses the built-in defaults")
        return 0
    _consent(f"{file} has your settings", "Remove it?", "sow config reset --yes", yes=yes)
    backup = user_file.remove(file)
    out(f"removed {file}; sow uses the built-in defaults")
    out(f"backup: {backup}")
    return 0


def _consent(fact: str, question: str, command: str, *, yes: bool) -> None:
    """Asks the user before their settings are replaced or removed."""
    if not yes:
        require_yes(
            f"{fact}. {question}",
            Waiting(f"{fact}; not an interactive terminal", f"to confirm, run: {command}"),
            Waiting(f"{fact}; nothing was changed", f"to confirm, run: {command}"),
        )
