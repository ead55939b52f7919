"""R5: after kill -9 at any crash point, the next run has the same result and repeats no work that was handed in."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import FULL
from support.crash_replay import CrashReplay
from support.plan_crash_scene import MEETING, ROUGH, PlanCrashScene, meeting, rough, template, was_killed

from guarantees.fresh_process import shard

POINTS = 2  # one in each part of the run; a full count visits every boundary
ROUGH_POINTS = 1
RANDOM = 500
GROUPS = 40 if FULL else 1


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> CrashReplay:
    """The plan, run once to its end without a kill."""
    folder = tmp_path_factory.mktemp("crash")
    (folder / "source").mkdir()
    return CrashReplay(folder, PlanCrashScene(folder / "scene", template(folder / "source")))


@pytest.fixture(scope="module")
def rough_replay(tmp_path_factory: pytest.TempPathFactory) -> CrashReplay:
    """A plan with a check that fails and a conflict; after a kill another task may be sent back for it."""
    folder = tmp_path_factory.mktemp("rough")
    (folder / "source").mkdir()
    scene = PlanCrashScene(folder / "scene", template(folder / "source"), rough(folder / "scene/ledger"))
    scene.plan(ROUGH)
    return CrashReplay(folder, scene)


@pytest.fixture(scope="module")
def meeting_replay(tmp_path_factory: pytest.TempPathFactory) -> CrashReplay:
    """A plan whose second task breaks the check of the first on the final tree."""
    folder = tmp_path_factory.mktemp("meeting")
    (folder / "source").mkdir()
    scene = PlanCrashScene(folder / "scene", template(folder / "source"), meeting(folder / "scene/ledger"))
    scene.plan(MEETING)
    return CrashReplay(folder, scene)


def points(boundaries: int, parts: int) -> list[int]:
    """Returns the boundaries for the kills: one in each of equal parts, or all."""
    rng = random.Random(parts)
    if not FULL:
        edges = [1 + number * boundaries // parts for number in range(parts + 1)]
        return [rng.randrange(*edge) for edge in pairwise(edges)]
    every = [*range(1, boundaries + 1), *(rng.randint(1, boundaries) for _ in range(RANDOM))]
    number, of = shard()
    return every[number - 1 :: of]


@pytest.mark.parametrize("group", range(GROUPS))
def test_killed_at_a_boundary(replay: CrashReplay, group: int) -> None:
    """A run that was killed at a boundary has the same result after the next call."""
    chosen = points(sum(replay.counts), POINTS)[group::GROUPS]
    visit(replay, chosen)
    assert len(chosen) >= POINTS // GROUPS


def visit(replay: CrashReplay, chosen: list[int]) -> None:
    """Kills the run at each of these boundaries, and checks that nothing is wrong afterwards."""
    print(f"{sum(replay.counts)} boundaries, killed at {chosen}")
    assert [item for point in chosen for item in replay.visit(point)] == []
    assert set(chosen) <= replay.visited


@pytest.mark.full
@pytest.mark.parametrize("group", range(GROUPS if FULL else 1))
def test_killed_with_a_failed_check_and_a_conflict(rough_replay: CrashReplay, group: int) -> None:
    """The same holds for a run with a failed check and a conflict that its worker resolves."""
    visit(rough_replay, points(sum(rough_replay.counts), ROUGH_POINTS)[group :: GROUPS if FULL else 1])


@pytest.mark.full
def test_killed_around_a_merge(meeting_replay: CrashReplay) -> None:
    """Killed between the record of a merge and the branch, or around the final checks, a run has the same result."""
    steps = enumerate(meeting_replay.steps, 1)
    written = [number for number, step in steps if "/local/runs/" in step and step.endswith("/state.yaml")]
    back = meeting_replay.after("/020/feedback/001.md")
    assert len(written) >= 6  # begun twice, two merges, the final check, and the merge that broke it
    assert len(back) == 1
    every = points(sum(meeting_replay.counts), POINTS) if FULL else []
    visit(meeting_replay, [*(number + 1 for number in written[2:6]), *back, *every])


@pytest.mark.full
def test_killed_around_the_end_of_a_silent_turn(replay: CrashReplay) -> None:
    """A turn that ended without a status is settled after a crash at any step of its end."""
    chosen = replay.after("/sessions/020/1/record.yaml")[1:3]  # the first is that of its beginning
    assert len(chosen) == 2
    visit(replay, chosen)


@pytest.mark.full
def test_killed_before_a_turn_is_settled(replay: CrashReplay) -> None:
    """A turn in which the worker set its status is not counted for the next iteration after a crash."""
    chosen = [replay.after(f"/sessions/{task}/1/record.yaml")[1] for task in ("010", "030")]
    visit(replay, chosen)


@pytest.mark.full
def test_killed_while_work_is_sent_back(replay: CrashReplay) -> None:
    """A RED whose feedback was written and whose state was not is sent back once, with that one feedback."""
    chosen = replay.after("/010/feedback/001.md")
    assert len(chosen) == 1
    visit(replay, chosen)
    assert len(replay.said["010"]) == 1


@pytest.mark.full
def test_killed_before_the_copy_of_a_state(rough_replay: CrashReplay) -> None:
    """A task that was sent back and has an older copy stays sent back, and its worker's next call sees that."""
    output = rough_replay.after("/010/feedback/001.md")[0]
    chosen = next(
        number for number, step in enumerate(rough_replay.steps, 1) if number > output and "/.010.yaml." in step
    )
    visit(rough_replay, [chosen])


@pytest.mark.full
def test_killed_while_a_folder_is_made(replay: CrashReplay) -> None:
    """A half-written task folder is gone after the next run."""
    made = [number for number, step in enumerate(replay.steps, 1) if "/.new." in step and step.endswith("state.yaml")]
    visit(replay, [made[0] + 1])
    assert list(replay.scene.repo.project.rglob(".new.*")) == []


def test_killed_while_check_output_is_stored(tmp_path: Path) -> None:
    """A worker gets the output of its failed check after a kill at any step around the evidence."""
    (tmp_path / "source").mkdir()
    source = template(tmp_path / "source")
    calm = checked(tmp_path / "calm", source)
    assert calm.run(0).code == 0
    steps = [line.partition(" ")[2] for line in calm.crossings()]
    kept = next(number for number, step in enumerate(steps, 1) if step.endswith(".tail"))
    assert "lines that hold two: 0" in calm.feedback()["010"][0]
    for point in (kept, kept + 1):
        scene = checked(tmp_path / f"killed-{point}", source)
        assert was_killed(scene.run(point))
        assert scene.run().code == 0
        assert scene.feedback() == calm.feedback(), steps[point - 1]


def checked(folder: Path, source: Path) -> PlanCrashScene:
    """One task whose check fails at first and prints why."""
    hand_in = {"status": "needs_review"}
    turns = [[{"write": {"path": "part_{task}.txt", "text": text}}, hand_in] for text in ("one\n", "two\n")]
    scene = PlanCrashScene(folder, source, {"010": turns})
    check = "echo lines that hold two: $(grep -c two part_010.txt); grep -q two part_010.txt"
    scene.plan(f"# One\n\n## Task 1: First\nMake it.\n\n**Test Commands**:\n```\n{check}\n```\n")
    return scene


def test_every_kind_of_change_is_counted(replay: CrashReplay) -> None:
    """The counter sees the disk, git and the start of processes, each many times."""
    for door, least in (("create ", 50), ("write", 50), ("replace ", 30), ("git ", 100), ("start ", 8)):
        assert sum(step.startswith(door) for step in replay.steps) >= least, door
