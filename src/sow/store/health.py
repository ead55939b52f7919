"""Checks the machine, the repository, the project and the workflow, and returns each finding with a hint."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator

from sow.domain.health_finding import Finding, new_finding, of_error
from sow.domain.text.units import counted
from sow.errors import SowError
from sow.store import conflicts, git_watch
from sow.store.file_kinds import kind_by_name, validate_file
from sow.store.files.checkout_home import Home, NoSowFolder
from sow.store.files.disk import list_folder
from sow.store.files.set_aside import ASIDE
from sow.store.formats import merge_conflict
from sow.store.knowledge.index import SINKS
from sow.store.projects import log, notes, task_folder
from sow.store.projects import project as projects
from sow.store.workflows.folder import WorkflowFolder
from sow.system import git

OLDEST_PYTHON = (3, 11)
OLDEST_GIT = (2, 38)  # `git merge-tree --write-tree`, which merging needs
NO_COMMIT = "the repository has no commit yet, and runs begin at one"
FIRST_COMMIT = "git commit --allow-empty -m first"
NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs")


def check_all(find_home: Callable[[], Home], cwd: str) -> list[Finding]:
    """Returns every finding, from the machine to the last task."""
    findings = list(_machine(cwd))
    try:
        home = find_home()
    except NoSowFolder as error:
        return [*findings, *_commit(cwd), new_finding("ok", f"{error.message} yet", error.hint)]
    except SowError as error:
        return [*findings, of_error("problem", error)]
    findings += [*_repository(home), *_workflow(home)]
    if not projects.exists(home):
        return [*findings, new_finding("ok", f"no project on branch {home.checkout.branch() or '(detached)'}")]
    return findings + list(_project(home))


def _machine(cwd: str) -> Iterator[Finding]:
    python_version = ".".join(map(str, sys.version_info[:3]))
    yield new_finding("ok" if sys.version_info >= OLDEST_PYTHON else "problem", f"Python {python_version}")
    try:
        fields = git.run(["--version"], cwd=cwd).split()
        version = tuple(int(part) for part in fields[2].split(".")[:2])
        ok = version >= OLDEST_GIT
        yield new_finding("ok" if ok else "problem", f"git {fields[2]}", "" if ok else "sow needs git 2.38 or newer")
    except SowError as error:
        yield of_error("problem", error)
    system = platform.system()
    if system not in ("Linux", "Darwin"):
        yield new_finding("problem", f"{system} is not supported", "use Linux or macOS; on Windows, WSL")
    if not os.path.isdir("/proc/self"):
        yield new_finding(
            "warning",
            "no /proc: a worker's processes are found through 'ps', and one that takes off its marks and leaves its"
            " family is not recognised",
            "this is so on macOS; there, look for left-overs yourself after a crash",
        )


def _commit(root: str) -> Iterator[Finding]:
    """Yields a problem for a repository without a commit, which runs refuse."""
    try:
        has_commit = bool(git.run(["rev-parse", "--verify", "--quiet", "HEAD"], cwd=root, check=False).strip())
    except SowError:  # without git, which is reported before
        return
    if not has_commit:
        yield new_finding("problem", NO_COMMIT, f"make the first one: {FIRST_COMMIT}")


def _repository(home: Home) -> Iterator[Finding]:
    yield new_finding("ok", f"repository {home.root}")
    yield from _commit(home.root)
    kind = _file_system(home.root)
    if kind in NETWORK:
        text = f"{home.root} is on a network file system ({kind})"
        yield new_finding("warning", text, "locks are not promised there: use a local disk")
    if not os.access(home.sow, os.W_OK):
        yield new_finding("problem", f"{home.sow} is not writable", "change its owner or its permissions")
    for name in (".gitignore", "config.yaml"):
        if not os.path.isfile(f"{home.sow}/{name}"):
            yield new_finding("warning", f".sow/{name} is missing", "run 'sow init' again: it adds what is missing")
    for name in ("config.yaml", "sinks/index.json", "repos/index.json"):
        if os.path.isfile(f"{home.sow}/{name}"):
            yield _valid(f"{home.sow}/{name}", f".sow/{name}")
    for path in conflicts.unmerged_texts(home):
        hint = f"{merge_conflict.RESOLVE} ours, or {merge_conflict.RESOLVE} theirs"
        yield new_finding("problem", f"{path}: git left a merge conflict here", f"keep one side: {hint}")
    for name in _missing_sinks(home):
        yield new_finding("warning", f"the sink {name} is not on this machine", "fetch it: sow sinks install")
    for change in git_watch.open_changes(home):
        hint = f"undo it: {git_watch.UNDO}, or keep it: {git_watch.KEEP}"
        yield new_finding("warning", f"{change} during a run; sow ignores it", hint)
    if _ignored(home):
        hint = "take it out of .gitignore: a project is committed on its branch"
        yield new_finding("warning", ".sow/project is ignored by git", hint)
    leftovers = [
        name
        for _, folders, names in os.walk(home.sow)
        for name in (*folders, *names)
        if name.endswith(".tmp") and name.startswith(".")
    ]
    if leftovers:
        hint = "they are harmless; remove them with: find .sow -name '.*.tmp' -prune -exec rm -r {} +"
        yield new_finding("warning", f"{len(leftovers)} left-overs of interrupted writes below .sow", hint)


def _missing_sinks(home: Home) -> list[str]:
    try:
        return [sink["name"] for sink in SINKS.load(home) if not os.path.lexists(f"{home.sow}/sinks/{sink['name']}")]
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
        return of_error("problem", error)
    return new_finding("ok", f"{shown_path} is valid")


def _project(home: Home) -> Iterator[Finding]:
    try:
        project = projects.load(home)
    except SowError as error:
        yield of_error("problem", error)
        return
    yield new_finding("ok", f"project {project['name']} on branch {project['branch']}")
    if not os.path.lexists(f"{home.project}/.gitattributes"):
        text = ".sow/project/.gitattributes is missing: git cannot merge the logs of two people"
        yield new_finding("warning", text, "add it: sow init")
    yield from _logs(home, home.project, "log.md", "context/memories.md")
    readable = 0
    for folder in task_folder.all_folders(home, project):
        try:
            folder.load()
            notes.load_notes(folder)
            readable += 1
        except SowError as error:
            yield of_error("problem", error)
        yield from _logs(home, folder.folder, "log.md")
        if not os.path.isfile(folder.description_path):
            text = f"{home.relative(folder.description_path)} is missing"
            yield new_finding("warning", text, "write what the task is about, or restore it from git")
        for name in (name for name in list_folder(folder.folder) if name.startswith("state.broken-")):
            text = f"a broken state was set aside: {home.relative(folder.folder)}/{name}"
            yield new_finding("warning", text, "look at it, then remove it")
    yield new_finding("ok", f"{counted(readable, 'task')} can be read")
    for path in (f"{home.project}/log.md", *(folder.log_path for folder in task_folder.all_folders(home, project))):
        if os.path.isfile(path) and (checked := _valid(path, home.relative(path)))["state"] != "ok":
            yield {**checked, "state": "warning"}
    phase_names = {phase["name"] for phase in project["phases"]}
    phases_folder = f"{home.project}/phases"
    for name in sorted(os.listdir(phases_folder)) if os.path.isdir(phases_folder) else ():
        if name not in phase_names:
            hint = f"add it (sow phase add {name} --reason …), or remove the folder"
            yield new_finding("warning", f".sow/project/phases/{name} is not a phase of the project", hint)


def _logs(home: Home, folder: str, *names: str) -> Iterator[Finding]:
    """Yields a finding for each log with a conflict or a wrong entry."""
    for path in (f"{folder}/{name}" for name in names):
        try:
            text = home.read_or("", path) or ""
            (log.validate_text if path.endswith("/log.md") else merge_conflict.refuse)(text, home.relative(path))
        except SowError as error:
            yield of_error("problem", error)


def _workflow(home: Home) -> Iterator[Finding]:
    """Yields the findings about orchestration/; nothing if there is no workflow."""
    folder = WorkflowFolder(home)
    if not folder.exists():
        if os.path.isdir(f"{folder.path}/agents"):
            yield new_finding("problem", "orchestration/state.yaml is missing", "bring it back: sow workflow run")
        return
    try:
        loaded = folder.load()
    except SowError as error:
        yield new_finding("problem", error.message, f"{error.hint}\nthe next command that changes the workflow does so")
        return
    workflow = loaded["workflow"]
    crew = workflow["members"]
    yield new_finding("ok", f"workflow {workflow['name']} is {workflow['status']}, with {counted(len(crew), 'agent')}")
    broken = list(_invalid_files(folder))
    yield from broken
    if not broken and folder.view_text() != folder.view(loaded):
        hint = "it is made anew by the next command that changes the workflow"
        yield new_finding("warning", "orchestration/shared_status.json is not what the state says", hint)
    for agent_folder in folder.agent_folders(loaded):
        if not os.path.isfile(agent_folder.instructions_path):
            shown = home.relative(agent_folder.instructions_path)
            yield new_finding("warning", f"{shown} is missing", "write it, or let the architect: sow workflow design")
    yield from _set_aside(folder)


def _invalid_files(folder: WorkflowFolder) -> Iterator[Finding]:
    """Yields a finding for every file below orchestration/ that does not follow its schema."""
    for parent, folders, names in os.walk(folder.path):
        folders[:] = sorted(name for name in folders if name != ASIDE)
        for name in sorted(names):
            path = f"{parent}/{name}"
            if kind_by_name(path) in ("", "log-entry") or path == folder.state_path:
                continue
            try:
                validate_file(path, folder.home.relative(path), "")
            except SowError as error:
                yield new_finding("problem", error.message, "the next command that changes the workflow sets it aside")


def _set_aside(folder: WorkflowFolder) -> Iterator[Finding]:
    parents = [folder.path, *(f"{folder.path}/agents/{name}" for name in list_folder(f"{folder.path}/agents"))]
    for parent in parents:
        shown = folder.home.relative(f"{parent}/{ASIDE}")
        count = len(list_folder(f"{parent}/{ASIDE}")) if os.path.isdir(f"{parent}/{ASIDE}") else 0
        if count:
            yield new_finding(
                "warning", f"{counted(count, 'edited file')} set aside in {shown}", "look at it, then remove it"
            )
    for name in list_folder(folder.path):
        if name.startswith("state.broken-"):
            message = f"a broken state was set aside: orchestration/{name}"
            yield new_finding("warning", message, "look at it, then remove it")
