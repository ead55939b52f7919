"""Tracks what the agents of a crew hand to each other: outputs, their versions, and what a reader has not seen."""

from __future__ import annotations

import os
from collections.abc import Iterable

from sow.domain.documents.state import MemberOutput
from sow.domain.workflows.crew_plan import comparable_path, is_own_output, split_agent_path
from sow.domain.workflows.member import MISSING_DIGEST
from sow.engine.workflows.crew_context import CrewContext
from sow.store.git_watch import changed_keys
from sow.store.workflows import members


def location_of(crew: CrewContext, name: str, path: str) -> str:
    """Returns where a path of the plan is: in the agent's own folder, in another's, or in the repository."""
    if is_own_output(path):
        return f"{crew.agent_folder(name).folder}/{path}"
    owner, inner_path = split_agent_path(path)
    return f"{crew.agent_folder(owner).folder}/{inner_path}" if owner else f"{crew.home.root}/{path}"


def _wanted(crew: CrewContext, name: str) -> list[str]:
    planned = crew.plan.member(name)
    if planned is not None and planned.outputs:
        return planned.outputs
    return ["task_output/decision.md"] if crew.member(name)["kind"] == "solution_architect" else []


def missing(crew: CrewContext, name: str) -> list[str]:
    """Returns the outputs of an agent that the plan names and that are missing or empty."""
    return [path for path in _wanted(crew, name) if not _is_there(location_of(crew, name, path))]


def _is_there(path: str) -> bool:
    """Tells whether a path is a file with content, or a folder that holds a file."""
    if os.path.isdir(path):
        return any(names for _, _, names in os.walk(path))
    return os.path.isfile(path) and os.path.getsize(path) > 0


def digests(crew: CrewContext, name: str) -> dict[str, str]:
    """Returns everything that an agent has handed out, by the path that others use, with a digest of its content."""
    folder = crew.agent_folder(name)
    paths = {
        f"agents/{name}/task_output/{inner_path}": path for inner_path, path in _files(f"{folder.folder}/task_output")
    }
    for path in _wanted(crew, name):
        if not is_own_output(path):
            location = location_of(crew, name, path)
            if os.path.isdir(location):
                paths |= {f"{comparable_path(path)}/{inner_path}": file for inner_path, file in _files(location)}
            elif os.path.isfile(location):
                paths[comparable_path(path)] = location
    by_path = {path: crew.digest(location) for path, location in sorted(paths.items())}
    return {path: digest for path, digest in by_path.items() if digest}


def _files(folder: str) -> Iterable[tuple[str, str]]:
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            yield os.path.relpath(path, folder), path


def changed_since_verified(crew: CrewContext, name: str) -> list[str]:
    """Returns the outputs of an agent that differ from what its verifier saw: changed, gone or new."""
    verified = {output["path"]: output["digest"] for output in existing(crew, name)}
    return changed_keys(verified, digests(crew, name))


def existing(crew: CrewContext, name: str) -> list[MemberOutput]:
    """Returns the recorded outputs of an agent that are there."""
    return [output for output in crew.member(name)["outputs"] if output["digest"] != MISSING_DIGEST]


def reopen_changed(crew: CrewContext, names: Iterable[str]) -> bool:
    """Sends verified agents back to work if their outputs changed since; returns whether there was any."""
    reopened = False
    for name in names:
        member = crew.workflow()["members"].get(name)
        paths = changed_since_verified(crew, name) if member is not None and member["status"] == "verified" else []
        if paths:
            reopened = True
            feedback = f"After your work was verified, these outputs changed: {', '.join(paths)}. "
            feedback += "Make them right, and hand them in again."
            members.send_back(crew.home, name, feedback, refused=True)
            crew.journal("set_aside", task=name, text=f"outputs changed after they were verified: {paths}"[:500])
    return reopened


def input_versions(crew: CrewContext, name: str, *, at: str = "") -> dict[str, int]:
    """Returns the version of each input that other agents hand out, now or at an earlier time."""
    planned = crew.plan.member(name)
    handed_out: dict[str, MemberOutput] = {}
    for owner, member in crew.workflow()["members"].items():
        if owner != name:
            handed_out |= {output["path"]: output for output in member["outputs"] if output["digest"] != MISSING_DIGEST}
    inputs = [comparable_path(path) for path in planned.inputs] if planned is not None else []
    versions_by_path = {
        path: output["version"] - bool(at and output["at"] > at)
        for path, output in handed_out.items()
        if any(path == want or path.startswith(f"{want.rstrip('/')}/") for want in inputs)
    }
    return {path: version for path, version in versions_by_path.items() if version}


def newer_inputs(crew: CrewContext, name: str) -> list[str]:
    """Returns the inputs that are newer than what the agent read, as lines for its prompt."""
    read = crew.member(name)["read"]
    return [
        f"{path} (version {version}, you read {read[path]})"
        for path, version in input_versions(crew, name).items()
        if path in read and read[path] != version
    ]
