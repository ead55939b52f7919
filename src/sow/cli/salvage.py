"""Lists, restores and deletes the work that runs kept (`sow salvage`)."""

from __future__ import annotations

from sow.cli.context import Context
from sow.cli.spec import Argument, Command, Option
from sow.domain.branch_name import is_branch_name
from sow.errors import SowError, Waiting
from sow.system.terminal import confirm, err, harmless_line, is_interactive, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.engine.pruning import Pruned
    from sow.engine.salvage import Kept
    from sow.store.home import Home

SHORT = 10
HEADER = ("KIND", "NAME", "COMMIT", "TIME", "CONTAINED IN", "SUBJECT")


def list_kept(context: Context, *, json: bool) -> int:
    from sow.engine.salvage import listed

    entries = listed(context.home())
    if json:
        from sow.cli.output import emit

        emit({"kept": [_document(entry) for entry in entries]})
    elif not entries:
        out("no run has left anything here")
    else:
        _table(entries)
        out("\nbring one back: sow salvage restore NAME [--branch BRANCH]")
    return 0


def _document(kept: Kept) -> dict[str, Any]:
    fields = ("kind", "ref", "run", "task", "name", "commit", "subject", "path", "merged")
    return {"called": kept.short, **{field: getattr(kept, field) for field in fields}, "time": _time(kept)}


def _time(kept: Kept) -> str:
    from sow.system import clock

    return clock.written(kept.date)


def _table(entries: list[Kept]) -> None:
    rows = [HEADER]
    for entry in entries:
        merged = (
            entry.merged[0] + (f" +{len(entry.merged) - 1}" if len(entry.merged) > 1 else "") if entry.merged else "-"
        )
        rows.append((entry.kind, entry.short, entry.commit[:SHORT], _time(entry), merged, entry.subject[:60]))
    shown = [[harmless_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in shown) for column in range(len(HEADER) - 1)]
    for number, row in enumerate(shown):
        cells = [cell.ljust(size) for cell, size in zip(row, widths, strict=False)]
        line = "  ".join([*cells, row[-1]]).rstrip()
        out(line if number else paint(line, "bold"))


def restore_kept(context: Context, *, what: str, branch: str) -> int:
    from sow.engine.salvage import restore

    context.judge("bring work back")
    home = context.home()
    if branch and not is_branch_name(branch):
        raise SowError(f"{branch!r:.60} cannot be the name of a branch", "choose another one, such as salvaged/login")
    name = branch or f"salvaged/{_last_part(what)}"
    kept = restore(home, what, name)
    out(harmless_line(f"branch {name} is {kept.commit[:SHORT]}: {kept.subject}"))
    out(harmless_line(f"look at it: git log --stat -3 {name}"))
    return 0


def _last_part(name: str) -> str:
    """Derives a valid branch name from the name of kept work."""
    cleaned = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_/") else "-" for letter in name)
    return cleaned.removeprefix("refs/").removeprefix("sow/keep/").removeprefix("heads/").strip("/-") or "work"


def prune_kept(context: Context, *, older_than: str, unmerged: bool, yes: bool, json: bool) -> int:
    from sow import config as configs
    from sow.engine.pruning import prune

    context.judge("let kept work go")
    home = context.home()
    age = configs.seconds(older_than)
    with home.claim("run", purpose="sow salvage prune"):
        ended = _ended(home)
        preview = prune(home, age, ended=ended, unmerged=unmerged, dry_run=True)
        if preview.dropped and not yes:
            _agree(preview, unmerged=unmerged)
        result = prune(home, age, ended=ended, unmerged=unmerged) if preview.dropped else preview
    if json:
        from sow.cli.output import emit

        emit({"dropped": result.dropped, "kept": result.kept})
        return 0
    for name in result.dropped:
        out(harmless_line(f"let go: {name}"))
    for name, reason in result.kept.items():
        out(harmless_line(f"kept: {name} ({reason})"))
    if not result.dropped:
        out("nothing was let go")
    return 0


def _ended(home: Home) -> set[str]:
    """Returns the tasks whose worktrees and branches may be deleted."""
    from sow.domain.task import ENDED_STATUSES
    from sow.store import desk as desks
    from sow.store import project as projects

    if not projects.exists(home):
        return _ended_with_their_project(home)
    project = projects.load(home)
    return {task["id"] for _, task in desks.load_all(home, project)[0] if task["status"] in ENDED_STATUSES}


def _ended_with_their_project(home: Home) -> set[str]:
    """Returns the tasks of removed projects only; tasks of a project on another branch may be open."""
    from sow.store import runs
    from sow.store.removal import removed

    removed_ids, folders = removed(home), runs.listed(home)
    open_tasks = {
        task for folder in folders if folder.run["project_id"] not in removed_ids for task in folder.run["tasks"]
    }
    return {task for folder in folders for task in folder.run["tasks"]} - open_tasks


def _agree(preview: Pruned, *, unmerged: bool) -> None:
    err("These would be let go, for ever:" if unmerged else "These would be let go:")
    for name in preview.dropped:
        err(f"  {harmless_line(name)}")
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
