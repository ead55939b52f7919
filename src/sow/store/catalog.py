"""Index files of fetched things: entries with names, under a schema, in a checkout and in the user's own folder."""

from __future__ import annotations

import os

from sow.errors import InvalidFile, SowError, nearest
from sow.store import json_text, state, user_file
from sow.store.disk import Disk, read_text
from sow.store.lock import Lock
from sow.store.schema import VERSION, parts
from sow.system.environment import user_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sow.store.home import Home
    from sow.store.state import Validate

MOST = 1000


class Catalog:
    """One kind of index; `key` is the name of its list, and of its folder."""

    __slots__ = ("key", "noun", "validate")

    def __init__(self, key: str, noun: str, validate: Validate) -> None:
        self.key = key
        self.noun = noun
        self.validate = validate

    def path(self, home: Home) -> str:
        """The file of a checkout."""
        return f"{home.sow}/{self.key}/index.json"

    def user_path(self, environment: Mapping[str, str]) -> str:
        """The file of the user, for all checkouts."""
        return f"{user_folder(environment, 'XDG_CONFIG_HOME', '.config')}/sow/{self.key}/index.json"

    def load(self, home: Home) -> list[Any]:
        """What is in this checkout, by name; without a file there is nothing."""
        path = self.path(home)
        try:
            return self._parse(home.read(path, json_text.MAX_BYTES), home.relative(path))
        except FileNotFoundError:
            return []

    def load_user(self, environment: Mapping[str, str]) -> list[Any]:
        """What the user has in whatever checkout."""
        path = self.user_path(environment)
        try:
            return self._parse(read_text(Disk(), os.path.realpath(path), json_text.MAX_BYTES), path)
        except FileNotFoundError:
            return []

    def _parse(self, text: str, shown: str) -> list[Any]:
        data = json_text.load(text, shown)
        version = data.get("schema_version") if isinstance(data, dict) else None
        if isinstance(version, str) and version != VERSION and parts(version) > parts(VERSION):
            raise InvalidFile(f"{shown}: a newer sow wrote this ({version:.40})", "upgrade sow and try again")
        state.check(data, shown, self.validate)
        entries = sorted(data[self.key], key=lambda each: str(each["name"]))
        names = [each["name"] for each in entries]
        twice = next((name for name in names if names.count(name) > 1), "")
        if twice:
            raise InvalidFile(
                f"{shown}: {self.key}: the name {twice!r} is there twice", "remove one of the two entries"
            )
        return entries

    def find(self, entries: list[Any], name: str) -> Any:
        """The entry of that name."""
        found = next((each for each in entries if each["name"] == name), None)
        if found is None:
            known = [each["name"] for each in entries]
            listed = f"there are: {', '.join(known[:12])}" if known else f"see 'sow {self.key} list'"
            raise SowError(f"there is no {self.noun} {name!r:.80}", nearest(name, known) or listed)
        return found

    def save(self, home: Home, entries: list[Any]) -> None:
        """Replace the file of a checkout; the caller has its lock."""
        home.folder(self.key)
        path = self.path(home)
        home.replace(path, self._text(entries, home.relative(path)))

    def put(self, home: Home, entry: Any) -> None:
        """Add an entry to a checkout's file, in the place of one with its name; the caller has the lock."""
        self.save(home, _with(self.load(home), entry))

    def drop(self, home: Home, name: str) -> None:
        """Take an entry out of a checkout's file; the caller has the lock."""
        self.save(home, [each for each in self.load(home) if each["name"] != name])

    def put_user(self, environment: Mapping[str, str], entry: Any) -> None:
        """Add an entry to the user's file, in its old place there; a name that another source has is left to it."""
        path = self.user_path(environment)
        user_file.make_folders(os.path.dirname(path))
        with Lock(os.path.dirname(path)):
            mine = self.load_user(environment)
            others = {each["name"] for each in mine if not _is_same(each, entry)}
            before = self.user_name(mine, entry)
            name = before if entry["name"] in others and before else _free(entry["name"], others)
            user_file.write(path, self._text(_with(mine, {**entry, "name": name}), path))

    def user_name(self, mine: list[Any], entry: Any) -> str:
        """By which name the user knows an entry of a checkout: its own, or the one that it got beside another's."""
        names = [each["name"] for each in mine if _is_same(each, entry)]
        return entry["name"] if entry["name"] in names else next(iter(names), "")

    def drop_user(self, environment: Mapping[str, str], name: str) -> None:
        """Take an entry out of the user's file."""
        path = self.user_path(environment)
        self.find(self.load_user(environment), name)
        with Lock(os.path.dirname(path)):
            user_file.write(path, self._text([e for e in self.load_user(environment) if e["name"] != name], path))

    def _text(self, entries: list[Any], shown: str) -> str:
        if len(entries) > MOST:
            raise SowError(f"{shown} has {MOST} entries already", f"remove some of them: sow {self.key} remove NAME")
        data = {"schema_version": VERSION, self.key: entries}
        state.check(data, shown, self.validate)
        return json_text.dump(data)


def _with(entries: list[Any], entry: Any) -> list[Any]:
    others = [each for each in entries if each["name"] != entry["name"]]
    return sorted([*others, entry], key=lambda each: str(each["name"]))


def _is_same(one: Any, two: Any) -> bool:
    """Whether two entries come from the same place in the same way."""
    return one.get("mode") == two.get("mode") and is_known([one], two["source"])


def _free(name: str, taken: set[str]) -> str:
    """The name itself, or with a number where it is taken."""
    number = 2
    found = name
    while found in taken:
        found = f"{name[:60]}-{number}"
        number += 1
    return found


def is_known(entries: list[Any], source: Mapping[str, str]) -> bool:
    """Whether one of the entries comes from the same place, at whatever ref."""
    place = {key: value for key, value in source.items() if key != "ref"}
    return any({**each["source"], "ref": ""} == {**place, "ref": ""} for each in entries)
