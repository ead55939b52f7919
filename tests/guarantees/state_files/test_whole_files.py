"""R1: a state file is always the complete old or new one, whatever fails in between."""

from __future__ import annotations

import errno
import itertools
import os
import random
import time

from conftest import FULL, Repo
from support.quick_cases import few_of

from guarantees.fake_disks import Counting, Fault, dead_after, dead_before, full, refusing, short
from guarantees.fresh_process import ended, fork, in_fresh_process, kill, shard
from guarantees.state_tree import Tree, compare, use, versions_of
from guarantees.store_acts import (
    ACTS,
    LONG,
    NOW,
    Act,
    add_note,
    create,
    folder,
    home_at,
    read_all,
    set_field,
    write_log,
)
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.projects import log, notes, task_folder
from sow.store.projects import project as projects
from sow.store.projects.log import render

PARTS = 4

FAULTS: dict[str, Fault] = {
    "no space": refusing(errno.ENOSPC),
    "disk error": refusing(errno.EIO),
    "dead before": dead_before,
    "dead after": dead_after,
    "short write": short,
    "half written, then no space": full,
}
OF_WRITES = ("short write", "half written, then no space")
TEARING = ("dead after", "half written, then no space")


def injure(root: str, name: str) -> list[str]:
    """Makes every fault at every call of the act, and returns what went wrong."""
    act, tree = ACTS[name], Tree(root)
    act.before(home_at(root))
    tree.save()
    before = tree.masked()
    calls, versions = versions_of(act, tree)
    wrong = []
    for number, call in enumerate(calls, 1):
        for kind, fault in FAULTS.items():
            if kind in OF_WRITES and call != "write":
                continue
            tree.restore()
            succeeded = attempt(act, tree, Counting(number, fault), kind)
            complaints = compare(tree, before, versions, torn=kind in TEARING) + use(act, tree, succeeded)
            wrong += [f"{kind} at call {number} ({call}): {complaint}" for complaint in complaints]
    return wrong


def attempt(act: Act, tree: Tree, disk: Counting, kind: str) -> bool:
    """Runs the act with its fault, in a child if the fault is deadly; tells whether it reported success."""
    home = home_at(tree.root, disk)
    if kind.startswith("dead"):
        return ended(fork(lambda: act.run(home))) == 0
    try:
        act.run(home)
    except SowError:
        return False
    return True


@few_of("name", ACTS, 1)
def test_every_fault_at_every_call(repo: Repo, name: str) -> None:
    """After a fault at any call every file is old or new, all can be read, and the act can be repeated."""
    assert in_fresh_process(injure, repo.root, name) == []


def write_until_killed(root: str, number: int, pipe: int) -> None:
    """Changes one task as fast as the disk allows, and reports after each change what is now true."""
    home = home_at(root)
    for count in itertools.count():
        set_field(home, ("low", "high")[count % 2])
        os.write(pipe, b"revision %d\n" % folder(home).load()["revision"])
        write_log(home, folder(home).log_path, f"{number}/{count} {LONG}")
        os.write(pipe, b"log %d/%d\n" % (number, count))
        add_note(home, f"{number}/{count}")
        os.write(pipe, b"note %d/%d\n" % (number, count))
        create(home, f"{number}/{count}")
        os.write(pipe, b"task %d/%d\n" % (number, count))


def kill_writers(root: str, count: str, seed: str) -> tuple[int, list[str]]:
    """Kills a writer repeatedly at different instants; returns the acknowledged changes and the lost ones."""
    chance, tree = random.Random(seed), Tree(root)
    acknowledged, wrong = 0, []
    create(home_at(root))
    tree.save()
    for number in range(int(count)):
        if number % 20 == 0:
            tree.restore()
        reader, writer = os.pipe()
        child = fork(lambda number=number, writer=writer: write_until_killed(root, number, writer))
        os.close(writer)
        with os.fdopen(reader) as pipe:
            numbers = [pipe.readline().split() for _ in range(chance.randrange(5))]
            time.sleep(chance.uniform(0, 0.002))
            kill(child)
            numbers += [line.split() for line in pipe]
        acknowledged += len(numbers)
        wrong += [f"kill {number}: {complaint}" for complaint in missing(home_at(root), numbers)]
    return acknowledged, wrong


def missing(home: Home, said: list[list[str]]) -> list[str]:
    """Returns what was acknowledged and is missing or unreadable."""
    try:
        read_all(home)
        there = {
            "log": {entry["text"].split()[0] for entry in log.read(home, folder(home).log_path)},
            "note": {note["description"] for note in notes.load_notes(folder(home))},
            "task": {task["name"] for _, task in task_folder.load_readable(home, projects.load(home))[0]},
        }
        revision = folder(home).load()["revision"]
    except SowError as error:
        return [error.message]
    wrong = [f"{kind} {what}" for kind, what in said if kind != "revision" and what not in there[kind]]
    return wrong + [f"revision {what}" for kind, what in said if kind == "revision" and int(what) > revision]


@few_of("part", range(PARTS), 1)
def test_killed_writers_leave_readable_files(repo: Repo, part: int) -> None:
    """After a kill at any instant every file is readable, and all acknowledged changes are there."""
    number, of = shard()
    count = (50_000 if FULL else 600) // (PARTS * of)
    acknowledged, wrong = in_fresh_process(kill_writers, repo.root, str(count), f"{number}/{of}/{part}")
    assert wrong == []
    assert acknowledged > count


def test_a_torn_log_entry(repo: Repo) -> None:
    """An entry that was torn at any byte changes no entry before or after it."""
    home = home_at(str(repo.root))
    entries = [
        render({"timestamp": NOW, "agent": "ada", "action": "a", "result": "ä", "files": ["b"], "text": text})
        for text in ("one\n\n#", "two·\ntwo", "three")
    ]
    path = repo.project / "log.md"
    for cut in range(1, len(entries[1].encode())):
        path.write_bytes(entries[0].encode() + entries[1].encode()[:cut] + entries[2].encode())
        texts = [entry["text"] for entry in log.read(home, str(path))]
        assert (texts[0], texts[-1], len(texts) <= 3) == ("one\n\n#", "three", True), cut


def test_leftovers_on_another_branch(repo: Repo) -> None:
    """Leftovers of killed writers are ignored by git, and are no project after a switch of branches."""
    assert in_fresh_process(die_while_creating, repo.root) == 9
    repo.ok("project", "save")
    assert repo.git("status", "--porcelain") == ""
    repo.git("switch", "-q", "-c", "feat/other", "main")
    assert len(list(repo.project.rglob(".new.*.tmp/state.yaml"))) == 1
    repo.ok("project", "new", "Other")
    assert repo.ok("task", "list", "--json").json["tasks"] == []


def die_while_creating(root: str) -> int:
    """Returns how a process ends that dies before the last rename of a new task."""

    class Dying(Counting):
        def replace(self, source: str, target: str) -> None:
            if os.path.isdir(source):
                os._exit(9)
            super().replace(source, target)

    return ended(fork(lambda: create(home_at(root, Dying()))))
