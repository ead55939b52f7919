"""sow config: the user's own settings, from the first template to the last reset."""

from __future__ import annotations

import os

from sow import config as configs
from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.spec import Command, Option
from sow.errors import Failed, SowError, Waiting
from sow.system.terminal import confirm, harmless, harmless_line, is_interactive, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.cli.config_check import Finding

MOST_EDITOR = 4000
YES = Option("--yes", help="Do not ask")
MARKS = {"ok": ("✓", "green"), "warning": ("⚠ Warning:", "yellow"), "problem": ("✗", "red")}


def init(context: Context, *, yes: bool) -> int:
    from sow.store import user_file

    context.judge("change the user's settings")
    where = configs.path(context.environment)
    if os.path.lexists(where):
        _consent(f"{where} exists already", "Overwrite it?", "sow config init --yes", yes=yes)
    backup = user_file.keep_copy(where) if os.path.exists(where) else ""
    _write_template(where)
    out(f"wrote {where}")
    if backup:
        out(f"the file as it was is in {backup}")
    return 0


def path(context: Context, *, exists: bool, json: bool) -> int:
    where = configs.path(context.environment)
    there = os.path.exists(where)
    if json:
        emit({"path": where, "exists": there})
    else:
        out(("true" if there else "false") if exists else where)
    return 0


def validate(context: Context, *, json: bool) -> int:
    from sow.cli.config_check import check

    where = configs.path(context.environment)
    findings = check(context)
    bad = [each for each in findings if each["state"] == "problem"]
    if json:
        emit({"path": where, "exists": os.path.exists(where), "valid": not bad, "findings": findings})
        return SowError.exit_code if bad else 0
    out(f"Validating configuration at {where}...\n")
    _list(findings, where)
    return 0


def _list(findings: list[Finding], where: str) -> None:
    """The check list; the first problem is the error, and the others are counted."""
    for each in findings:
        mark, colour = MARKS[each["state"]]
        out(f"{paint(mark, colour)} {harmless_line(each['what'])}")
        if each["state"] == "warning":
            out("\n".join(f"  {line}" for line in harmless(each["hint"]).splitlines()))
    bad = [each for each in findings if each["state"] == "problem"]
    if bad:
        others = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        what = bad[0]["what"]
        place = "" if where in what or what.startswith(configs.VARIABLE) else f"{where}: "
        raise SowError(f"{place}{what}{others}", bad[0]["hint"])
    warnings = sum(each["state"] == "warning" for each in findings)
    counted = f" with {warnings} warning{'' if warnings == 1 else 's'}" if warnings else ""
    out(f"\nConfiguration is valid{counted}.")


def show(context: Context, *, json: bool) -> int:
    from sow.cli import config_view
    from sow.cli.agent_view import roles

    config = configs.load(context.environment)
    known = list(roles(context, config).agents)
    if json:
        emit(config_view.document(config, known))
    else:
        out(harmless(config_view.text(config, known)))
    return 0


def edit(context: Context) -> int:
    from sow.cli.config_check import check

    context.judge("change the user's settings")
    where = configs.path(context.environment)
    words = _editor(context, where)
    made = not os.path.exists(where)
    if made:
        _write_template(where)
    again = True
    while again:
        _open(words, where, made=made)
        findings = check(context)
        bad = any(each["state"] == "problem" for each in findings)
        again = bad and is_interactive() and confirm(f"{where} has a mistake. Edit it again?")
    _list(findings, where)
    return 0


def _open(words: list[str], where: str, *, made: bool) -> None:
    """Let the person edit; an editor that fails leaves no template behind that nobody edited."""
    from sow.cli.config_template import template
    from sow.system.program import run_in_front

    code = run_in_front([*words, where])
    if not code:
        return
    if made and configs.read(where) == template(configs.shown(where)):
        os.unlink(where)
    raise Failed(f"{words[0]} ended with exit code {code}", f"set EDITOR to another editor, or edit {where} yourself")


def _editor(context: Context, where: str) -> list[str]:
    """The words of the user's editor, which may have options of its own."""
    import shlex

    from sow.domain.text import line
    from sow.executors.executor import find_binary

    for name in ("VISUAL", "EDITOR"):
        if not context.environment.get(name, "").strip():
            continue
        value = line(context.environment[name], name, MOST_EDITOR)
        try:
            words = shlex.split(value)
        except ValueError as error:
            raise SowError(f"{name} is {value!r}: {error}", f"set {name} to a command line such as: nano") from None
        found = find_binary(os.path.expanduser(words[0]), context.environment)
        if not found:
            raise SowError(f"{name} is {value!r}, and there is no program {words[0]}", f"set {name} to an editor")
        return [found, *words[1:]]
    raise SowError("no editor is set", f"set EDITOR, as in: EDITOR=nano sow config edit; or edit {where} yourself")


def _write_template(where: str) -> None:
    from sow.cli.config_template import template
    from sow.store import user_file

    user_file.write(where, template(configs.shown(where)))


def reset(context: Context, *, yes: bool) -> int:
    from sow.store import user_file

    context.judge("change the user's settings")
    where = configs.path(context.environment)
    if not os.path.lexists(where):
        out(f"{where} does not exist: the built-in defaults are in effect")
        return 0
    _consent(f"{where} has your settings", "Remove it?", "sow config reset --yes", yes=yes)
    backup = user_file.remove(where)
    out(f"removed {where}: the built-in defaults are in effect")
    out(f"the file as it was is in {backup}")
    return 0


def _consent(fact: str, question: str, command: str, *, yes: bool) -> None:
    """A person's word before something of theirs goes."""
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
