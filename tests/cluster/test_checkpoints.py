"""Checkpoints: what a lost host did before is not lost with it."""

from __future__ import annotations

from support.simulated_workers import wait_for

from cluster.conftest import Hosts

SECOND = (
    'sow note resolve 1 --resolution measured\ncat early.txt > seen.txt\ngit log --format=%s > "log_$SOW_TASK.txt"\n'
)


def test_a_lost_host_loses_only_what_came_after_its_checkpoint(hosts: Hosts) -> None:
    """The next turn, on another host, has the files, commits and log entries of the last checkpoint."""
    hosts.settings["box-a"] = {"host": {"checkpoint": "300ms"}}
    hosts.configure(lost_after="1s")
    hosts.crew.plan("First")
    early = 'echo early > early.txt\ngit add early.txt\ngit commit -q -m "Half of it"\necho open > open.txt\n'
    gate = hosts.gate("010", before=f"{early}sow agent log 'half of it'\nsow note add --description fast --context x\n")
    hosts.crew.act("implementer-010-2", SECOND)
    run = hosts.start(on="box-a:1,box-b:1")
    hosts.reached(gate)
    git = hosts.crew.repo.git

    def has_files() -> bool:
        refs = git("for-each-ref", "--format=%(refname)", "refs/sow/turns").split()
        points = [ref for ref in refs if ref.endswith("/checkpoint")]
        if not points or git("log", "-1", "--format=%s", f"{points[0]}^1") != "Half of it\n":
            return False
        return "open.txt" in git("ls-tree", "-r", "--name-only", f"{points[0]}^2")

    wait_for(has_files)
    hosts["box-a"].down()
    assert run.wait(timeout=240) == 0, run.stderr and run.stderr.read()
    assert hosts.outcomes() == ["lost", "done"]
    assert hosts.hosts_of() == ["box-a", "box-b"]
    branch = git("branch", "--show-current").strip()
    assert git("show", f"{branch}:seen.txt") == "early\n"
    assert git("show", f"{branch}:open.txt") == "open\n"
    assert "Half of it" in git("show", f"{branch}:log_010.txt")
    log = (hosts.crew.repo.project / "phases/implementation/tasks/010/log.md").read_text()
    assert log.count("half of it") == 1
