"""The bounds of a desk: which files of sow's own its worker has no business to write, as patterns for a CLI's rules."""

from __future__ import annotations

import os

from sow.domain.ids import WIDTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sow.store.desk import Desk
    from sow.store.home import Home
    from sow.store.member_desk import MemberDesk

SPECIAL = frozenset("\\*?[]{}()!")
DIGITS = "0123456789"
WORKFLOW = ("state.yaml", "shared_status.json", "verification_report.md", "workflow_coordination_plan.md")
# A task's worktree lies beside these, and is its working folder.
LOCAL = ("sessions", "runs", "removed", "litter", "fetching", "describing")


def closed(desk: Desk, phases: Iterable[str]) -> tuple[str, ...]:
    """Settings, sessions, runs, the project's own state, others' desks and worktrees, and the copies in the git folder.

    What a worker has to say about these goes through `sow`. Knowledge stays open: it is a part of the work. Other desks
    are told by their ids rather than listed, so that one that is made during the turn is closed too.
    """
    home = desk.home
    sow, project = literal(home.sow), literal(home.project)
    files = [f"{sow}/config.yaml", f"{sow}/.gitignore", f"{project}/state.yaml", f"{project}/log.md"]
    folders = [f"{sow}/sinks", f"{sow}/repos", f"{project}/context", *(f"{sow}/local/{each}" for each in LOCAL)]
    folders += [f"{sow}/local/worktrees/{each}" for each in (*other_ids(desk.id), "integration-*", "slot-*")]
    folders += [f"{project}/phases/{each}" for each in phases if each != desk.phase]
    folders += [f"{project}/phases/{desk.phase}/tasks/{each}" for each in other_ids(desk.id)]
    folders += [*_copies(home), literal(f"{home.root}/orchestration")]
    return (*files, *(f"{each}/**" for each in folders))


def closed_to_member(desk: MemberDesk, others: Iterable[str]) -> tuple[str, ...]:
    """The same for an agent of a workflow: all of .sow but its knowledge, the workflow's own files, and other desks.

    What it says about its status goes through `sow`; its notes and outputs are on its own desk.
    """
    home = desk.home
    sow, flow = literal(home.sow), literal(f"{home.root}/orchestration")
    files = [f"{sow}/config.yaml", f"{sow}/.gitignore", *(f"{flow}/{each}" for each in WORKFLOW)]
    files.append(literal(desk.instructions_path))
    folders = [f"{sow}/{each}" for each in ("local", "sinks", "repos", "project")]
    folders += [f"{flow}/archive", *(f"{flow}/agents/{each}" for each in others), *_copies(home)]
    return (*files, *(f"{each}/**" for each in folders))


def _copies(home: Home) -> list[str]:
    """The copies and claims in the git folder."""
    return [f"{literal(each)}/sow" for each in dict.fromkeys((home.checkout.git, home.checkout.common))]


def other_ids(task: str) -> list[str]:
    """Patterns that fit every task's id but this one: they differ in a digit, or are longer or shorter."""
    differing = [f"{task[:place]}[{DIGITS.replace(digit, '')}]*" for place, digit in enumerate(task)]
    return [*differing, f"{task}?*", *(task[:end] for end in range(WIDTH, len(task)))]


def literal(path: str) -> str:
    """A path as a pattern that fits nothing but this path."""
    return "".join(f"\\{each}" if each in SPECIAL else each for each in path)


def shelves(home: Home, references: Iterable[str], linked: Collection[str]) -> tuple[list[str], list[str]]:
    """The folders of ours in which references lie, and those that the user `linked`, by the link and by its target."""
    root = f"{os.path.realpath(home.root)}/"
    ours, theirs = [], []
    for path in references:
        parts = path.split("/")
        if parts[0] != ".sow" or len(parts) < 4:
            continue
        depth = 3 if parts[1] in ("sinks", "repos") else len(parts) - 1
        folder = f"{home.root}/{'/'.join(parts[:depth])}"
        real = os.path.realpath(folder)
        if real.startswith(root):
            ours.append(real)
        elif real in linked:
            theirs += [folder, real]
    return list(dict.fromkeys(ours)), list(dict.fromkeys(theirs))
