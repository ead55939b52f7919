"""Checks whether installed execution layers match this version of sow, for `sow doctor`."""

from __future__ import annotations

from contextlib import suppress

from sow.agents.layer import LAYERS, layer
from sow.cli.context import Context
from sow.errors import SowError
from sow.store import installed
from sow.store.installed import FOREIGN, SAME, Place


def examine_layers(context: Context) -> list[dict[str, str]]:
    """Returns a finding for each layer installed in this repository or in the user's home."""
    targets = []
    with suppress(SowError):  # outside of a repository; reported elsewhere
        targets.append(Place(context.place().root, user=False))
    home = context.environment.get("HOME", "")
    if home.startswith("/"):
        targets.append(Place(home, user=True))
    return [finding for target in targets for name in LAYERS for finding in _findings(target, name)]


def _findings(target: Place, name: str) -> list[dict[str, str]]:
    scope = "in your home" if target.user else "here"
    command = f"sow install {name}{' --user' if target.user else ''}"
    try:
        if not installed.survey(target, layer(name, user=target.user), remove=True):
            return []
        steps = installed.survey(target, layer(name, user=target.user), remove=False)
    except SowError as error:
        return [{"state": "warning", "what": error.message, "hint": error.hint}]
    if all(step.act in (SAME, FOREIGN) for step in steps):
        return [{"state": "ok", "what": f"the execution layer for {name} {scope} is that of this sow", "hint": ""}]
    message = f"the execution layer for {name} {scope} is not that of this sow"
    return [
        {"state": "warning", "what": message, "hint": f"bring it up to date: {command}; with --dry-run: what differs"}
    ]
