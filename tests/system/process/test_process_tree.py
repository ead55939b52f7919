"""Process trees, from /proc and from `ps`, which machines without /proc have."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.simulated_workers import wait_for

from sow.system.caller import ProcTable, PsTable
from sow.system.process import process_tree
from system.process.supervisor import MARK, supervise

CENSUSES = {"proc": "None", "ps": "__import__('sow.system.caller', fromlist=['PsTable']).PsTable()"}
every_census = pytest.mark.parametrize("census", CENSUSES)
BARE = "env -i sleep 300"
GONE = ("", "Z")  # an orphan that nobody has collected yet is gone too
# What a child leaves behind. The one that is seen before has no mark and a session of its own.
LEFT = {
    "in its group, without its mark": f"{BARE} & echo $! > left",
    "in another session, with its mark": "setsid sleep 300 & echo $! > left",
    "in another session, without its mark, seen before": f"setsid {BARE} & echo $! > left; sleep 2.5",
    "deaf": "(trap '' TERM HUP INT; exec sleep 300) & echo $! > left",
}


@pytest.mark.parametrize("left", LEFT)
@every_census
def test_no_process_of_an_ended_child_is_left(tmp_path: Path, census: str, left: str) -> None:
    """Processes that a child leaves are found by group, mark or ancestor, and killed."""
    script = f"{LEFT[left]}; echo done"
    code = f"child = start(['sh', '-c', {script!r}], census={CENSUSES[census]})"
    messages = f"{code}; lines = follow(child); code = child.close(); tell([lines, code, state(there('left'))])"
    lines, code, state = supervise(messages, tmp_path)
    assert (lines, code) == (["done"], 0)
    assert state in GONE


@every_census
def test_a_child_that_ignores_signals_is_killed_with_its_family(tmp_path: Path, census: str) -> None:
    """After the grace period the child and its descendants are killed, with /proc and with `ps`."""
    script = "trap '' TERM INT; setsid sleep 300 & echo $! > left; wait; sleep 300"
    code = f"child = start(['sh', '-c', {script!r}], grace=0.3, census={CENSUSES[census]}); there('left')"
    messages = f"{code}; child.stop('timeout'); follow(child); code = child.close(); tell([code, state(there('left'))])"
    code, state = supervise(messages, tmp_path)
    assert code == -signal.SIGKILL
    assert state in GONE


OTHERS = {
    "a child that was there before": "sleep 300 & echo $! > other",
    "one in a session of its own": "setsid sleep 300 & echo $! > other",
    "an orphan of one that was there before": "(sleep 300 & echo $! > other; sleep 1.5) & true",
}


@pytest.mark.parametrize("other", OTHERS)
@every_census
def test_no_other_process_is_ended(tmp_path: Path, census: str, other: str) -> None:
    """Processes that sow did not start live on, also if they are or become its children."""
    code = f"""
other = subprocess.Popen(["sh", "-c", {OTHERS[other] + "; wait"!r}])
pid = int(there("other"))
child = start(["sh", "-c", "sleep 3; sleep 300 & echo $! > left"], census={CENSUSES[census]})
follow(child)
child.close()
alive = [state(pid), state(there("left"))]
os.kill(pid, 9)
other.wait()
tell(alive)
"""
    other_state, left_state = supervise(code, tmp_path)
    assert other_state == "S"
    assert left_state in GONE


@pytest.fixture
def kin(tmp_path: Path) -> Iterator[tuple[int, set[int]]]:
    """A marked process with two below it, one of them in a session of its own, and without the mark."""
    script = "sleep 300 & echo $! >> pids; setsid env -i sleep 300 & echo $! >> pids; echo end >> pids; wait"
    environment = {"SOW_MARK": MARK, "PATH": os.environ["PATH"]}
    root = subprocess.Popen(["sh", "-c", script], cwd=tmp_path, env=environment, start_new_session=True)
    wait_for(lambda: (tmp_path / "pids").exists() and "end" in (tmp_path / "pids").read_text())
    pids = [int(line) for line in (tmp_path / "pids").read_text().split() if line.isdigit()]
    wait_for(lambda: os.getpgid(pids[1]) == pids[1] and Path(f"/proc/{pids[1]}/comm").read_text() == "sleep\n")
    yield root.pid, set(pids)
    for pid in (*pids, root.pid):
        os.kill(pid, signal.SIGKILL)
    root.wait()


def test_proc_and_ps_agree(kin: tuple[int, set[int]]) -> None:
    """/proc and `ps` agree on parents, groups, marks, and who belongs to a child."""
    root, pids = kin
    proc, ps = ProcTable().all_processes(), PsTable().all_processes()
    facts = [{pid: (item[pid].parent, item[pid].group) for pid in (root, *pids)} for item in (proc, ps)]
    assert facts[0] == facts[1]
    assert facts[0][root] == (os.getpid(), root)
    assert ProcTable().marked("SOW_MARK", MARK) - pids == PsTable().marked("SOW_MARK", MARK) - pids == {root}
    assert (
        set(process_tree.descendants_and_group(root, ProcTable().all_processes()))
        == set(process_tree.descendants_and_group(root, PsTable().all_processes()))
        == pids
    )
    assert (
        process_tree.process_tree(-1, MARK, {}, ProcTable())
        == process_tree.process_tree(-1, MARK, {}, PsTable())
        == {root, *pids}
    )


@pytest.mark.parametrize("census", [ProcTable(), PsTable()], ids=["proc", "ps"])
def test_a_reused_id_is_another_process(kin: tuple[int, set[int]], census: ProcTable | PsTable) -> None:
    """A known process id counts only for the process that had it then."""
    _, pids = kin
    start_times = {pid: census.all_processes()[pid].start_time for pid in pids}
    assert process_tree.process_tree(-1, "", start_times, census) == pids
    assert process_tree.process_tree(-1, "", {pid: born - 100 for pid, born in start_times.items()}, census) == set()


@pytest.mark.parametrize("census", [ProcTable(), PsTable()], ids=["proc", "ps"])
def test_zombies_do_not_count(census: ProcTable | PsTable) -> None:
    """A process that has ended and was not collected is not alive."""
    ended = subprocess.Popen(["true"])
    try:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert ended.pid not in census.all_processes()
    finally:
        ended.wait()


@pytest.mark.parametrize("census", [ProcTable(), PsTable()], ids=["proc", "ps"])
def test_a_group_can_get_another_owner(tmp_path: Path, census: ProcTable | PsTable) -> None:
    """A child's group counts as its family when the child is dead; a live process of that id may be another one."""
    script = "(sleep 300 & echo $! > member); exec sleep 300"
    leader = subprocess.Popen(["sh", "-c", script], cwd=tmp_path, start_new_session=True)
    member = int(wait_for(lambda: (tmp_path / "member").exists() and (tmp_path / "member").read_text().strip()))
    wait_for(lambda: census.all_processes()[member].parent != leader.pid)
    try:
        assert process_tree.process_tree(leader.pid, "", {}, census) == set()
        leader.kill()
        os.waitid(os.P_PID, leader.pid, os.WEXITED | os.WNOWAIT)
        assert process_tree.process_tree(leader.pid, "", {}, census) == {member}
    finally:
        os.kill(member, signal.SIGKILL)
        leader.kill()
        leader.wait()


@pytest.mark.parametrize("left", LEFT)
def test_a_shared_scan_finds_all_leftovers(tmp_path: Path, left: str) -> None:
    """Children that ended before one of them was closed need one scan, and no process of any of them is left."""
    script = f"{LEFT[left]}; echo done"
    code = f"first, second = start(['true']), start(['sh', '-c', {script!r}])"
    messages = f"{code}; follow(first); follow(second); codes = [first.close(), second.close()]"
    assert supervise(f"{messages}; tell([codes, state(there('left')) in {GONE}])", tmp_path) == [[0, 0], True]


def test_a_scan_is_used_for_earlier_children_only() -> None:
    """A table of processes is used for children that ended before it was made, and for no others."""
    nursery, before = process_tree.SupervisedChildren(), time.monotonic()
    table = nursery.process_table(ProcTable(), before)
    assert nursery.process_table(ProcTable(), before) is table
    child = subprocess.Popen(["sleep", "300"])
    try:
        assert child.pid in nursery.process_table(ProcTable(), time.monotonic())
    finally:
        child.kill()
        child.wait()


def test_no_process_continues_after_another_is_killed(tmp_path: Path) -> None:
    """A program whose command is killed would do its next step: the order of the kills leaves no time for that."""
    messages = tmp_path / "told"
    parent = subprocess.Popen(["sh", "-c", f"sleep 1000; echo on > {messages}"])
    between = [subprocess.Popen(["sleep", "1000"]) for _ in range(300)]
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    child = int(wait_for(lambda: children.read_text()))
    process_tree.kill_all([child, *(process.pid for process in between), parent.pid])
    assert [process.wait(60) for process in (parent, *between)] == [-signal.SIGKILL] * 301
    assert not messages.exists()


@pytest.mark.parametrize(("script", "looks"), [("true", False), ("setsid env -i sleep 300 & echo $! > left", True)])
def test_processes_are_scanned_only_when_necessary(tmp_path: Path, script: str, looks: bool) -> None:
    """A child without descendants needs no scan, also while others work; a descendant is known without a scan."""
    code = f"""
from sow.system.process.process_tree import CHILDREN
other, child = start(["sleep", "300"], mark=MARK + "b"), start(["sh", "-c", {script!r}])
ended(child)
follow(child)
child.close()
told = [CHILDREN.looked > float("-inf"), child.tree_ended < float("inf"), bool(state(other.process.pid))]
other.stop("timeout")
other.close()
tell([*told, state(there("left")) if {looks} else ""])
"""
    looked, gone, lives, left = supervise(code, tmp_path)
    assert (looked, gone, lives) == (looks, True, True)
    assert left in GONE


def test_ended_orphans_are_collected(tmp_path: Path) -> None:
    """Background processes of agents leave no zombies, and need no scan."""
    code = """
from sow.system.caller import ProcTable
from sow.system.process.process_tree import CHILDREN
found = []
for number in range(3):
    child = start(["sh", "-c", f"(echo $$ > {number} &); until [ -s {number} ]; do sleep 0.01; done"])
    ended(child)
    while len(ProcTable().children()) < 2 or {state(pid) for pid in ProcTable().children()} != {"Z"}:
        time.sleep(0.01)
    follow(child)
    child.close()
    found.append([sorted(ProcTable().children()), CHILDREN.looked > float("-inf")])
tell(found)
"""
    assert supervise(code, tmp_path) == [[[], False]] * 3


FLEES = """
import os, time
if os.fork() == 0:
    os.setsid()
    for generation in range(10_000):
        if os.fork():
            os._exit(0)
        os.setsid()
        time.sleep(0.001)
"""


def test_a_new_process_is_found(tmp_path: Path) -> None:
    """A process that forks repeatedly is in no table for long, and still none is left."""
    code = f"""
from sow.system.process.process_tree import CHILDREN
child = start([sys.executable, "-c", {FLEES!r}])
follow(child)
child.close()
tell(list(CHILDREN.adopted_children(child.process_table)))
"""
    assert supervise(code, tmp_path) == []


def test_the_end_of_an_agent_leaves_our_own_programs_alone(tmp_path: Path) -> None:
    """A git that sends packets runs on while agents end, and its exit code is its own."""
    code = """
from sow.system.process.program import SteppedProgram
first = start(["true"])
script = f"until [ -e '{os.getcwd()}/go' ]; do sleep 0.01; done; echo done; exit 7"
program = SteppedProgram(["sh", "-c", script], environment=os.environ)
ended(first)
follow(first)
first.close()
second = start(["true"])
ended(second)
follow(second)
second.close()
Path("go").touch()
lines = []
while (new := program.lines()) is not None:
    lines += new
code = program.code
program.end()
tell([lines, code])
"""
    assert supervise(code, tmp_path) == [["done"], 7]
