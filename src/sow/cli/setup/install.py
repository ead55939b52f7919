"""Installs and removes the execution layer of an agent CLI (`sow install`, `sow uninstall`)."""

from __future__ import annotations

from sow import __version__
from sow.agents.layer import LAYERS, layer
from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit
from sow.errors import SowError
from sow.store.user import installed_layer
from sow.store.user.installed_layer import FOREIGN, REMOVE, WRITE, InstallStep, InstallTarget
from sow.system.terminal import err, escape_line, out

DONE = {"write": "wrote", "replace": "replaced", "update": "updated", "remove": "removed"}
SETTINGS = ".claude/settings.json"


def install(context: Context, *, cli: str, user: bool, dry_run: bool, json: bool) -> int:
    context.require_non_worker("install an execution layer")
    files = layer(cli, user=user)
    target = _target(context, user=user)
    steps = installed_layer.plan_steps(target, files, remove=False)
    return _apply(target, cli, steps, dry_run=dry_run, json=json)


def uninstall(context: Context, *, cli: str, user: bool, dry_run: bool, json: bool) -> int:
    context.require_non_worker("remove an execution layer")
    files = layer(cli, user=user)
    target = _target(context, user=user)
    steps = installed_layer.plan_steps(target, files, remove=True)
    return _apply(target, cli, steps, dry_run=dry_run, json=json)


def _target(context: Context, *, user: bool) -> InstallTarget:
    if not user:
        return InstallTarget(context.checkout().root, user=False)
    home = context.environment.get("HOME", "")
    if not home.startswith("/"):
        raise SowError("HOME is not set", "set HOME, or remove --user")
    return InstallTarget(home, user=True)


def _apply(target: InstallTarget, cli: str, steps: list[InstallStep], *, dry_run: bool, json: bool) -> int:
    backups = [] if dry_run else installed_layer.apply(target, steps)
    backup_paths = dict(backups)
    if json:
        files = [
            {"path": s.path, "act": s.action, "changed": s.edited_text is not None, "kept": backup_paths.get(s.path)}
            for s in steps
        ]
        return emit({"cli": cli, "root": target.root, "version": __version__, "dry_run": dry_run, "files": files})
    _tell(target, cli, steps, dry_run=dry_run)
    for path, backup in backups:
        err(escape_line(f"note: {path} had changes of yours; they are kept in {backup}"))
    return 0


def _tell(target: InstallTarget, cli: str, steps: list[InstallStep], *, dry_run: bool) -> None:
    for step in steps:
        if step.action in DONE:
            verb = f"would {step.action}" if dry_run else DONE[step.action]
            note = ", and keep a copy of your changes" if dry_run and step.edited_text is not None else ""
            out(escape_line(f"{verb} {step.path}{note}"))
        elif step.action == FOREIGN:
            err(escape_line(f"note: {step.path} is not a file of sow, so it is unchanged{_advice(step.path)}"))
    acts = [step.action for step in steps]
    if not any(act in DONE for act in acts):
        out(f"nothing to do for {cli} in {escape_line(target.root)}")
    elif not dry_run and REMOVE not in acts and WRITE in acts:
        out(f"installed the layer for {cli} (sow {__version__}) in {escape_line(target.root)}")


def _advice(path: str) -> str:
    return "; add the output of 'sow hook settings' to it" if path.endswith(SETTINGS) else ""


CLI = Argument("cli", "The agent CLI", choices=tuple(LAYERS))
DRY_RUN = Option("--dry-run", help="Show the changes without making them")

COMMANDS = (
    Command(
        "install",
        install,
        "Install agents, slash commands and hooks for an agent CLI",
        CLI,
        Option("--user", help="Install for all repositories, in your home folder"),
        DRY_RUN,
        json=True,
        details="Files of sow carry a version. They are replaced as a whole; your edits are kept in a copy.\n"
        "Other files are never changed. To own a file of sow, delete its sow- lines.\n"
        "sow adds its hooks and permission rules to .claude/settings.json.",
    ),
    Command(
        "uninstall",
        uninstall,
        "Remove the files that sow install wrote",
        CLI,
        Option("--user", help="Remove what was installed for all repositories, in your home folder"),
        DRY_RUN,
        json=True,
    ),
)
