"""The plan of `sow demo` over three hosts, one of which is killed in the middle: the tree is that of a local run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Repo, fresh_environment
from support.plan_repo import PlanRepo
from support.simulated_workers import kill_all, wait_for
from support.ssh_hosts import Hosts
from support.temporal_cluster import TemporalCluster, TemporalServer

from sow.cli.context import Context
from sow.cli.serve.demo_repository import set_up

pytestmark = pytest.mark.full
NAMES = ("box-a", "box-b", "box-c")
QUESTION = 4  # the exit code of a run that waits for an answer
KILLED = "box-c"


def demo(folder: Path) -> PlanRepo:
    """The repository, the plan and the agents of `sow demo`."""
    folder.mkdir()
    environment = fresh_environment(folder / "person")
    stage = set_up(Context(root="", environment=environment), str(folder / "demo"))
    environment |= {"HOME": stage.environment["HOME"], "PYTHONDONTWRITEBYTECODE": "1"}
    settings = yaml.safe_load(Path(environment["HOME"], ".config/sow/config.yaml").read_text())
    plans = PlanRepo(Repo(Path(stage.root), environment), folder)
    plans.settings = {**settings, "limits": {"stop_grace": "1s"}}
    plans.configure()
    plans.file = "plan.md"
    return plans


def finish(run: subprocess.Popen[bytes], plans: PlanRepo, *how: str) -> None:
    """Wait for the end of the run; if it waits for an answer, answer and run again."""
    out, err = run.communicate(timeout=300)
    assert run.returncode in (0, QUESTION), (out.decode(), err.decode())
    if run.returncode == QUESTION:
        plans.repo.ok("answer", "1", "Up")
        result = plans.run("--yes", *how)
        assert result.code == 0, result
    assert set(plans.statuses().values()) == {"completed"}
    assert len(plans.statuses()) == 8


@pytest.fixture(scope="module")
def local_tree(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The tree of the plan on one machine."""
    plans = demo(tmp_path_factory.mktemp("local") / "local")
    finish(plans.start("--yes"), plans)
    return plans.tree()


def slow_scenario(plans: PlanRepo, folder: Path) -> dict[str, Any]:
    """The executors of a host whose workers stop before they are done, with their files written."""
    agents: dict[str, Any] = yaml.safe_load(yaml.safe_dump(plans.settings["agents"]))
    worker = agents["executors"]["worker"]["settings"]
    scenario = yaml.safe_load(Path(worker["scenario"]).read_text())
    wait = {"run": ["sh", "-c", f"touch {folder}/reached; until test -e {folder}/never; do sleep 0.1; done"]}
    for turns in scenario["tasks"].values():
        for turn in turns:
            turn.insert(-1, wait)
    worker["scenario"] = str(folder / "slow.yaml")
    Path(worker["scenario"]).write_text(yaml.safe_dump(scenario))
    return agents


def wait_for_the_middle(run: subprocess.Popen[bytes], plans: PlanRepo, folder: Path) -> None:
    """Wait until a task is merged, and a worker of the slow host has written its files."""
    wait_for(lambda: run.poll() is not None or ((folder / "reached").exists() and merged(plans)), 300)
    assert run.poll() is None, b"".join(run.communicate()).decode()


def merged(plans: PlanRepo) -> int:
    try:
        return len(plans.journal("merged"))
    except (ValueError, OSError):
        return 0


def check_end(plans: PlanRepo, expected: list[str]) -> None:
    """The tree is the expected one, each task was merged once, and a turn was lost."""
    assert plans.tree() == expected
    trailers = plans.repo.git("log", "--format=%(trailers:key=Sow-Task,valueonly)").split()
    assert sorted(text.partition("/")[0] for text in trailers) == [f"0{number}0" for number in range(1, 9)]
    outcomes = [entry["outcome"] for entry in plans.journal("turn_ended")]
    assert "lost" in outcomes
    assert plans.repo.git("for-each-ref", "refs/sow/turns") == ""


@pytest.fixture
def plans(tmp_path: Path) -> Iterator[PlanRepo]:
    made = demo(tmp_path / "run")
    yield made
    made.close()


def test_over_ssh(plans: PlanRepo, tmp_path: Path, local_tree: list[str]) -> None:
    """One of three hosts is switched off in the middle of a turn: the tree is that of the local run, byte for byte."""
    hosts = Hosts(plans, tmp_path, NAMES)
    try:
        hosts.settings[KILLED] = {"agents": slow_scenario(plans, tmp_path)}
        hosts.configure(lost_after="2s")
        run = plans.start("--yes", "--on", ",".join(f"{name}:1" for name in NAMES))
        wait_for_the_middle(run, plans, tmp_path)
        hosts[KILLED].down()
        kill_all(hosts[KILLED].alive())
        finish(run, plans, "--on", "box-a:1,box-b:1")
        check_end(plans, local_tree)
        assert [host.alive() for host in hosts.all.values()] == [[], [], []]
    finally:
        hosts.close()


def test_on_temporal(plans: PlanRepo, tmp_path: Path, temporal_server: TemporalServer, local_tree: list[str]) -> None:
    """The same with a Temporal server: the processes of one host are killed with -9."""
    cluster = TemporalCluster(temporal_server, plans, tmp_path)
    try:
        hosts = [cluster.add_host(name, start=False, capacity={"worker": 1, "judge": 1}) for name in NAMES]
        killed = next(host for host in hosts if host.name == KILLED)
        killed.change(agents=slow_scenario(plans, tmp_path))
        for host in hosts:
            host.launch()
        for host in hosts:
            host.wait()
        run = cluster.start()
        wait_for_the_middle(run, plans, tmp_path)
        kill_all(killed.alive())
        finish(run, plans, "--cluster")
        check_end(plans, local_tree)
        assert cluster.refs() == []
        assert [len(host.alive()) for host in hosts] == [1, 1, 0]  # the two that serve
    finally:
        cluster.close()
