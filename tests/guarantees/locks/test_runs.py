"""R4 for runs: a killed run frees its claim at once, and two runs never share a project."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import FULL
from support.plan_crash_scene import GatedScene, template

from guarantees.fresh_process import shard
from guarantees.store_acts import home_at
from sow.errors import Waiting

ROUNDS = 100 // shard()[1] if FULL else 4
PAUSE = 0.05
WORKER = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[GatedScene]:
    """A plan whose workers wait at a gate before they hand in."""
    (tmp_path / "source").mkdir()
    scene = GatedScene(tmp_path / "scene", template(tmp_path / "source"))
    yield scene
    scene.leave()


def enter(scene: GatedScene) -> float:
    """Returns the time until the claim is free, without the time that a busy machine takes."""
    waited = 0.0
    while waited < 20:
        try:
            with home_at(str(scene.repo.root)).claim("run", purpose="the next one"):
                return waited
        except Waiting:
            time.sleep(PAUSE)
            waited += PAUSE
    return waited


@pytest.mark.full
def test_a_killed_run_frees_its_claim(scene: GatedScene) -> None:
    """After kill -9 of a run the next one starts within a second, every time, and ends leftover processes."""
    for _ in range(ROUNDS):
        process = scene.begin()
        process.send_signal(signal.SIGKILL)
        process.wait(300)
        assert enter(scene) < 1
    process = scene.begin()
    assert scene.open(process) == 0
    assert scene.complaints() == []
    assert {status for status, _ in scene.end()["statuses"].values()} == {"completed"}


def test_a_second_run_is_refused(scene: GatedScene) -> None:
    """During a run a second one is refused with exit 4 and the holder's pid and host; the first continues."""
    process = scene.begin()
    refused = scene.run()
    assert refused.code == 4
    assert f"pid {process.pid} on {os.uname().nodename}" in refused.err
    assert "hint:" in refused.err
    assert scene.open(process) == 0


@pytest.mark.full
def test_workers_never_wait_for_a_run(scene: GatedScene) -> None:
    """Workers change their tasks and logs during a run, which ends only after them."""
    process = scene.begin()
    for number in range(20):
        scene.repo.ok("task", "set", "--id", "010", "priority", ("low", "high")[number % 2])
        scene.repo.ok("agent", "log", f"step {number}", **WORKER)
    scene.repo.ok("task", "set", "status", "needs_review", **WORKER)
    assert process.poll() is None
    assert scene.open(process) == 0
    assert scene.states()["010"]["priority"] == "high"
