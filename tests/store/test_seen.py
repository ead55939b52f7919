"""What the turns of a run know of state files: nothing is read twice without need, and no change is missed."""

from __future__ import annotations

import os
import time

from conftest import Repo

from sow.store import desk as desks
from sow.store import home as homes
from sow.store import project as projects
from sow.store.seen import FRESH, NOT_YET, REST, STEP, Seen
from sow.store.snapshot import Snapshot


def opened(repo: Repo) -> tuple[Seen, projects.ProjectState, str]:
    """A fresh memory of a project with one task, and the path of the task's state."""
    home = homes.find(option=str(repo.root), environment={}, cwd=str(repo.root))
    path = f"{home.project}/phases/implementation/tasks/010/state.yaml"
    return Seen(home), projects.load(home), path


def test_a_file_that_nobody_touched_is_the_same_look(task_repo: Repo) -> None:
    """Once its last change is long enough ago, a file is not read again."""
    seen, project, path = opened(task_repo)
    time.sleep(2 * STEP / 1e9)
    assert seen.scan(project)[path] is seen.scan(project)[path]


def test_an_edit_within_the_same_moment_is_seen(task_repo: Repo) -> None:
    """A file that was just written is read again, even if size, place and times are as they were."""
    seen, project, path = opened(task_repo)
    with open(path, "r+") as file:
        text = file.read()
        for letter in "abcdefgh":
            file.seek(0)
            file.write(letter + text[1:])
            file.flush()
            assert (seen.scan(project)[path].text or "")[0] == letter


def test_a_hand_edit_is_found_by_every_turn_that_was_going_on(task_repo: Repo) -> None:
    """A turn that began while another went on did not look by itself, and finds what was edited all the same."""
    seen, project, path = opened(task_repo)
    first, second = (Snapshot(seen.home, project, seen) for _ in range(2))
    with open(path, "a") as file:
        file.write("# by hand\n")
    assert [edit.path for edit in first.edits()] == [path]
    assert [edit.path for edit in second.edits()] == [path]


def test_what_was_there_before_a_turn_stays(task_repo: Repo) -> None:
    """What was edited while no turn went on is no edit of the next one."""
    seen, project, path = opened(task_repo)
    Snapshot(seen.home, project, seen).edits()
    with open(path, "a") as file:
        file.write("# by hand\n")
    time.sleep(FRESH)
    assert Snapshot(seen.home, project, seen).edits() == []


def test_a_desk_that_is_gone_is_an_edit(task_repo: Repo) -> None:
    """Removing a whole desk by hand is found, with the text that was there."""
    seen, project, path = opened(task_repo)
    turn = Snapshot(seen.home, project, seen)
    os.rename(os.path.dirname(path), f"{seen.home.root}/elsewhere")
    edits = {edit.path: edit for edit in turn.edits()}
    assert edits[path].now is None and (edits[path].good or "").startswith("schema_version")


def test_one_scan_serves_all_turns_that_were_over_before_it(task_repo: Repo) -> None:
    """A turn that was over when another one looked does not look again, and finds what was edited all the same."""
    seen, project, path = opened(task_repo)
    first, second = (Snapshot(seen.home, project, seen) for _ in range(2))
    with open(path, "a") as file:
        file.write("# by hand\n")
    first.over = second.over = time.monotonic()
    assert [edit.path for edit in first.edits()] == [path]
    scanned = seen.scanned
    assert [edit.path for edit in second.edits()] == [path]
    assert seen.scanned == scanned


def test_a_turn_that_goes_on_after_a_scan_looks_again(task_repo: Repo) -> None:
    """What was edited after the scan of another turn is found by the turn that ended later."""
    seen, project, path = opened(task_repo)
    first, second = (Snapshot(seen.home, project, seen) for _ in range(2))
    first.over = time.monotonic()
    assert first.edits() == []
    with open(path, "a") as file:
        file.write("# by hand\n")
    second.over = time.monotonic()
    assert [edit.path for edit in second.edits()] == [path]


def test_what_one_turn_has_put_right_is_no_edit_of_another(task_repo: Repo) -> None:
    """Where two turns share a scan, the second one does not judge what the first one has taken back since."""
    seen, project, path = opened(task_repo)
    first, second = (Snapshot(seen.home, project, seen) for _ in range(2))
    with open(path, "a") as file:
        file.write("# by hand\n")
    first.over = second.over = time.monotonic()
    for edit in first.edits():
        edit.take_back(seen.home)
    assert second.edits() == []


def test_what_sow_writes_after_a_shared_scan_is_no_edit(task_repo: Repo) -> None:
    """A state that was written through sow before and after the scan of another turn is no edit by hand."""
    seen, project, _ = opened(task_repo)
    desk = desks.find(seen.home, project, "010")
    first, second = (Snapshot(seen.home, project, seen) for _ in range(2))
    for turn in (first, second):
        loaded = desk.load()
        desk.save(loaded, loaded["task"], project["project_id"])
        turn.over = first.over = second.over = min(time.monotonic(), first.over)
        assert turn.edits() == []


def test_where_a_look_takes_long_a_turn_waits_for_those_who_go_on(task_repo: Repo) -> None:
    """One look serves all who are over, so it is left for later; not for ever, and not where nobody goes on."""
    seen, project, path = opened(task_repo)
    first, second = (Snapshot(seen.home, project, seen) for _ in range(2))
    first.over = time.monotonic()
    seen.scanned, seen.cost = first.over, 3600 / REST
    assert seen.can_wait(first)
    seen.cost = 0.0
    assert not seen.can_wait(first)  # it is time
    seen.cost = 3600 / REST
    seen.scanned -= FRESH  # one look that took long says nothing about the next
    assert not seen.can_wait(first)
    seen.scanned = second.over = first.over
    assert not seen.can_wait(first)  # nobody goes on
    with open(path, "a") as file:
        file.write("# by hand\n")
    first.over = second.over = time.monotonic()
    third = Snapshot(seen.home, project, seen)
    assert third.over == NOT_YET
    assert [edit.path for edit in first.edits()] == [path]
    assert not seen.can_wait(second)  # that look serves this one, too


def test_the_time_that_a_look_takes_is_known(task_repo: Repo) -> None:
    """Waiting is measured by it."""
    seen, project, _ = opened(task_repo)
    seen.scan(project)
    assert 0 < seen.cost < 60


def test_a_phase_that_is_gone_is_an_edit(task_repo: Repo) -> None:
    """With the folder of all its desks every one of them is found to be gone, and found again when it is back."""
    seen, project, path = opened(task_repo)
    turn = Snapshot(seen.home, project, seen)
    folder = os.path.dirname(os.path.dirname(path))
    os.rename(folder, f"{seen.home.root}/elsewhere")
    assert [edit.now for edit in turn.edits() if edit.path == path] == [None]
    os.rename(f"{seen.home.root}/elsewhere", folder)
    assert turn.edits() == []
