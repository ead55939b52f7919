"""What sinks and linked repositories have in common: put in their place, looked up, brought up to date, removed."""

from __future__ import annotations

import os

from sow.domain import source as sources
from sow.errors import SowError
from sow.knowledge import polling
from sow.knowledge.describing import BY_FILES, BY_USER
from sow.store import shelf
from sow.store.catalog import is_known
from sow.store.shelf import Scratch
from sow.system import checkout, clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from sow.knowledge.fetching import Limits
    from sow.knowledge.polling import Polled
    from sow.store.catalog import Catalog
    from sow.store.home import Home

UPDATED, UNCHANGED, RESTORED, EDITED = "updated", "unchanged", "restored", "edited"
FAILED = "failed"


class Renewed:
    """What an update came to for one entry."""

    __slots__ = ("before", "entry", "problem", "remarks", "status")

    def __init__(
        self,
        entry: Any,
        status: str,
        *,
        before: str = "",
        problem: SowError | None = None,
        remarks: Sequence[str] = (),
    ) -> None:
        self.entry = entry
        self.status = status
        self.before = before
        self.problem = problem
        self.remarks = list(remarks)


class Keeper:
    """The sinks, or the linked repositories, of one checkout."""

    catalog: Catalog

    def __init__(self, home: Home, environment: Mapping[str, str], limits: Limits) -> None:
        self.home = home
        self.environment = environment
        self.limits = limits

    def fetch(self, scratch: Scratch, source: Any, commit: str) -> tuple[str, list[str]]:
        """The files of one commit, in a folder of the scratch folder; and remarks."""
        raise NotImplementedError

    def described(self, entry: Any, folder: str) -> Any:
        """The entry with what its files say, where nobody else described it."""
        raise NotImplementedError

    def by_hand(self, entry: Any) -> Any:
        """The entry, marked as a person's where its words are not those that its installed files gave it."""
        place = self.place(entry["name"])
        if entry.get("described_by") != BY_FILES or self.is_edited(entry) or not os.path.isdir(place):
            return entry
        read = self.described(entry, place)
        return entry if read == entry else {**entry, "described_by": BY_USER}

    def entries(self, names: list[str] | None = None) -> list[Any]:
        """All entries, or those of these names."""
        known = self.catalog.load(self.home)
        return [self.catalog.find(known, name) for name in dict.fromkeys(names)] if names else known

    def entry(self, name: str) -> Any:
        return self.entries([name])[0]

    def place(self, name: str) -> str:
        """Where its files are."""
        return f"{self.home.sow}/{self.catalog.key}/{sources.check_name(name)}"

    def url(self, given: str, cwd: str) -> str:
        """The URL as it is kept: a path on this machine is kept in full."""
        if sources.kind_of(given) != sources.PATH:
            return given
        path = os.path.realpath(os.path.join(cwd, os.path.expanduser(given)))
        if not os.path.isdir(path):
            raise SowError(f"there is no folder {path}", sources.FORMS)
        if sources.kind_of(path) != sources.PATH or not checkout.is_repository(path):
            raise SowError(f"{path} is no git repository", "give the folder that holds .git, or a bare repository")
        return path

    def refuse_known(self, name: str) -> None:
        """Refuse a name that an entry has already."""
        for each in self.entries():
            if each["name"] == name:
                raise SowError(
                    f"there is a {self.catalog.noun} {name} already, from {each['source']['url']}",
                    f"bring it up to date: sow {self.catalog.key} update {name}\nor give another name: --name",
                )

    def refuse_taken(self, name: str, digest: str = "") -> None:
        """The same for a folder of that name; one with this very content is what a crash of ours left."""
        self.refuse_known(name)
        place = self.place(name)
        if os.path.lexists(place):
            found = shelf.facts(place) if digest else None
            if found is None or found.digest != digest:
                raise SowError(
                    f".sow/{self.catalog.key}/{name} is there, and the index knows nothing of it",
                    "move it away, or give another name: --name",
                )

    def is_edited(self, entry: Any) -> bool:
        """Whether somebody changed what was installed."""
        place = self.place(entry["name"])
        if entry.get("mode") == "symlink":
            return os.path.lexists(place) and not os.path.islink(place)
        found = shelf.facts(place)
        return os.path.lexists(place) and (found is None or found.digest != entry.get("digest"))

    def bring_in(self, entry: Any, commit: str) -> tuple[Any, list[str]]:
        """Fetch a new entry and put it in its place."""
        with Scratch(self.home) as scratch:
            made, remarks = self.fetch(scratch, entry["source"], commit)
            whole = self._finished(entry, made, commit)
            self.catalog.put_user(self.environment, whole)
            with self.home.lock():
                self.refuse_taken(entry["name"], whole["digest"])
                self._put(scratch, made, whole)
        return whole, remarks

    def _put(self, scratch: Scratch, made: str, whole: Any) -> None:
        """Let the files and the entry be there together."""
        with shelf.Placed(self.home, scratch, made, self.catalog.key, whole["name"]) as placed:
            try:
                self.catalog.put(self.home, whole)
            except SowError:
                if whole in self.entries():  # it is written, and the disk failed after that
                    placed.stay()
                raise

    def _finished(self, entry: Any, made: str, commit: str) -> Any:
        """The entry with the facts of what was fetched."""
        facts = shelf.facts(made)
        if facts is None or not facts.files:
            raise SowError(f"there is no file in {entry['source']['url']} at that place", "name a folder that has some")
        now = clock.now()
        known = {"pin": commit, "digest": facts.digest, "size": facts.size, "files": facts.files}
        times = {"installed_at": entry.get("installed_at", now), "updated_at": now}
        return self.described({**entry, **known, **times}, made)

    def poll(self, names: list[str]) -> list[Polled]:
        """What is new, for all or some; nothing is changed."""
        mine = self.catalog.load_user(self.environment)
        folder = f"{self.home.sow}/{self.catalog.key}"
        return polling.poll(self.entries(names), mine, folder, seconds=self.limits.seconds)

    def update(self, names: list[str], *, ref: str | None = None, force: bool = False) -> Iterator[Renewed]:
        """Bring all or some up to date, one after the other; what goes wrong with one stops no other."""
        before = self.entries(names)
        entries = before if ref is None else [_moved(each, sources.check_ref(ref)) for each in before]
        mine = self.catalog.load_user(self.environment)
        folder = f"{self.home.sow}/{self.catalog.key}"
        polled = polling.poll(entries, mine, folder, seconds=self.limits.seconds)
        for each, known in zip(polled, before, strict=True):
            try:
                yield self._renewed(each, known, moved=ref is not None, force=force)
            except SowError as error:
                yield Renewed(known, FAILED, problem=error)

    def _renewed(self, polled: Polled, known: Any, *, moved: bool, force: bool) -> Renewed:
        entry = polled.entry
        if moved and polled.status == polling.LINKED:
            raise SowError(
                "a link follows whatever is checked out there, so --ref has no meaning", "link it with --clone"
            )
        stale = polled.status in (polling.NEW, polling.MISSING) or (moved and bool(polled.commit))
        edited = polled.status in (polling.CURRENT, polling.PINNED) and self.is_edited(entry)
        if not stale and not (edited and force):
            stays = known if polled.problem else entry  # nothing is followed that is not there
            return Renewed(stays, EDITED if edited else polled.status, problem=polled.problem)
        with Scratch(self.home) as scratch:
            made, remarks = self.fetch(scratch, entry["source"], polled.commit)
            whole = self._finished(self.by_hand(entry), made, polled.commit)
            if not force and self._differs(entry, whole):
                return Renewed(entry, EDITED, remarks=remarks)
            self.catalog.put_user(self.environment, whole)
            with self.home.lock():
                self._refuse_changed(known)
                self._put(scratch, made, whole)
        same = UNCHANGED if whole["digest"] == entry.get("digest") else UPDATED
        status = RESTORED if edited or polled.status == polling.MISSING else same
        return Renewed(whole, status, before=entry.get("pin", ""), remarks=remarks)

    def _refuse_changed(self, known: Any) -> None:
        """Refuse to replace an entry that somebody else has changed meanwhile."""
        if self.catalog.find(self.entries(), known["name"]) != known:
            again = f"sow {self.catalog.key} update {known['name']}"
            raise SowError(f"{known['name']} was changed by somebody else meanwhile", f"run it again: {again}")

    def _differs(self, entry: Any, whole: Any) -> bool:
        """Whether what is installed is neither the old nor the new; it can be the new one after a crash of ours."""
        found = shelf.facts(self.place(entry["name"]))
        return self.is_edited(entry) and (found is None or found.digest != whole["digest"])

    def remove(self, name: str, *, force: bool, forget: bool) -> Any:
        """Take one away; its source stays among those that the user knows, unless it is to be forgotten."""
        entry = self.entry(name)
        if not force and self.is_edited(entry):
            raise SowError(
                f".sow/{self.catalog.key}/{name} was changed by hand",
                f"take your changes elsewhere, or remove it all the same: sow {self.catalog.key} remove {name} --force",
            )
        with Scratch(self.home) as scratch, self.home.lock():
            self.catalog.find(self.entries(), name)
            shelf.take(self.home, scratch, self.catalog.key, name)
            self.catalog.drop(self.home, name)
        if forget:
            self._forget(entry)
        return entry

    def _forget(self, entry: Any) -> None:
        for each in self.catalog.load_user(self.environment):
            if is_known([each], entry["source"]):
                self.catalog.drop_user(self.environment, each["name"])

    def change(self, name: str, fields: Mapping[str, Any]) -> Any:
        """Give an entry other words, in this checkout and among the user's own."""
        with self.home.lock():
            entry = {**self.entry(name), **fields}
            self.catalog.put(self.home, entry)
        if is_known(self.catalog.load_user(self.environment), entry["source"]):
            self.catalog.put_user(self.environment, entry)
        return entry


def _moved(entry: Any, ref: str) -> Any:
    """The entry as it would be at another ref."""
    return {**entry, "source": {**entry["source"], "ref": ref}}
