"""Tracks what the agents of a crew hand to each other: outputs, their versions, and what a reader has not seen."""

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
    """Return where a path of the plan is: in the agent's own folder, in another's, or in the repository."""
    if is_own(path):
        return f"{deck.desk(name).folder}/{path}"
    owner, inner_path = desk_path(path)
    return f"{deck.desk(owner).folder}/{inner_path}" if owner else f"{deck.home.root}/{path}"


def _wanted(deck: Deck, name: str) -> list[str]:
    planned = deck.plan.member(name)
    if planned is not None and planned.outputs:
        return planned.outputs
    return ["task_output/decision.md"] if deck.member(name)["kind"] == "solution_architect" else []


def missing(deck: Deck, name: str) -> list[str]:
    """Return the outputs of an agent that the plan names and that are missing or empty."""
    return [path for path in _wanted(deck, name) if not _is_there(place(deck, name, path))]


def _is_there(path: str) -> bool:
    """Tell whether a path is a file with content, or a folder that holds a file."""
    if os.path.isdir(path):
        return any(names for _, _, names in os.walk(path))
    return os.path.isfile(path) and os.path.getsize(path) > 0


def digests(deck: Deck, name: str) -> dict[str, str]:
    """Return everything that an agent has handed out, by the path that others use, with a digest of its content."""
    desk = deck.desk(name)
    paths = {f"agents/{name}/task_output/{inner_path}": path for inner_path, path in _files(desk.output_folder)}
    for path in _wanted(deck, name):
        if not is_own(path):
            location = place(deck, name, path)
            paths |= (
                {f"{shown(path)}/{inner_path}": file for inner_path, file in _files(location)}
                if os.path.isdir(location)
                else {}
            )
            paths |= {shown(path): location} if os.path.isfile(location) else {}
    by_path = {path: deck.digested.digest(location) for path, location in sorted(paths.items())}
    return {path: digest for path, digest in by_path.items() if digest}


def _files(folder: str) -> Iterable[tuple[str, str]]:
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            yield os.path.relpath(path, folder), path


def unlike_verified(deck: Deck, name: str) -> list[str]:
    """Return the outputs of an agent that differ from what its verifier saw: changed, gone or new."""
    verified = {output["path"]: output["digest"] for output in deck.member(name)["outputs"] if output["digest"] != GONE}
    current = digests(deck, name)
    return sorted(path for path in verified.keys() | current.keys() if verified.get(path) != current.get(path))


def reopen_changed(deck: Deck, names: Iterable[str]) -> bool:
    """Send verified agents back to work if their outputs changed since; returns whether there was any."""
    reopened = False
    for name in names:
        member = deck.workflow()["members"].get(name)
        paths = unlike_verified(deck, name) if member is not None and member["status"] == "verified" else []
        if paths:
            reopened = True
            workflow_acts.reopen(deck.home, name, paths)
            deck.ship.tell("set_aside", task=name, text=f"outputs changed after they were verified: {paths}"[:500])
    return reopened


def versions(deck: Deck, name: str, *, at: str = "") -> dict[str, int]:
    """Return the version of each input that other agents hand out, now or at an earlier time."""
    planned = deck.plan.member(name)
    handed_out: dict[str, MemberOutput] = {}
    for owner, member in deck.workflow()["members"].items():
        if owner != name:
            handed_out |= {output["path"]: output for output in member["outputs"] if output["digest"] != GONE}
    inputs = [shown(path) for path in planned.inputs] if planned is not None else []
    versions_by_path = {
        path: output["version"] - bool(at and output["at"] > at)
        for path, output in handed_out.items()
        if any(path == want or path.startswith(f"{want.rstrip('/')}/") for want in inputs)
    }
    return {path: version for path, version in versions_by_path.items() if version}


def changed(deck: Deck, name: str) -> list[str]:
    """Return the inputs that are newer than what the agent read, as lines for its prompt."""
    read = deck.member(name)["read"]
    return [
        f"{path} (version {version}, you read {read[path]})"
        for path, version in versions(deck, name).items()
        if path in read and read[path] != version
    ]
