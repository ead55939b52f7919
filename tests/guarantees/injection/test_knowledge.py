"""S1 for fetching: a hostile URL, folder, ref or name is refused before git starts, or is one plain word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Repo
from knowledge.remotes import guides
from support.call_server import Caller
from support.quick_cases import few_of

from guarantees.folder_snapshot import Picture
from guarantees.hostile_values import HOSTILE

# {} is the value, and REMOTE a real repository; what is a text for people is stored, everything else is checked.
ROWS = {
    ("sinks install", "url"): "sinks install -- {} api",
    ("sinks install", "path"): "sinks install -- REMOTE {}",
    ("sinks install", "--ref"): "sinks install REMOTE api --ref={}",
    ("sinks install", "--name"): "sinks install REMOTE api --name={}",
    ("sinks install", "--executor"): "sinks install REMOTE api --describe --executor={}",
    ("sinks update", "name"): "sinks update -- {}",
    ("sinks update", "--ref"): "sinks update known --ref={}",
    ("sinks show", "name"): "sinks show -- {}",
    ("sinks remove", "name"): "sinks remove -- {}",
    ("sinks describe", "name"): "sinks describe --summary=s -- {}",
    ("sinks describe", "--summary"): "sinks describe known --summary={}",
    ("sinks describe", "--when"): "sinks describe known --when={}",
    ("sinks describe", "--tag"): "sinks describe known --tag={}",
    ("sinks describe", "--hint"): "sinks describe known --hint={}",
    ("sinks describe", "--executor"): "sinks describe known --executor={}",
    ("repos add", "url"): "repos add -- {}",
    ("repos add", "--ref"): "repos add REMOTE --clone --ref={}",
    ("repos add", "--name"): "repos add REMOTE --name={}",
    ("repos add", "--purpose"): "repos add REMOTE --name=other --purpose={}",
    ("repos add", "--hint"): "repos add REMOTE --name=other --hint={}",
    ("repos add", "--tag"): "repos add REMOTE --name=other --tag={}",
    ("repos update", "name"): "repos update -- {}",
    ("repos update", "--ref"): "repos update linked --ref={}",
    ("repos show", "name"): "repos show -- {}",
    ("repos remove", "name"): "repos remove -- {}",
    ("repos describe", "name"): "repos describe --purpose=p -- {}",
    ("repos describe", "--purpose"): "repos describe linked --purpose={}",
    ("repos describe", "--hint"): "repos describe linked --hint={}",
    ("repos describe", "--tag"): "repos describe linked --tag={}",
}
NEVER_STARTED = ("url", "name", "--name", "--executor")
MANY = ("--ref", "path")  # of those some look like names, and git is asked


@pytest.fixture
def caller() -> Iterator[Caller]:
    with Caller() as started:
        yield started


@pytest.fixture
def scene(bare_repo: Repo, tmp_path: Path) -> Repo:
    """A checkout with a sink and a linked repository, without any network."""
    remote = guides(tmp_path, bare_repo.environment)
    bare_repo.environment["GIT_SSH_COMMAND"] = "false"
    bare_repo.ok("init")
    bare_repo.ok("sinks", "install", remote.url, "api", "--name", "known")
    bare_repo.ok("repos", "add", remote.url, "--name", "linked")
    return bare_repo


def test_the_table_has_every_field():
    """A new field of a command that fetches has a row here."""
    from sow.cli.command import commands

    names = {
        (command.name, entry)
        for group in ("sinks", "repos")
        for command in commands(group)
        for entry in (
            *(argument.name for argument in command.arguments),
            *(o.flag for o in command.options if o.metavar),
        )
    }
    assert names == ROWS.keys()


def is_one_plain_word(value: str, words: list[str]) -> bool:
    """Tells whether git got the value inside words that are no flags, or not at all."""
    holding = [word for word in words if value and value in word]
    return all(not word.startswith("-") or word.startswith(("-c", "--git-dir=")) for word in holding if len(value) > 3)


@few_of("row", ROWS, 2, ids=" ".join)
def test_a_hostile_value_has_no_effect(caller: Caller, scene: Repo, tmp_path: Path, row: tuple[str, str]) -> None:
    """It is refused without a change, or stored; git never reads it as a flag, and none of it runs."""
    before = Picture(tmp_path)
    text = [str(tmp_path / "guides") if word == "REMOTE" else word for word in ROWS[row].split()]
    refused = 0
    for value in HOSTILE[:: 3 if row[1] in MANY else 1]:
        call = [word.replace("{}", value) for word in text]
        answer = caller.call(*call, cwd=scene.root, environment=scene.environment, stdin=b"typed")
        assert answer.code in (0, 1, 2), (call, answer)
        assert "Traceback" not in answer.err or value == "--debug"  # which asks for one
        assert value not in ("", " ") or answer.code == 2 or not answer.started
        if (row[1] in NEVER_STARTED and answer.code) or value.startswith("-"):
            assert answer.started == [], call
        assert all(is_one_plain_word(value, item) for item in answer.started), (call, answer.started)
        if answer.code:
            refused += 1
            assert f"\n{answer.err}".count("\nerror: ") == 1, answer
        before.bring_back()
    assert refused > 20 or row[1] in ("--summary", "--when", "--purpose", "--tag", "--hint")
    assert not list(tmp_path.rglob("owned"))
