"""A run that dies at a chosen moment, and what the next one makes of it."""

from __future__ import annotations

import pytest
from support.in_process_crew import QuickDisk, Stage, Turn, design, good, member


class Killed(BaseException):
    """The run was killed."""


class DiesAtSettlement(QuickDisk):
    """A disk on which the run dies when it is about to settle a turn."""

    def __init__(self) -> None:
        super().__init__()
        self.armed = False

    def replace(self, source: str, target: str) -> None:
        if self.armed and target.endswith("orchestration/state.yaml"):
            raise Killed
        super().replace(source, target)


def test_a_turn_that_was_handed_in_is_settled_after_a_crash(stage: Stage) -> None:
    """Killed between the end of a turn and its settlement: it is not taken again, and what its agent read is known."""
    disk = DiesAtSettlement()

    def script(turn: Turn) -> str:
        said = good(turn)
        disk.armed = turn.name == "api"
        return said

    design(stage.home(), [member("data"), member("api", "data")])
    with pytest.raises(Killed):
        stage.run(script, disk=disk)
    assert stage.statuses()["api"] == "ready_for_verification"
    assert stage.run(good) == 0
    assert stage.log.count("api:spawn") == 1 and "api:resume" not in stage.log
    assert stage.members()["api"]["read"] == {"agents/data/task_output/out.md": 1}
    assert stage.members()["api"]["outputs"][0]["version"] == 1
