"""A program is asked once for its version and flags, with a time limit."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from sow.errors import SystemFailure
from sow.executors.adapter import GIVEN, Capabilities
from sow.executors.probe import cache_path, probe, probe_all
from sow.system.process.program import MOST, capture

FLAGS = ("--resume", "-p", "exec")
LONG = 300.0


def capabilities(**options: Any) -> Capabilities:
    return Capabilities(binary="fake", install="by hand", session=GIVEN, **{"required_flags": FLAGS, **options})


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "FAKE_API_KEY": "sk-dummy-0123456789"}


def program(folder: Path, text: str, name: str = "fake") -> str:
    """Makes a program that records each of its starts in `starts`."""
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "$@" >> {folder}/starts\n{text}\n')
    path.chmod(0o755)
    return str(path)


def starts(folder: Path) -> list[str]:
    return (folder / "starts").read_text().splitlines()


USUAL = 'case "$1" in --version) echo "fake 2.1.3 (stable)";; *) echo "usage: fake exec [-p] [--resume ID]";; esac'


def test_version_and_flags(tmp_path: Path, variables: dict[str, str]):
    """The version is the first one in the output of --version, and the flags are looked for in that of --help."""
    facts = probe(program(tmp_path, USUAL), capabilities(), variables, LONG)
    assert (facts.version, facts.missing, facts.trouble) == ("2.1.3", (), "")
    assert starts(tmp_path) == ["--version", "--help"]


@pytest.mark.parametrize(
    ("help_text", "missing"),
    [
        ("  -p, --print\n  --resume [id]\n  exec  run", ()),
        ("  --print\n  --resume-last\n  executor", FLAGS),
        ("  -p|--resume=ID exec", ()),
        ("", FLAGS),
    ],
)
def test_a_flag_is_a_word_of_its_own(
    tmp_path: Path, variables: dict[str, str], help_text: str, missing: tuple[str, ...]
):
    """A flag counts only as a whole word."""
    (tmp_path / "help").write_text(help_text)
    text = f'[ "$1" = --version ] && echo 1.0 || cat {tmp_path}/help >&2'
    assert probe(program(tmp_path, text), capabilities(), variables, LONG).missing == missing


def test_a_program_may_need_other_words(tmp_path: Path, variables: dict[str, str]):
    """The adapter has the words for version and help."""
    can = capabilities(version_arguments=("version",), help_arguments=("run", "--help"), required_flags=("exec",))
    text = '[ "$1" = version ] && echo v9.8.7-beta.1. || echo exec'
    facts = probe(program(tmp_path, text), can, variables, LONG)
    assert (facts.version, facts.missing) == ("9.8.7-beta.1", ())
    assert starts(tmp_path) == ["version", "run --help"]


def test_a_program_without_version_words_is_not_run(tmp_path: Path, variables: dict[str, str]):
    """If the adapter has no words for the version, nothing is started: an agent could begin to work."""
    facts = probe(program(tmp_path, "exit 1"), capabilities(version_arguments=()), variables, LONG)
    assert (facts.version, facts.trouble) == ("", "")
    assert not (tmp_path / "starts").exists()


def test_no_key_and_no_repository(tmp_path: Path, variables: dict[str, str]):
    """The program gets no key, no stdin, and no repository with settings."""
    text = f"env > {tmp_path}/env; pwd > {tmp_path}/pwd; cat; echo 1.0 exec -p --resume"
    assert probe(program(tmp_path, text), capabilities(), variables, LONG).trouble == ""
    assert "FAKE_API_KEY" not in (tmp_path / "env").read_text()
    assert (tmp_path / "pwd").read_text() == "/\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("exit 3", "--version ended with exit code 3"),
        ("echo no such thing >&2; exit 1", "exit code 1: no such thing"),
        ("echo hello", "no version in what it says: hello"),
        ("exit 0", "no version in what it says: nothing"),
        ("printf '\\377\\376\\033[2J\\001'", "no version in what it says:"),
        ("kill -9 $$", "was ended by SIGKILL (killed)"),
        ('[ "$1" = --version ] && echo 1.0 || exit 7', "--help ended with exit code 7"),
    ],
)
def test_a_strange_answer_is_reported(tmp_path: Path, variables: dict[str, str], text: str, words: str):
    """The output instead of a version is shown on one line, without control characters."""
    trouble = probe(program(tmp_path, text), capabilities(), variables, LONG).trouble
    assert words in trouble
    assert trouble.isprintable()


def test_a_file_that_cannot_run_is_reported(tmp_path: Path, variables: dict[str, str]):
    """A file that the system cannot start is told as that."""
    path = tmp_path / "broken"
    path.write_bytes(b"\x7fELF\0\0")
    path.chmod(0o755)
    assert "cannot start" in probe(str(path), capabilities(), variables, LONG).trouble


def test_a_hanging_program_is_killed(tmp_path: Path, variables: dict[str, str]):
    """A program that never answers and ignores SIGTERM is killed with its children."""
    text = f"trap '' TERM INT HUP\n(setsid sleep 600 & echo $! > {tmp_path}/child) \nsleep 600"
    path = program(tmp_path, text)
    before = time.monotonic()
    for seconds in (1.0, 20.0, 120.0):  # a busy machine may need longer to get as far as that
        facts = probe(path, capabilities(), variables, seconds)
        assert f"did not end within {seconds:g} seconds" in facts.trouble
        if (tmp_path / "child").exists() and (tmp_path / "child").read_text():
            break
    assert time.monotonic() - before < 600
    assert _is_gone(int((tmp_path / "child").read_text()))


def test_endless_output_is_ended(tmp_path: Path, variables: dict[str, str]):
    """Endless output ends at the limit, long before the time is up."""
    before = time.monotonic()
    answer = capture([program(tmp_path, "exec yes 1.0")], environment=variables, timeout=LONG)
    assert (answer.code, len(answer.text)) == (None, MOST)
    assert time.monotonic() - before < LONG / 2


def test_background_processes_are_not_waited_for(tmp_path: Path, variables: dict[str, str]):
    """A program that answers and leaves a process with its output open has answered; the process is ended."""
    text = f"sleep 600 & echo $! > {tmp_path}/child; echo 1.0 exec -p --resume"
    before = time.monotonic()
    facts = probe(program(tmp_path, text), capabilities(required_flags=()), variables, LONG)
    assert (facts.version, facts.trouble) == ("1.0", "")
    assert time.monotonic() - before < LONG / 2
    assert _is_gone(int((tmp_path / "child").read_text()))


def _is_gone(pid: int) -> bool:
    """Tells whether a process has ended; init may take a moment to collect it."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            if ") Z " in Path(f"/proc/{pid}/stat").read_text():
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def test_a_missing_program_is_an_error_with_its_name(variables: dict[str, str]):
    """Asking what is not there fails with its name."""
    with pytest.raises(SystemFailure, match="cannot start /nonexistent/fake"):
        capture(["/nonexistent/fake"], environment=variables, timeout=1.0)


def test_a_program_is_asked_once(tmp_path: Path, variables: dict[str, str]):
    """The second probe uses the user's cache, and starts nothing."""
    path = program(tmp_path, USUAL)
    programs = {(path, "fake"): capabilities()}
    first = probe_all(programs, variables, LONG)[path, "fake"]
    second = probe_all(programs, variables, LONG)[path, "fake"]
    assert (first.cached, second.cached) == (False, True)
    assert (second.version, second.missing) == (first.version, first.missing)
    assert starts(tmp_path) == ["--version", "--help"]
    kept = Path(cache_path(variables))
    assert kept == tmp_path / ".cache/sow/probes.json"
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_changed_program_is_asked_again(tmp_path: Path, variables: dict[str, str]):
    """A new time or size, or other needed flags, lead to a new probe."""
    path = program(tmp_path, USUAL)
    probe_all({(path, "fake"): capabilities()}, variables, LONG)
    program(tmp_path, USUAL.replace("2.1.3", "2.1.40"))
    assert probe_all({(path, "fake"): capabilities()}, variables, LONG)[path, "fake"].version == "2.1.40"
    os.utime(path, ns=(1, 1))
    assert not probe_all({(path, "fake"): capabilities()}, variables, LONG)[path, "fake"].cached
    other = probe_all({(path, "fake"): capabilities(required_flags=("--new",))}, variables, LONG)[path, "fake"]
    assert (other.cached, other.missing) == (False, ("--new",))


def test_a_link_counts_as_its_target(tmp_path: Path, variables: dict[str, str]):
    """A CLI that is updated behind a link is asked again although the link is the same."""
    old, new = program(tmp_path, USUAL, "old"), program(tmp_path, USUAL.replace("2.1.3", "3.0.0"), "new")
    link = tmp_path / "link"
    link.symlink_to(old)
    assert probe_all({(str(link), "fake"): capabilities()}, variables, LONG)[str(link), "fake"].version == "2.1.3"
    link.unlink()
    link.symlink_to(new)
    assert probe_all({(str(link), "fake"): capabilities()}, variables, LONG)[str(link), "fake"].version == "3.0.0"


def test_failures_are_not_cached(tmp_path: Path, variables: dict[str, str]):
    """A program that failed once is asked again."""
    path = program(tmp_path, f"[ -e {tmp_path}/well ] || exit 1\n{USUAL}")
    assert probe_all({(path, "fake"): capabilities()}, variables, LONG)[path, "fake"].trouble
    (tmp_path / "well").touch()
    assert probe_all({(path, "fake"): capabilities()}, variables, LONG)[path, "fake"].version == "2.1.3"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "7",
        '{"a": 1}',
        '{"KEY": {"flags": 1}}',
        '{"KEY": {"flags": ["-p"], "version": 1, "missing": 2}}',
        "\0",
    ],
)
def test_a_broken_cache_counts_as_empty(tmp_path: Path, variables: dict[str, str], content: str):
    """For any content of the cache the answer is right, and the cache is valid afterwards."""
    path = program(tmp_path, USUAL)
    programs = {(path, "fake"): capabilities()}
    probe_all(programs, variables, LONG)
    kept = Path(cache_path(variables))
    (key,) = json.loads(kept.read_text())
    kept.write_text(content.replace("KEY", key))
    facts = probe_all(programs, variables, LONG)[path, "fake"]
    assert (facts.version, facts.missing, facts.cached) == ("2.1.3", (), False)
    assert key in json.loads(kept.read_text())


def test_a_read_only_cache_is_no_failure(tmp_path: Path, variables: dict[str, str]):
    """If the cache cannot be written, the answer is the same."""
    (tmp_path / ".cache").write_text("a file in the way")
    path = program(tmp_path, USUAL)
    assert probe_all({(path, "fake"): capabilities()}, variables, LONG)[path, "fake"].version == "2.1.3"
    homeless = {"PATH": variables["PATH"]}
    assert cache_path(homeless) == ""
    assert probe_all({(path, "fake"): capabilities()}, homeless, LONG)[path, "fake"].version == "2.1.3"


def test_programs_are_asked_in_parallel(tmp_path: Path, variables: dict[str, str]):
    """Four programs that wait for each other all answer."""
    meet = f"touch {tmp_path}/here.$$; until [ $(ls {tmp_path}/here.* | wc -l) -ge 4 ]; do sleep 0.05; done; echo 1.0"
    programs = {(program(tmp_path, meet, f"fake{n}"), "fake"): capabilities(required_flags=()) for n in range(4)}
    result = probe_all(programs, variables, LONG)
    assert [facts.version for facts in result.values()] == ["1.0"] * 4
