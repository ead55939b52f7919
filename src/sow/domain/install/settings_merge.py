"""Updates sow's hooks in the settings of an agent CLI, and keeps everything that others added."""

from __future__ import annotations

from sow.domain.install.file_mark import DIGEST, VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SOW_HOOK = "sow hook "


class MergedSettings:
    """The updated settings. `changed` tells whether sow's hooks in the file differed from the installed ones."""

    __slots__ = ("changed", "text")

    def __init__(self, text: str, *, changed: bool) -> None:
        self.text = text
        self.changed = changed


def merge_settings(text: str, ours: str) -> MergedSettings | None:
    """Return the settings with sow's part replaced, or removed if `ours` is empty. None if the document is invalid."""
    import json

    try:
        settings = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(settings, dict) or not isinstance(settings.get("hooks", {}), dict):
        return None
    new: dict[str, Any] = json.loads(ours) if ours else {}
    other_settings = {key: value for key, value in settings.items() if key not in (VERSION, DIGEST, "hooks")}
    old_hooks, other_hooks = _split_hooks(settings.get("hooks", {}))
    changed = bool(ours) and old_hooks != new["hooks"]
    if not other_settings and not other_hooks:
        return MergedSettings(ours, changed=changed)
    merged = {**new, **other_settings}
    hooks = new.get("hooks", {})
    all_hooks = {event: [*hooks.get(event, []), *other_hooks.get(event, [])] for event in {**hooks, **other_hooks}}
    merged |= {"hooks": all_hooks} if all_hooks else {}
    return MergedSettings(
        text if merged == settings else json.dumps(merged, indent=2, ensure_ascii=False) + "\n", changed=changed
    )


def _split_hooks(hooks: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split hooks into those that call sow and all others."""
    ours: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for event, entries in hooks.items():
        for entry in entries if isinstance(entries, list) else [entries]:
            (ours if _is_ours(entry) else others).setdefault(event, []).append(entry)
    return ours, others


def _is_ours(entry: Any) -> bool:
    """Return whether an entry only calls sow."""
    calls = entry.get("hooks") if isinstance(entry, dict) else None
    return isinstance(calls, list) and bool(calls) and all(isinstance(call, dict) and _calls(call) for call in calls)


def _calls(call: dict[str, Any]) -> bool:
    return SOW_HOOK in str(call.get("command", ""))
