"""What doctor says about installed execution layers: whether each is that of this sow."""

from __future__ import annotations

from contextlib import suppress

from sow.agents.layer import LAYERS, layer
from sow.cli.context import Context
from sow.errors import SowError
from sow.store import installed
from sow.store.installed import FOREIGN, SAME, Place


def examine_layers(context: Context) -> list[dict[str, str]]:
    """A finding for each layer that is in this repository or in the user's home; none for those that are not."""
    places = []
    with suppress(SowError):  # outside of a repository, which is a finding of its own
        places.append(Place(context.place().root, user=False))
    home = context.environment.get("HOME", "")
    if home.startswith("/"):
        places.append(Place(home, user=True))
    return [each for place in places for name in LAYERS for each in _findings(place, name)]


def _findings(place: Place, name: str) -> list[dict[str, str]]:
    where = "in your home" if place.user else "here"
    call = f"sow install {name}{' --user' if place.user else ''}"
    try:
        if not installed.survey(place, layer(name, user=place.user), remove=True):
            return []
        steps = installed.survey(place, layer(name, user=place.user), remove=False)
    except SowError as error:
        return [{"state": "warning", "what": error.message, "hint": error.hint}]
    if all(step.act in (SAME, FOREIGN) for step in steps):
        return [{"state": "ok", "what": f"the execution layer for {name} {where} is that of this sow", "hint": ""}]
    what = f"the execution layer for {name} {where} is not that of this sow"
    return [{"state": "warning", "what": what, "hint": f"bring it up to date: {call}; with --dry-run: what differs"}]
