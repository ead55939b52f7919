"""Results that no sow made: they are bounded, only what a worker may do is taken over, and the rest is reported."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from support.quick_cases import few_of
from support.simulated_workers import wait_for
from support.ssh_hosts import Host, Hosts

Forge = Callable[["Forger"], None]


class Forger:
    """Rewrites the result of a turn in a host's repository, with git alone."""

    def __init__(self, host: Host) -> None:
        self.git = host.transfer.git
        self.host = host
        self.ref = self.git("for-each-ref", "--format=%(refname)", "refs/sow/turns/*/result").strip()
        self.facts: dict[str, Any] = json.loads(self.git("show", f"{self.ref}:packet.json"))
        self.parents = self.git("log", "-1", "--format=%P", self.ref).split()
        listed = self.git("ls-tree", "-r", self.ref).splitlines()
        self.entries = dict(reversed(line.split("\t")) for line in listed)
        self.fast_import = ""

    def blob(self, data: bytes) -> str:
        command = ["git", "hash-object", "-w", "--stdin"]
        done = subprocess.run(command, cwd=self.host.transfer.root, input=data, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def file(self, name: str, data: bytes, mode: str = "100644") -> None:
        self.entries[name] = f"{mode} blob {self.blob(data)}"

    def many(self, count: int) -> None:
        blob = self.blob(b"x")
        self.entries |= {f"output/{number}.txt": f"100644 blob {blob}" for number in range(count)}

    def save(self) -> None:
        """Make the commit; trees are made by hand, since no index takes a path such as `..`."""
        self.file("packet.json", json.dumps(self.facts).encode())
        folders: dict[str, list[str]] = {}
        for name, entry in self.entries.items():
            folder, _, base = name.rpartition("/")
            folders.setdefault(folder, []).append(f"{entry}\t{base}")
        for folder in sorted(folders, key=lambda name: (not name, -name.count("/"))):
            tree = self._tree(folders[folder])
            if folder:
                folders.setdefault("", []).append(f"040000 tree {tree}\t{folder}")
            else:
                root = tree
        parents = [word for parent in self.parents for word in ("-p", parent)]
        commit = self.git("commit-tree", *parents, "-m", "Forged", root).strip()
        self.git("update-ref", self.ref, commit)

    def _tree(self, lines: list[str]) -> str:
        command = ["git", "mktree", "-z"]
        text = "".join(f"{line}\0" for line in lines).encode()
        done = subprocess.run(command, cwd=self.host.transfer.root, input=text, capture_output=True, check=True)
        return done.stdout.decode().strip()


def forged(hosts: Hosts, change: Forge) -> Any:
    """A run whose only result is changed before home fetches it."""
    host, refused = hosts["box-a"], hosts.folder / "refuse-box-a"
    hosts.crew.act("implementer-010-1", "echo one > one.txt\nsow log 'it is done'\n")
    hosts.crew.plan("One")
    gate = hosts.gate("010", before="echo one > one.txt\nsow log 'it is done'")
    run = hosts.start(on="box-a:1")
    hosts.reached(gate)
    host.refuse("git-upload-pack")
    gate.touch()
    wait_for(lambda: "result" in host.transfer.git("for-each-ref", "refs/sow/turns"))
    forger = Forger(host)
    change(forger)
    forger.save()
    refused.unlink()
    out, err = run.communicate(timeout=300)
    return run.returncode, f"{out.decode()}{err.decode()}"


def link(forger: Forger) -> None:
    forger.file("output/passwd", b"/etc/passwd", "120000")


def other_token(forger: Forger) -> None:
    forger.facts["token"] = "0" * 32


def other_protocol(forger: Forger) -> None:
    forger.facts["protocol"] = "9-9"


def unknown_outcome(forger: Forger) -> None:
    forger.facts["outcome"] = "splendid"


def work_of_another(forger: Forger) -> None:
    forger.facts["head"] = forger.git("rev-parse", forger.ref).strip()


def no_facts(forger: Forger) -> None:
    forger.facts = []  # type: ignore[assignment]


def wrong_types(forger: Forger) -> None:
    forger.facts |= {"session": 5, "remarks": "x", "verbs": {}}


def too_many(forger: Forger) -> None:
    forger.many(10_001)


def too_large(forger: Forger) -> None:
    forger.file("output/large.bin", b"\0" * (129 << 20))


REFUSED = [
    (link, "a link"),
    (other_token, "does not belong to its request"),
    (other_protocol, "does not belong to its request"),
    (unknown_outcome, "its outcome is"),
    (work_of_another, "its commits are not in it"),
    (no_facts, "is not a JSON object"),
    (wrong_types, "not of the right type"),
    (too_many, "more than 10,000 files"),
    (too_large, "128 MB"),
]


@few_of(("change", "words"), REFUSED, 1)
def test_a_result_that_is_none(hosts: Hosts, change: Forge, words: str) -> None:
    """Nothing of it is taken over: the task fails with the reason and the host, and a retry works."""
    code, said = forged(hosts, change)
    assert code == 1, said
    assert words in said
    assert "the result of box-a cannot be taken over" in said
    assert hosts.crew.task("010")["status"] == "failed"
    assert not (hosts.crew.repo.task_folder("010") / "task_output/passwd").is_symlink()
    assert hosts.crew.repo.git("for-each-ref", "refs/sow/turns") == ""
    again = hosts.run("--retry-failed", on="box-b:1")
    assert again.code == 0, again


def test_a_result_that_is_larger_than_the_limit(hosts: Hosts) -> None:
    """The fetch ends at the limit, nothing of the result is kept at home, and the task fails with the cause."""

    def change(forger: Forger) -> None:
        forger.file("output/large.bin", random.Random(5).randbytes(3 << 20))

    hosts.configure(fetch_mb=2)
    objects = hosts.crew.repo.root / ".git/objects"
    code, output = forged(hosts, change)
    assert code == 1, output
    assert "box-a: its result cannot be taken over: it brings more than 2 MB (cluster.fetch_mb)" in output
    assert hosts.crew.task("010")["status"] == "failed"
    assert [path for path in objects.rglob("*") if path.is_file() and path.stat().st_size > 1 << 20] == []
    hosts.configure(fetch_mb=10)
    again = hosts.run("--retry-failed", on="box-b:1")
    assert again.code == 0, again


@pytest.mark.full
def test_a_path_that_leads_out(hosts: Hosts) -> None:
    """git itself refuses a result with `..` in a path; the turn counts as lost, and nothing is written."""

    def change(forger: Forger) -> None:
        forger.file("../evil.txt", b"evil")

    hosts.configure(lost_after="1s", wait_for_host="1s")
    code, said = forged(hosts, change)
    assert hosts.outcomes()[0] == "lost"
    assert code == 0, said
    assert list(hosts.crew.repo.root.rglob("evil.txt")) == []


@pytest.mark.full
def test_only_lawful_parts_are_taken(hosts: Hosts) -> None:
    """A foreign status, commands that no worker may give, forged numbers and sessions are remarks; the work counts."""

    def change(forger: Forger) -> None:
        facts = forger.facts
        facts["status"] = "abandoned"
        facts["reset_at"] = 10**30
        facts["remarks"] = ["a remark \033[31m", *range(1000)]
        facts["verbs"] += [
            {"at": "2020-01-01T00:00:00Z", "words": ["task", "set", "--id=020", "--", "status", "completed"]},
            {"at": "2020-01-01T00:00:00Z", "words": ["config", "set", "run.retries", "9"]},
            {"at": "2020-01-01T00:00:00Z", "words": ["run", "plan.yaml"]},
            {"at": "2020-01-01T00:00:00Z", "words": ["log", "--", "@/etc/passwd"]},
            {"at": "\033", "words": ["log", "\033[31mred"]},
            {"words": 5},
        ]
        fields = ("iteration", "tool", "reason", "count", "executor", "at")
        facts["refusals"] = [{"iteration": 1}, dict.fromkeys(fields, -1)]
        facts["session"]["turns"][0]["number"] = 77
        facts["session"]["turns"][0]["cost_usd"] = -5
        for name in ("session/2.out", "session/².out", "session/77.md", "session/1.record.yaml", "session/1.yaml"):
            forger.file(name, b"forged")
        forger.file("other/x", b"x")

    code, said = forged(hosts, change)
    assert code == 0, said
    assert hosts.merges() == ["010/1"]
    remarks = "\n".join(remark for entry in hosts.crew.journal("turn_ended") for remark in entry["remarks"])
    assert "on box-a: a remark ␛[31m" in remarks
    assert "the status 'abandoned' of the worker is not taken over" in remarks
    assert "a part of the result of box-a is not taken over" in remarks
    assert remarks.count("a command of the worker is not taken over") >= 3
    log = (hosts.crew.repo.task_folder("010") / "log.md").read_text()
    assert "it is done" in log
    assert "root:" not in log
    assert "\033" not in log
    assert "2020-01-01" not in log
    folder = hosts.crew.repo.root / ".sow/local/sessions/010/1"
    assert [turn["number"] for turn in hosts.records()[0]["turns"]] == [1, 2]  # the first one set no lawful status
    assert {path.stem for path in folder.iterdir()} == {"record", "turn-001", "turn-002"}
    assert [path for path in folder.iterdir() if b"forged" in path.read_bytes()] == []
