"""Reads and writes index files of fetched sinks and repositories, in a checkout and in the user's own folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sow.domain.documents.state import Repo
from sow.errors import InvalidFile, SowError, suggestion
from sow.store.files import state_file, user_file
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Disk, Lock, read_text
from sow.store.formats import VERSION, json_text
from sow.store.formats.validation import parts
from sow.store.validators.repo_index import validate as validate_repos
from sow.store.validators.sink_index import validate as validate_sinks
from sow.system.environment import user_folder

MAX_ENTRIES = 1000


@dataclass(frozen=True)
class SourceIndex:
    """Describes one kind of index; `key` is the name of its list and of its folder."""

    key: str
    noun: str
    validate: Callable[[Any], None]

    def path(self, home: Home) -> str:
        """Returns the path of a checkout's index."""
        return f"{home.sow}/{self.key}/index.json"

    def user_path(self, environment: Mapping[str, str]) -> str:
        """Returns the path of the user's index, which is for all checkouts."""
        return f"{user_folder(environment, 'XDG_CONFIG_HOME', '.config')}/sow/{self.key}/index.json"

    def load(self, home: Home) -> list[Any]:
        """Returns the entries of this checkout, sorted by name; an empty list without a file."""
        path = self.path(home)
        try:
            return self._parse(home.read(path, json_text.MAX_BYTES), home.relative(path))
        except FileNotFoundError:
            return []

    def load_user(self, environment: Mapping[str, str]) -> list[Any]:
        """Returns the entries of the user, sorted by name; an empty list without a file."""
        path = self.user_path(environment)
        try:
            return self._parse(read_text(Disk(), os.path.realpath(path), json_text.MAX_BYTES), path)
        except FileNotFoundError:
            return []

    def _parse(self, text: str, shown_path: str) -> list[Any]:
        data = json_text.load(text, shown_path)
        version = data.get("schema_version") if isinstance(data, dict) else None
        if isinstance(version, str) and version != VERSION and parts(version) > parts(VERSION):
            raise InvalidFile(f"{shown_path}: a newer sow wrote this ({version:.40})", "upgrade sow and try again")
        state_file.check(data, shown_path, self.validate)
        entries = sorted(data[self.key], key=lambda entry: str(entry["name"]))
        names = [entry["name"] for entry in entries]
        duplicate = next((name for name in names if names.count(name) > 1), "")
        if duplicate:
            raise InvalidFile(
                f"{shown_path}: {self.key}: the name {duplicate!r} is there twice", "remove one of the two entries"
            )
        return entries

    def find(self, entries: list[Any], name: str) -> Any:
        """Returns the entry with that name."""
        entry = next((candidate for candidate in entries if candidate["name"] == name), None)
        if entry is None:
            names = [item["name"] for item in entries]
            hint = f"there are: {', '.join(names[:12])}" if names else f"see 'sow {self.key} list'"
            raise SowError(f"there is no {self.noun} {name!r:.80}", suggestion(name, names) or hint)
        return entry

    def save(self, home: Home, entries: list[Any]) -> None:
        """Replaces a checkout's index; the caller holds the lock."""
        home.folder(self.key)
        path = self.path(home)
        home.replace(path, self._text(entries, home.relative(path)))

    def add_or_replace(self, home: Home, entry: Any) -> None:
        """Adds an entry to a checkout's index, or replaces the one with its name; the caller holds the lock."""
        self.save(home, _with(self.load(home), entry))

    def remove(self, home: Home, name: str) -> None:
        """Removes an entry from a checkout's index; the caller holds the lock."""
        self.save(home, [entry for entry in self.load(home) if entry["name"] != name])

    def put_user(self, environment: Mapping[str, str], entry: Any) -> None:
        """Adds an entry to the user's index, or replaces it. If another source has its name, it gets a free name."""
        path = self.user_path(environment)
        user_file.make_folders(os.path.dirname(path))
        with Lock(os.path.dirname(path)):
            user_entries = self.load_user(environment)
            other_names = {item["name"] for item in user_entries if not _is_same(item, entry)}
            old_name = self.user_name(user_entries, entry)
            name = old_name if entry["name"] in other_names and old_name else _free(entry["name"], other_names)
            user_file.write(path, self._text(_with(user_entries, {**entry, "name": name}), path))

    def user_name(self, user_entries: list[Any], entry: Any) -> str:
        """Returns the name of a checkout's entry in the user's index, which may differ; empty if absent."""
        names = [item["name"] for item in user_entries if _is_same(item, entry)]
        return entry["name"] if entry["name"] in names else next(iter(names), "")

    def drop_user(self, environment: Mapping[str, str], name: str) -> None:
        """Removes an entry from the user's index."""
        path = self.user_path(environment)
        self.find(self.load_user(environment), name)
        with Lock(os.path.dirname(path)):
            user_file.write(path, self._text([e for e in self.load_user(environment) if e["name"] != name], path))

    def _text(self, entries: list[Any], shown_path: str) -> str:
        if len(entries) > MAX_ENTRIES:
            raise SowError(
                f"{shown_path} has {MAX_ENTRIES} entries already", f"remove some of them: sow {self.key} remove NAME"
            )
        data = {"schema_version": VERSION, self.key: entries}
        state_file.check(data, shown_path, self.validate)
        return json_text.dump(data)


def _with(entries: list[Any], entry: Any) -> list[Any]:
    others = [item for item in entries if item["name"] != entry["name"]]
    return sorted([*others, entry], key=lambda item: str(item["name"]))


def _is_same(first: Any, second: Any) -> bool:
    return first.get("mode") == second.get("mode") and has_source([first], second["source"])


def _free(name: str, used_names: set[str]) -> str:
    number = 2
    candidate = name
    while candidate in used_names:
        candidate = f"{name[:60]}-{number}"
        number += 1
    return candidate


def has_source(entries: list[Any], source: Mapping[str, str]) -> bool:
    """Returns True if one of the entries has the same source, at any ref."""
    location = {key: value for key, value in source.items() if key != "ref"}
    return any({**entry["source"], "ref": ""} == {**location, "ref": ""} for entry in entries)


SINKS = SourceIndex("sinks", "sink", validate_sinks)
REPOS = SourceIndex("repos", "repository", validate_repos)


def link_targets(environment: Mapping[str, str]) -> frozenset[str]:
    """Returns the targets of the user's own links; a link from anybody else is not followed."""
    try:
        repos: list[Repo] = REPOS.load_user(environment)
    except SowError:  # `sow repos list` reports the problem
        return frozenset()
    return frozenset(os.path.realpath(repo["source"]["url"]) for repo in repos if repo["mode"] == "symlink")
