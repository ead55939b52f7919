"""R2: what sow acknowledged survives a power cut, by the order of its fsync calls."""

from __future__ import annotations

import os
import shutil

import pytest
from conftest import Repo
from support.quick_cases import few_of

from guarantees.fake_disks import Durable, Gone, gone, rebuild
from guarantees.state_tree import Tree, compare, is_done, use, versions_of
from guarantees.store_acts import ACTS, Act, home_at

COPIES = (".git/sow/", ".sow/local/backups/")  # no state is read from them as long as the original is there
REPEATABLE = ("migrate",)  # a file that came back as it was is only told to migrate once more
CHANGING = ("open", "write", "sync", "replace", "make_folder")


def prepare(root: str, name: str) -> tuple[Act, Tree]:
    """A checkout in which the act can begin; of the git folder only HEAD, since the rest would be slow."""
    act, tree = ACTS[name], Tree(root)
    act.before(home_at(root))
    for entry in os.scandir(f"{root}/.git"):
        if entry.is_dir() and entry.name != "sow":
            shutil.rmtree(entry.path)
    tree.save()
    return act, tree


def cut_at_every_call(root: str, name: str) -> list[str]:
    """Cuts the power after every call, with every choice of unsynced changes, and returns what is wrong."""
    act, tree = prepare(root, name)
    before, (_, versions) = tree.masked(), versions_of(act, tree)
    tree.restore()
    target, existing, wrong = f"{root}.after", set(), []

    class Cutting(Durable):
        def _call(self, call, *arguments):
            done = super()._call(call, *arguments)
            if call in CHANGING:
                look(f"after call {len(self.trace)} ({call})")
            return done

    def look(when: str, *, acknowledged: bool = False) -> None:
        for remains in disk.possible():
            files = disk.laid_out(remains)
            key = (acknowledged, *sorted(item for item in files.items() if ".tmp" not in item[0]))
            if key not in existing and (acknowledged or not disk.forbidden(remains)):
                existing.add(key)
                rebuild(files, target)
                left = Tree(target)
                odd = compare(left, before, versions, torn=True) + use(act, left, acknowledged)
                wrong.extend(f"{when}: {line}" for line in odd if not line.startswith(COPIES))

    disk = Cutting(root)
    act.run(home_at(root, disk))
    look("at the end", acknowledged=True)
    disk.let_go()
    return wrong


@few_of("name", ACTS, 8)
def test_a_power_cut_at_every_call(repo: Repo, name: str) -> None:
    """After a power cut at any call every file is old or new, and after the last call the act is done."""
    assert cut_at_every_call(str(repo.root), name) == []


def cut_after_repetition(root: str, name: str) -> list[str]:
    """Kills the act after every call, repeats it, cuts the power, and returns what was lost."""
    act, tree = prepare(root, name)
    calls, _ = versions_of(act, tree)
    wrong = []
    for number in (index for index, call in enumerate(calls, 1) if call in CHANGING):
        tree.restore()
        disk = Durable(root, number, gone)
        with pytest.raises(Gone):
            act.run(home_at(root, disk))
        disk.fault = None
        if not is_done(act, tree):
            act.run(home_at(root, disk))
            rebuild(disk.laid_out(disk.oldest()), f"{root}.after")
            wrong += [
                f"killed after call {number}: {item}"
                for item in use(act, Tree(f"{root}.after"), name not in REPEATABLE)
            ]
        disk.let_go()
    return wrong


@few_of("name", ACTS, 3)
def test_a_power_cut_after_a_repetition(repo: Repo, name: str) -> None:
    """An acknowledged act after an interrupted attempt is as durable as at the first attempt."""
    assert cut_after_repetition(str(repo.root), name) == []


def trace_of(root: str, name: str) -> list[tuple[str, str, str]]:
    """Returns the calls of the act, with their paths."""
    act, _ = prepare(root, name)
    disk = Durable(root)
    act.run(home_at(root, disk))
    disk.let_go()
    return disk.trace


@pytest.mark.parametrize("name", ACTS)
def test_the_order_of_calls(repo: Repo, name: str) -> None:
    """A file is written aside, synced and renamed, then its folder is synced; appended data are synced."""
    trace = trace_of(str(repo.root), name)
    calls = [call for call in trace if call[0] != "read" and "/.git/sow/" not in call[1]]
    seen = 0
    for index, (call, path, target) in enumerate(calls):
        following = [call[:2] for call in calls[index + 1 : index + 4]]
        if call == "write":
            steps = ("sync", "close", "replace") if path.endswith(".tmp") else ("sync", "close")
            assert following[: len(steps)] == [(step, path) for step in steps]
            seen += 1
        if call == "replace":
            assert following == [(name, os.path.dirname(target)) for name in ("open", "sync", "close")]
            seen += 1
    assert seen
