"""Checks the machine, the repository and the project, and returns each finding with a hint."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator

from sow.domain.text.units import counted
from sow.errors import SowError
from sow.store import conflicts, git_watch
from sow.store.file_kinds import validate_file
from sow.store.files.checkout_home import Home, NoSowFolder
from sow.store.formats import merge_conflict
from sow.store.knowledge import sink_index
from sow.store.projects import log, notes, task_folder
from sow.store.projects import project as projects
from sow.store.workflows import health
from sow.system import git

Finding = dict[str, str]
OLDEST_PYTHON = (3, 11)
OLDEST_GIT = (2, 38)  # `git merge-tree --write-tree`, which merging needs
NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs")


def _finding(state: str, text: str, hint: str = "") -> Finding:
    return {"state": state, "what": text, "hint": hint}


def check_all(find_home: Callable[[], Home], cwd: str) -> list[Finding]:
    """Returns every finding, from the machine to the last task."""
    findings = list(_machine(cwd))
    try:
        home = find_home()
    except NoSowFolder as error:
        return [*findings, _finding("ok", error.message, "start with: sow init, or sow run plan.md")]
    except SowError as error:
        return [*findings, _finding("problem", error.message, error.hint)]
    findings += [*_repository(home), *health.examine(home)]
    if not projects.exists(home):
        return [*findings, _finding("ok", f"no project on branch {home.checkout.branch() or '(detached)'}")]
    return findings + list(_project(home))


def _machine(cwd: str) -> Iterator[Finding]:
    python_version = ".".join(map(str, sys.version_info[:3]))
    yield _finding("ok" if sys.version_info >= OLDEST_PYTHON else "problem", f"Python {python_version}")
    try:
        fields = git.run(["--version"], cwd=cwd).split()
        version = tuple(int(part) for part in fields[2].split(".")[:2])
        ok = version >= OLDEST_GIT
        yield _finding("ok" if ok else "problem", f"git {fields[2]}", "" if ok else "sow needs git 2.38 or newer")
    except SowError as error:
        yield _finding("problem", error.message, error.hint)
    system = platform.system()
    if system not in ("Linux", "Darwin"):
        yield _finding("problem", f"{system} is not supported", "use Linux or macOS; on Windows, WSL")
    if not os.path.isdir("/proc/self"):
        yield _finding(
            "warning",
            "no /proc: a worker's processes are found through 'ps', and one that takes off its marks and leaves its"
            " family is not recognised",
            "this is so on macOS; there, look for left-overs yourself after a crash",
        )


def _repository(home: Home) -> Iterator[Finding]:
    yield _finding("ok", f"repository {home.root}")
    kind = _file_system(home.root)
    if kind in NETWORK:
        text = f"{home.root} is on a network file system ({kind})"
        yield _finding("warning", text, "locks are not promised there: use a local disk")
    if not os.access(home.sow, os.W_OK):
        yield _finding("problem", f"{home.sow} is not writable", "change its owner or its permissions")
    for name in (".gitignore", "config.yaml"):
        if not os.path.isfile(f"{home.sow}/{name}"):
            yield _finding("warning", f".sow/{name} is missing", "run 'sow init' again: it adds what is missing")
    for name in ("config.yaml", "sinks/index.json", "repos/index.json"):
        if os.path.isfile(f"{home.sow}/{name}"):
            yield _valid(f"{home.sow}/{name}", f".sow/{name}")
    for path in conflicts.unmerged_texts(home):
        hint = f"{merge_conflict.RESOLVE} ours, or {merge_conflict.RESOLVE} theirs"
        yield _finding("problem", f"{path}: git left a merge conflict here", f"keep one side: {hint}")
    for name in _missing_sinks(home):
        yield _finding("warning", f"the sink {name} is not on this machine", "fetch it: sow sinks install")
    for change in git_watch.open_changes(home):
        hint = f"undo it: {git_watch.UNDO}, or keep it: {git_watch.KEEP}"
        yield _finding("warning", f"{change} during a run; sow ignores it", hint)
    if _ignored(home):
        hint = "take it out of .gitignore: a project is committed on its branch"
        yield _finding("warning", ".sow/project is ignored by git", hint)
    leftovers = [
        name
        for _, folders, names in os.walk(home.sow)
        for name in (*folders, *names)
        if name.endswith(".tmp") and name.startswith(".")
    ]
    if leftovers:
        hint = "they are harmless; remove them with: find .sow -name '.*.tmp' -prune -exec rm -r {} +"
        yield _finding("warning", f"{len(leftovers)} left-overs of interrupted writes below .sow", hint)


def _missing_sinks(home: Home) -> list[str]:
    try:
        return [
            sink["name"] for sink in sink_index.load(home) if not os.path.lexists(f"{home.sow}/sinks/{sink['name']}")
        ]
    except SowError:  # an index that cannot be read is a finding of its own
        return []


def _ignored(home: Home) -> bool:
    try:
        return bool(git.run(["check-ignore", "--", ".sow/project/state.yaml"], cwd=home.root, check=False).strip())
    except SowError:  # a missing git is a finding of its own
        return False


def _file_system(path: str) -> str:
    """Returns the type of the file system that holds the path; empty without /proc."""
    try:
        with open("/proc/mounts", encoding="utf-8", errors="replace") as file:
            mounts = [line.split()[1:3] for line in file]
    except OSError:
        return ""
    enclosing = [(folder, kind) for folder, kind in mounts if f"{path}/".startswith(folder.rstrip("/") + "/")]
    return max(enclosing, key=lambda pair: len(pair[0]))[1] if enclosing else ""


def _valid(path: str, shown_path: str) -> Finding:
    try:
        validate_file(path, shown_path, "")
    except SowError as error:
        return _finding("problem", error.message, error.hint)
    return _finding("ok", f"{shown_path} is valid")


def _project(home: Home) -> Iterator[Finding]:
    try:
        project = projects.load(home)
    except SowError as error:
        yield _finding("problem", error.message, error.hint)
        return
    yield _finding("ok", f"project {project['name']} on branch {project['branch']}")
    if not os.path.lexists(f"{home.project}/.gitattributes"):
        text = ".sow/project/.gitattributes is missing: git cannot merge the logs of two people"
        yield _finding("warning", text, "add it: sow init")
    yield from _logs(home, home.project, "log.md", "context/memories.md")
    readable = 0
    for folder in task_folder.all_folders(home, project):
        try:
            folder.load()
            notes.load_notes(folder)
            readable += 1
        except SowError as error:
            yield _finding("problem", error.message, error.hint)
        yield from _logs(home, folder.folder, "log.md")
        if not os.path.isfile(folder.description_path):
            text = f"{home.relative(folder.description_path)} is missing"
            yield _finding("warning", text, "write what the task is about, or restore it from git")
        for name in _broken_states(folder.folder):
            text = f"a broken state was set aside: {home.relative(folder.folder)}/{name}"
            yield _finding("warning", text, "look at it, then remove it")
    yield _finding("ok", f"{counted(readable, 'task')} can be read")
    for path in (f"{home.project}/log.md", *(folder.log_path for folder in task_folder.all_folders(home, project))):
        finding = _valid(path, home.relative(path)) if os.path.isfile(path) else _finding("ok", "")
        if finding["state"] != "ok":
            yield {**finding, "state": "warning"}
    phase_names = {phase["name"] for phase in project["phases"]}
    phases_folder = f"{home.project}/phases"
    for name in sorted(os.listdir(phases_folder)) if os.path.isdir(phases_folder) else ():
        if name not in phase_names:
            hint = f"add it (sow phase add {name} --reason …), or remove the folder"
            yield _finding("warning", f".sow/project/phases/{name} is not a phase of the project", hint)


def _logs(home: Home, folder: str, *names: str) -> Iterator[Finding]:
    """Yields a finding for each log with a conflict or a wrong entry."""
    for path in (f"{folder}/{name}" for name in names):
        try:
            text = home.read_or("", path) or ""
            (log.validate_text if path.endswith("/log.md") else merge_conflict.refuse)(text, home.relative(path))
        except SowError as error:
            yield _finding("problem", error.message, error.hint)


def _broken_states(folder: str) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.startswith("state.broken-"))
