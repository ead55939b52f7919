"""Prints, changes and removes single settings (`sow config get`, `sow config set`, `sow config unset`)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from sow import config as configs
from sow.cli.agents.show import roles
from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.setup import config_check, config_show
from sow.config import Config
from sow.domain.health_finding import Finding, new_finding
from sow.errors import InvalidFile, SowError, suggestion
from sow.executors.settings import DEFAULT_EXECUTORS, TYPE_OF_SETTING
from sow.store.files import user_file
from sow.store.files.disk import Lock
from sow.store.formats import schema, yaml_edit, yaml_text
from sow.system.terminal import escape_line, out

Rule = dict[str, Any]
BY_EXECUTOR = ("agents.executors", "host.capacity")  # sections whose keys are executors; those of others are roles
PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
}


class Keys:
    """The keys of the user's settings, with the executors and roles that are known here."""

    def __init__(self, context: Context) -> None:
        try:
            self.config = context.config()
        except InvalidFile:  # a mistake in the file; a change may be the correction
            self.config = Config(configs.path(context.environment), None, context.environment)
        self.roles = self.config.roles(roles(context, self.config).names())
        self.rules: Rule = schema.document("user-config")

    def all(self) -> list[str]:
        """Returns the full key of each value."""
        return list(self._below(self.rules, ""))

    def candidates(self) -> list[str]:
        """Returns all keys that can be typed."""
        return [*self.all(), *(f"agents.{role}" for role in self.roles)]

    def _below(self, rule: Rule, key: str) -> Iterator[str]:
        names = self.config.executors if key in BY_EXECUTOR else self.roles
        fields: dict[str, Rule] = rule.get("properties", {})
        if _has_names(rule):
            inner: Rule = rule["additionalProperties"]
            fields = dict.fromkeys(names, inner)
        elif not fields:
            yield key
        for name, field in fields.items():
            yield from self._below(field, f"{key}.{name}" if key else name)

    def resolve(self, key: str) -> list[str]:
        """Returns the parts of the full key that a key or its short form means."""
        parts = key.split(".")
        if parts[0] in ("executors", "bindings", "fallbacks"):
            parts.insert(0, "agents")
        if parts[0] == "agents" and len(parts) == 2 and parts[1] in self.roles:
            parts.insert(1, "bindings")
        if parts[:3] == ["agents", "executors", "claude"] and "claude" not in self.config.executors:
            parts[2] = configs.DEFAULT_EXECUTOR
        if not self.rule(parts):
            raise self.unknown(key)
        return parts

    def rule(self, parts: list[str]) -> Rule:
        """Returns the schema of a key; empty if there is no such key."""
        rule = self.rules
        for part in parts:
            names_rule = rule["additionalProperties"] if _has_names(rule) and part else {}
            rule = rule.get("properties", {}).get(part, names_rule)
        return rule

    def unknown(self, key: str) -> SowError:
        """Returns the error for a key that does not exist, with the nearest key."""
        last = key.rpartition(".")[2]
        same_end = [name for name in self.candidates() if last and name.rpartition(".")[2] == last]
        names = [list(self.rules["properties"]), self.candidates()]
        parts = [same_end, *names[::-1]] if "." in key else names
        hint = next(filter(None, (suggestion(key, part) for part in parts)), "")
        return SowError(f"unknown key: {key}", hint or "see all settings: sow config show")


def _has_names(rule: Rule) -> bool:
    """Returns whether a section has names of executors or roles as its keys."""
    return isinstance(rule.get("additionalProperties"), dict)


def get(context: Context, *, key: str, json: bool) -> int:
    config = context.config()
    keys = Keys(context)
    full_key = ".".join(keys.resolve(key))
    names = [name for name in keys.all() if f"{name}.".startswith(f"{full_key}.")]
    if not names:
        raise keys.unknown(key)
    document = config_show.document(config, keys.roles)
    values = {name: _value_in(document, name.split("."), keys) for name in names}
    if json:
        emit({"settings": values})
    elif names == [full_key]:
        value = values[full_key]["value"]
        out(escape_line(value if isinstance(value, str) else config_show.value_text(value)))
    else:
        texts = {name: config_show.value_text(setting["value"]) for name, setting in values.items()}
        out("\n".join(escape_line(f"{name}: {text}") for name, text in texts.items()))
    return 0


def _value_in(document: Any, parts: list[str], keys: Keys) -> dict[str, Any]:
    """Returns the value of a key and its origin; the value is None if there is none."""
    for part in parts:
        document = document.get(part, {})
    return document or {"value": keys.rule(parts).get("default"), "origin": configs.DEFAULT}


def set_value(context: Context, *, key: str, value: list[str]) -> int:
    context.require_non_worker("change the user's settings")
    keys = Keys(context)
    parts = keys.resolve(key)
    full_key, rule = ".".join(parts), keys.rule(parts)
    if "properties" in rule or _has_names(rule):
        raise SowError(f"{full_key} is a section, not a value", f"see its settings: sow config get {full_key}")
    new_value = _typed(rule, value, full_key)
    shown_value = config_show.value_text(new_value)

    def edit(text: str, data: dict[str, Any]) -> str:
        changes = [(parts, new_value)]
        if parts[1:2] == ["executors"] and not _at(data, [*parts[:3], "type"]):  # an executor in the file needs a type
            kind = DEFAULT_EXECUTORS.get(parts[2]) or TYPE_OF_SETTING.get(parts[-1])
            changes = [([*parts[:3], "type"], kind), *changes] if kind else changes
        for place, item in changes:
            text = yaml_edit.set_value(text, place, config_show.value_text(item))
            _put(data, place, item)
        return text

    _change_file(context, full_key, edit, f"set {full_key} to {shown_value} in")
    variable = configs.role_variable(parts[-1])
    if parts[:2] == ["agents", "bindings"] and variable in keys.config.overrides:
        what = f"{variable}={keys.config.overrides[variable]} overrides it in this shell"
        config_check.print_finding(new_finding("warning", what, f"run: unset {variable}"))
    return 0


def unset(context: Context, *, key: str) -> int:
    context.require_non_worker("change the user's settings")
    parts = Keys(context).resolve(key)
    full_key = ".".join(parts)

    def edit(text: str, data: dict[str, Any]) -> str:
        section = _at(data, parts[:-1])
        if not isinstance(section, dict) or parts[-1] not in section:
            return text
        del section[parts[-1]]
        return yaml_edit.remove(text, parts)

    _change_file(context, full_key, edit, f"removed {full_key} from")
    return 0


def _typed(rule: Rule, words: list[str], key: str) -> Any:
    """Returns the value that the words mean by the schema; the schema's check finds a value that does not fit."""
    kinds = rule.get("type", "string")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if len(words) > 1 and "array" not in kinds:
        raise SowError(f"{key} takes one value, not {len(words)}", "put quotes around a value of several words")
    if len(words) == 1:
        with contextlib.suppress(InvalidFile):
            value = yaml_text.load(words[0], key) if words[0].strip() else ""
            if any(type(value) in PYTHON_TYPES.get(kind, ()) for kind in kinds):
                return value
        if "array" not in kinds or "string" in kinds:
            return words[0]
        if words[0].startswith("["):
            hint = f"give the items without brackets: sow config set {key} A B"
            raise SowError(f"{key}: not a list: {words[0]}", hint)
    return [_typed(rule["items"], [word], key) for word in words if words != [""]]


def _change_file(context: Context, key: str, edit: Callable[[str, dict[str, Any]], str], done: str) -> None:
    """Changes the settings file, if the result can be used; `edit` returns the new text and changes the data alike."""
    path = configs.path(context.environment)
    folder = os.path.dirname(path)
    with Lock(folder) if os.path.isdir(folder) else contextlib.nullcontext():
        text = configs.read(path)
        data = configs.document(text or "", path)
        if not isinstance(data, dict):
            raise InvalidFile(f"{path}: must be a mapping", configs.FIX_HINT)
        new_text = edit(text or "", data)
        if new_text == (text or ""):
            out(f"{path} needs no change")
            return
        if not _says(new_text, data, path):
            message = f"{path} has a layout in which sow cannot change {key}"
            raise SowError(message, "edit it: sow config edit")
        warnings = _check(context, new_text, path)
        backup = user_file.keep_copy(path) if text is not None else ""
        user_file.write(path, new_text)
    out(f"{done} {path}")
    if backup:
        out(f"backup: {backup}")
    for warning in warnings:
        config_check.print_finding(warning)


def _check(context: Context, new_text: str, path: str) -> list[Finding]:
    """Returns the warnings that a new text adds; raises for a text that cannot be used."""
    before, after = config_check.check(context), config_check.check(context, new_text)
    earlier = [finding["what"] for finding in before]
    problems = [finding for finding in after if finding["state"] == "problem" and "line" in finding]
    for problem in problems:
        if problem["what"] not in earlier:
            place, _, message = problem["what"].partition(": ")
            hint = "nothing was changed; see the rules: sow schema show user-config"
            if message.startswith("is missing"):
                example = "claude" if place.endswith(".type") else "my-agent"
                hint = f"nothing was changed; set a value: sow config set {place} {example}"
            raise SowError(problem["what"], hint if problem["hint"] == configs.FIX_HINT else problem["hint"])
    for problem in problems:
        raise InvalidFile(config_check.located(problem, path), configs.FIX_HINT)
    return [finding for finding in after if finding["state"] == "warning" and finding["what"] not in earlier]


def _at(data: Any, parts: list[str]) -> Any:
    """Returns the value at a key, or None."""
    for part in parts:
        data = data.get(part) if isinstance(data, dict) else None
    return data


def _put(data: dict[str, Any], parts: list[str], value: Any) -> None:
    """Sets the value at a key; makes the sections on the way."""
    for part in parts[:-1]:
        if not isinstance(data.get(part), dict):
            data[part] = {}
        data = data[part]
    data[parts[-1]] = value


def _says(text: str, data: Any, path: str) -> bool:
    """Returns whether a text has this content, so that a layout that `yaml_edit` does not know does no harm."""
    try:
        return bool(_comparable(configs.document(text, path)) == _comparable(data))
    except InvalidFile:
        return False


def _comparable(data: Any) -> Any:
    """Returns the data with None for each empty section: an emptied section has no value in the file."""
    if isinstance(data, dict):
        return {key: _comparable(value) for key, value in data.items()} or None
    return data
