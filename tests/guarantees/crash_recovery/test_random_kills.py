"""R5 at random times: a plan survives many kills, and the worker of each completed task started once."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import FULL
from support.plan_crash_scene import BRANCH, PlanCrashScene, template
from support.simulated_workers import processes, wait_for

MOST_STARTS = 5  # for each kill: one that comes after the end of everything does not count
PLAN = "# Many parts\n"
SECONDS = 1.2  # the longest that a run lives, so that it is killed in every stage
USER = ("head", "files", "staged", "status", "stash")


def plan(size: int) -> str:
    """Returns a plan of this size without names of workers' commits; every third task depends on the previous one."""
    text = PLAN
    for number in range(1, size + 1):
        depends = f"**Depends on**: {number - 1}\n\n" if number % 3 == 0 else ""
        text += f"\n## Task {number}: Piece {number}\n{depends}Make piece {number}.\n"
    return text


def scenario(ledger: Path) -> dict[str, Any]:
    """Hands in with one call that either happened or did not; a second turn can be recognised."""
    start = {"append": {"path": str(ledger), "text": "{task}\n"}}
    work = [{"write": {"path": "part_{task}.txt", "text": "two\n"}}, {"commit": "Part {task}"}]
    return {"default": [[start, *work, {"status": "needs_review"}]]}


@pytest.fixture
def scene(tmp_path: Path) -> PlanCrashScene:
    (tmp_path / "source").mkdir()
    return PlanCrashScene(tmp_path / "scene", template(tmp_path / "source"), scenario(tmp_path / "scene/ledger"))


@pytest.mark.full
@pytest.mark.parametrize(("size", "kills"), [(20, 40) if FULL else (5, 4)])
def test_many_kills(scene: PlanCrashScene, size: int, kills: int) -> None:
    """Killed again and again, often during a git call, the run has the same result as without a kill."""
    scene.plan(plan(size))
    before = scene.end()
    assert kill_often(scene, random.Random(size), kills) == kills
    ended = scene.to_the_end()
    assert ended[-1].code == 0, ended
    after = scene.end()
    assert {item: after[item] for item in USER} == {item: before[item] for item in USER}
    idents = [f"{number:02}0" for number in range(1, size + 1)]
    assert after["statuses"] == dict.fromkeys(idents, ("completed", "GREEN"))
    for ident in idents:
        assert scene.repo.git("show", f"{BRANCH}:part_{ident}.txt") == "two\n"
    assert len(after["branch"]) == len(before["branch"]) + size
    assert scene.complaints() == []
    assert_started_once(scene, size)


def kill_often(scene: PlanCrashScene, rng: random.Random, kills: int) -> int:
    """Starts the run and kills it, every other time with its git; every commit stays reachable."""
    done = 0
    for _ in range(MOST_STARTS * kills):
        if done == kills:
            break
        process = scene.start()
        time.sleep(rng.uniform(0.1, SECONDS))
        done += kill(process, with_git=rng.random() < 0.5)
        wait_for(lambda: not scene.lost())  # a worker may be about to name its commit
    return done


def kill(process: subprocess.Popen[bytes], *, with_git: bool) -> bool:
    """Sends kill -9 to a run, and to its git, which would otherwise complete its call, or not."""
    gits = children(process.pid, "git") if with_git else []
    process.send_signal(signal.SIGKILL)
    for pid in gits:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return process.wait(300) == -signal.SIGKILL


def children(parent: int, name: str) -> list[int]:
    """Returns the live child processes of that name."""
    result = []
    for pid in processes():
        with contextlib.suppress(OSError):
            messages, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
            if messages.partition("(")[2] == name and rest.split()[1] == str(parent):
                result.append(pid)
    return result


def assert_started_once(scene: PlanCrashScene, size: int) -> None:
    """Checks that no turn followed a good one: a worker that was not interrupted started once."""
    turns: dict[str, list[str]] = {ident: [] for ident in scene.states()}
    for record in scene.records():
        if record["role"] == "implementer":
            turns[record["task"]] += [turn.get("outcome", "") for turn in record["turns"]]
    assert len(turns) == size
    for ident, outcomes in turns.items():
        assert "done" not in outcomes[:-1], (ident, outcomes)
        assert set(outcomes[:-1]) <= {"lost", "not_found"}, (ident, outcomes)
        assert scene.starts()[ident] <= len(outcomes), (ident, outcomes)
    never_cut = [ident for ident, outcomes in turns.items() if len(outcomes) == 1]
    assert all(scene.starts()[ident] == 1 for ident in never_cut)
