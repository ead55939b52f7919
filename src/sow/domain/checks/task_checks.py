"""The check list of a task: the ordered commands that show whether its work is done, and the user's consent to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sow.domain.documents.state import Check, Evidence, Task
from sow.domain.plans.command_line import split_words


def checks_of(task: Task) -> list[Check]:
    """Returns the commands that must pass on the work, in order, without dependency checks and waived commands."""
    waived = waived_commands(task)
    return [
        check for check in task.get("checks", ()) if check["kind"] != "dependency" and check["command"] not in waived
    ]


def waived_commands(task: Task | Mapping[str, Any]) -> set[str]:
    """Returns the commands that a person waived."""
    return {waiver["command"] for waiver in task.get("waivers", ())}


def failing(task: Task) -> list[str]:
    """Returns the commands that failed on the work that a person would accept now, without waived commands.

    In state files of older versions a question about RED work is in the iteration after it: the last results count.
    """
    first = task["iteration"]
    if task["status"] == "paused" and task.get("result") == "RED":
        first = max((result["iteration"] for result in task.get("evidence", ())), default=first)
    commands = {check["command"] for check in task.get("checks", ())}
    waived = waived_commands(task)
    passed = {
        result["command"]: result["passed"]
        for result in task.get("evidence", ())
        if result["iteration"] >= first and (result["kind"] == "final" or result["command"] in commands - waived)
    }
    return [command for command, is_passed in passed.items() if not is_passed and command not in waived]


def digest(checks: Sequence[Check]) -> str:
    """Returns the digest of a check list. Tasks with the same commands in the same order share it."""
    import hashlib

    lines = (f"{check['command']}\0{check.get('expected', '')}\n" for check in checks)
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def last_complete_run(evidence: Sequence[Evidence], checks: Sequence[Check], *, tree: str) -> list[Evidence]:
    """Returns the results of the last complete run of a check list on a tree, or an empty list.

    Without a tree, the results from a shared folder count, which belong to no commit.
    """
    if not checks:
        return []
    list_digest, scope = digest(checks), "commit" if tree else "folder"
    matching = [
        result
        for result in evidence
        if result.get("list") == list_digest and result.get("scope") == scope and result.get("tree", "") == tree
    ]
    latest = matching[-len(checks) :]
    return latest if [item["command"] for item in latest] == [item["command"] for item in checks] else []


def by_digest(tasks: Iterable[Task]) -> dict[str, tuple[list[Check], list[str]]]:
    """Returns every distinct check list of some tasks by its digest, with the ids of its tasks."""
    lists: dict[str, tuple[list[Check], list[str]]] = {}
    for task in tasks:
        checks = checks_of(task)
        if checks:
            lists.setdefault(digest(checks), (checks, []))[1].append(task["id"])
    return lists


EVERYTHING = "*"
OWN, REMEMBERED, ALLOWED = "your config", "you agreed", "checks.allow"
REFUSED_SETUP = "refused_setup"  # in a run's record of what the user accepted
ASK_AGAIN = "to be asked again: sow consent forget --refused"
NO_SETUP = f"you refused the setup of checkouts, so what it installs is missing; {ASK_AGAIN}"


class Consent:
    """Commands by their exact text, the patterns of checks.allow, and the setup commands of the user's own config."""

    def __init__(self, remembered: Iterable[str] = (), *, allow: Sequence[str] = (), own: Iterable[str] = ()) -> None:
        self.remembered = frozenset(remembered)
        self.allow = tuple(allow)
        self.own = frozenset(own)

    def reason(self, command: str) -> str:
        """Returns the reason why a command may run, or an empty text if the user has not agreed to it."""
        if command in self.own:
            return OWN
        if command in self.remembered:
            return REMEMBERED
        return ALLOWED if any(matches(command, pattern) for pattern in self.allow) else ""

    def missing(self, commands: Iterable[str]) -> list[str]:
        """Returns the commands that the user has not agreed to, each once, in the given order."""
        return [command for command in dict.fromkeys(commands) if not self.reason(command)]

    def with_more(self, commands: Iterable[str]) -> Consent:
        """Returns a copy with more commands that the user agreed to."""
        return Consent(self.remembered.union(commands), allow=self.allow, own=self.own)


def matches(command: str, pattern: str) -> bool:
    """Returns whether a pattern of checks.allow covers a command.

    A pattern with wildcards covers no shell text: `pytest*` must not cover `pytest; rm -rf ~`. `*` alone covers all.
    """
    if pattern in (EVERYTHING, command):
        return True
    if split_words(command) is None:
        return False
    from fnmatch import fnmatchcase  # imported here, because a worker's start should not wait for it

    return fnmatchcase(command, pattern)
