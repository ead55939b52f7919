"""R12 and R5 for knowledge: a fault or a kill at any step leaves the old or the new sink, and can be repeated."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import FULL, Repo
from knowledge.remotes import Remote, guides

from guarantees.fake_disks import Counting, refusing
from sow.errors import SowError
from sow.knowledge.fetcher import FetchLimits
from sow.knowledge.sinks import Sinks
from sow.store.files.checkout_home import Home
from sow.store.files.disk import REASONS, Disk
from sow.store.knowledge import install_folder
from sow.system import checkout

ERRORS = (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EMFILE, errno.EIO)


@pytest.fixture
def remote(bare_repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    """A source, and a checkout with its first commit; git sees only the test's home."""
    for name, value in bare_repo.environment.items():
        monkeypatch.setenv(name, value)
    made = guides(tmp_path, bare_repo.environment)
    bare_repo.ok("init")
    bare_repo.ok("sinks", "install", made.url, "python-style")
    yield made


def sinks(repo: Repo, disk: Disk | None = None) -> Sinks:
    where = checkout.at(str(repo.root))
    assert where
    return Sinks(Home(where, disk), repo.environment, FetchLimits(megabytes=10, files=100, seconds=60))


def state(repo: Repo, name: str) -> tuple[str, str]:
    """Returns the digest in the index and that of the files."""
    entries = [entry for entry in sinks(repo).entries() if entry["name"] == name]
    facts = install_folder.folder_facts(f"{repo.root}/.sow/sinks/{name}")
    return (entries[0]["digest"] if entries else "", facts.digest if facts else "")


def attempt(act: object, *arguments: object, **options: object) -> str:
    """Returns the error of an attempt."""
    try:
        done = act(*arguments, **options)  # type: ignore[operator]
        wrong = [item.problem.message for item in done if item.problem] if not isinstance(done, tuple) else []
    except SowError as error:
        assert error.hint
        return error.message
    return wrong[0] if wrong else ""


def install(keeper: Sinks, remote: Remote) -> str:
    return attempt(keeper.install, remote.url, "api", ref=None, name="", cwd="/")


@pytest.mark.full
def test_an_update_that_fails_leaves_the_old_sink(bare_repo: Repo, remote: Remote) -> None:
    """Each error at each call of the disk is reported, and files and index are both the old or both the new ones."""
    old = state(bare_repo, "python-style")
    remote.write("python-style/README.md", "# Newer\n")
    remote.commit()
    number, messages = 0, 0
    while True:
        number += 1
        disk = Counting(number, refusing(ERRORS[number % len(ERRORS)]))
        output = attempt(lambda keeper: list(keeper.update(["python-style"])), sinks(bare_repo, disk))
        index, files = state(bare_repo, "python-style")
        assert index == files, (number, disk.calls[-1], output)
        if len(disk.calls) < number:
            break
        if output:
            messages += 1
            assert REASONS[ERRORS[number % len(ERRORS)]] in output, (number, output)
        if index != old[0]:
            break
    assert messages >= 10
    assert os.listdir(f"{bare_repo.root}/.sow/local/fetching") == []


def test_an_installation_that_fails_leaves_nothing(bare_repo: Repo, remote: Remote) -> None:
    """After an error there is neither an entry nor a folder of the new sink, and with room it is installed."""
    for number in range(1, 200):
        disk = Counting(number, refusing(errno.ENOSPC))
        output = install(sinks(bare_repo, disk), remote)
        index, files = state(bare_repo, "api")
        assert index == files, (number, output)
        assert "the disk is full" in output, (number, output)
        if index:
            break
    assert number > 10
    assert bare_repo.ok("sinks", "show", "api", "--json").json["edited"] is False


@pytest.mark.full
def test_a_kill_at_any_step_can_be_repeated(bare_repo: Repo, remote: Remote, tmp_path: Path) -> None:
    """Killed before any boundary, the same installation works afterwards without a repair."""
    crossings = tmp_path / "crossings"
    bare_repo.ok("sinks", "install", remote.url, "api", SOW_TEST_KILL_AT="0", SOW_TEST_CROSSINGS=str(crossings))
    count = len(crossings.read_text().splitlines())
    assert count > 20
    bare_repo.ok("sinks", "remove", "api")
    for at in range(1, count + 1, 1 if FULL else 3):
        assert bare_repo.sow("sinks", "install", remote.url, "api", SOW_TEST_KILL_AT=str(at)).code == -9
        names = [sink["name"] for sink in bare_repo.ok("sinks", "list", "--json").json["sinks"]]
        if "api" not in names:
            bare_repo.ok("sinks", "install", remote.url, "api")
        assert len(set(state(bare_repo, "api"))) == 1
        bare_repo.ok("sinks", "remove", "api")


@pytest.mark.full
def test_an_update_that_was_killed_can_be_repeated(bare_repo: Repo, remote: Remote, tmp_path: Path) -> None:
    """Killed before any boundary, the same update ends with the new files and their entry."""
    crossings = tmp_path / "crossings"
    remote.write("python-style/README.md", "# Number 0\n")
    remote.commit()
    bare_repo.ok("sinks", "update", SOW_TEST_KILL_AT="0", SOW_TEST_CROSSINGS=str(crossings))
    count = len(crossings.read_text().splitlines())
    for at in range(1, count + 1, 1 if FULL else 3):
        remote.write("python-style/README.md", f"# Number {at}\n")
        remote.commit()
        assert bare_repo.sow("sinks", "update", SOW_TEST_KILL_AT=str(at)).code == -9, at
        bare_repo.ok("sinks", "update")
        assert (bare_repo.root / ".sow/sinks/python-style/README.md").read_text() == f"# Number {at}\n"
        assert len(set(state(bare_repo, "python-style"))) == 1


def test_without_git(bare_repo: Repo, remote: Remote, tmp_path: Path) -> None:
    """Without git the error says so, and nothing is changed."""
    before = bare_repo.snapshot()
    (tmp_path / "empty").mkdir()
    result = bare_repo.sow("sinks", "install", remote.url, "api", PATH=str(tmp_path / "empty"))
    assert (result.code, "git is not installed" in result.err) == (1, True), result
    assert bare_repo.snapshot() == before
