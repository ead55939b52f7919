"""S6: no control byte of an agent reaches a terminal, in text, JSON, errors or traces."""

from __future__ import annotations

import functools
import json
import os
import random
import re
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import FULL, Repo, fresh_environment
from support.call_server import Answer, Caller
from support.quick_cases import few_of

from guarantees.fresh_process import shard
from sow.store.formats import yaml_text

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
SEQUENCES: dict[str, bytes] = {
    "colour": b"\x1b[31m",
    "clear the screen": b"\x1b[2J\x1b[H",
    "move and overwrite": b"\x1b[1A\x1b[2K",
    "title": b"\x1b]0;owned\x07",
    "clipboard": b"\x1b]52;c;cm0gLXJmIH4=\x07",
    "link": b"\x1b]8;;http://a.b\x1b\\x\x1b]8;;\x1b\\",
    "device control": b"\x1bP$qm\x1b\\",
    "answer back": b"\x1b[6n\x05",
    "application command": b"\x1b_Gx\x1b\\",
    "C1 introducer": "\x9b31m".encode(),
    "C1 clipboard": "\x9d52;c;AA==\x9c".encode(),
    "C1 as a byte": b"\x9b31m",
    "backspaces": b"rm\x08\x08ls",
    "return": b"bad\rgood",
    "other returns": "a\x85b\u2028c\u2029d\x0b\x0c".encode(),
    "delete and NUL": b"a\x7fb\x00c",
    "turned around": "\u202etxt.exe\u202c".encode(),
    "isolated": "\u2066a\u2069\u200f\u061c".encode(),
    "byte order mark": "a\ufeffb".encode(),
    "half a character": b"\xed\xa0\xbdx\xff",
}
TASK_FOLDER = "phases/implementation/tasks/010"
TIME = "2026-01-31T09:00:00Z"


@pytest.fixture(scope="module")
def template(caller: Caller, _project_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("terminal")
    environment = fresh_environment(folder / "home")
    shutil.copytree(_project_template, folder / "repo", symlinks=True)
    for text in (
        "task create --name Login",
        "task create --name Logout",
        "task set --id 010 status in_progress",
        "task set --id 010 status paused --reason Which?",
        "feedback add 010 words",
        "note add --task 010 --description d --context c",
        "phase add qa --reason r",
        "project remember words",
        "log --task 010 words",
    ):
        assert caller.call(*text.split(), cwd=folder / "repo", environment=environment).code == 0, text
    shutil.rmtree(folder / "repo" / ".git" / "hooks")  # samples that would only be copied again and again
    return folder / "repo"


def is_harmful(letter: str) -> bool:
    """Tells whether a character must not be printed: a control character, half a character, or a direction mark."""
    kind = unicodedata.category(letter)
    return (kind in ("Cc", "Cs", "Zl", "Zp") and letter not in "\t\n") or letter in BIDI or letter == "\ufeff"


@functools.cache
def harmful() -> re.Pattern[str]:
    """Returns all such characters; the search takes a second."""
    return re.compile("[" + "".join(re.escape(chr(c)) for c in range(0x110000) if is_harmful(chr(c))) + "]")


def harmless(answer: Answer, what: object) -> Answer:
    match = harmful().search(answer.said)
    assert not match, f"{what}: {match.group()!r} in {answer.said[max(match.start() - 200, 0) : match.end() + 20]!r}"
    return answer


def show(caller: Caller, repo: Repo, *commands: str) -> None:
    """Calls every command that reads, for people and for programs."""
    for command in commands:
        for form in ("", " --json"):
            answer = caller.call(*(command + form).split(), cwd=repo.root, environment=repo.environment)
            assert answer.code in (0, 1, 2), (command, answer)
            harmless(answer, command + form)


VIEWS = ("status", "task list", "task show 010", "inbox", "note list --task 010", "feedback list 010", "project show")

PAGES = ("status", "task show 010", "feedback list 010", "project show", "log --list", "log --list --task 010")


def in_state_files(caller: Caller, repo: Repo, first: bytes, second: bytes) -> None:
    """In the texts of valid state files: half at the end of one field, half at the start of the next."""
    one, two = (text.decode("utf-8", "replace") for text in (first, second))
    path = repo.project / TASK_FOLDER / "state.yaml"
    loaded = yaml_text.load(path.read_text(), "")
    task = loaded["task"]
    task |= {"criteria": [f"a{one}", f"{two}b"], "abandoned_reason": f"a{one}"}
    task["question"]["text"] = f"{two}b"
    answered = {"answer": f"a{one}", "answered_at": TIME, "answered_by": "ada"}
    task["questions"] = [{**task["question"], "number": 7, **answered}]
    printable = "".join(letter for letter in f"a{one}{two}b" if not unicodedata.category(letter).startswith(("C", "Z")))
    turned = "".join(letter for letter in one + two if letter in BIDI)
    task |= {"name": printable + turned, "references": [printable + turned], "session_id": f"s{turned}"}
    path.write_text(yaml_text.dump(loaded))
    project = repo.project / "state.yaml"
    loaded = yaml_text.load(project.read_text(), "")
    loaded |= {"description": f"a{one}{two}b", "name": f"a{turned}b"}
    loaded["phases"][1]["reason"] = f"{two}b{one}"
    project.write_text(yaml_text.dump(loaded))
    notes = repo.project / TASK_FOLDER / "completion_drive" / "session_current.json"
    session = json.loads(notes.read_text())
    session["notes"][0] |= {"description": f"a{one}", "context": f"{two}b", "status": "escalated"}
    session["notes"][0]["escalation_reason"] = f"a{one}{two}"
    notes.write_text(json.dumps(session))
    show(caller, repo, *VIEWS)
    assert caller.call("task", "show", "010", cwd=repo.root, environment=repo.environment).code == 0


def in_pages(caller: Caller, repo: Repo, first: bytes, second: bytes) -> None:
    """As bytes in the Markdown that an agent may write: headings and texts of logs, feedback, memories, description."""
    whole = first + second
    head = "\n### 2026-01-31T09:00:00Z · a".encode() + " · ".encode().join((first, second + b"b", whole))
    entry = head + b"\n\n- " + whole + b"\n\na" + first + b"\n" + second + b"b\n"
    task_folder = repo.project / TASK_FOLDER
    for path in (task_folder / "log.md", repo.project / "log.md"):
        path.write_bytes(entry * 2)
    (task_folder / "description.md").write_bytes(b"# a" + first + b"\n" + second + b"b\n")
    facts = b"- by: " + whole + b"\n- at: " + first + b"\n- on iteration: " + second + b"\n\n"
    (task_folder / "feedback" / "001.md").write_bytes(b"# Feedback 001\n\n" + facts + whole + b"\n")
    memory = b"\n## " + whole + b"\n\na" + first + b"\n" + second + b"b\n"
    (repo.project / "context" / "memories.md").write_bytes(memory)
    show(caller, repo, *PAGES, f"validate {task_folder}/log.md {task_folder}/description.md")


def in_broken_files(caller: Caller, repo: Repo, first: bytes, second: bytes) -> None:
    """In invalid keys, values, tags and versions, which an error repeats."""
    one, two = (json.dumps(text.decode("utf-8", "replace")) for text in (first, second))
    raw = first + second
    task_folder = repo.project / TASK_FOLDER
    good = (task_folder / "state.yaml").read_bytes()
    texts = [
        good + f"{one}: {two}\n".encode(),
        f'schema_version: "1.2.0"\n{one}: {two}\ntask: {{}}\n'.encode(),
        f"schema_version: {one}\ntask: {{{two}: 1}}\n".encode(),
        f'schema_version: "1.2.0"\ntask:\n  {one}: 1\n  {two}: 2\n  {one}: 3\n'.encode(),
        f'schema_version: "1.2.0"\ntask:\n  id: {one}\n  status: {two}\n'.encode(),
        b'schema_version: "1.2.0"\ntask: !a' + raw + b" 1\n",
        b"a: " + raw + b"\n" + raw + b": b\n- " + raw,
    ]
    turn = len(first) % len(texts)  # each place of a split meets two of the texts, all places together meet all
    for text in (texts[turn], texts[turn - 1]):
        (task_folder / "state.yaml").write_bytes(text)
        (task_folder / "completion_drive" / "session_current.json").write_bytes(text)
        show(caller, repo, "status", f"validate {task_folder}/state.yaml")
        for line in ("task show 010 --debug", "note list --task 010 --debug", "task set --id 010 priority high"):
            harmless(caller.call(*line.split(), cwd=repo.root, environment=repo.environment), line)
    (task_folder / "state.yaml").write_bytes(texts[0])
    show(caller, repo, "doctor")
    (task_folder / "state.yaml").write_bytes(good)
    for aside in task_folder.glob("state.broken-*"):
        aside.unlink()


def in_words(caller: Caller, repo: Repo, first: bytes, second: bytes) -> None:
    """On the command line and in the environment, which an error repeats."""
    one, two = (os.fsdecode(text.replace(b"\0", b"")) for text in (first, second))
    for line in (
        [one or "-", two],
        ["task", one + two],
        ["task", "show", one + two],
        ["task", "set", "--id", "010", one, two],
        ["task", "set", "--id", "010", "status", one + two],
        ["task", "create", f"--name={one}", f"--agent={two}"],
        ["task", "create", "--name=n", f"--phase={one}{two}"],
        ["task", "create", "--name=n", f"--description=@{one}{two}"],
        ["log", f"--action={one}{two}", "text", "--debug"],
        ["log", f"--{one}{two}", "text", "--debug"],
        ["answer", one + two, "text"],
        ["phase", "approve", one + two],
        ["validate", one + two, two + one],
        ["validate", one + two, "--json"],
        ["schema", "diff", one, two],
        ["completion", "words", "--", "task", one + two],
        ["status", f"--root={one}{two}"],
    ):
        harmless(caller.call(*line, cwd=repo.root, environment=repo.environment), line)
    for name in ("SOW_ROOT", "SOW_TASK", "SOW_AGENT", "USER"):
        environment = repo.environment | {name: one + two}
        for line in ("status", "project remember words", "log words --json"):
            harmless(caller.call(*line.split(), cwd=repo.root, environment=environment), (name, line))
    show(caller, repo, "status", "log --list", "project show")


CHANGING = ("migrate --dry-run", "migrate --yes", "init", "project delete --yes", "project new again", "status", "init")


def in_names(caller: Caller, repo: Repo, first: bytes, second: bytes) -> None:
    """In the names of files and folders, including the root of the repository and its branch."""
    name = re.sub(rb"[/\0]", b"", first + b"-" + second)
    odd = repo.root.parent / "odd" / os.fsdecode(b"root" + name)
    shutil.copytree(repo.root, odd, symlinks=True)
    moved = Repo(odd, repo.environment)
    for place in (TASK_FOLDER, "phases", "phases/implementation/tasks", f"{TASK_FOLDER}/feedback", "context"):
        (moved.project / place / os.fsdecode(name)).mkdir(exist_ok=True)
    broken = moved.project / "phases/implementation/tasks" / os.fsdecode(name) / "state.yaml"
    broken.write_text('schema_version: "0.9.0"\n')
    # Git's own rules for a branch are stricter; the file is what we read.
    (odd / ".git" / "HEAD").write_bytes(b"ref: refs/heads/" + re.sub(rb"\n", b"", name) + b"\n")
    show(caller, moved, "status", "doctor", "check", "project show")
    for line in CHANGING:
        harmless(caller.call(*line.split(), cwd=odd, environment=repo.environment), line)
    harmless(caller.call("status", cwd=odd.parent, environment=repo.environment | {"SOW_ROOT": str(odd)}), "SOW_ROOT")
    shutil.rmtree(odd.parent)


CARRIERS: dict[str, Callable[[Caller, Repo, bytes, bytes], None]] = {
    "state files": in_state_files,
    "pages": in_pages,
    "broken files": in_broken_files,
    "words": in_words,
    "names": in_names,
}


@pytest.fixture
def told_repo(tmp_path: Path, environment: dict[str, str], template: Path) -> Repo:
    shutil.copytree(template, tmp_path / "repo", symlinks=True)
    return Repo(tmp_path / "repo", environment)


@pytest.mark.parametrize("carrier", CARRIERS)
@few_of("sequence", SEQUENCES, 1)
def test_no_sequence_is_printed(caller, told_repo, carrier, sequence):
    """A known sequence, split at every byte, is harmless in every command that shows or repeats it."""
    data = SEQUENCES[sequence]
    for place in range(len(data) + 1):
        CARRIERS[carrier](caller, told_repo, data[:place], data[place:])


def test_the_table_has_a_thousand_cases():
    """Every split of every sequence in every carrier makes a thousand."""
    assert sum(len(data) + 1 for data in SEQUENCES.values()) * len(CARRIERS) >= 1000


@few_of("carrier", CARRIERS, 3)
def test_random_sequences_are_never_printed(caller, told_repo, carrier):
    """Random mixtures of the pieces of all sequences are harmless, too."""
    number, of = shard()
    chance = random.Random(number)
    pieces = [*SEQUENCES.values(), *(bytes([number]) for number in range(256))]
    for _ in range(50_000 // len(CARRIERS) // of if FULL else 5):
        first, second = (b"".join(chance.choices(pieces, k=chance.randint(0, 4))) for _ in range(2))
        CARRIERS[carrier](caller, told_repo, first, second)
