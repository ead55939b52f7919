"""Agents in files: Markdown with frontmatter, found by a whitelist of folders. A bad file is only a warning."""

from __future__ import annotations

import os

from sow.agents.agent import Agent
from sow.errors import InvalidFile, SowError
from sow.store import yaml_text
from sow.store.disk import Disk, failure, read_text
from sow.store.formats import is_agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NUMBERED = tuple(f"{number:02d}-" for number in range(1, 11))
FIELDS = ("name", "description", "tools")
MAX_FILE = 1 << 20
MOST_FILES = 1000
YAML_SIGNS = tuple("\"'[{|>&*!")  # a text that begins with one of these is meant as YAML, and no prose
OURS = "sow-version:"  # in the frontmatter of files that `sow install` wrote: copies of built-in roles, no source


def discover(folder: str, source: str, *, inside: str = "") -> tuple[dict[str, Agent], list[str]]:
    """The agents below a folder, and a warning for each file that is none; a missing folder has none.

    A link may not lead out of `inside`: it could make a role of a file that its repository does not even hold.
    """
    found: dict[str, Agent] = {}
    warnings: list[str] = []
    for path in _files(folder, warnings):
        try:
            agent = read_agent(real_path(path, inside), source, path)
        except SowError as error:
            said = error.message.removeprefix(path)
            warnings.append(f"{path}{said}" if said.startswith(":") else f"{path}: {said.strip()}")
            continue
        if agent is None:
            continue
        if agent.name in found:
            warnings.append(f"{path}: agent {agent.name} is defined in {found[agent.name].path} already")
        else:
            found[agent.name] = agent
    return found, warnings


def _files(folder: str, warnings: list[str]) -> list[str]:
    """Markdown files at the root and in numbered folders (01-* to 10-*), without what is documentation by its name."""
    entries = _entries(folder, warnings)
    found = [entry.path for entry in entries if _is_definition(entry)]
    seen = {os.path.realpath(folder)}  # a link to a folder that is read already brings nothing
    for entry in entries:
        if entry.name.startswith(NUMBERED) and _is_folder(entry) and os.path.realpath(entry.path) not in seen:
            seen.add(os.path.realpath(entry.path))
            found += [each.path for each in _entries(entry.path, warnings) if _is_definition(each)]
    if len(found) > MOST_FILES:
        warnings.append(f"{folder}: {len(found)} files; only the first {MOST_FILES} are read")
    return found[:MOST_FILES]


def _entries(folder: str, warnings: list[str]) -> list[os.DirEntry[str]]:
    """What is in a folder, by name; nothing if it is not there."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        warnings.append(failure("read", folder, error).message)
        return []


def _is_definition(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    named = name.endswith(".md") and name != "README.md" and not name.endswith("-framework.md")
    return named and not _is_folder(entry)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads in a circle: it is read, and then said
        return False


def real_path(path: str, inside: str = "") -> str:
    """Where a file really is."""
    real = os.path.realpath(path)
    if os.path.islink(path) and not os.path.exists(path):
        raise SowError(f"{path}: it is a link that leads nowhere", "put the file itself there, or remove the link")
    if inside and not real.startswith(f"{os.path.realpath(inside)}{os.sep}"):
        raise SowError(f"{path}: it is a link that leads out of the repository", "put the file itself there")
    return real


def read_agent(path: str, source: str, shown: str = "") -> Agent | None:
    """The agent that a file defines; None for a file that our own install wrote."""
    shown = shown or path
    try:
        head, body = split(read_text(Disk(), path, MAX_FILE), shown)
    except FileNotFoundError:
        raise SowError(f"{shown}: there is no such file", "give the path of an agent's file") from None
    except InvalidFile as error:
        raise InvalidFile(error.message.replace(path, shown, 1), error.hint) from None
    if any(line.startswith(OURS) for line in head.split("\n")):
        return None
    fields = _fields(head, shown)
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or not is_agent(name):
        raise SowError(f"{shown}: name: must be lower case with hyphens, not {name!r:.80}", "name: my-agent")
    if not isinstance(description, str) or not description.strip():
        raise SowError(f"{shown}: description is missing", "say in one sentence when to use this agent")
    if not body.strip():
        raise SowError(f"{shown}: there is no prompt below the frontmatter", "write what the agent must know and do")
    return Agent(
        name=name,
        description=" ".join(description.split()),
        tools=_tools(fields.get("tools"), shown),
        source=source,
        path=shown,
        ignored=tuple(sorted(str(key) for key in fields if key not in FIELDS)),
    )


def split(text: str, path: str) -> tuple[str, str]:
    """The frontmatter and the body of a Markdown file."""
    lines = text.replace("\r\n", "\n").split("\n")
    fences = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    if len(fences) < 2 or fences[0] != 0:
        raise SowError(f"{path}: there is no frontmatter", "begin the file with ---, name, description and ---")
    return "\n".join(lines[1 : fences[1]]), "\n".join(lines[fences[1] + 1 :]).strip("\n")


def _fields(head: str, path: str) -> dict[Any, Any]:
    """The frontmatter's fields; an empty line stands for the fence, so that an error has the file's own line."""
    try:
        fields = yaml_text.load(f"\n{head}\n", path)
    except InvalidFile:
        quoted = _quoted(head)
        if quoted == head:
            raise
        fields = yaml_text.load(f"\n{quoted}\n", path)
    if not isinstance(fields, dict):
        raise SowError(
            f"{path}: the frontmatter is not a mapping", "write name, description and tools between two --- lines"
        )
    return fields


def _quoted(head: str) -> str:
    """The frontmatter with its description quoted: agent CLIs themselves write prose with colons there."""
    field = "description: "
    return "\n".join(
        field + yaml_text.scalar(line.removeprefix(field).strip())
        if line.startswith(field) and line.removeprefix(field).strip()[:1] not in YAML_SIGNS
        else line
        for line in head.split("\n")
    )


def _tools(value: Any, path: str) -> tuple[str, ...]:
    """`tools: [Read, Grep]`, or `tools: Read, Grep`; a tool is one word, so that it can never be a flag."""
    names = [each.strip() for each in value.split(",")] if isinstance(value, str) else value or []
    if not isinstance(names, list):
        raise SowError(f"{path}: tools: must be a list of names", "tools: [Read, Grep, Edit]")
    for each in names:
        if not isinstance(each, str) or not _is_tool(each):
            raise SowError(f"{path}: tools: {each!r:.80} is not the name of a tool", "tools: [Read, Grep, Edit]")
    return tuple(dict.fromkeys(names))


def _is_tool(name: str) -> bool:
    letters = name.replace("_", "").replace("-", "")
    return len(name) <= 200 and letters.isascii() and letters.isalnum() and not name.startswith("-")
