"""Reads packaged prompts: templates for workers, and guidance that workers load themselves."""

from __future__ import annotations

import os

from sow.errors import SowError, suggestion

FOLDER = os.path.join(os.path.dirname(__file__), "prompts_text")
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
TEXTS: dict[str, str] = {}  # cache: a run takes hundreds of turns with the same few prompts
TASK = "{id}"  # placeholder for the worker's own task in a prompt


def names(root: str = FOLDER) -> list[str]:
    """Lists the packaged prompts below a folder by the names that `sow prompt` takes."""
    prompt_names = []
    for folder, _, files in os.walk(root):
        inside = os.path.relpath(folder, root)
        prompt_names += [
            os.path.normpath(f"{inside}/{name.removesuffix('.md')}") for name in files if name.endswith(".md")
        ]
    return sorted(prompt_names)


def load(name: str) -> str:
    """Returns the text of one prompt as it was written."""
    if name not in TEXTS:
        TEXTS[name] = _read(name)
    return TEXTS[name]


def load_prompt(prompt_path: str) -> str:
    """Returns the template of a role by its file name, such as implementer.md."""
    return load(f"templates/{prompt_path.removesuffix('.md')}")


def _read(name: str) -> str:
    parts = name.split("/")
    if all(part and LETTERS.issuperset(part) for part in parts):
        try:
            with open(f"{os.path.join(FOLDER, *parts)}.md", encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            pass
    raise SowError(
        f"failed to load prompt {name}: it does not exist", suggestion(name, names()) or "see 'sow prompt --list'"
    )


def title(text: str) -> str:
    """Returns a prompt's first heading, or its first line."""
    lines = [line for line in text.split("\n") if line.strip()]
    return next((line for line in lines if line.startswith("# ")), lines[0] if lines else "").removeprefix("# ")


def quoted(text: str) -> str:
    """Quotes text of others, so that no line of it can look like one of sow's."""
    return "\n".join(f"| {line}" for line in text.splitlines())


def render(text: str, *, sow: str, task: str) -> str:
    """Puts the full path of sow into a prompt's commands, because some CLIs replace PATH; and the task's id."""
    lines = []
    fenced = False
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        if fenced and line.startswith("sow "):
            line = f"{sow} {line.removeprefix('sow ')}"
        lines.append(line.replace("`sow ", f"`{sow} "))
    return "\n".join(lines).replace(TASK, task)
