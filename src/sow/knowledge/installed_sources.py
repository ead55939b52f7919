"""Installs, lists, updates and removes sinks and linked repositories."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sow.domain.documents.state import Hint
from sow.errors import SowError
from sow.knowledge import source_rules as sources
from sow.knowledge import updates
from sow.knowledge.descriptions import BY_FILES, BY_USER
from sow.knowledge.fetcher import FetchLimits
from sow.knowledge.updates import SourceStatus
from sow.store.files.checkout_home import Home
from sow.store.knowledge import install_folder
from sow.store.knowledge.index import SourceIndex, has_source
from sow.store.knowledge.install_folder import ScratchFolder
from sow.system import checkout, clock

UPDATED, UNCHANGED, RESTORED, EDITED = "updated", "unchanged", "restored", "edited"
FAILED = "failed"


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """The result of an update of one entry."""

    entry: Any
    status: str
    before: str = ""
    problem: SowError | None = None
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class SourceManager:
    """The sinks, or the linked repositories, of one checkout."""

    catalog: ClassVar[SourceIndex]
    home: Home
    environment: Mapping[str, str]
    limits: FetchLimits

    def fetch(self, scratch: ScratchFolder, source: Any, commit: str) -> tuple[str, list[str]]:
        """Fetches the files of one commit into the scratch folder; returns the folder and remarks."""
        raise NotImplementedError

    def with_description(self, entry: Any, folder: str) -> Any:
        """Returns the entry with a description from its files, unless somebody else described it."""
        raise NotImplementedError

    def with_described_by(self, entry: Any) -> Any:
        """Marks the entry as described by the user if its description differs from what the installed files give."""
        folder = self.folder_of(entry["name"])
        if entry.get("described_by") != BY_FILES or self.is_edited(entry) or not os.path.isdir(folder):
            return entry
        described = self.with_description(entry, folder)
        return entry if described == entry else {**entry, "described_by": BY_USER}

    def entries(self, names: list[str] | None = None) -> list[Any]:
        """Returns all entries, or those with these names."""
        entries = self.catalog.load(self.home)
        return [self.catalog.find(entries, name) for name in dict.fromkeys(names)] if names else entries

    def entry(self, name: str) -> Any:
        return self.entries([name])[0]

    def folder_of(self, name: str) -> str:
        """Returns the folder of an entry's files."""
        return f"{self.home.sow}/{self.catalog.key}/{sources.check_name(name)}"

    def stored_url(self, address: str, cwd: str) -> str:
        """Returns the URL as the index stores it; a path on this machine becomes absolute."""
        if sources.kind_of(address) != sources.PATH:
            return address
        path = os.path.realpath(os.path.join(cwd, os.path.expanduser(address)))
        if not os.path.isdir(path):
            raise SowError(f"there is no folder {path}", sources.FORMS)
        if sources.kind_of(path) != sources.PATH or not checkout.is_repository(path):
            raise SowError(f"{path} is no git repository", "give the folder that holds .git, or a bare repository")
        return path

    def refuse_entry_name(self, name: str) -> None:
        """Refuses a name that another entry has."""
        for entry in self.entries():
            if entry["name"] == name:
                raise SowError(
                    f"there is a {self.catalog.noun} {name} already, from {entry['source']['url']}",
                    f"update it: sow {self.catalog.key} update {name}\nor give another name: --name",
                )

    def refuse_used_name(self, name: str, digest: str = "") -> None:
        """Refuses a name that an entry or a folder has; a folder with this digest is left by a crash and accepted."""
        self.refuse_entry_name(name)
        folder = self.folder_of(name)
        if os.path.lexists(folder):
            facts = install_folder.folder_facts(folder) if digest else None
            if facts is None or facts.digest != digest:
                raise SowError(
                    f".sow/{self.catalog.key}/{name} is there, and the index knows nothing of it",
                    "move it away, or give another name: --name",
                )

    def is_edited(self, entry: Any) -> bool:
        """Returns whether somebody changed the installed files."""
        folder = self.folder_of(entry["name"])
        if entry.get("mode") == "symlink":
            return os.path.lexists(folder) and not os.path.islink(folder)
        facts = install_folder.folder_facts(folder)
        return os.path.lexists(folder) and (facts is None or facts.digest != entry.get("digest"))

    def fetch_and_install(self, entry: Any, commit: str) -> tuple[Any, list[str]]:
        """Fetches a new entry and installs it."""
        with ScratchFolder(self.home) as scratch:
            files, remarks = self.fetch(scratch, entry["source"], commit)
            installed = self._with_file_facts(entry, files, commit)
            self.catalog.put_user(self.environment, installed)
            with self.home.lock():
                self.refuse_used_name(entry["name"], installed["digest"])
                self._install_files(scratch, files, installed)
        return installed, remarks

    def missing(self) -> list[Any]:
        """Returns the entries whose files are not on this machine, as in a fresh clone."""
        return [
            entry for entry in self.entries() if "pin" in entry and not os.path.lexists(self.folder_of(entry["name"]))
        ]

    def install_missing(self, entry: Any) -> list[str]:
        """Fetches the recorded commit of an entry whose files are missing; the user has agreed to its source."""
        source = entry["source"]
        sources.kind_of(source["url"])
        sources.check_folder(source.get("path", ""))
        with ScratchFolder(self.home) as scratch:
            files, remarks = self.fetch(scratch, source, entry["pin"])
            facts = install_folder.folder_facts(files)
            if facts is None or facts.digest != entry.get("digest"):
                raise SowError(
                    f"{entry['name']}: the files at {source['url']} are not those that the index records",
                    f"look at them; if they are right: sow {self.catalog.key} remove {entry['name']}, then install it",
                )
            self.catalog.put_user(self.environment, entry)
            with self.home.lock():
                self._install_files(scratch, files, entry)
        return remarks

    def _install_files(self, scratch: ScratchFolder, files: str, entry: Any) -> None:
        """Installs the files and writes the entry, both or neither."""
        with install_folder.InstalledFolder(self.home, scratch, files, self.catalog.key, entry["name"]) as placed:
            try:
                self.catalog.add_or_replace(self.home, entry)
            except SowError:
                if entry in self.entries():  # the entry was written, and the disk failed after that
                    placed.commit()
                raise

    def _with_file_facts(self, entry: Any, files: str, commit: str) -> Any:
        """Returns the entry with size, digest and times of the fetched files."""
        facts = install_folder.folder_facts(files)
        if facts is None or not facts.files:
            raise SowError(f"there is no file in {entry['source']['url']} at that place", "name a folder that has some")
        now = clock.now()
        content = {"pin": commit, "digest": facts.digest, "size": facts.size, "files": facts.files}
        times = {"installed_at": entry.get("installed_at", now), "updated_at": now}
        return self.with_description({**entry, **content, **times}, files)

    def poll(self, names: list[str]) -> list[SourceStatus]:
        """Looks for new commits of all entries or some; changes nothing."""
        user_entries = self.catalog.load_user(self.environment)
        folder = f"{self.home.sow}/{self.catalog.key}"
        return updates.poll(self.entries(names), user_entries, folder, seconds=self.limits.seconds)

    def update(self, names: list[str], *, ref: str | None = None, force: bool = False) -> Iterator[UpdateResult]:
        """Updates all entries or some, one after the other; a failure of one does not stop the rest."""
        before = self.entries(names)
        entries = (
            before
            if ref is None
            else [{**entry, "source": {**entry["source"], "ref": sources.check_ref(ref)}} for entry in before]
        )
        user_entries = self.catalog.load_user(self.environment)
        folder = f"{self.home.sow}/{self.catalog.key}"
        polled = updates.poll(entries, user_entries, folder, seconds=self.limits.seconds)
        for result, entry in zip(polled, before, strict=True):
            try:
                yield self._update_entry(result, entry, moved=ref is not None, force=force)
            except SowError as error:
                yield UpdateResult(entry, FAILED, problem=error)

    def _update_entry(self, polled: SourceStatus, stored: Any, *, moved: bool, force: bool) -> UpdateResult:
        entry = polled.entry
        if moved and polled.status == updates.LINKED:
            raise SowError("a link shows what is checked out there, so --ref has no effect", "link it with --clone")
        stale = polled.status in (updates.NEW, updates.MISSING) or (moved and bool(polled.commit))
        edited = polled.status in (updates.CURRENT, updates.PINNED) and self.is_edited(entry)
        if not stale and not (edited and force):
            kept = stored if polled.problem else entry  # if the new ref does not exist, the entry keeps its old one
            return UpdateResult(kept, EDITED if edited else polled.status, problem=polled.problem)
        with ScratchFolder(self.home) as scratch:
            files, remarks = self.fetch(scratch, entry["source"], polled.commit)
            installed = self._with_file_facts(self.with_described_by(entry), files, polled.commit)
            if not force and self._differs(entry, installed):
                return UpdateResult(entry, EDITED, remarks=remarks)
            self.catalog.put_user(self.environment, installed)
            with self.home.lock():
                self._refuse_changed(stored)
                self._install_files(scratch, files, installed)
        same = UNCHANGED if installed["digest"] == entry.get("digest") else UPDATED
        status = RESTORED if edited or polled.status == updates.MISSING else same
        return UpdateResult(installed, status, before=entry.get("pin", ""), remarks=remarks)

    def _refuse_changed(self, entry: Any) -> None:
        """Refuses to replace an entry that another process changed in the meantime."""
        if self.catalog.find(self.entries(), entry["name"]) != entry:
            command = f"sow {self.catalog.key} update {entry['name']}"
            raise SowError(f"{entry['name']} was changed by somebody else meanwhile", f"run it again: {command}")

    def _differs(self, entry: Any, installed: Any) -> bool:
        """Returns whether the installed files are neither the old nor the new version, which a crash can leave."""
        facts = install_folder.folder_facts(self.folder_of(entry["name"]))
        return self.is_edited(entry) and (facts is None or facts.digest != installed["digest"])

    def remove(self, name: str, *, force: bool, forget: bool) -> Any:
        """Removes one entry; its source stays in the user's list unless `forget` is set."""
        entry = self.entry(name)
        if not force and self.is_edited(entry):
            raise SowError(
                f".sow/{self.catalog.key}/{name} was changed by hand",
                f"save your changes elsewhere, or remove it anyway: sow {self.catalog.key} remove {name} --force",
            )
        with ScratchFolder(self.home) as scratch, self.home.lock():
            self.catalog.find(self.entries(), name)
            install_folder.move_away(self.home, scratch, self.catalog.key, name)
            self.catalog.remove(self.home, name)
        if forget:
            self._forget(entry)
        return entry

    def _forget(self, entry: Any) -> None:
        for user_entry in self.catalog.load_user(self.environment):
            if has_source([user_entry], entry["source"]):
                self.catalog.drop_user(self.environment, user_entry["name"])

    def set_fields(self, name: str, fields: Mapping[str, Any]) -> Any:
        """Changes fields of an entry, in this checkout and in the user's list."""
        with self.home.lock():
            entry = {**self.entry(name), **fields}
            self.catalog.add_or_replace(self.home, entry)
        if has_source(self.catalog.load_user(self.environment), entry["source"]):
            self.catalog.put_user(self.environment, entry)
        return entry


def merged_hints(entry: Any, hints: Sequence[Hint]) -> list[Hint]:
    """Returns the hints of an entry and these; one with the path of an earlier hint replaces it."""
    return list({hint["path"]: hint for hint in (*entry["hints"], *hints)}.values())
