"""A workflow's run is killed at a chosen moment, and the next run continues it."""

from __future__ import annotations

import pytest
from support.in_process_crew import CrewRepo, QuickDisk, Turn, design, member, obedient_agent


class Killed(BaseException):
    """Raised where the run is killed."""


class DiesAtSettlement(QuickDisk):
    """A disk on which the run dies before it settles a turn."""

    def __init__(self) -> None:
        super().__init__()
        self.armed = False

    def replace(self, source: str, target: str) -> None:
        if self.armed and target.endswith("orchestration/state.yaml"):
            raise Killed
        super().replace(source, target)


def test_a_handed_in_turn_is_settled_after_a_crash(crew_repo: CrewRepo) -> None:
    """Killed before the settlement of a turn, the run does not repeat the turn, and knows what its agent read."""
    disk = DiesAtSettlement()

    def script(turn: Turn) -> str:
        output = obedient_agent(turn)
        disk.armed = turn.name == "api"
        return output

    design(crew_repo.home(), [member("data"), member("api", "data")])
    with pytest.raises(Killed):
        crew_repo.run(script, disk=disk)
    assert crew_repo.statuses()["api"] == "ready_for_verification"
    assert crew_repo.run(obedient_agent) == 0
    assert crew_repo.log.count("api:spawn") == 1 and "api:resume" not in crew_repo.log
    assert crew_repo.members()["api"]["read"] == {"agents/data/task_output/out.md": 1}
    assert crew_repo.members()["api"]["outputs"][0]["version"] == 1
