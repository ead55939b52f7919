"""R5 for workflows: after kill -9 at any crash point, the next run has the same documents and repeats no work."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from conftest import FULL
from support.crash_replay import CrashReplay
from support.crew_crash_scene import CrewCrashScene
from support.plan_crash_scene import template, was_killed

from guarantees.fresh_process import shard

POINTS = 1  # one in each part of the run; a full count visits every boundary
GROUPS = 40 if FULL else 1
CHAINS = 20 if FULL else 1
KILLS = 1000 if FULL else 8  # in a chain


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> CrashReplay:
    """A crew with a question to a person, one to the solution architect and one refusal, run without a kill."""
    folder = tmp_path_factory.mktemp("crew")
    (folder / "source").mkdir()
    return CrashReplay(folder, CrewCrashScene(folder / "scene", template(folder / "source")))


def points(boundaries: int) -> list[int]:
    """Returns the boundaries for the kills: one in each of equal parts, or all."""
    if FULL:
        number, of = shard()
        return [*range(1, boundaries + 1)][number - 1 :: of]
    rng = random.Random(boundaries)
    edges = [1 + number * boundaries // POINTS for number in range(POINTS + 1)]
    return [rng.randrange(*edge) for edge in pairwise(edges)]


def visit(replay: CrashReplay, chosen: list[int]) -> None:
    """Kills the run at each of these boundaries, and checks that nothing is wrong afterwards."""
    print(f"{sum(replay.counts)} boundaries, killed at {chosen}")
    assert [item for point in chosen for item in replay.visit(point)] == []
    assert set(chosen) <= replay.visited


@pytest.mark.parametrize("group", range(GROUPS))
def test_killed_at_a_boundary(replay: CrashReplay, group: int) -> None:
    """A crew whose run was killed at a boundary has the same documents after the next call."""
    chosen = points(sum(replay.counts))[group::GROUPS]
    assert chosen
    visit(replay, chosen)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(CHAINS))
def test_killed_repeatedly(replay: CrashReplay, seed: int) -> None:
    """Killed every few steps, also during the repair after the last kill, the run has the same result."""
    replay.back_to(0)
    scene, rng = replay.scene, random.Random(seed)
    assert isinstance(scene, CrewCrashScene)
    scene.kills = 0
    result = scene.run(rng.randint(1, 90))
    while (was_killed(result) or result.code == 4) and scene.kills < KILLS:
        scene.kills += was_killed(result)
        if result.code == 4:
            scene.answer()
        result = scene.run(rng.randint(1, rng.choice([20, 60, 150])))
    print(f"{scene.kills} kills")
    assert scene.to_the_end()[-1].code == 0
    outcome = scene.end()
    assert {key: outcome.get(key) for key in replay.wanted} == replay.wanted
    assert scene.complaints() == []
    scene.kills = 1


@pytest.mark.full
def test_killed_between_the_state_and_its_view(replay: CrashReplay) -> None:
    """A view that is older than the state is written again, and never read as an edit by hand."""
    before = [number - 1 for number in replay.after("/orchestration/shared_status.json")]
    visit(replay, before[len(before) // 2 :][:1])


@pytest.mark.full
def test_killed_while_notes_are_resolved(replay: CrashReplay) -> None:
    """An answer that is only in the history or in the note still becomes the agent's answer."""
    written = replay.after("/agents/api/completion_drive/session_current.json")[1]  # the first is an empty session
    visit(replay, [written - 3, written])


@pytest.mark.full
def test_killed_between_the_end_of_a_turn_and_its_settlement(replay: CrashReplay) -> None:
    """A turn that ended is settled after the crash, with what its agent read, and is not repeated."""
    ended = replay.after("/sessions/api/1/turn-003.txt")[0] + 3  # the record says that the turn is over
    assert replay.steps[ended - 2].endswith("/api/1/record.yaml")
    visit(replay, [ended])


@pytest.mark.full
def test_killed_around_archival(replay: CrashReplay) -> None:
    """A session without its copy, with its final name, or only in the index, is archived."""
    moved = next(number for number, step in enumerate(replay.steps, 1) if "/api/completion_drive/session_2" in step)
    indexed = next(number for number in replay.after("/archive_index.json") if number > moved)
    visit(replay, [moved, moved + 1, indexed])


def test_every_kind_of_change_is_counted(replay: CrashReplay) -> None:
    """The counter sees the disk, git, claims and the start of processes."""
    for door, least in (("create ", 100), ("write", 100), ("replace ", 100), ("start ", 16), ("claim ", 8)):
        assert sum(step.startswith(door) for step in replay.steps) >= least, door
