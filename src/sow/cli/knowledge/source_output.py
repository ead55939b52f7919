"""Prints entries and update results for `sow sinks` and `sow repos`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from sow import config as configs
from sow.cli.command import Option
from sow.cli.context import Context
from sow.cli.output import emit, print_error, table
from sow.cli.progress import Progress
from sow.domain import inputs
from sow.domain.documents.state import Hint
from sow.domain.text.units import counted
from sow.errors import SowError
from sow.knowledge import installed_sources, updates
from sow.knowledge.fetcher import FetchLimits
from sow.knowledge.installed_sources import SourceManager, UpdateResult
from sow.knowledge.updates import SourceStatus
from sow.store.layout import create_missing
from sow.system import git
from sow.system.terminal import confirm, err, escape_line, is_interactive, out, paint

COLOURS = {
    updates.NEW: "yellow",
    updates.MISSING: "yellow",
    installed_sources.UPDATED: "green",
    installed_sources.EDITED: "yellow",
    installed_sources.FAILED: "red",
    **dict.fromkeys(updates.BAD, "red"),
}
SHORT = 10
UPDATE_OPTIONS = (
    Option("--check", help="Only show what is new"),
    Option("--ref", "REF", "Follow another branch, tag or commit"),
    Option("--force", help="Replace files that you changed"),
)
Keeper = Callable[[Context], SourceManager]
LABELS = {"summary": "what", "when_to_use": "when", "purpose": "purpose"}
BAD = (*updates.BAD, installed_sources.FAILED, installed_sources.EDITED)


def source_of(entry: Any) -> str:
    """Returns the source of an entry on one line."""
    source = entry["source"]
    folder = f", folder {source['path']}" if source.get("path") else ""
    ref = f", at {source['ref'][:40]}" if source["ref"] else ""
    return f"{source['url']}{folder}{ref}"


def size_of(entry: Any) -> str:
    """Returns the number of files and the size of an entry."""
    if "size" not in entry:
        return "a link"
    size = entry["size"]
    unit = f"{size / (1 << 20):.1f} MB" if size >= 1 << 20 else f"{size / 1024:.1f} KB"
    return f"{counted(entry.get('files', 0), 'file')}, {unit}"


def pin_of(entry: Any) -> str:
    return str(entry.get("pin", ""))[:SHORT]


def hint(value: str) -> Hint:
    """Splits `docs/api.md: the REST interface` into a path and its description."""
    path, _, about = inputs.checked_line(value, "--hint", 2000).partition(": ")
    return {"path": inputs.checked_path(path, "the path of --hint"), "about": about.strip()[:1000]}


def print_description(entry: Any) -> None:
    """Prints the description of an entry."""
    lines = [f"{label}: {entry[key] or '(no description)'}" for key, label in LABELS.items() if key in entry]
    for hint in entry.get("hints", ()):
        lines.append(f"look at: {hint['path']}" + (f" ({hint['about']})" if hint["about"] else ""))
    lines += [f"tags: {', '.join(entry['tags'])}"] if entry["tags"] else []
    out("\n".join(f"  {escape_line(line)}" for line in lines))


def show(keeper: Keeper, context: Context, *, name: str, json: bool) -> int:
    """Prints one entry: its description, its source and whether it was changed by hand."""
    manager = keeper(context)
    entry: Any = manager.entry(name)
    folder, edited = f".sow/{manager.catalog.key}/{name}", manager.is_edited(entry)
    if json:
        return emit({**entry, "folder": folder, "edited": edited})
    out(f"{paint(name, 'bold')} " + escape_line(f"({size_of(entry)}) in {folder}"))
    print_description(entry)
    installed = f", installed {entry['installed_at']}" if "installed_at" in entry else ""
    origin = [f"from: {source_of(entry)}", *([f"pin: {entry['pin']}{installed}"] if "pin" in entry else [])]
    origin += [f"described by: {entry['described_by']}"] if "described_by" in entry else []
    origin += ["changed since it was installed"] if edited else []
    out("\n".join(f"  {escape_line(line)}" for line in origin))
    return 0


def print_remarks(remarks: Sequence[str]) -> None:
    """Prints remarks on stderr."""
    for remark in remarks[:20]:
        err(f"note: {escape_line(remark)}")
    if len(remarks) > 20:
        err(f"note: and {len(remarks) - 20} more")


def ignore_in_git(manager: SourceManager, name: str) -> None:
    """Makes git ignore the fetched folder, or prints a note if it cannot."""
    home, path = manager.home, f".sow/{manager.catalog.key}/{name}"
    with suppress(SowError):  # the file cannot be read: ask git instead
        if not os.path.lexists(f"{home.sow}/.gitignore"):
            create_missing(home)
        lines = home.read(f"{home.sow}/.gitignore").split("\n")
        if any(f"/{manager.catalog.key}/{ending}" in lines for ending in ("", "*")):
            return
    if not git.run(["check-ignore", "--", path], cwd=home.root, check=False).strip():
        err(f"note: git does not ignore {path}: add the line /{manager.catalog.key}/ to .sow/.gitignore")


def _show_polled(polled: list[SourceStatus], key: str, *, json: bool) -> int:
    """Prints whether each source has a newer commit; returns 1 if a source could not be reached."""
    bad = int(any(result.status in updates.BAD for result in polled))
    if json:
        emit({key: [_poll_document(result) for result in polled]})
        return bad
    rows = [(result.entry["name"], result.status, _commit_change(result), source_of(result.entry)) for result in polled]
    if rows:
        out(table(rows))
    for problem in filter(None, (result.problem for result in polled)):
        print_error(problem.message, problem.hint)
    names = [result.entry["name"] for result in polled if result.status in (updates.NEW, updates.MISSING)]
    if names:
        out(f"update {'it' if len(names) == 1 else 'them'}: sow {key} update {' '.join(names[:8])}")
    return bad


def _commit_change(polled: SourceStatus) -> str:
    pin = pin_of(polled.entry)
    return f"{pin} → {polled.commit[:SHORT]}" if polled.status in (updates.NEW, updates.MISSING) else pin


def _poll_document(polled: SourceStatus) -> dict[str, Any]:
    problem = polled.problem.message if polled.problem else ""
    entry = polled.entry
    facts = {
        "name": entry["name"],
        "status": polled.status,
        "pin": entry.get("pin"),
        "available": polled.commit or None,
    }
    return {**facts, "source": entry["source"], "problem": problem}


def limits(context: Context, size_setting: str, files: int) -> FetchLimits:
    """Returns the user's limits for a fetch."""
    config = context.config()
    seconds = configs.seconds(config.setting("knowledge", "timeout"))
    return FetchLimits(megabytes=config.setting("knowledge", size_setting), files=files, seconds=seconds)


def update(keeper: Keeper, context: Context, *, name: list[str], check: bool, ref: str, force: bool, json: bool) -> int:
    """Updates or checks the entries and prints each result; returns 1 if one failed."""
    manager, names = keeper(context), name
    key, noun = manager.catalog.key, manager.catalog.noun
    if check:
        if ref or force:
            raise SowError("--check excludes --ref and --force", "use --check alone")
        return _show_polled(_polled(manager, names), key, json=json)
    context.require_non_worker(f"update a {noun}")
    if ref and len(names) != 1:
        raise SowError(f"--ref needs one {noun}", f"name it: sow {key} update NAME --ref v2")
    if is_interactive() and not (ref or force or json) and not _agreed(manager, names):
        return 0
    results: list[UpdateResult] = []
    with Progress(f"Fetching {', '.join(names) or 'all sources'}") as progress:
        for result in manager.update(names, ref=ref or None, force=force):
            results.append(result)
            if not json:
                progress.clear()
                _tell(result, key)
    if json:
        emit({key: [_update_document(result) for result in results]})
    elif not results:
        out(f"nothing to update; list what is installed: sow {key} list")
    return int(any(result.status in BAD for result in results))


def _polled(manager: SourceManager, names: list[str]) -> list[SourceStatus]:
    with Progress("Asking the sources"):
        return manager.poll(names)


def _agreed(manager: SourceManager, names: list[str]) -> bool:
    """Shows on a terminal what the sources have, and asks; an error of a source is shown by the update."""
    polled = _polled(manager, names)
    rows = [(result.entry["name"], result.status, _commit_change(result)) for result in polled]
    if rows:
        out(table(rows))
    if any(result.status in (updates.NEW, updates.MISSING) for result in polled):
        return confirm("Update?")
    return not rows or any(result.status in updates.BAD for result in polled)


def _tell(renewed: UpdateResult, key: str) -> None:
    entry, name = renewed.entry, renewed.entry["name"]
    status = paint(renewed.status, COLOURS[renewed.status]) if renewed.status in COLOURS else renewed.status
    pin = pin_of(entry)
    moved = f"{renewed.before[:SHORT]} → {pin}" if renewed.before and renewed.before[:SHORT] != pin else pin
    out(escape_line(f"{name}: ") + f" {status} " + escape_line(f"{moved} ({size_of(entry)})"))
    print_remarks(renewed.remarks)
    if renewed.status == installed_sources.EDITED:
        err(f"note: .sow/{key}/{name} has changes of yours and was not updated; replace it with --force")
    if renewed.problem:
        print_error(renewed.problem.message, renewed.problem.hint)


def _update_document(renewed: UpdateResult) -> dict[str, Any]:
    problem = renewed.problem.message if renewed.problem else ""
    facts = {
        "status": renewed.status,
        "before": renewed.before or None,
        "remarks": list(renewed.remarks),
        "problem": problem,
    }
    return {**renewed.entry, **facts}


def remove(keeper: Keeper, context: Context, *, name: str, force: bool, forget: bool) -> int:
    """Removes an entry, and says how to install it again."""
    manager = keeper(context)
    catalog = manager.catalog
    context.require_non_worker(f"remove a {catalog.noun}")
    entry = manager.remove(name, force=force, forget=forget)
    out(escape_line(f"removed {name} (from {source_of(entry)})"))
    user_name = catalog.user_name(catalog.load_user(manager.environment), entry) if catalog.key == "sinks" else ""
    if user_name and not forget:
        out(f"install it again: sow sinks install {user_name}")
    return 0
