"""R5 for the commands around a run: killed at any point and repeated, each has the same result."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import FULL, Result
from support.plan_crash_scene import GatedScene, PlanCrashScene, template, was_killed
from support.quick_cases import few_of

from sow.system.clock import CROSSINGS, VARIABLE

POINTS = 1000 if FULL else 3  # for each command, spread over all of its boundaries
STOPS = 20 if FULL else 2
COMMANDS = {
    "integrate": ("integrate",),
    "restore": ("salvage", "restore", "{pin}", "--branch", "back"),
    "prune": ("salvage", "prune", "--older-than", "0s", "--yes"),
    "answer": ("answer", "1", "blue", "--always"),
    "revert": ("revert", "010", "--reason", "wrong"),
}
DONE_BEFORE = {  # what the second call says where the first had done it all
    "restore": "there is a branch back already",
    "answer": "no open question",
    "revert": "task 010 is in_progress",
}


class Office:
    """A run that waits for an answer and for the user to move a file, which is done by now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "source").mkdir()
        self.scene = PlanCrashScene(folder / "scene", template(folder / "source"))
        in_the_way = self.scene.repo.root / "part_010.txt"
        in_the_way.write_text("the user's\n")
        assert self.scene.run().code == 4
        in_the_way.unlink()
        (self.scene.repo.root / "theirs.txt").write_text("theirs\n")
        self.scene.repo.git("add", "theirs.txt")
        self.scene.repo.git("commit", "-q", "-m", "My own", "--", "theirs.txt")
        self.pins = self.scene.repo.git("for-each-ref", "--format=%(refname)", "refs/sow/keep").split()
        shutil.copytree(folder / "scene", folder / "saved", symlinks=True)
        self.again("integrate")
        shutil.copytree(folder / "scene", folder / "integrated", symlinks=True)

    def call(self, name: str, kill_at: int = 0) -> Result:
        """Calls the command from the same start; it may be told to die at a boundary."""
        shutil.rmtree(self.folder / "scene")
        saved = self.folder / ("integrated" if name in ("prune", "revert") else "saved")
        shutil.copytree(saved, self.folder / "scene", symlinks=True)
        crossings = str(self.folder / "scene/crossings")
        return self.again(name, **{VARIABLE: str(kill_at), CROSSINGS: crossings})

    def again(self, name: str, **environment: str) -> Result:
        commands = [word.format(pin=self.pins[0]) for word in COMMANDS[name]]
        return self.scene.repo.sow(*commands, **environment)

    def picture(self) -> dict[str, Any]:
        """Returns everything that the user and the next command can see, except times."""
        repo = self.scene.repo
        refs = repo.git("for-each-ref", "--format=%(refname)").split()
        places = repo.root / ".sow/local/worktrees"
        return {
            **self.scene.end(),
            "feedback": self.scene.feedback(),
            "refs": {ref: contents(self.scene, ref) for ref in refs},
            "worktrees": sorted(os.listdir(places)),
            "questions": repo.ok("inbox", "--json").json["items"],
            "answers": [answer["answer"] for answer in repo.ok("answers", "--json").json["answers"]],
        }


def contents(scene: PlanCrashScene, ref: str) -> list[str]:
    return [line for line in scene.repo.git("ls-tree", "-r", ref).splitlines() if "\t.sow/" not in line]


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office(tmp_path_factory.mktemp("office"))


@few_of("name", COMMANDS, 0)
def test_killed_command(office: Office, name: str) -> None:
    """A command that is killed at a boundary and repeated has the same result, and no commit is lost."""
    calm = office.call(name)
    assert calm.code == 0, calm
    expected, boundaries = office.picture(), len(office.scene.crossings())
    step = max((boundaries - 1) / max(POINTS - 1, 1), 1)
    points = sorted({round(1 + step * number) for number in range(min(POINTS, boundaries))})
    print(f"sow {name}: {boundaries} boundaries, killed at {points}")
    for point in points:
        assert was_killed(office.call(name, point)), point
        crossed = office.scene.crossings()[-1]
        second = office.again(name)
        assert second.code == 0 or DONE_BEFORE.get(name, "never") in second.err, (crossed, second)
        assert office.picture() == expected, crossed
        # What was pruned is on the user's branch as one commit for each task: the worker's own commits may go.
        complaints = [
            complaint for complaint in office.scene.complaints() if name != "prune" or "is lost" not in complaint
        ]
        assert complaints == [], crossed


def test_killed_answer_is_given_once(office: Office) -> None:
    """An answer that is killed after its feedback was written, and repeated, is one feedback."""
    office.call("answer")
    steps = office.scene.crossings()
    written = next(number for number, step in enumerate(steps, 1) if step.endswith("/feedback/001.md"))
    assert was_killed(office.call("answer", written + 1))
    assert len(office.scene.repo.ok("feedback", "list", "030", "--json").json["feedback"]) == 1
    assert office.again("answer").code == 0
    assert [entry["text"] for entry in office.scene.repo.ok("feedback", "list", "030", "--json").json["feedback"]] == [
        "blue"
    ]


@pytest.fixture
def gated(tmp_path: Path) -> Iterator[GatedScene]:
    """A plan whose workers wait at a gate before they hand in."""
    (tmp_path / "source").mkdir()
    scene = GatedScene(tmp_path / "scene", template(tmp_path / "source"))
    yield scene
    scene.leave()


@few_of("seed", range(STOPS), 0)
def test_killed_during_a_stop(gated: GatedScene, seed: int) -> None:
    """`sow runs stop` is killed, or the run while it stops: after both are repeated the plan is completed."""
    rng = random.Random(seed)
    run = gated.begin()
    stop = gated.call("runs", "stop")
    time.sleep(rng.uniform(0.0, 0.3))
    for process in (stop, run) if seed % 2 else (stop,):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(300)
    assert gated.repo.sow("runs", "stop").code == 0
    assert run.wait(300) in (130, -signal.SIGKILL)
    gated.gate.touch()
    assert gated.to_the_end()[-1].code == 0
    assert {status for status, _ in gated.end()["statuses"].values()} == {"completed"}
    assert gated.complaints() == []
