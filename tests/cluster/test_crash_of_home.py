"""A home that is killed anywhere between a request and its settled result: the next call goes on, nothing doubles."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Repo, fresh_environment
from support.folder_template import FolderTemplate
from support.plan_crash_scene import was_killed
from support.plan_repo import PlanRepo
from support.quick_cases import few_of
from support.ssh_hosts import Hosts

from sow.system.clock import CROSSINGS, VARIABLE

ON = ("--on", "box-a:1", "--review", "off")
WORDS = (
    "echo one > one.txt\nsow log 'first entry'\nsow log 'second entry'\n"
    "sow note add --description 'It is small' --context x --category detail\nsow note resolve 1 --resolution yes\n"
    "sow project remember 'Use tabs'\nsow task set status needs_review\n"
)
PLACES = 30  # of kills, spread over all steps from the first one of the request to the last one of its result
REQUEST, COLLECT = "packet.json", "diff-tree"  # in the steps: the first one of a request, and one after its result


def begin(hosts: Hosts) -> None:
    hosts.crew.act("implementer-010", WORDS)
    hosts.crew.plan("One")


def end(hosts: Hosts) -> dict[str, Any]:
    """What every way to the end has in common."""
    repo = hosts.crew.repo
    log = (repo.task_folder("010") / "log.md").read_text()
    task = hosts.crew.task("010")
    return {
        "merges": hosts.merges(),
        "file": repo.git("show", "HEAD:one.txt"),
        "log": [log.count(text) for text in ("first entry", "second entry")],
        "notes": [note["status"] for note in repo.ok("note", "list", "--task", "010", "--json").json["notes"]],
        "memories": (repo.project / "context/memories.md").read_text().count("Use tabs"),
        "task": (task["status"], task["iteration"], task.get("retry_count", 0)),
        "turns": hosts.crew.turns("010"),
        "refs": repo.git("for-each-ref", "refs/sow/turns"),
        "out": [turn for record in hosts.records() for turn in record["turns"] if "ended_at" not in turn],
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


@pytest.fixture(scope="session")
def steps(_bare_files: FolderTemplate, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """All steps of a run that nobody kills."""
    folder = tmp_path_factory.mktemp("steps")
    repo = Repo(_bare_files.write(folder / "repo"), fresh_environment(folder / "home"))
    repo.git("switch", "-q", "-c", "feat/harbour")
    hosts = Hosts(PlanRepo(repo, folder), folder)
    begin(hosts)
    result = hosts.crew.run(*ON, **{VARIABLE: "0", CROSSINGS: str(folder / "crossings")})
    assert result.code == 0, result
    assert end(hosts) == WANTED
    return [line.partition(" ")[2] for line in (folder / "crossings").read_text().splitlines()]


@few_of("place", range(PLACES), 1)
def test_a_kill_at_any_step(hosts: Hosts, steps: list[str], place: int) -> None:
    """The worker works once, its words arrive once, and one commit is merged."""
    begin(hosts)
    first = next(number for number, step in enumerate(steps, 1) if REQUEST in step)
    last = next(number for number, step in enumerate(steps, 1) if number > first and COLLECT in step)
    number = first + (last - first) * place // PLACES
    killed = hosts.crew.run(*ON, **{VARIABLE: str(number)})
    assert was_killed(killed), killed
    result = hosts.crew.run(*ON)
    assert result.code == 0, (steps[number - 1], result)
    assert (steps[number - 1], end(hosts)) == (steps[number - 1], WANTED)
