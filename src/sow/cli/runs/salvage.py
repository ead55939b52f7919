"""Lists, restores and deletes the work that runs kept (`sow salvage`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit
from sow.domain.text.branch_name import is_branch_name
from sow.errors import SowError, Waiting
from sow.system.terminal import confirm, err, escape_line, is_interactive, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.gitwork.prune import PruneResult
    from sow.gitwork.salvage import KeptItem
    from sow.store.files.checkout_home import Home

SHORT = 10
HEADER = ("KIND", "NAME", "COMMIT", "TIME", "CONTAINED IN", "SUBJECT")


def list_kept(context: Context, *, json: bool) -> int:
    from sow.gitwork.salvage import list_items

    entries = list_items(context.project_home())
    if json:
        emit({"kept": [_document(entry) for entry in entries]})
    elif not entries:
        out("no run has left anything here")
    else:
        _table(entries)
        out("\nbring one back: sow salvage restore NAME [--branch BRANCH]")
    return 0


def _document(kept: KeptItem) -> dict[str, Any]:
    fields = ("kind", "ref", "run", "task", "name", "commit", "subject", "path", "merged")
    return {"called": kept.short, **{field: getattr(kept, field) for field in fields}, "time": _time(kept)}


def _time(kept: KeptItem) -> str:
    from sow.system import clock

    return clock.format_time(kept.date)


def _table(entries: list[KeptItem]) -> None:
    rows = [HEADER]
    for entry in entries:
        merged = (
            entry.merged[0] + (f" +{len(entry.merged) - 1}" if len(entry.merged) > 1 else "") if entry.merged else "-"
        )
        rows.append((entry.kind, entry.short, entry.commit[:SHORT], _time(entry), merged, entry.subject[:60]))
    shown = [[escape_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in shown) for column in range(len(HEADER) - 1)]
    for number, row in enumerate(shown):
        cells = [cell.ljust(size) for cell, size in zip(row, widths, strict=False)]
        line = "  ".join([*cells, row[-1]]).rstrip()
        out(line if number else paint(line, "bold"))


def restore_kept(context: Context, *, what: str, branch: str) -> int:
    from sow.gitwork.salvage import restore

    context.require_non_worker("bring work back")
    home = context.project_home()
    if branch and not is_branch_name(branch):
        raise SowError(f"{branch!r:.60} cannot be the name of a branch", "choose another one, such as salvaged/login")
    name = branch or f"salvaged/{_last_part(what)}"
    kept = restore(home, what, name)
    out(escape_line(f"branch {name} is {kept.commit[:SHORT]}: {kept.subject}"))
    out(escape_line(f"look at it: git log --stat -3 {name}"))
    return 0


def _last_part(name: str) -> str:
    """Derives a valid branch name from the name of kept work."""
    cleaned = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_/") else "-" for letter in name)
    return cleaned.removeprefix("refs/").removeprefix("sow/keep/").removeprefix("heads/").strip("/-") or "work"


def prune_kept(context: Context, *, older_than: str, unmerged: bool, yes: bool, json: bool) -> int:
    from sow import config as configs
    from sow.gitwork.prune import prune

    context.require_non_worker("let kept work go")
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
        out(escape_line(f"let go: {name}"))
    for name, reason in result.kept.items():
        out(escape_line(f"kept: {name} ({reason})"))
    if not result.removed:
        out("nothing was let go")
    return 0


def _ended(home: Home) -> set[str]:
    """Returns the tasks whose worktrees and branches may be deleted."""
    from sow.domain.task import ENDED_STATUSES
    from sow.store.projects import project as projects
    from sow.store.projects import task_folder

    if not projects.exists(home):
        return _tasks_of_removed_projects(home)
    project = projects.load(home)
    return {task["id"] for _, task in task_folder.load_readable(home, project)[0] if task["status"] in ENDED_STATUSES}


def _tasks_of_removed_projects(home: Home) -> set[str]:
    """Returns the tasks of removed projects only; tasks of a project on another branch may be open."""
    from sow.store.projects.removal import removed
    from sow.store.runs import run_folder

    removed_ids, folders = removed(home), run_folder.listed(home)
    open_tasks = {
        task for folder in folders if folder.run["project_id"] not in removed_ids for task in folder.run["tasks"]
    }
    return {task for folder in folders for task in folder.run["tasks"]} - open_tasks


def _agree(preview: PruneResult, *, unmerged: bool) -> None:
    err("These would be let go, for ever:" if unmerged else "These would be let go:")
    for name in preview.removed:
        err(f"  {escape_line(name)}")
    if not is_interactive():
        raise Waiting("letting go needs your word", "look at the list, then add --yes")
    if not confirm("Let them go?"):
        raise Waiting("nothing was let go", "they stay until you say so")


COMMANDS = (
    Command("salvage", list_kept, "List everything that runs ever produced, newest first", json=True),
    Command("salvage list", list_kept, "The same as sow salvage: everything that runs ever produced", json=True),
    Command(
        "salvage restore",
        restore_kept,
        "Make a branch of something that a run left",
        arguments=(Argument("what", "Its name in the list, or at least seven digits of its commit"),),
        options=(Option("--branch", "NAME", "The branch; without: salvaged/ and the name"),),
    ),
    Command(
        "salvage prune",
        prune_kept,
        "Let go of what is old and contained in a branch of yours",
        options=(
            Option("--older-than", "TIME", "Only what is older, such as 30d", required=True),
            Option("--unmerged", help="Also what is contained nowhere else: it is lost then"),
            Option("--yes", help="Do so without a question"),
        ),
        json=True,
        details="Worktrees of ended tasks, pins (refs/sow/keep) and branches (sow/task, sow/int): each goes only\n"
        "where its commits stay reachable from a branch or tag of yours. Nothing but this command lets a pin go.",
    ),
)
