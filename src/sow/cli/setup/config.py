"""Creates, shows, checks, edits and resets the user's settings (`sow config`)."""

from __future__ import annotations

import os

from sow import config as configs
from sow.cli.command import Command, Option
from sow.cli.context import Context
from sow.cli.output import emit
from sow.domain.text.units import counted
from sow.errors import SowError, SystemFailure, Waiting
from sow.system.terminal import confirm, escape_control, escape_line, is_interactive, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.cli.setup.config_check import Finding

MOST_EDITOR = 4000
YES = Option("--yes", help="Do not ask")
MARKS = {"ok": ("✓", "green"), "warning": ("⚠ Warning:", "yellow"), "problem": ("✗", "red")}


def init(context: Context, *, yes: bool) -> int:
    from sow.store.files import user_file

    context.require_non_worker("change the user's settings")
    file = configs.path(context.environment)
    if os.path.lexists(file):
        _consent(f"{file} exists already", "Overwrite it?", "sow config init --yes", yes=yes)
    backup = user_file.keep_copy(file) if os.path.exists(file) else ""
    _write_template(file)
    out(f"wrote {file}")
    if backup:
        out(f"the file as it was is in {backup}")
    return 0


def path(context: Context, *, exists: bool, json: bool) -> int:
    file = configs.path(context.environment)
    file_exists = os.path.exists(file)
    if json:
        emit({"path": file, "exists": file_exists})
    else:
        out(("true" if file_exists else "false") if exists else file)
    return 0


def validate(context: Context, *, json: bool) -> int:
    from sow.cli.setup.config_check import check

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
    """Prints the findings; raises the first problem as an error with the count of the others."""
    for finding in findings:
        mark, colour = MARKS[finding["state"]]
        out(f"{paint(mark, colour)} {escape_line(finding['what'])}")
        if finding["state"] == "warning":
            out("\n".join(f"  {line}" for line in escape_control(finding["hint"]).splitlines()))
    problems = [finding for finding in findings if finding["state"] == "problem"]
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        message = problems[0]["what"]
        prefix = "" if file in message or message.startswith(configs.VARIABLE_PREFIX) else f"{file}: "
        raise SowError(f"{prefix}{message}{more}", problems[0]["hint"])
    warnings = sum(finding["state"] == "warning" for finding in findings)
    suffix = f" with {counted(warnings, 'warning')}" if warnings else ""
    out(f"\nConfiguration is valid{suffix}.")


def show(context: Context, *, json: bool) -> int:
    from sow.cli.agents.show import roles
    from sow.cli.setup import config_show

    config = configs.load(context.environment)
    role_names = list(roles(context, config).agents)
    if json:
        emit(config_show.document(config, role_names))
    else:
        out(escape_control(config_show.text(config, role_names)))
    return 0


def edit(context: Context) -> int:
    from sow.cli.setup.config_check import check

    context.require_non_worker("change the user's settings")
    file = configs.path(context.environment)
    editor = _editor(context, file)
    is_new = not os.path.exists(file)
    if is_new:
        _write_template(file)
    edit_again = True
    while edit_again:
        _run_editor(editor, file, is_new=is_new)
        findings = check(context)
        has_problem = any(finding["state"] == "problem" for finding in findings)
        edit_again = has_problem and is_interactive() and confirm(f"{file} has a mistake. Edit it again?")
    _list(findings, file)
    return 0


def _run_editor(editor: list[str], file: str, *, is_new: bool) -> None:
    """Runs the editor; if it fails, removes a new template that the user did not change."""
    from sow.cli.setup.config_template import template
    from sow.system.process.program import run_in_front

    code = run_in_front([*editor, file])
    if not code:
        return
    if is_new and configs.read(file) == template(configs.abbreviated_path(file)):
        os.unlink(file)
    raise SystemFailure(
        f"{editor[0]} ended with exit code {code}", f"set EDITOR to another editor, or edit {file} yourself"
    )


def _editor(context: Context, file: str) -> list[str]:
    """Returns the command of the user's editor, with its options."""
    import shlex

    from sow.domain.inputs import checked_line
    from sow.executors.executor import find_binary

    for name in ("VISUAL", "EDITOR"):
        if not context.environment.get(name, "").strip():
            continue
        value = checked_line(context.environment[name], name, MOST_EDITOR)
        try:
            command = shlex.split(value)
        except ValueError as error:
            raise SowError(f"{name} is {value!r}: {error}", f"set {name} to a command line such as: nano") from None
        binary = find_binary(os.path.expanduser(command[0]), context.environment)
        if not binary:
            raise SowError(f"{name} is {value!r}, and there is no program {command[0]}", f"set {name} to an editor")
        return [binary, *command[1:]]
    raise SowError("no editor is set", f"set EDITOR, as in: EDITOR=nano sow config edit; or edit {file} yourself")


def _write_template(file: str) -> None:
    from sow.cli.setup.config_template import template
    from sow.store.files import user_file

    user_file.write(file, template(configs.abbreviated_path(file)))


def reset(context: Context, *, yes: bool) -> int:
    from sow.store.files import user_file

    context.require_non_worker("change the user's settings")
    file = configs.path(context.environment)
    if not os.path.lexists(file):
        out(f"{file} does not exist: the built-in defaults are in effect")
        return 0
    _consent(f"{file} has your settings", "Remove it?", "sow config reset --yes", yes=yes)
    backup = user_file.remove(file)
    out(f"removed {file}: the built-in defaults are in effect")
    out(f"the file as it was is in {backup}")
    return 0


def _consent(fact: str, question: str, command: str, *, yes: bool) -> None:
    """Asks the user before their settings are replaced or removed."""
    if yes:
        return
    if not is_interactive():
        raise Waiting(f"{fact}, and nobody can be asked here", f"if you are sure, run: {command}")
    if not confirm(f"{fact}. {question}"):
        raise Waiting(f"{fact}, and nothing was changed", f"when you are sure, run: {command}")


COMMANDS = (
    Command(
        "config init",
        init,
        "Write a settings file with everything explained",
        options=(YES,),
        details="A file that exists is overwritten only after a yes; it is kept as config.yaml.backup.",
    ),
    Command(
        "config path",
        path,
        "Print where your settings file is",
        options=(Option("--exists", help="Print whether it exists instead: true or false"),),
        json=True,
    ),
    Command(
        "config validate",
        validate,
        "Check your settings: syntax, schema, executors, bindings, programs",
        json=True,
        details="Exit 0 when the settings can be used, 2 when they cannot. A missing program is a warning.",
    ),
    Command(
        "config show",
        show,
        "Print the settings in effect, and where each value comes from",
        json=True,
        details="Environment variables (SOW_AGENTS_IMPLEMENTER=cursor) go over the file, the file over the defaults.",
    ),
    Command(
        "config edit",
        edit,
        "Open your settings file in $VISUAL or $EDITOR, and check it afterwards",
        details="A missing file is made from the template first.",
    ),
    Command(
        "config reset",
        reset,
        "Remove your settings file, so that the defaults are in effect",
        options=(YES,),
        details="The file is kept as config.yaml.backup.",
    ),
)
