"""Removes the project from its branch before a merge, and checks this in CI (`sow cleanup`, `sow check`)."""

from __future__ import annotations

import os

from sow.cli.command import Command, Option
from sow.cli.context import Context
from sow.cli.output import emit
from sow.domain.documents.state import RunDelivery
from sow.domain.text.units import listed
from sow.errors import SowError, SystemFailure
from sow.gitwork.delivered_branch import is_merged
from sow.gitwork.merge_command import merge_command
from sow.gitwork.repository import Repository
from sow.store import state_commit
from sow.store.files.checkout_home import Home
from sow.store.layout import remove_defaults
from sow.store.projects import project as projects
from sow.store.projects.removal import remove
from sow.store.runs import run_folder
from sow.system.terminal import escape_line, out

MOST_COMMITS = 5  # in one line


def cleanup(context: Context, *, yes: bool, commit: bool) -> int:
    context.require_non_worker("clean up the project")
    home = context.project_home()
    context.recover_tasks(home)
    merged = _merged_request(home)
    copy = remove(home, force=yes, any_branch=False)
    out(f"removed .sow/project; copy: {copy}")
    if os.path.lexists(f"{home.root}/orchestration/state.yaml"):
        out("orchestration/ stays; archive a finished workflow: sow workflow archive")
    dropped = state_commit.drop_state_commits(home)
    if dropped:
        commits = "commit" if len(dropped) == 1 else "commits"
        shown = listed([commit[:10] for commit in dropped], MOST_COMMITS)
        out(f"took {commits} {shown} off this branch: only project state, never pushed")
    remove_defaults(home)
    if merged:
        out(f"request {merged.get('number', 0)} is merged into {merged['base']}: git switch {merged['base']}")
    if state_commit.is_saved(home):
        if not commit:
            if not merged:
                merge = merge_command(home, home.checkout.branch())
                out(f"before you merge, run: {state_commit.COMMIT_REMOVAL}")
                if merge:
                    out(escape_line(f"then merge it: {merge}"))
            return 0
        state_commit.commit_removal(home)
        out("committed the removal")
    if not merged:
        branch = home.checkout.branch()
        merge = merge_command(home, branch)
        out(escape_line(f"branch {branch} has no project state now{f'; merge it: {merge}' if merge else ''}"))
    return 0


def _merged_request(home: Home) -> RunDelivery | None:
    """Returns the merged request of the project, whose work is in its base."""
    try:
        project_id = projects.load_anywhere(home)["project_id"]
    except SowError:  # a broken project can be removed, too
        return None
    for folder in reversed(run_folder.all_folders(home)):
        delivery = folder.run.get("delivery")
        if delivery is not None and folder.run["project_id"] == project_id:
            return delivery if is_merged(Repository(home), delivery) else None
    return None


def check(context: Context, *, json: bool) -> int:
    """Succeeds without a .sow folder, because CI runs it on every branch."""
    home = context.checkout()
    has_files = projects.has_files(home)
    paths = [home.relative(home.project)] if has_files or state_commit.is_saved(home) else []
    if json:
        emit({"clean": not paths, "found": paths})
        return 1 if paths else 0
    if has_files:
        raise SystemFailure(f"{paths[0]} must not be merged", "sow cleanup --commit")
    if paths:
        raise SystemFailure(f"{paths[0]} is still in the last commit", state_commit.COMMIT_REMOVAL)
    out("clean: no project state in this checkout and in the last commit")
    return 0


COMMANDS = (
    Command(
        "cleanup",
        cleanup,
        "Remove the project from its branch before you merge it",
        Option("--yes", help="Remove it even if tasks are open"),
        Option("--commit", help="Commit the removal"),
        details="sow keeps a copy under .sow/local/removed. Knowledge, and files that you changed, stay.\n"
        "State is also taken out of the branch's commits, if nobody else has them: no push, tag or other branch.",
    ),
    Command(
        "check",
        check,
        "Fail if the branch has sow's project files (for CI)",
        json=True,
        details="Exit code 0: the branch can be merged. 1: it cannot.",
    ),
)
