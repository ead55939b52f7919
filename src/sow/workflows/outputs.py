"""What the agents of a crew hand to each other: which outputs are there, in which version, and what a reader missed."""

from __future__ import annotations

import os

from sow.domain.crew_plan import desk_path, is_own, shown
from sow.domain.member import GONE
from sow.store import workflow_acts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.domain.shapes import MemberOutput
    from sow.workflows.deck import Deck


def place(deck: Deck, name: str, path: str) -> str:
    """Where a path of the plan lies: on the agent's own desk, on another's, or in the repository."""
    if is_own(path):
        return f"{deck.desk(name).folder}/{path}"
    other, rest = desk_path(path)
    return f"{deck.desk(other).folder}/{rest}" if other else f"{deck.home.root}/{path}"


def _wanted(deck: Deck, name: str) -> list[str]:
    planned = deck.plan.member(name)
    if planned is not None and planned.outputs:
        return planned.outputs
    return ["task_output/decision.md"] if deck.member(name)["kind"] == "solution_architect" else []


def missing(deck: Deck, name: str) -> list[str]:
    """The outputs of an agent that the plan names and that are not there, or are empty."""
    return [path for path in _wanted(deck, name) if not _is_there(place(deck, name, path))]


def _is_there(path: str) -> bool:
    """A file with something in it, or a folder that holds one."""
    if os.path.isdir(path):
        return any(names for _, _, names in os.walk(path))
    return os.path.isfile(path) and os.path.getsize(path) > 0


def digests(deck: Deck, name: str) -> dict[str, str]:
    """Everything that an agent has handed out, as others name it, with a digest of its content."""
    desk = deck.desk(name)
    found = {f"agents/{name}/task_output/{rest}": path for rest, path in _files(desk.output_folder)}
    for path in _wanted(deck, name):
        if not is_own(path):
            where = place(deck, name, path)
            found |= {f"{shown(path)}/{rest}": each for rest, each in _files(where)} if os.path.isdir(where) else {}
            found |= {shown(path): where} if os.path.isfile(where) else {}
    made = {path: deck.digested.digest(where) for path, where in sorted(found.items())}
    return {path: digest for path, digest in made.items() if digest}


def _files(folder: str) -> Iterable[tuple[str, str]]:
    for here, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(here, name)
            yield os.path.relpath(path, folder), path


def unlike_verified(deck: Deck, name: str) -> list[str]:
    """The outputs of an agent that are not what its verifier saw: changed, gone or new."""
    known = {each["path"]: each["digest"] for each in deck.member(name)["outputs"] if each["digest"] != GONE}
    now = digests(deck, name)
    return sorted(path for path in known.keys() | now.keys() if known.get(path) != now.get(path))


def reopen_changed(deck: Deck, names: Iterable[str]) -> bool:
    """Send verified agents of these back to work whose outputs changed since; whether there was any."""
    found = False
    for name in names:
        known = deck.workflow()["members"].get(name)
        paths = unlike_verified(deck, name) if known is not None and known["status"] == "verified" else []
        if paths:
            found = True
            workflow_acts.reopen(deck.home, name, paths)
            deck.ship.tell("set_aside", task=name, text=f"outputs changed after they were verified: {paths}"[:500])
    return found


def versions(deck: Deck, name: str, *, at: str = "") -> dict[str, int]:
    """The inputs of an agent that other agents hand out, each in its present version, or in that of a time before."""
    planned = deck.plan.member(name)
    handed: dict[str, MemberOutput] = {}
    for other, member in deck.workflow()["members"].items():
        if other != name:
            handed |= {each["path"]: each for each in member["outputs"] if each["digest"] != GONE}
    wanted = [shown(path) for path in planned.inputs] if planned is not None else []
    found = {
        path: each["version"] - bool(at and each["at"] > at)
        for path, each in handed.items()
        if any(path == want or path.startswith(f"{want.rstrip('/')}/") for want in wanted)
    }
    return {path: version for path, version in found.items() if version}


def changed(deck: Deck, name: str) -> list[str]:
    """The inputs that are newer than what the agent read, as lines for its prompt."""
    read = deck.member(name)["read"]
    return [
        f"{path} (version {version}, you read {read[path]})"
        for path, version in versions(deck, name).items()
        if path in read and read[path] != version
    ]
