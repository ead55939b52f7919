"""A home that is killed anywhere between a request and its settled result: the next call goes on, nothing doubles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Repo, fresh_environment
from support.folder_template import FolderTemplate
from support.plan_crash_scene import was_killed
from support.plan_repo import PlanRepo
from support.quick_cases import few_of
from support.ssh_hosts import Hosts
from support.temporal_cluster import TemporalCluster, TemporalServer

from sow.system.clock import CROSSINGS, VARIABLE

ON = ("--on", "box-a:1", "--review", "off")
CLUSTER = ("--cluster", "--yes", "--review", "off")
WORDS = (
    "echo one > one.txt\nsow log 'first entry'\nsow log 'second entry'\n"
    "sow note add --description 'It is small' --context x --category detail\nsow note resolve 1 --resolution yes\n"
    "sow project remember 'Use tabs'\nsow task set status needs_review\n"
)
PLACES = 30  # of kills, spread over all steps from the first one of the request to the last one of its result
TEMPORAL_PLACES = 12
REQUEST, COLLECT = "packet.json", "diff-tree"  # in the steps: the first one of a request, and one after its result


def begin(plans: PlanRepo) -> None:
    plans.act("implementer-010", WORDS)
    plans.plan("One")


def end(plans: PlanRepo) -> dict[str, Any]:
    """What every way to the end has in common."""
    repo = plans.repo
    log = (repo.task_folder("010") / "log.md").read_text()
    task = plans.task("010")
    records = [
        yaml.safe_load(path.read_text())["session"] for path in repo.root.glob(".sow/local/sessions/010/*/record.yaml")
    ]
    return {
        "merges": repo.git("log", "--format=%(trailers:key=Sow-Task,valueonly)").split(),
        "file": repo.git("show", "HEAD:one.txt"),
        "log": [log.count(text) for text in ("first entry", "second entry")],
        "notes": [note["status"] for note in repo.ok("note", "list", "--task", "010", "--json").json["notes"]],
        "memories": (repo.project / "context/memories.md").read_text().count("Use tabs"),
        "task": (task["status"], task["iteration"], task.get("retry_count", 0)),
        "turns": plans.turns("010"),
        "refs": repo.git("for-each-ref", "refs/sow/turns"),
        "out": [turn for record in records for turn in record["turns"] if "ended_at" not in turn],
    }


WANTED = {
    "merges": ["010/1"],
    "file": "one\n",
    "log": [1, 1],
    "notes": ["resolved"],
    "memories": 1,
    "task": ("completed", 1, 0),
    "turns": 1,
    "refs": "",
    "out": [],
}


def new_plans(files: FolderTemplate, folder: Path) -> PlanRepo:
    repo = Repo(files.write(folder / "repo"), fresh_environment(folder / "home"))
    repo.git("switch", "-q", "-c", "feat/harbour")
    return PlanRepo(repo, folder)


def all_steps(plans: PlanRepo, how: Sequence[str]) -> list[str]:
    """All steps of a run that nobody kills."""
    crossings = plans.folder / "crossings"
    begin(plans)
    result = plans.run(*how, **{VARIABLE: "0", CROSSINGS: str(crossings)})
    assert result.code == 0, result
    assert end(plans) == WANTED
    return [line.partition(" ")[2] for line in crossings.read_text().splitlines()]


def check_kill(plans: PlanRepo, how: Sequence[str], steps: list[str], share: float) -> None:
    """Kill a run at a step between its request and what follows the result, and run again."""
    begin(plans)
    first = next(number for number, step in enumerate(steps, 1) if REQUEST in step)
    last = next(number for number, step in enumerate(steps, 1) if number > first and COLLECT in step)
    number = first + int((last - first) * share)
    killed = plans.run(*how, **{VARIABLE: str(number)})
    assert was_killed(killed), killed
    result = plans.run(*how)
    assert result.code == 0, (steps[number - 1], result)
    assert (steps[number - 1], end(plans)) == (steps[number - 1], WANTED)


@pytest.fixture(scope="session")
def ssh_steps(_bare_files: FolderTemplate, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("steps")
    return all_steps(Hosts(new_plans(_bare_files, folder), folder).crew, ON)


@pytest.fixture(scope="session")
def temporal_steps(
    _bare_files: FolderTemplate, temporal_server: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    folder = tmp_path_factory.mktemp("steps")
    cluster = TemporalCluster(temporal_server, new_plans(_bare_files, folder), folder)
    try:
        cluster.add_hosts("box-a")
        return all_steps(cluster.plans, CLUSTER)
    finally:
        cluster.close()


@few_of("place", range(PLACES), 1)
def test_a_kill_at_any_step(hosts: Hosts, ssh_steps: list[str], place: int) -> None:
    """The worker works once, its words arrive once, and one commit is merged."""
    check_kill(hosts.crew, ON, ssh_steps, place / PLACES)


@pytest.mark.full
@pytest.mark.parametrize("place", range(TEMPORAL_PLACES))
def test_a_kill_at_any_step_on_temporal(cluster: TemporalCluster, temporal_steps: list[str], place: int) -> None:
    """The same with a Temporal server."""
    cluster.add_hosts("box-a")
    check_kill(cluster.plans, CLUSTER, temporal_steps, place / TEMPORAL_PLACES)
    assert cluster.refs() == []
