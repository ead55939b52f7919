"""The watcher of state files reads nothing twice without need, and misses no change."""

from __future__ import annotations

import os
import time

import pytest
from conftest import Repo

from sow.store.files import checkout_home as homes
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.state_watcher import FRESH, SCAN_INTERVAL_FACTOR, STEP, Snapshot, StateWatcher

LONG_AGO = float("-inf")


def opened(repo: Repo) -> tuple[StateWatcher, projects.ProjectState, str]:
    """Returns a new watcher of a project with one task, and the path of the task's state."""
    home = homes.find(option=str(repo.root), environment={}, cwd=str(repo.root))
    path = f"{home.project}/phases/implementation/tasks/010/state.yaml"
    return StateWatcher(home), projects.load(home), path


def append(*paths: str) -> None:
    for path in paths:
        with open(path, "a") as file:
            file.write("# by hand\n")


def test_an_untouched_file_is_not_read_again(task_repo: Repo) -> None:
    """Once its last change is old enough, a file is not read again."""
    seen, project, path = opened(task_repo)
    time.sleep(2 * STEP / 1e9)
    assert seen.scan(project)[path] is seen.scan(project)[path]


def test_an_edit_within_the_same_moment_is_noticed(task_repo: Repo) -> None:
    """A file that was just written is read again, even if size, path and times are unchanged."""
    seen, project, path = opened(task_repo)
    with open(path, "r+") as file:
        text = file.read()
        for letter in "abcdefgh":
            file.seek(0)
            file.write(letter + text[1:])
            file.flush()
            assert (seen.scan(project)[path].text or "")[0] == letter


def test_a_hand_edit_is_found_by_every_turn(task_repo: Repo) -> None:
    """A turn that began during another one did not scan by itself, and still finds the edit."""
    seen, project, path = opened(task_repo)
    first, second = (Snapshot(seen.home, project, seen) for _ in range(2))
    append(path)
    assert [edit.path for edit in first.hand_edits()] == [path]
    assert [edit.path for edit in second.hand_edits()] == [path]


def test_edits_before_a_turn_stay(task_repo: Repo) -> None:
    """An edit while no turn ran does not belong to the next one."""
    seen, project, path = opened(task_repo)
    Snapshot(seen.home, project, seen).hand_edits()
    append(path)
    time.sleep(FRESH)
    assert Snapshot(seen.home, project, seen).hand_edits() == []


def test_a_removed_folder_is_an_edit(task_repo: Repo) -> None:
    """Removing a whole task folder by hand is found, with its last text."""
    seen, project, path = opened(task_repo)
    turn = Snapshot(seen.home, project, seen)
    os.rename(os.path.dirname(path), f"{seen.home.root}/elsewhere")
    edits = {edit.path: edit for edit in turn.hand_edits()}
    assert edits[path].current is None and (edits[path].expected or "").startswith("schema_version")


def test_one_scan_serves_all_turns_that_ended_before(task_repo: Repo) -> None:
    """A turn that ended before another one's scan does not scan again, and still finds the edit."""
    seen, project, path = opened(task_repo)
    first, second = (Snapshot(seen.home, project, seen) for _ in range(2))
    append(path)
    first.ended_at = second.ended_at = time.monotonic()
    assert [edit.path for edit in first.hand_edits()] == [path]
    scanned = seen.scanned
    assert [edit.path for edit in second.hand_edits()] == [path]
    assert seen.scanned == scanned


def test_a_turn_that_continues_after_a_scan_scans_again(task_repo: Repo) -> None:
    """An edit after the scan of another turn is found by the turn that ends later."""
    seen, project, path = opened(task_repo)
    first, second = (Snapshot(seen.home, project, seen) for _ in range(2))
    first.ended_at = time.monotonic()
    assert first.hand_edits() == []
    append(path)
    second.ended_at = time.monotonic()
    assert [edit.path for edit in second.hand_edits()] == [path]


def test_a_restored_edit_belongs_to_one_turn(task_repo: Repo) -> None:
    """If two turns share a scan, the second one ignores what the first one has restored."""
    seen, project, path = opened(task_repo)
    first, second = (Snapshot(seen.home, project, seen) for _ in range(2))
    append(path)
    first.ended_at = second.ended_at = time.monotonic()
    for edit in first.hand_edits():
        edit.revert(seen.home)
    assert second.hand_edits() == []


@pytest.mark.parametrize("taken_back", [True, False])
def test_a_found_edit_is_no_good_state(task_repo: Repo, taken_back: bool) -> None:
    """A turn that begins later knows the correct file, whether it was restored by then or not."""
    seen, project, path = opened(task_repo)
    with open(path) as file:
        before = file.read()
    first, other = (Snapshot(seen.home, project, seen) for _ in range(2))
    append(path)
    (edit,) = first.hand_edits()
    if taken_back:
        edit.revert(seen.home)
    later = Snapshot(seen.home, project, seen)
    assert [hand_edit.expected for hand_edit in (*later.hand_edits(), *other.hand_edits())] == [before] * (
        0 if taken_back else 2
    )


def test_a_file_that_is_removed_after_an_edit_is_missed(task_repo: Repo) -> None:
    """The expected text is known, and the file is missing: that is an edit, too."""
    seen, project, path = opened(task_repo)
    turn = Snapshot(seen.home, project, seen)
    append(path)
    (edit,) = turn.hand_edits()
    seen.scanned = time.monotonic() + 3600  # just now, however slow this machine is
    later = Snapshot(seen.home, project, seen)
    os.unlink(path)
    assert [(hand_edit.current, hand_edit.expected) for hand_edit in later.hand_edits()] == [(None, edit.expected)]


def test_changes_of_sow_after_a_shared_scan_are_no_edit(task_repo: Repo) -> None:
    """A state that was written through sow before and after the scan of another turn is no edit by hand."""
    seen, project, _ = opened(task_repo)
    own_folder = task_folder.find(seen.home, project, "010")
    first, second = (Snapshot(seen.home, project, seen) for _ in range(2))
    for turn in (first, second):
        loaded = own_folder.load()
        own_folder.save(loaded, loaded["task"], project["project_id"])
        turn.ended_at = first.ended_at = second.ended_at = min(time.monotonic(), first.ended_at)
        assert turn.hand_edits() == []


def shared(repo: Repo) -> tuple[StateWatcher, projects.ProjectState, str, str]:
    """Returns the watcher of a run with two tasks, whose last scan was slow, and the paths of both states."""
    repo.ok("task", "create", "--name", "Two")
    home = homes.find(option=str(repo.root), environment={}, cwd=str(repo.root))
    tasks = f"{home.project}/phases/implementation/tasks"
    seen, project = StateWatcher(home, is_shared=True), projects.load(home)
    seen.scan(project)
    just_now(seen)
    return seen, project, f"{tasks}/010/state.yaml", f"{tasks}/020/state.yaml"


def just_now(seen: StateWatcher) -> None:
    """Sets the last scan to a slow one of this moment, however slow the machine is."""
    seen.cost, seen.scanned = 3600 / SCAN_INTERVAL_FACTOR, time.monotonic() + 3600


def over(turn: Snapshot, own: str = "") -> list[str]:
    """Returns what a turn finds that ends now, after the last scan."""
    turn.ended_at = max(time.monotonic(), turn.watcher.scanned)
    return [edit.path for edit in turn.hand_edits(own)]


def test_after_a_slow_scan_a_turn_scans_its_own_folder(task_repo: Repo) -> None:
    """Its edits elsewhere are found by the next turn for which a scan is due, also one that began later."""
    seen, project, own, other = shared(task_repo)
    first = Snapshot(seen.home, project, seen)
    append(own, other)
    assert over(first, "010") == [own]
    assert seen.deferred is first
    second = Snapshot(seen.home, project, seen)
    seen.scanned = LONG_AGO
    assert over(second, "010") == [own, other]
    assert seen.deferred is None


def test_a_deferred_scan_can_be_done_later(task_repo: Repo) -> None:
    """The turn that deferred the scan finds all of it, and then nothing is deferred."""
    seen, project, _, other = shared(task_repo)
    turn = Snapshot(seen.home, project, seen)
    append(other)
    assert over(turn, "010") == []
    assert seen.deferred is not None
    assert [edit.path for edit in seen.deferred.hand_edits()] == [other]
    assert seen.deferred is None


def test_a_deferred_scan_does_not_hide_edits(task_repo: Repo) -> None:
    """A turn that begins long after the last scan does not scan by itself while a scan is deferred."""
    seen, project, _, other = shared(task_repo)
    append(other)
    assert over(Snapshot(seen.home, project, seen), "010") == []
    seen.scanned = LONG_AGO
    assert over(Snapshot(seen.home, project, seen), "010") == [other]


def test_when_a_scan_is_not_deferred(task_repo: Repo) -> None:
    """It is not deferred without a recent scan, without a run of several turns, and for an unknown folder."""
    seen, project, _, other = shared(task_repo)
    turns = [Snapshot(seen.home, project, seen) for _ in range(4)]
    append(other)
    seen.is_shared = False
    assert over(turns[0], "010") == [other]
    seen.is_shared, seen.scanned = True, LONG_AGO
    assert over(turns[1], "010") == [other]
    just_now(seen)
    assert over(turns[2], "030") == [other]
    just_now(seen)
    turns[3].ended_at = time.monotonic()  # long before that last look
    assert [edit.path for edit in turns[3].hand_edits("010")] == [other]
    assert seen.deferred is None


def test_the_duration_of_a_scan_is_measured(task_repo: Repo) -> None:
    """The pause between scans depends on it."""
    seen, project, _ = opened(task_repo)
    seen.scan(project)
    assert 0 < seen.cost < 60


def test_a_removed_phase_is_an_edit(task_repo: Repo) -> None:
    """With the folder of all tasks each of them is missing, and found again when it is back."""
    seen, project, path = opened(task_repo)
    turn = Snapshot(seen.home, project, seen)
    folder = os.path.dirname(os.path.dirname(path))
    os.rename(folder, f"{seen.home.root}/elsewhere")
    assert [edit.current for edit in turn.hand_edits() if edit.path == path] == [None]
    os.rename(f"{seen.home.root}/elsewhere", folder)
    assert turn.hand_edits() == []
