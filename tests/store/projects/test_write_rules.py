"""The files of sow that a worker must not write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Repo
from hypothesis import example, given
from hypothesis import strategies as st

from sow.executors.write_rules import pattern_regex
from sow.store.files import checkout_home as homes
from sow.store.projects import project as projects
from sow.store.projects import task_folder

TASKS = "phases/implementation/tasks"


def patterns(repo: Repo, root: Path | None = None) -> list[str]:
    """Returns the paths that are denied to the worker on task 010."""
    home = homes.find(option=str(root or repo.root), environment={}, cwd="/")
    project = projects.load(home)
    return list(
        task_folder.write_protected(
            task_folder.find(home, project, "010"), [phase["name"] for phase in project["phases"]], "010"
        )
    )


def is_closed(path: str, found: list[str]) -> bool:
    return any(re.match(pattern_regex(text) + ("" if text.endswith("/**") else "$"), path) for text in found)


@pytest.mark.parametrize(
    ("path", "closed"),
    [
        (".sow/config.yaml", True),
        (".sow/.gitignore", True),
        (".sow/local/sessions/010/1/record.yaml", True),
        (".sow/local/runs/20260131-090000-ab12/state.yaml", True),
        (".sow/local/removed/20260131/state.yaml", True),
        (".sow/local/worktrees/010/src/a.py", False),
        (".sow/local/worktrees/010-review/src/a.py", True),
        (".sow/local/worktrees/020/src/a.py", True),
        (".sow/local/worktrees/integration-20260131-090000-ab12/src/a.py", True),
        (".sow/local/worktrees/slot-1/src/a.py", True),
        (".sow/sinks/index.json", True),
        (".sow/repos/index.json", True),
        (".sow/project/state.yaml", True),
        (".sow/project/log.md", True),
        (".sow/project/context/memories.md", True),
        (f".sow/project/{TASKS}/020/log.md", True),
        (f".sow/project/{TASKS}/011/feedback/001.md", True),
        (f".sow/project/{TASKS}/0100/state.yaml", True),
        (f".sow/project/{TASKS}/010/state.yaml", False),
        (f".sow/project/{TASKS}/010/task_output/plan.md", False),
        (".git/sow/claims/claim-task-010.lock", True),
        (".git/index", False),
        (".sow/knowledge/adrs/001.md", False),
        ("src/a.py", False),
        ("sow/config.yaml", False),
    ],
)
def test_only_its_own_folder_is_writable(task_repo: Repo, path: str, closed: bool) -> None:
    """Settings, sessions, the project's state, other tasks, worktrees and backups are denied; the work is writable."""
    assert is_closed(f"{task_repo.root}/{path}", patterns(task_repo)) is closed


def test_other_phases_are_denied(task_repo: Repo) -> None:
    """A task folder in another phase belongs to another task, whatever its id."""
    task_repo.ok("phase", "add", "review", "--reason", "to be sure", "--yes")
    result = patterns(task_repo)
    assert is_closed(f"{task_repo.project}/phases/review/tasks/010/state.yaml", result)
    assert not is_closed(f"{task_repo.task_folder('010')}/state.yaml", result)


def test_the_git_folder_of_a_linked_checkout_is_denied(task_repo: Repo, tmp_path: Path) -> None:
    """The copies of a project in a linked worktree are in the main repository's git folder."""
    task_repo.git("add", ".sow")
    task_repo.git("commit", "-q", "-m", "state")
    task_repo.git("switch", "-q", "main")
    task_repo.git("worktree", "add", "-q", str(tmp_path / "other"), "feat/auth")
    result = patterns(task_repo, tmp_path / "other")
    assert is_closed(f"{task_repo.root}/.git/sow/x/010.yaml", result)
    assert is_closed(f"{task_repo.root}/.git/worktrees/other/sow/claims/x", result)
    assert is_closed(f"{tmp_path}/other/.sow/config.yaml", result)
    assert not is_closed(f"{task_repo.root}/.git/index", result)


IDS = st.integers(min_value=0, max_value=99_999).map(lambda number: f"{number:03d}")


@given(mine=IDS, other=IDS)
@example(mine="18299", other="182")
def test_every_other_id_matches(mine: str, other: str) -> None:
    """The patterns of other ids match all of them, and never the task's own."""
    fits = any(re.fullmatch(pattern_regex(other_ident), other) for other_ident in task_folder.other_ids(mine))
    assert fits is (mine != other)


@given(st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1))
def test_a_name_matches_only_itself(name: str) -> None:
    """A name with pattern characters is still only a name."""
    result = pattern_regex(task_folder.literal(name))
    assert re.fullmatch(result, name)
    assert not re.fullmatch(result, f"{name}x")
