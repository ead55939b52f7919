"""S3: a link, a hard link or a pipe that an agent plants leads sow to no other file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Repo
from support.plan_repo import GREEN, WORK, PlanRepo
from support.quick_cases import few_of
from support.worktree_repo import home_at

from sow.gitwork.check_processes import end_left_checks
from sow.store.projects import task_updates
from sow.system import environment, git, plain_file

MINE = "mine, with sk-dummy-0123456789\n"
Plant = Callable[[Path, Path], None]


def soft(path: Path, target: Path) -> None:
    path.symlink_to(target)


def hard(path: Path, target: Path) -> None:
    os.link(target, path)


def pipe(path: Path, target: Path) -> None:
    os.mkfifo(path)


every_plant = pytest.mark.parametrize("plant", [soft, hard, pipe])


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file of the user outside of the repository."""
    path = tmp_path / "mine.txt"
    path.write_text(MINE)
    return path


ENDINGS = ("md", "out", "err", "prompt", "txt")


@few_of("plant", [soft, hard, pipe], 1)
def test_planted_files_of_the_next_turn(plan_repo: PlanRepo, mine: Path, plant: Plant) -> None:
    """A worker plants the files of its next turn: they are made anew, and nothing else is written (F27)."""
    make = {soft: f"ln -s {mine}", hard: f"ln {mine}", pipe: "mkfifo"}[plant]
    folder = plan_repo.repo.root / ".sow/local/sessions/010/1"
    script = "".join(f"{make} {folder}/turn-002.{ending}\n" for ending in ENDINGS)
    plan_repo.act("implementer-010-1", f"{script}{WORK}")
    plan_repo.act("implementer-010-2", "echo more > more.txt\necho done\n")
    plan_repo.judge("010", "RED", "GREEN")
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0, result
    assert plan_repo.turns("010") == 2
    assert mine.read_text() == MINE
    for ending in ENDINGS:
        file = folder / f"turn-002.{ending}"
        assert file.is_file()
        assert not file.is_symlink()
        assert file.stat().st_nlink == 1


def test_a_linked_final_text_is_not_read(plan_repo: PlanRepo, mine: Path) -> None:
    """A worker's final text that was replaced by a link reaches no reviewer."""
    folder = plan_repo.repo.root / ".sow/local/sessions/010/1"
    plan_repo.act("implementer-010-1", f"{WORK}echo said\n")
    plan_repo.plan("First")
    plan_repo.configure(review={"agents": ["quality-control", "reviewer"]})
    plan_repo.act("quality-control-010-1", f"ln -sf {mine} {folder}/turn-001.txt\n{GREEN}")
    result = plan_repo.run()
    assert result.code == 0, result
    assert "sk-dummy" not in plan_repo.prompt("010", role="reviewer")


@every_plant
def test_a_linked_log_is_not_written(task_repo: Repo, mine: Path, plant: Plant) -> None:
    """An entry is never added to another file than the log."""
    path = task_repo.task_folder("010") / "log.md"
    path.unlink(missing_ok=True)
    plant(path, mine)
    result = task_repo.sow("log", "--task", "010", "done")
    assert mine.read_text() == MINE
    if plant is hard:
        assert result.code == 0, result
        assert "done" in path.read_text()
    else:
        assert result.code != 0


@every_plant
def test_planted_output_of_a_check(tmp_path: Path, mine: Path, plant: Plant) -> None:
    """The end of a failed check's output is neither written through a planted file nor read through one."""
    folder = tmp_path / "checks"
    folder.mkdir()
    task_updates.save_output(str(folder), "pytest", "1 failed")
    (path,) = folder.iterdir()
    path.unlink()
    plant(path, mine)
    if plant is not hard:
        assert task_updates.output_of(str(folder), "pytest") == ""
    task_updates.save_output(str(folder), "pytest", "2 failed")
    assert task_updates.output_of(str(folder), "pytest") == "2 failed"
    assert mine.read_text() == MINE


@every_plant
def test_planted_files_of_a_worktree(tmp_path: Path, mine: Path, plant: Plant) -> None:
    """The files that sow replaces in a git folder are written to a new file, whatever is in their place."""
    target = tmp_path / "sow-asked"
    plant(tmp_path / "sow-asked.sow", mine)
    git.write_file(str(target), "text\n")
    plant(tmp_path / "sow-asked.sow", mine)
    git.copy_file(str(target), str(target))
    assert target.read_text() == "text\n"
    assert mine.read_text() == MINE
    target.unlink()
    plant(target, mine)
    if plant is not hard:
        assert git.first_line(str(target)) == ""


def test_masking_leaves_hard_links_alone(tmp_path: Path, mine: Path) -> None:
    """A secret is masked in a session's file, and not in the user's file that is the same one."""
    hard(tmp_path / "turn-001.out", mine)
    assert environment.redact_file(str(tmp_path / "turn-001.out"), ["sk-dummy-0123456789"]) == 1
    assert mine.read_text() == MINE
    assert "sk-dummy" not in (tmp_path / "turn-001.out").read_text()


@every_plant
def test_a_planted_claim(task_repo: Repo, mine: Path, plant: Plant) -> None:
    """The holder of a task is written into the claim's own file only."""
    home = home_at(task_repo.root)
    with home.claim("task-010", purpose="test"):
        path = Path(home.claims) / "claim-task-010.lock"
    path.unlink()
    plant(path, mine)
    try:
        with home.claim("task-010", purpose="test"):
            assert plant is hard
            assert "(test)" in path.read_text()
    except Exception:
        assert plant is not hard
    assert mine.read_text() == MINE


@every_plant
def test_a_planted_mark_of_a_check(tmp_path: Path, mine: Path, plant: Plant) -> None:
    """A planted mark of a check stops no run."""
    plant(tmp_path / "test-1.mark", mine)
    end_left_checks(str(tmp_path))
    assert mine.read_text() == MINE


def test_only_regular_files_are_read(tmp_path: Path, mine: Path) -> None:
    """Anything else is an error at once."""
    for plant in (soft, pipe):
        plant(tmp_path / plant.__name__, mine)
        with pytest.raises(OSError, match=r"not a regular file|symbolic links"):
            plain_file.read(str(tmp_path / plant.__name__), 100)
    assert plain_file.read(str(mine), 4) == b"mine"
