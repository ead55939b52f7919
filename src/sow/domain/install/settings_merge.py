"""Puts sow's hooks and permission rules into the settings of an agent CLI, and keeps everything that others added."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sow.domain.install.file_mark import DIGEST, VERSION

Settings = dict[str, Any]

GUARD = "command -v sow "  # the start of a hook that does nothing if sow is not installed
MARKS = (VERSION, DIGEST)
SECTIONS = ("hooks", "permissions")  # objects of lists


@dataclass(frozen=True)
class MergedSettings:
    """The updated settings. `changed` tells whether sow's hooks in the file differed from the installed ones."""

    text: str
    changed: bool


def merge_settings(text: str, ours: str, *, remove: bool = False) -> MergedSettings | None:
    """Returns the settings with sow's part replaced or removed; None if the document cannot be kept as it is."""
    try:
        settings = json.loads(text, object_pairs_hook=_unique)
        new: Settings = json.loads(ours)
        others = _without(settings, new)
        is_ours = VERSION in settings  # sow made the file
        merged = others if remove else _with(others, new)
        if is_ours and not remove:
            merged = {key: new[key] for key in MARKS} | merged
        if is_ours and not others:
            merged_text = "" if remove else ours
        else:
            merged_text = text if merged == settings else _document(merged, text)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    old_hooks = _hooks_of_sow(settings)
    return MergedSettings(merged_text, changed=bool(old_hooks) and not remove and old_hooks != new["hooks"])


def _unique(pairs: list[tuple[str, Any]]) -> Settings:
    """Returns an object; one with the same key twice would lose a value."""
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError
    return mapping


def _without(settings: Settings, new: Settings) -> Settings:
    """Returns the settings without the mark, the hooks and the rules of sow, and without lists that held only those."""
    others = {key: value for key, value in settings.items() if key not in MARKS}
    for section in [name for name in SECTIONS if name in others]:
        lists = others.pop(section)
        ours = new.get(section, {})
        left = {name: _not_ours(entries, ours.get(name, [])) for name, entries in lists.items()}
        left = {name: entries for name, entries in left.items() if entries or not lists[name]}
        others |= {section: left} if left or not lists else {}
    return {key: others[key] for key in settings if key in others}


def _not_ours(entries: Any, ours: list[Any]) -> Any:
    if not isinstance(entries, list):  # another setting, such as the default mode
        return entries
    return [entry for entry in entries if entry not in ours and not _is_hook_of_sow(entry)]


def _with(others: Settings, new: Settings) -> Settings:
    """Returns the settings with the hooks of sow first and its rules last in each list."""
    merged = dict(others)
    for section in SECTIONS:
        merged[section] = dict(merged.get(section, {}))
        for name, entries in new.get(section, {}).items():
            existing = merged[section].get(name, [])
            if not isinstance(existing, list):
                raise TypeError
            merged[section][name] = [*entries, *existing] if section == "hooks" else [*existing, *entries]
        if not merged[section]:
            del merged[section]
    return merged


def _hooks_of_sow(settings: Settings) -> Settings:
    lists = {name: entries for name, entries in settings.get("hooks", {}).items() if isinstance(entries, list)}
    hooks = {name: [entry for entry in entries if _is_hook_of_sow(entry)] for name, entries in lists.items()}
    return {name: entries for name, entries in hooks.items() if entries}


def _is_hook_of_sow(entry: Any) -> bool:
    """Returns whether an entry only calls sow's hooks."""
    calls = entry.get("hooks") if isinstance(entry, dict) else None
    return isinstance(calls, list) and bool(calls) and all(isinstance(call, dict) and _calls(call) for call in calls)


def _calls(call: Settings) -> bool:
    guard, _, last = str(call.get("command", "")).rpartition("; ")
    words = last.split()
    return words[:2] == ["sow", "hook"] and len(words) == 3 and guard.startswith(GUARD if guard else "")


def _document(settings: Settings, text: str) -> str:
    """Returns settings as a document that is indented like the old text."""
    indents = [line[: len(line) - len(line.lstrip())] for line in text.splitlines() if line[:1] in (" ", "\t")]
    document = json.dumps(settings, indent=indents[0] if indents else 2, ensure_ascii=False, allow_nan=False)
    document.encode()
    return document + ("\n" if text.endswith("\n") or not indents else "")
