"""The paths that a worker may write, for CLIs whose rules are not globs."""

from __future__ import annotations

from typing import Any

from support.quick_cases import all_of

from executors.sample_turn import CLOSED, JUDGE, TASK_FOLDER, TASKS, request
from sow.executors.adapter import AgentCommand
from sow.executors.settings import ADAPTERS
from sow.executors.settings import adapter as find_adapter
from sow.executors.write_rules import writable_paths


def test_the_narrowest_folder_decides() -> None:
    """The task folder is writable in the denied folder of all tasks, which is in the writable working folder."""
    assert writable_paths(request()) == [
        ("/repo/", True),
        ("/repo/.git/", True),
        ("/repo/.git/sow/", False),
        ("/repo/.sow/local/", False),
        ("/repo/.sow/config.yaml", False),
        (f"{TASKS}/", False),
        (f"{TASK_FOLDER}/", True),
    ]


def test_pattern_characters_in_a_folder_name() -> None:
    """An escaped name is read back as the plain name."""
    result = dict(
        writable_paths(request(cwd="/a[b]", writable=(), write_protected=("/a\\[b\\]/x\\*/**", "/a\\[b\\]/y\\\\z")))
    )
    assert result == {"/a[b]/": True, "/a[b]/x*/": False, "/a[b]/y\\z": False}


def said(call: AgentCommand) -> tuple[Any, ...]:
    return call.arguments, call.environment, call.files


@all_of("kind", ADAPTERS)
def test_denials_need_the_capability(kind: str) -> None:
    """Denied paths change a worker's command exactly if the capability record says so; never with yolo."""
    adapter = find_adapter(kind)
    for more in ({}, {"yolo": True}, {"role": JUDGE}):
        both = [said(adapter.spawn_command(request(**more, write_protected=closed))) for closed in (CLOSED, ())]
        assert (both[0] != both[1]) is (adapter.capabilities.closes and not more)
