"""Links other repositories: as a checkout of one commit, or by a link to a checkout on this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from sow.domain.documents.state import Hint, Repo
from sow.errors import SowError
from sow.knowledge import descriptions, fetcher
from sow.knowledge import source_rules as sources
from sow.knowledge.installed_sources import SourceManager, merged_hints
from sow.store.knowledge import install_folder
from sow.store.knowledge.index import REPOS
from sow.store.knowledge.install_folder import ScratchFolder
from sow.system import checkout, clock

CLONE, SYMLINK = "clone", "symlink"


@dataclass(frozen=True, kw_only=True, slots=True)
class RepoDescription:
    """A user's description of a repository; an empty field is filled from its files."""

    purpose: str
    hints: list[Hint]
    tags: list[str]

    @property
    def fields(self) -> dict[str, Any]:
        """Returns the fields that the user gave."""
        given = {"purpose": self.purpose, "hints": self.hints, "tags": self.tags}
        return {key: value for key, value in given.items() if value}


class Repos(SourceManager):
    """The linked repositories of one checkout."""

    catalog = REPOS

    def fetch(self, scratch: ScratchFolder, source: Any, commit: str) -> tuple[str, list[str]]:
        return fetcher.fetch_repository(scratch, source["url"], commit, self.limits)

    def with_description(self, entry: Any, folder: str) -> Any:
        """Keeps what the user wrote, and fills the rest from the files."""
        by_user = entry.get("described_by") == descriptions.BY_USER
        purpose = entry["purpose"] if by_user and entry["purpose"] else ""
        hints = entry["hints"] if by_user and entry["hints"] else []
        tags = entry["tags"] if by_user and entry["tags"] else []
        description = descriptions.describe(folder, entry["name"])
        return {
            **entry,
            "purpose": purpose or description.summary,
            "hints": hints or descriptions.hints(folder),
            "tags": tags or list(description.tags),
            "described_by": descriptions.BY_USER if by_user else descriptions.BY_FILES,
        }

    def add(
        self, address: str, description: RepoDescription, *, ref: str, name: str, clone: bool, cwd: str
    ) -> tuple[Repo, list[str]]:
        """Links a repository: a path on this machine by a link, any other URL by a clone."""
        url = self.stored_url(address, cwd)
        mode = CLONE if clone or sources.kind_of(url) != sources.PATH else SYMLINK
        if mode == SYMLINK and ref:
            raise SowError("a link shows what is checked out there, so --ref has no effect", "add --clone")
        draft: Any = {
            "name": sources.check_name(name or sources.name_for(url)),
            "source": {"url": url, "ref": sources.check_ref(ref)},
            "mode": mode,
            "purpose": description.purpose,
            "hints": description.hints,
            "tags": description.tags,
            "described_by": descriptions.BY_USER if description.fields else descriptions.BY_FILES,
        }
        self.refuse_entry_name(draft["name"])
        if mode == SYMLINK:
            return self._link(draft), []
        return self.fetch_and_install(draft, fetcher.resolve(url, ref, seconds=self.limits.seconds))

    def _link(self, draft: Any) -> Repo:
        """Links to a checkout on this machine."""
        target = draft["source"]["url"]
        self._refuse_own(target)
        if checkout.at(target) is None:
            raise SowError(f"{target} is not the root of a git checkout", "give the folder that holds .git")
        now = clock.now()
        entry: Repo = self.with_description({**draft, "installed_at": now, "updated_at": now}, target)
        self.catalog.put_user(self.environment, entry)
        with self.home.lock():
            link = self.folder_of(entry["name"])
            if not os.path.islink(link) or os.readlink(link) != target:  # a crash may have left the right link
                self.refuse_used_name(entry["name"])
                install_folder.link(self.home, target, self.catalog.key, entry["name"])
            self.catalog.add_or_replace(self.home, entry)
        return entry

    def _refuse_own(self, target: str) -> None:
        """Refuses a target that is this repository or contains it, because its tree would not end."""
        root = os.path.realpath(self.home.root)
        if f"{root}/".startswith(f"{target.rstrip('/')}/") or f"{target}/".startswith(f"{root}/.sow/"):
            raise SowError(f"{target} is this repository itself, or contains it", "give another repository")

    def describe(self, name: str, description: RepoDescription) -> Repo:
        """Replaces purpose and tags of a repository by the user's; adds hints, or replaces those of the same path."""
        fields = {**description.fields, "described_by": descriptions.BY_USER}
        if description.hints:
            fields["hints"] = merged_hints(self.entry(name), description.hints)
        changed: Repo = self.set_fields(name, fields)
        return changed
