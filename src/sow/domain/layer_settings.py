"""The settings of an agent CLI that `sow install` wrote: the person and the CLI itself add to them, and that stays."""

from __future__ import annotations

from sow.domain.layer_mark import DIGEST, VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OURS = "sow hook "


class Fitted:
    """The settings with another part of ours; `changed` where the part before was not that of any plain copy."""

    __slots__ = ("changed", "text")

    def __init__(self, text: str, *, changed: bool) -> None:
        self.text = text
        self.changed = changed


def fit(text: str, ours: str) -> Fitted | None:
    """Settings with our part anew, or without it where `ours` is empty; None where this is no such document."""
    import json

    try:
        known = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(known, dict) or not isinstance(known.get("hooks", {}), dict):
        return None
    wanted: dict[str, Any] = json.loads(ours) if ours else {}
    rest = {key: value for key, value in known.items() if key not in (VERSION, DIGEST, "hooks")}
    before, others = _parted(known.get("hooks", {}))
    changed = bool(ours) and before != wanted["hooks"]
    if not rest and not others:
        return Fitted(ours, changed=changed)
    made = {**wanted, **rest}
    hooks = wanted.get("hooks", {})
    both = {event: [*hooks.get(event, []), *others.get(event, [])] for event in {**hooks, **others}}
    made |= {"hooks": both} if both else {}
    return Fitted(text if made == known else json.dumps(made, indent=2, ensure_ascii=False) + "\n", changed=changed)


def _parted(hooks: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The hooks that call sow, and those of others."""
    ours: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for event, entries in hooks.items():
        for entry in entries if isinstance(entries, list) else [entries]:
            (ours if _is_ours(entry) else others).setdefault(event, []).append(entry)
    return ours, others


def _is_ours(entry: Any) -> bool:
    """Whether an entry does nothing but call sow."""
    calls = entry.get("hooks") if isinstance(entry, dict) else None
    return isinstance(calls, list) and bool(calls) and all(isinstance(each, dict) and _calls(each) for each in calls)


def _calls(call: dict[str, Any]) -> bool:
    return OURS in str(call.get("command", ""))
