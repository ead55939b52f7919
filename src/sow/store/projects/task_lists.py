"""Finds the task lists of spec-kit, Task Master and Backlog.md in a folder, and the files beside them that count."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from sow.domain.plans.plan import JSON_ENDING, file_and_tag

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
    feature = _object(_text(path)).get("feature_directory")
    return feature if isinstance(feature, str) else ""


def _object(text: str | bytes) -> dict[str, object]:
    """Returns the object of a JSON text; an empty one if it is none."""
    import json  # a plan in Markdown does not load it

    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _text(path: str) -> str:
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
            return _text(f"{folder}/{name}")
    parent = os.path.abspath(folder)
    for _ in range(DEEPEST):
        parent = os.path.dirname(parent)
        if os.path.isfile(f"{parent}/{ROOT_CONFIG}"):
            return _text(f"{parent}/{ROOT_CONFIG}")
    return "" if os.path.basename(os.path.abspath(folder)) in BACKLOG_FOLDERS else None


def with_tag(name: str, data: bytes, path: str, choice: ListChoice) -> str:
    """Returns the name of a task list in JSON with its tag: the chosen one, else the current one of Task Master."""
    file, tag = file_and_tag(name)
    if not file.lower().endswith(JSON_ENDING) or tag:
        return name
    keys = _object(data).keys()
    current = _object(_text(f"{os.path.dirname(os.path.dirname(path))}/state.json")).get("currentTag")
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
