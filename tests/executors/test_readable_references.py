"""A worker may read references outside of its working folder, and never write them."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Repo
from knowledge.labelled_set import write

from executors.sample_turn import request, words
from sow.executors.settings import adapter
from sow.executors.write_rules import writable_paths
from sow.store.files import checkout_home as homes
from sow.store.projects import task_folder

CWD = "/repo/.sow/local/worktrees/010"
SINK, LINKED = "/repo/.sow/sinks/auth", "/src/pay(1)"


def line(kind: str, **changes: object) -> str:
    """Returns the command line of a worker in a worktree, with all its files."""
    asked = request(**{"cwd": CWD, "readable": (SINK,), "external_readable": (LINKED,), **changes})
    call = adapter(kind).spawn_command(asked)
    return "\n".join([*call.arguments, *call.environment.values(), *call.files.values()])


def test_claude_gets_a_rule_to_read() -> None:
    """Claude Code may read below each folder; no folder is added, since that would allow more."""
    asked = words(adapter("claude"), cwd=CWD, readable=(SINK,), external_readable=(LINKED,))
    assert f"Read(/{SINK}/**)" in asked
    assert "Read(//src/pay\\(1\\)/**)" in asked
    assert SINK not in asked
    assert LINKED not in asked


@pytest.mark.parametrize(("kind", "word"), [("copilot", f"--add-dir={LINKED}"), ("qwen", LINKED)])
def test_readable_folders_are_not_writable(kind: str, word: str) -> None:
    """If access to a folder does not mean writing, each is accessible, and no rule for writers names it."""
    asked = words(adapter(kind), cwd=CWD, readable=(SINK,), external_readable=(LINKED,))
    assert word in asked
    assert any(SINK in text for text in asked)
    writers = [line for line in asked if line.startswith(("--allow-tool=write", "write_file(", "edit("))]
    assert writers
    assert not any(SINK in writer or LINKED in writer for writer in writers)


@pytest.mark.parametrize("kind", ["gemini", "opencode"])
def test_only_denied_folders_are_added_where_access_means_writing(kind: str) -> None:
    """sow's own folders are denied for writing already; a linked repository is not, so it is left out."""
    messages = line(kind)
    assert SINK in messages
    assert LINKED not in messages


@pytest.mark.parametrize("kind", ["claude", "copilot", "qwen", "gemini", "opencode", "codex", "amp"])
def test_without_references_nothing_changes(kind: str) -> None:
    """Without such references the command line is unchanged, and with them no further place is writable."""
    asked = request(cwd=CWD, readable=(SINK,), external_readable=(LINKED,))
    assert writable_paths(asked) == writable_paths(request(cwd=CWD))
    assert SINK not in line(kind, readable=(), external_readable=())


def test_the_folders_of_references(repo: Repo, tmp_path: Path) -> None:
    """A sink or a repository is one folder, another file is in its own; a link counts if the user made it."""
    target = tmp_path / "pay"
    write(target, {"docs/x.md": "# X\n"})
    (repo.root / ".sow/repos").mkdir()
    (repo.root / ".sow/repos/pay").symlink_to(target)
    home = homes.find(option=str(repo.root), environment={}, cwd="/")
    references = [
        "docs/api.md",
        ".sow/sinks/auth/deep/a.md",
        ".sow/sinks/auth/b.md",
        ".sow/repos/pay/docs/x.md",
        ".sow/project/phases/implementation/tasks/010/task_output/r.md",
        ".sow/config.yaml",
    ]
    inside = [f"{repo.root}/.sow/sinks/auth", f"{repo.root}/.sow/project/phases/implementation/tasks/010/task_output"]
    assert task_folder.reference_folders(home, references, ()) == (inside, [])
    assert task_folder.reference_folders(home, references, (str(target),)) == (
        inside,
        [f"{repo.root}/.sow/repos/pay", str(target)],
    )
