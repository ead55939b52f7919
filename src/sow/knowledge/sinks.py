"""Installs sinks: folders of documents from other repositories, each pinned to a commit, without history."""

from __future__ import annotations

import os
from typing import Any

from sow.domain.documents.state import Sink, SinkSource
from sow.errors import SowError, suggestion
from sow.knowledge import descriptions, fetcher
from sow.knowledge import source_rules as sources
from sow.knowledge.descriptions import Description
from sow.knowledge.installed_sources import SourceManager, merged_hints
from sow.store.knowledge.index import SINKS
from sow.store.knowledge.install_folder import ScratchFolder


class Sinks(SourceManager):
    """The sinks of one checkout."""

    catalog = SINKS

    def fetch(self, scratch: ScratchFolder, source: Any, commit: str) -> tuple[str, list[str]]:
        return fetcher.fetch_folder(scratch, source["url"], commit, source["path"], self.limits)

    def with_description(self, entry: Any, folder: str) -> Any:
        if entry.get("described_by", descriptions.BY_FILES) != descriptions.BY_FILES:
            return entry
        description = descriptions.describe(folder, entry["name"])
        tags = list(description.tags)
        fields = {"summary": description.summary, "when_to_use": description.when_to_use, "tags": tags}
        return {**entry, **fields, "described_by": descriptions.BY_FILES}

    def install(self, name_or_url: str, path: str, *, ref: str | None, name: str, cwd: str) -> tuple[Sink, list[str]]:
        """Installs a folder of a repository, or a sink that the user's list has by this name."""
        draft = self._user_sink(name_or_url, cwd) if not path else None
        if draft is None:
            url, folder = self.stored_url(name_or_url, cwd), sources.check_folder(path)
            draft = self._draft(url, folder, name or sources.name_for(name_or_url if folder == "" else url, folder))
        draft["name"] = sources.check_name(name or draft["name"])
        draft["source"]["ref"] = sources.check_ref(draft["source"]["ref"] if ref is None else ref)
        self.refuse_entry_name(draft["name"])
        source = draft["source"]
        commit = fetcher.resolve(source["url"], source["ref"], seconds=self.limits.seconds)
        return self.fetch_and_install(draft, commit)

    def _draft(self, url: str, folder: str, name: str) -> Sink:
        source: SinkSource = {"url": url, "path": folder, "ref": ""}
        return {"name": name, "source": source, "summary": "", "when_to_use": "", "hints": [], "tags": []}

    def _user_sink(self, name_or_url: str, cwd: str) -> Sink | None:
        """Returns the entry of that name in the user's list; None if a folder of that name exists here."""
        if "/" in name_or_url or ":" in name_or_url or os.path.isdir(os.path.join(cwd, name_or_url)):
            return None
        user_entries: list[Sink] = self.catalog.load_user(self.environment)
        sink = next((entry for entry in user_entries if entry["name"] == name_or_url), None)
        if sink is None:
            if sources.kind_of(name_or_url) == sources.PATH and not os.path.lexists(os.path.join(cwd, name_or_url)):
                names = [entry["name"] for entry in user_entries]
                hint = suggestion(name_or_url, names) or f"see 'sow sinks list --known', or {sources.FORMS}"
                raise SowError(
                    f"there is no folder {name_or_url!r:.100} here, and no sink that you know by that name", hint
                )
            return None
        if sources.kind_of(sink["source"]["url"]) == sources.PATH and not os.path.isabs(sink["source"]["url"]):
            raise SowError(
                f"{self.catalog.user_path(self.environment)}: {name_or_url} has no full path", "fix that entry"
            )
        sources.check_folder(sink["source"]["path"])
        draft: Sink = {**sink, "source": {**sink["source"]}}
        draft.pop("installed_at", None)
        return draft

    def describe(self, name: str, description: Description, by: str) -> Sink:
        """Sets the fields of a sink's description that are not empty."""
        fields: dict[str, Any] = {"described_by": by}
        fields |= {"summary": description.summary} if description.summary else {}
        fields |= {"when_to_use": description.when_to_use} if description.when_to_use else {}
        fields |= {"tags": list(description.tags)} if description.tags else {}
        fields |= {"hints": merged_hints(self.entry(name), description.hints)}
        changed: Sink = self.set_fields(name, fields)
        return changed
