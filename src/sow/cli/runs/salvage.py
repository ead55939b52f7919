"""Lists, restores and deletes the work that runs kept (`sow salvage`)."""

from __future__ import annotations

from typing import Any

from sow import config as configs
from sow.cli.context import Context
from sow.cli.output import emit, table
from sow.domain.inputs import is_branch_name
from sow.domain.task import unused_worktrees
from sow.errors import SowError, Waiting
from sow.gitwork.prune import PruneResult, prune
from sow.gitwork.salvage import KeptItem, list_items, restore
from sow.store.files.checkout_home import Home
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.projects.project import removed
from sow.store.runs import run_folder
from sow.system import clock
from sow.system.terminal import err, escape_line, out, paint, require_yes

SHORT = 10
HEADER = ("COMMIT", "KIND", "NAME", "TIME", "CONTAINED IN", "SUBJECT")


def list_kept(context: Context, *, json: bool) -> int:
    entries = list_items(context.project_home())
    if json:
        emit({"kept": [_document(entry) for entry in entries]})
    elif not entries:
        out("no run has kept any work here")
    else:
        _table(entries)
        out("\nrestore one: sow salvage restore COMMIT")
    return 0


def _document(kept: KeptItem) -> dict[str, Any]:
    fields = ("kind", "ref", "run", "task", "name", "commit", "subject", "path", "merged")
    return {"called": kept.short, **{field: getattr(kept, field) for field in fields}, "time": _time(kept)}


def _time(kept: KeptItem) -> str:
    return clock.format_time(kept.date)


def _table(entries: list[KeptItem]) -> None:
    rows: list[tuple[str, ...]] = [HEADER]
    for entry in entries:
        merged = (
            entry.merged[0] + (f" +{len(entry.merged) - 1}" if len(entry.merged) > 1 else "") if entry.merged else "-"
        )
        rows.append((entry.commit[:SHORT], entry.kind, entry.short, _time(entry), merged, entry.subject[:60]))
    header, *lines = table(rows).split("\n")
    out("\n".join([paint(header, "bold"), *lines]))


def restore_kept(context: Context, *, what: str, branch: str) -> int:
    context.require_non_worker("restore work")
    home = context.project_home()
    if branch and not is_branch_name(branch):
        raise SowError(f"{branch!r:.60} is not a valid branch name", "use another name, such as salvaged/login")
    name = branch or f"salvaged/{_last_part(what)}"
    kept = restore(home, what, name)
    out(escape_line(f"branch {name} is {kept.commit[:SHORT]}: {kept.subject}"))
    out(escape_line(f"see its commits: git log --stat -3 {name}"))
    return 0


def _last_part(name: str) -> str:
    """Derives a valid branch name from the name of kept work."""
    cleaned = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_/") else "-" for letter in name)
    return cleaned.removeprefix("refs/").removeprefix("sow/keep/").removeprefix("heads/").strip("/-") or "work"


def prune_kept(context: Context, *, older_than: str, unmerged: bool, yes: bool, json: bool) -> int:
    context.require_non_worker("delete kept work")
    home = context.project_home()
    age = configs.seconds(older_than)
    with home.claim("run", purpose="sow salvage prune"):
        ended = _ended(home)
        preview = prune(home, age, ended=ended, unmerged=unmerged, dry_run=True)
        if preview.removed and not yes:
            _agree(preview, unmerged=unmerged)
        result = prune(home, age, ended=ended, unmerged=unmerged) if preview.removed else preview
    if json:
        return emit({"dropped": result.removed, "kept": result.kept})
    for name in result.removed:
        out(escape_line(f"deleted: {name}"))
    for name, reason in result.kept.items():
        out(escape_line(f"kept: {name} ({reason})"))
    if not result.removed:
        out("nothing was deleted")
    return 0


def _ended(home: Home) -> set[str]:
    """Returns the tasks whose worktrees and branches may be deleted."""
    if not projects.exists(home):
        return _tasks_of_removed_projects(home)
    project = projects.load(home)
    return set(unused_worktrees(task for _, task in task_folder.load_readable(home, project)[0]))


def _tasks_of_removed_projects(home: Home) -> set[str]:
    """Returns the tasks of removed projects only; tasks of a project on another branch may be open."""
    copies, folders = removed(home), run_folder.all_folders(home)
    open_tasks = {task for folder in folders if folder.run["project_id"] not in copies for task in folder.run["tasks"]}
    return {task for folder in folders for task in folder.run["tasks"]} - open_tasks


def _agree(preview: PruneResult, *, unmerged: bool) -> None:
    err("These would be deleted for good:" if unmerged else "These would be deleted:")
    for name in preview.removed:
        err(f"  {escape_line(name)}")
    require_yes(
        "Delete them?",
        Waiting("deleting them needs confirmation", "check the list, then add --yes"),
        Waiting("nothing was deleted", "to delete them later, run the command again"),
    )
