"""R5 for workflows: kill -9 at any boundary of a crew's run, run again: the same documents, and nobody works twice."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from conftest import FULL
from support.crash_replay import Stage
from support.crew_crash_scene import CrewScene
from support.plan_crash_scene import template, was_killed

from guarantees.fresh_process import shard

POINTS = 2  # one in each part of the run; a full count visits every boundary
GROUPS = 40 if FULL else 1
CHAINS = 20 if FULL else 1
KILLS = 1000 if FULL else 8  # in a chain


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A crew that asks a person and the solution architect and is refused once, run to its end without a kill."""
    folder = tmp_path_factory.mktemp("crew")
    (folder / "source").mkdir()
    return Stage(folder, CrewScene(folder / "scene", template(folder / "source")))


def points(boundaries: int) -> list[int]:
    """Where the run is killed: somewhere in each of equal parts; or everywhere."""
    if FULL:
        number, of = shard()
        return [*range(1, boundaries + 1)][number - 1 :: of]
    dice = random.Random(boundaries)
    edges = [1 + number * boundaries // POINTS for number in range(POINTS + 1)]
    return [dice.randrange(*each) for each in pairwise(edges)]


def visit(stage: Stage, chosen: list[int]) -> None:
    """Kill the run at each of these boundaries, and insist that nothing is wrong afterwards."""
    print(f"{sum(stage.counts)} boundaries, killed at {chosen}")
    assert [each for point in chosen for each in stage.visit(point)] == []
    assert set(chosen) <= stage.visited


@pytest.mark.parametrize("group", range(GROUPS))
def test_killed_at_a_boundary(stage: Stage, group: int) -> None:
    """A crew whose run was killed at a boundary ends with the documents of one that was not, when it is run again."""
    chosen = points(sum(stage.counts))[group::GROUPS]
    assert chosen
    visit(stage, chosen)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(CHAINS))
def test_killed_again_and_again(stage: Stage, seed: int) -> None:
    """Killed after a few steps, and again, and again, also while it puts in order what the last kill left: the same."""
    stage.back_to(0)
    scene, dice = stage.scene, random.Random(seed)
    assert isinstance(scene, CrewScene)
    scene.kills = 0
    result = scene.run(dice.randint(1, 90))
    while (was_killed(result) or result.code == 4) and scene.kills < KILLS:
        scene.kills += was_killed(result)
        if result.code == 4:
            scene.answer()
        result = scene.run(dice.randint(1, dice.choice([20, 60, 150])))
    print(f"{scene.kills} kills")
    assert scene.to_the_end()[-1].code == 0
    found = scene.end()
    assert {key: found.get(key) for key in stage.wanted} == stage.wanted
    assert scene.complaints() == []
    scene.kills = 1


@pytest.mark.full
def test_killed_between_the_state_and_its_view(stage: Stage) -> None:
    """A view that is older than the state is made anew, and never taken for an edit by hand."""
    before = [number - 1 for number in stage.after("/orchestration/shared_status.json")]
    visit(stage, before[len(before) // 2 :][:1])


@pytest.mark.full
def test_killed_while_notes_are_resolved(stage: Stage) -> None:
    """An answer that is in the history or in the note, and in nothing else, is the agent's answer after all."""
    written = stage.after("/agents/api/completion_drive/session_current.json")[1]  # the first is an empty session
    visit(stage, [written - 3, written])


@pytest.mark.full
def test_killed_between_the_end_of_a_turn_and_its_settlement(stage: Stage) -> None:
    """A turn that ended is settled after the crash, with what its agent read, and is not taken again."""
    ended = stage.after("/sessions/api/1/turn-003.txt")[0] + 3  # the record says that the turn is over
    assert stage.steps[ended - 2].endswith("/api/1/record.yaml")
    visit(stage, [ended])


@pytest.mark.full
def test_killed_around_archival(stage: Stage) -> None:
    """A session whose copy is gone, that has its last name, or that is in the index alone, is archived all the same."""
    moved = next(number for number, step in enumerate(stage.steps, 1) if "/api/completion_drive/session_2" in step)
    indexed = next(number for number in stage.after("/archive_index.json") if number > moved)
    visit(stage, [moved, moved + 1, indexed])


def test_the_boundaries_are_all_doors(stage: Stage) -> None:
    """The counter sees the disk, git, claims and the start of processes."""
    for door, least in (("create ", 100), ("write", 100), ("replace ", 100), ("start ", 16), ("claim ", 8)):
        assert sum(step.startswith(door) for step in stage.steps) >= least, door
