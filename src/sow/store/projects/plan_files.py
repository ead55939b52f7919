"""Finds and reads the files of a plan up to a size limit, and replaces them only if nobody changed them meanwhile."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence

from sow.domain.plans.plan import JSON_ENDING, PlanFinding, PlanSource, file_and_tag
from sow.errors import InvalidFile, SowError
from sow.store.files.checkout_home import Home
from sow.store.files.disk import REASONS, Disk, replace_file, report_failure, system_error

TASKS = "tasks.md"
DOCUMENTS = ("spec.md", "plan.md", "research.md", "data-model.md", "quickstart.md", "contracts")
CONFIG_NAMES = ("config.yml", "config.yaml")
ROOT_CONFIG = "backlog.config.yml"
BACKLOG_FOLDERS = ("backlog", ".backlog")
TASK_FOLDERS = ("tasks", "completed", "drafts")
MOST_CONFIG = 64 << 10  # bytes of a configuration
DEEPEST = 4  # folders between the root of a repository and its backlog


class ListChoice:
    """The user's choice where a task list leaves one: a tag, the order of stories, and the active feature."""

    def __init__(self, tag: str = "", *, parallel_stories: bool = False, feature_directory: str = "") -> None:
        self.tag = tag
        self.parallel_stories = parallel_stories
        self.feature_directory = feature_directory
        self.known_neighbours: dict[str, Mapping[str, str]] = {}  # by folder: a backlog can have a thousand files


def files_of(folder: str, plan_names: Sequence[str], choice: ListChoice) -> list[str] | None:
    """Returns the task lists in a folder, relative to it, or None if it is not a folder of one of these tools."""
    if os.path.basename(os.path.abspath(folder)) == ".specify":
        feature = choice.feature_directory or _feature(f"{folder}/feature.json")
        return [f"../{feature.strip('/')}/{TASKS}"] if feature and ".." not in feature.split("/") else None
    if TASKS in plan_names and "spec.md" in plan_names:
        return [TASKS]
    for name in ("tasks.json", "tasks/tasks.json"):
        if os.path.isfile(f"{folder}/{name}"):
            return [name]
    if os.path.isdir(f"{folder}/tasks") and _backlog_config(folder) is not None:
        return [f"tasks/{name}" for name in sorted(os.listdir(f"{folder}/tasks")) if _is_task(name)]
    return None


def _is_task(name: str) -> bool:
    return name.lower().endswith(".md") and not name.startswith(".")


def _feature(path: str) -> str:
    feature = _object(_text_of_list(path)).get("feature_directory")
    return feature if isinstance(feature, str) else ""


def _object(text: str | bytes) -> dict[str, object]:
    """Returns the object of a JSON text; an empty one if it is none."""
    import json  # a plan in Markdown does not load it

    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _text_of_list(path: str) -> str:
    """Returns the text of a small file, or an empty text."""
    if not os.path.isfile(path):  # to open a pipe would wait for its writer
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(MOST_CONFIG)
    except (OSError, UnicodeDecodeError):
        return ""


def _backlog_config(folder: str) -> str | None:
    """Returns the text of a backlog's configuration; empty if it has none, None if the folder is no backlog."""
    for name in CONFIG_NAMES:
        if os.path.isfile(f"{folder}/{name}"):
            return _text_of_list(f"{folder}/{name}")
    parent = os.path.abspath(folder)
    for _ in range(DEEPEST):
        parent = os.path.dirname(parent)
        if os.path.isfile(f"{parent}/{ROOT_CONFIG}"):
            return _text_of_list(f"{parent}/{ROOT_CONFIG}")
    return "" if os.path.basename(os.path.abspath(folder)) in BACKLOG_FOLDERS else None


def with_tag(name: str, data: bytes, path: str, choice: ListChoice) -> str:
    """Returns the name of a task list in JSON with its tag: the chosen one, else the current one of Task Master."""
    file, tag = file_and_tag(name)
    if not file.lower().endswith(JSON_ENDING) or tag:
        return name
    keys = _object(data).keys()
    current = _object(_text_of_list(f"{os.path.dirname(os.path.dirname(path))}/state.json")).get("currentTag")
    return f"{file}#{choice.tag or (current if isinstance(current, str) and current in keys else 'master')}"


def recorded_path(path: str) -> str:
    """Returns a path for the state: a task of Backlog.md keeps it when it is renamed or filed."""
    folder, name = os.path.split(path)
    ident, dash, _ = name.partition(" - ")
    is_backlog = dash and _is_task(name) and os.path.basename(folder) in ("tasks", "completed")
    if is_backlog and ident.rpartition("-")[2].replace(".", "").isdigit():
        return f"{os.path.dirname(folder)}/tasks/{ident}"
    return path


def current_path(path: str) -> str:
    """Returns the file that a path of the state or of the user names, without a tag."""
    file, _ = file_and_tag(path)
    folder, ident = os.path.split(file)
    if os.path.basename(folder) == "tasks" and not os.path.lexists(file):
        for place in (folder, f"{os.path.dirname(folder)}/completed"):
            names = os.listdir(place) if os.path.isdir(place) else []
            matching = [name for name in names if name.startswith(f"{ident} - ") and _is_task(name)]
            if len(matching) == 1:
                return f"{place}/{matching[0]}"
    return file


def neighbours_of(path: str, choice: ListChoice) -> Mapping[str, str]:
    """Returns the files beside a task list that its reader needs: documents, or a configuration and finished tasks."""
    folder = os.path.dirname(path)
    if folder not in choice.known_neighbours:
        choice.known_neighbours[folder] = _neighbours(path, folder)
    return choice.known_neighbours[folder]


def _neighbours(path: str, folder: str) -> dict[str, str]:
    if os.path.basename(path) == TASKS:
        shown = "/".join(os.path.realpath(folder).split("/")[-2:])
        return {f"{shown}/{name}": "" for name in DOCUMENTS if os.path.exists(f"{folder}/{name}")}
    parent, name = os.path.split(os.path.abspath(folder))
    config = _backlog_config(parent) if name in TASK_FOLDERS else None
    if config is None:
        return {}
    done = os.listdir(f"{parent}/completed") if os.path.isdir(f"{parent}/completed") else []
    return {"config": config} | {f"completed/{file}": "" for file in sorted(done) if _is_task(file)}


MAX_BYTES = 4 << 20  # all files of a plan together
MAX_FILES = 1000
ENDINGS = (".md", ".markdown", ".yaml", ".yml")
BOM = "\ufeff"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
GIVE = "give a plan file, or a folder with plan files"


def load(
    paths: Sequence[str], cwd: str, choice: ListChoice | None = None
) -> tuple[list[PlanSource], list[PlanFinding]]:
    """Returns the texts of these files and of the plan files in these folders, and all findings about them."""
    reading = _PlanReader(cwd, choice or ListChoice())
    for path in paths:
        reading.add(path)
    return reading.sources, reading.findings


class _PlanReader:
    """The files read so far."""

    def __init__(self, cwd: str, choice: ListChoice) -> None:
        self.cwd = cwd
        self.choice = choice
        self.sources: list[PlanSource] = []
        self.findings: list[PlanFinding] = []
        self.known: dict[tuple[int, int, str], str] = {}  # device, inode and tag → the first name of the file
        self.count = 0
        self.size = 0

    def add(self, path: str) -> None:
        """Adds a path given by the user: a file or a folder."""
        full = os.path.join(self.cwd, path)
        if not path or not os.path.isdir(full):
            self._add_file(path, in_folder=False)
            return
        try:
            names = sorted(name for name in os.listdir(full) if _is_plan(full, name))
        except OSError as error:
            self.findings.append(_problem(path, full, error))
            return
        listed = files_of(full, names, self.choice)
        if listed is not None:
            for name in listed:
                self._add_file(os.path.normpath(f"{path}/{name}"), in_folder=len(listed) > 1)
            return
        if not names:
            hint = f"put one there: its name ends with {', '.join(ENDINGS)}"
            self.findings.append(_error(path, "there is no plan file in this folder", hint))
        for name in names:
            self._add_file(f"{path.rstrip('/')}/{name}", in_folder=True)

    def _add_file(self, name: str, *, in_folder: bool) -> None:
        self.count += 1
        if self.count > MAX_FILES:
            if self.count == MAX_FILES + 1:
                self.findings.append(
                    _error(name, f"there are more than {MAX_FILES:,} plan files", "give fewer of them")
                )
            return
        # An empty name or one with a NUL byte is never a file.
        given = os.path.join(self.cwd, file_and_tag(name)[0]) if name and "\0" not in name else ""
        full = current_path(given)
        if full != given:
            name = os.path.normpath(os.path.join(name, os.path.relpath(full, given)))
        try:
            data, facts = _contents(full, max(MAX_BYTES - self.size, 0) + 1)
        except (OSError, InvalidFile) as error:
            self.findings.append(_problem(name, full, error))
            return
        name = with_tag(name, data, full, self.choice)
        identity = (facts.st_dev, facts.st_ino, file_and_tag(name)[1])
        if identity in self.known:
            message = f"this is the same file as {self.known[identity]}"
            self.findings.append(PlanFinding(name, 0, message, hint="it is read once"))
            return
        self.known[identity] = name
        if self._fits(name, data):
            self._take(name, data, full, in_folder=in_folder)

    def _fits(self, name: str, data: bytes) -> bool:
        """Returns whether the file fits; the first that does not is reported, and no file after it is read."""
        had_room = self.size <= MAX_BYTES
        self.size += len(data)
        if had_room and self.size > MAX_BYTES:
            message = f"with this file the plan is larger than {MAX_BYTES >> 20} MiB"
            self.findings.append(_error(name, message, "make it smaller, or split it into several plans"))
        return self.size <= MAX_BYTES

    def _take(self, name: str, data: bytes, full: str, *, in_folder: bool) -> None:
        text = _text(name, data)
        if isinstance(text, PlanFinding):
            self.findings.append(text)
        else:
            neighbours = neighbours_of(full, self.choice)
            stories = self.choice.parallel_stories
            self.sources.append(
                PlanSource(name, text, in_folder=in_folder, neighbours=neighbours, parallel_stories=stories)
            )


def _is_plan(folder: str, name: str) -> bool:
    return name.lower().endswith(ENDINGS) and not name.startswith(".") and not os.path.isdir(f"{folder}/{name}")


def _error(name: str, message: str, hint: str, *, line: int = 0) -> PlanFinding:
    return PlanFinding(name or "''", line, message, hint=hint, error=True)


def _problem(name: str, path: str, error: OSError | InvalidFile) -> PlanFinding:
    if isinstance(error, InvalidFile):
        return _error(name, error.message, error.hint)
    if error.errno == errno.ENOENT:
        return _error(name, "this link leads nowhere" if os.path.islink(path) else "there is no such file", GIVE)
    if error.errno == errno.ELOOP:
        return _error(name, "this link leads in a circle", GIVE)
    reason = REASONS.get(error.errno or 0, os.strerror(error.errno or 0))
    return _error(name, f"cannot read it: {reason}", "fix that and run the command again")


def _contents(path: str, limit: int) -> tuple[bytes, os.stat_result]:
    """Returns the bytes of a regular file up to a limit and its stat result; other kinds are not opened."""
    _refuse_special(os.stat(path))
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        facts = os.fstat(descriptor)
        _refuse_special(facts)
        data = b""
        while len(data) < limit and (chunk := os.read(descriptor, limit - len(data))):
            data += chunk
    finally:
        os.close(descriptor)
    return data, facts


def _refuse_special(facts: os.stat_result) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise InvalidFile("this is not a regular file", GIVE)


def _text(name: str, data: bytes) -> str | PlanFinding:
    """Returns the text without its byte order mark, or the finding that it is not text."""
    if data.startswith(UTF16):
        return _error(name, "this is UTF-16", "save it as UTF-8", line=1)
    if b"\0" in data:
        line = _line(data, data.index(b"\0"))
        return _error(name, "this is binary: there is a NUL byte in it", "give a text file", line=line)
    try:
        text = data.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as error:
        return _error(name, "this is not UTF-8", "save it as UTF-8", line=_line(data, error.start))
    if not text.strip():
        return _error(name, "this file is empty", "write a task as: ## Task 1: name")
    return text


def _line(data: bytes, index: int) -> int:
    """Returns the line number, with any kind of line end."""
    return data[:index].replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1


def replace(home: Home, path: str, before: str, after: str) -> None:
    """Replaces the text that was read, unless the file changed; for a link, its target is replaced."""
    real = os.path.realpath(current_path(path))
    with home.lock():
        bom, mode = _unchanged(real, path, before)
        if after != before:
            _refuse_protected(home.disk, real, path)
            replace_file(home.disk, real, bom + after, mode=mode)


def _unchanged(real: str, path: str, before: str) -> tuple[str, int]:
    """Returns the byte order mark and the mode of the file, if it still has this text."""
    changed = SowError(f"{path} was changed meanwhile: nothing is written", "run the command again")
    try:
        data, facts = _contents(real, MAX_BYTES + 1)
    except (FileNotFoundError, InvalidFile):
        raise changed from None
    except OSError as error:
        raise system_error("read", path, error) from None
    for bom in ("", BOM):
        if data == (bom + before).encode():
            return bom, stat.S_IMODE(facts.st_mode)
    raise changed


def _refuse_protected(disk: Disk, real: str, path: str) -> None:
    """Raises for a read-only file: a rename needs no permission on the file and would replace it."""
    with report_failure("write", path):
        disk.close(disk.open(real, os.O_WRONLY | os.O_NONBLOCK))
