"""S1: a hostile value is refused before any change, or stored and read back; it never becomes a command."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import FULL, Repo, fresh_environment
from support.call_server import Answer, Caller
from support.paths import ROOT
from support.quick_cases import few_of

from guarantees.folder_snapshot import Picture
from guarantees.hostile_values import HOSTILE
from sow.cli.command import GROUPS, commands
from sow.system.terminal import escape_control, escape_line

NO_TEXT_FOR_GIT = ("\ufffe", "\U0010ffff")  # it takes a message with one of these for Latin-1
EXAMPLE = str(ROOT / "examples" / "user-accounts.md")
STDIN = "typed on standard input"

Template = tuple[str, str, str]  # the other words with {} for the value, what kind of value it is, and where to read it
NEVER = "never"
LINE, TEXT, TEXT, MARKDOWN, LOG, PATH, ANY = "line", "text", "plain", "markdown", "log", "path", "any"
CREATE: dict[str, Template] = {
    "--name": ("--agent=architect", LINE, "task show 050"),
    "--agent": ("--name=n", NEVER, ""),
    "--phase": ("--name=n", NEVER, ""),
    "--description": ("--name=n", MARKDOWN, "task show 050"),
    "--criterion": ("--name=n", LINE, "task show 050"),
    "--test": ("--name=n", LINE, "task show 050"),
    "--reference": ("--name=n", PATH, "task show 050"),
    "--depends-on": ("--name=n", ANY, ""),
    "--after": ("--name=n", NEVER, ""),
    "--priority": ("--name=n", NEVER, ""),
}
ENTRY: dict[str, Template] = {
    "log_text": ("--task=010 {}", LOG, "log --list --task=010"),
    "--file": ("--task=010 words", LINE, "log --list --task=010"),
    "--action": ("--task=010 words", ANY, "log --list --task=010"),
    "--result": ("--task=010 words", ANY, "log --list --task=010"),
    "--task": ("words", NEVER, ""),
}
RUN = f"{EXAMPLE} --executor=simulated --dry-run"  # what it starts without it is a worker of test_workers.py
FIELDS: dict[str, dict[str, Template]] = {
    "init": {
        "--project": ("", LINE, "project show"),
        "--description": ("--project=p", TEXT, "project show"),
        "--phase": ("--project=p", LINE, "project show"),
    },
    "start": {  # there is a project already; what becomes of a goal is shown in tests/cli/setup/test_start.py
        "goal": ("{} --print", NEVER, ""),
        "--branch": ("goal --print", NEVER, ""),
        "--phases": ("goal --print", NEVER, ""),
        "--executor": ("goal", NEVER, ""),
    },
    "continue": {"--executor": ("", NEVER, "")},
    "install": {"cli": ("{} --dry-run", NEVER, "")},
    "uninstall": {"cli": ("{} --dry-run", NEVER, "")},
    "hook": {"event": ("{}", NEVER, "")},
    "ui": {"--port": ("--root=nowhere", NEVER, "")},  # a good port would be listened on forever
    "project new": {
        "name": ("{}", LINE, "project show"),
        "--description": ("n", TEXT, "project show"),
        "--phase": ("n", LINE, "project show"),
    },
    "project save": {"--message": ("", ANY, "")},
    "project resolve": {"side": ("{}", NEVER, "")},
    "project remember": {"memory_text": ("{}", MARKDOWN, "project show")},
    "phase add": {
        "name": ("{} --reason=r", LINE, "phase list"),
        "--reason": ("qa", LINE, "phase list"),
        "--after": ("qa --reason=r", NEVER, ""),
        "--before": ("qa --reason=r", NEVER, ""),
    },
    "phase move": {
        "name": ("{} --now", NEVER, ""),
        "--after": ("implementation", NEVER, ""),
        "--before": ("implementation", NEVER, ""),
    },
    "phase back": {"name": ("{}", NEVER, "")},
    "phase approve": {"name": ("{}", NEVER, "")},
    "task create": CREATE,
    "task add": CREATE,
    "task list": {"--phase": ("", NEVER, ""), "--status": ("", NEVER, "")},
    "task show": {"task": ("{}", NEVER, "")},
    "task set": {
        "field": ("--id=010 {} high", NEVER, ""),
        "value": ("--id=010 name {}", LINE, "task show 010"),
        "--id": ("priority high", NEVER, ""),
        "--reason": ("--id=010 status paused", LINE, "task show 010"),
    },
    "task abandon": {"task": ("{} --reason=r", NEVER, ""), "--reason": ("020", LINE, "task show 020")},
    "plan show": {"plan": ("{}", NEVER, ""), "--tag": (EXAMPLE, NEVER, ""), "--graph": (EXAMPLE, NEVER, "")},
    "plan validate": {"plan": ("{}", NEVER, ""), "--tag": (EXAMPLE, NEVER, "")},
    "plan waves": {"plan": ("{}", NEVER, ""), "--tag": (EXAMPLE, NEVER, "")},
    "plan simulate": {
        "plan": ("{}", NEVER, ""),
        "--tag": (EXAMPLE, NEVER, ""),
        "--max-concurrency": (EXAMPLE, NEVER, ""),
        "--schedule": (EXAMPLE, NEVER, ""),
    },
    "plan new": {
        "goal": ("{} --executor=nobody", NEVER, ""),  # with an executor it would start an agent
        **dict.fromkeys(("--from", "--output", "--timeout"), ("goal --executor=nobody", NEVER, "")),
        "--issue": ("", NEVER, ""),
        "--executor": ("goal", NEVER, ""),
    },
    "plan import": {
        "plan": ("{}", NEVER, ""),
        "--tag": (EXAMPLE, NEVER, ""),
        "--phase": (EXAMPLE, NEVER, ""),
        "--issue": ("", NEVER, ""),
        "--label": (EXAMPLE, NEVER, ""),  # without a plan it would ask git for the remote
    },
    "plan update": {"plan": ("{}", NEVER, "")},
    "run": {
        "plan": ("{} --executor=simulated --dry-run", NEVER, ""),
        "--issue": ("--dry-run", NEVER, ""),
        "--label": (RUN, NEVER, ""),
        "--tag": (RUN, NEVER, ""),
        "--max-concurrency": (RUN, NEVER, ""),
        "--executor": (f"{EXAMPLE} --dry-run", NEVER, ""),
        "--agent": (RUN, NEVER, ""),
        "--task": (RUN, NEVER, ""),
        "--schedule": (RUN, NEVER, ""),
        "--isolation": (RUN, NEVER, ""),
        "--review": (RUN, NEVER, ""),
        "--baseline": (RUN, NEVER, ""),
        "--final-checks": (RUN, NEVER, ""),
        "--history": (RUN, NEVER, ""),
        "--accept": (RUN, NEVER, ""),
        "--retries": (f"{RUN} --isolation=none", ANY, ""),  # with worktrees git is asked about their setup
        "--timeout": (RUN, NEVER, ""),
        "--max-cost": (f"{RUN} --isolation=none", ANY, ""),
        "--max-wait": (RUN, NEVER, ""),
        "--on": (f"{RUN} --isolation=none", NEVER, ""),  # with worktrees the hosts are asked
        "--cluster": (f"{RUN} --isolation=none", NEVER, ""),
        "--give-up": (f"{RUN} --isolation=none", ANY, ""),  # compared with the names of hosts that have a turn
    },
    "runs show": {"run": ("{}", NEVER, ""), "--format": ("", NEVER, "")},
    "runs report": {"run": ("{}", NEVER, ""), "--format": ("", NEVER, ""), "--out": ("", NEVER, "")},
    "runs stop": {"run": ("{}", NEVER, ""), "--wait": ("", NEVER, "")},
    "runs verify": {"run": ("{}", NEVER, ""), "--task": ("", NEVER, "")},
    "watch": {"run": ("{}", NEVER, "")},
    "integrate": {"run": ("{}", NEVER, "")},
    "deliver": {
        "run": ("{}", NEVER, ""),
        "--base": ("", NEVER, ""),
        "--remote": ("", NEVER, ""),
        "--title": ("", NEVER, ""),
        "--merge": ("--watch", NEVER, ""),
        "--max-wait": ("--watch", NEVER, ""),
    },
    "deliver watch": {"run": ("{}", NEVER, ""), "--merge": ("", NEVER, ""), "--max-wait": ("", NEVER, "")},
    "salvage prune": {"--older-than": ("--yes", NEVER, "")},
    "answers forget": {"number": ("{}", NEVER, "")},
    "consent forget": {"number": ("{}", NEVER, "")},
    "context": {"task": ("{}", NEVER, ""), "--budget": ("010", NEVER, "")},
    "adr new": {"title": ("{}", LINE, "adr list"), "--status": ("words", NEVER, "")},
    "feedback add": {
        "task": ("{} words", NEVER, ""),
        "feedback_text": ("010 {}", MARKDOWN, "task show 010"),
        "--at": ("010 words", NEVER, ""),
        "--tree": ("010 words --at=README.md:1", NEVER, ""),
    },
    "feedback list": {"task": ("{}", NEVER, "")},
    "log": ENTRY,
    "agent log": ENTRY,
    "note add": {
        "--description": ("--task=010 --context=c", TEXT, "note list --task=010"),
        "--context": ("--task=010 --description=d", TEXT, "note list --task=010"),
        "--category": ("--task=010 --context=c --description=d", NEVER, ""),
        "--task": ("--context=c --description=d", NEVER, ""),
    },
    "note resolve": {
        "number": ("{} --task=010 --resolution=r", NEVER, ""),
        "--resolution": ("1 --task=010", TEXT, "note list --task=010"),
        "--task": ("1 --resolution=r", NEVER, ""),
    },
    "note escalate": {
        "number": ("{} --task=010 --reason=r", NEVER, ""),
        "--reason": ("1 --task=010", TEXT, "note list --task=010"),
        "--task": ("1 --reason=r", NEVER, ""),
    },
    "note list": {"--task": ("", NEVER, "")},
    "answer": {"question": ("{} words", NEVER, ""), "answer_text": ("030 {}", TEXT, "task show 030")},
    "approve": {
        "task": ("{}", NEVER, ""),
        "--reason": ("040", NEVER, ""),
        "--waive": ("040", NEVER, ""),
    },
    "schema show": {"name": ("{}", NEVER, ""), "--format": ("task", NEVER, ""), "--version": ("task", NEVER, "")},
    "schema diff": {"older": ("{} 1.0.0", NEVER, ""), "newer": ("0.9.0 {}", NEVER, "")},
    "validate": {"file": ("{}", ANY, ""), "--kind": (".sow/config.yaml", NEVER, "")},
    "completion": {"shell": ("{}", NEVER, ""), "words": ("words {}", ANY, "")},
}
ELSEWHERE = (
    "agent ",
    "revert",
    "config ",
    "context describe",
    "prompt",
    "demo",
    "salvage restore",
    "sinks ",
    "repos ",
    "workflow ",
    "turn ",
    "host ",
    "cluster ",
)
ALIKE = ("init", "task add", "agent log")  # done by the code of project new, task create and log
CASES = [(command, field) for command, fields in FIELDS.items() for field in fields]


@pytest.fixture(scope="module")
def busy_template(caller: Caller, _project_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a task in progress that has a note, others that wait or ask, and a second phase."""
    folder = tmp_path_factory.mktemp("busy")
    environment = fresh_environment(folder / "home")
    root = folder / "repo"
    shutil.copytree(_project_template, root, symlinks=True)
    for line in (
        *(f"task create --agent implementer --name {name}" for name in ("Login", "Logout", "Reset", "Tests")),
        "task set --id 030 status in_progress",
        "task set --id 030 status paused --reason Which?",
        "task set --id 010 status in_progress",
        "note add --task 010 --description d --context c --category detail",
        "phase add review --reason r --yes",
    ):
        answer = caller.call(*line.split(), cwd=root, environment=environment)
        assert answer.code == 0, answer
    return root


@pytest.fixture
def busy_repo(tmp_path: Path, environment: dict[str, str], busy_template: Path) -> Repo:
    shutil.copytree(busy_template, tmp_path / "repo", symlinks=True)
    return Repo(tmp_path / "repo", environment)


def spellings(command: str, field: str, value: str) -> Iterator[tuple[list[str], bool]]:
    """Returns the notations of a value, and whether each can only be a value."""
    base = FIELDS[command][field][0].split()
    options = [*command.split(), *(word for word in base if word.startswith("--"))]
    places = [value if word == "{}" else word for word in base if not word.startswith("--")]
    if field.startswith("--"):
        yield [*options, *places, field, value], value not in ("-h", "--help")
        if value[:1] in ("-", ""):
            yield [*options, *places, f"{field}={value}"], True
        return
    yield [*options, *places], value[:1] != "-"
    if value[:1] == "-":
        yield [*options, "--", *places], True


def stored(kind: str, value: str) -> str:
    """Returns the stored form of an accepted value."""
    value = STDIN if kind in (TEXT, MARKDOWN, LOG) and value == "-" else value
    if kind == PATH:
        return "/".join(part for part in value.strip().split("/") if part not in ("", ".")) or "."
    return {
        LINE: value.strip(),
        MARKDOWN: escape_control(value).strip(),
        LOG: escape_control(value).strip("\n"),
    }.get(kind, value)


def leaves(data: Any) -> Iterator[str]:
    """Returns every text in a document."""
    if isinstance(data, str):
        yield data
    for item in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from leaves(item)


def check_refusal(answer: Answer) -> None:
    """Checks that a refusal has an error and a hint and is no crash; only a system error about a file is exit 1."""
    assert answer.code == 2 or (answer.code == 1 and "cannot read" in answer.err), answer
    assert f"\n{answer.err}".count("\nerror: ") == 1, answer
    assert "\nhint: " in answer.err, answer


def read(caller: Caller, repo: Repo, view: str) -> Any:
    """Returns a command's output as JSON."""
    return json.loads(caller.call(*view.split(), "--json", cwd=repo.root, environment=repo.environment).out)


def check_stored(caller: Caller, repo: Repo, command: str, field: str, value: str) -> None:
    """Reads an accepted value back."""
    _, kind, view = FIELDS[command][field]
    expected = stored(kind, value)
    texts = list(leaves(read(caller, repo, view)))
    # A description is a page of its own, below its title.
    assert expected in texts or (field == "--description" and any(expected.strip() in text for text in texts)), value


def check(caller: Caller, repo: Repo, command: str, field: str, value: str, before: Picture) -> int:
    """Makes the call in every notation; returns how often the value was stored."""
    accepted = 0
    _, kind, view = FIELDS[command][field]
    for arguments, literal in spellings(command, field, value):
        answer = caller.call(*arguments, cwd=repo.root, environment=repo.environment, stdin=STDIN.encode())
        changed = before.changes()
        if field != "--tree" or (value and not re.fullmatch("[0-9a-f]+", value)):  # git is asked for an id only
            assert answer.started == [], arguments
        if answer.code:
            check_refusal(answer)
            assert changed == [], arguments
            continue
        inside = (f"{repo.root}/.sow/project", f"{repo.root}/.sow/knowledge/adrs", f"{repo.root}/.git/sow")
        assert all(path.startswith(inside) for path in changed), changed
        assert kind != NEVER or not literal or answer.out.startswith("Usage: "), (arguments, answer)
        if view and literal and not answer.out.startswith("Usage: "):
            accepted += 1
            check_stored(caller, repo, command, field, value)
        if changed:
            before.bring_back()
    return accepted


def values() -> list[str]:
    """Returns the table, and in a full run also generated values."""
    chance = random.Random(1)
    pieces = [item for item in HOSTILE if len(item) < 40] + list(string.printable)
    more = ["".join(chance.choices(pieces, k=chance.randint(2, 5))) for _ in range(1500 if FULL else 0)]
    # No system passes a NUL on in an argument, and there is no file with one in its name.
    return list(dict.fromkeys([*HOSTILE, *(text for text in more if "\0" not in text)]))


def test_the_table_has_every_field_of_every_command():
    """A new command or option without a row here fails this test; there are at least 150 values."""
    groups = {
        (command.name, entry)
        for group in GROUPS
        for command in commands(group)
        for entry in (
            *(argument.name for argument in command.arguments),
            *(o.flag for o in command.options if o.metavar),
        )
    }
    # What starts an agent is in test_workers.py, and what writes the user's own file in errors/test_config.py; the
    # tests of the demo have a hostile folder, those of salvage and of knowledge look at what git is given, and
    # workflows are in test_workflow.py; what other hosts are sent and send is in tests/cluster.
    elsewhere = {case for case in groups if case[0].startswith(ELSEWHERE) and case[0] != "agent log"}
    assert groups - elsewhere == set(CASES)
    assert len(set(HOSTILE)) >= 150


@few_of(("command", "field"), [case for case in CASES if case != ("project save", "--message")], 6)
def test_a_hostile_value_has_no_effect(caller, busy_repo, command, field):
    """Every hostile value in every field is refused without a change, or read back; nothing is started."""
    if command in ("init", "project new"):
        shutil.rmtree(busy_repo.project)
    before = Picture(busy_repo.root.parent)
    chosen = values()[:: 5 if command in ALIKE else 1]
    if (command, field) == ("validate", "file"):
        chosen = [text for text in chosen if "\0" not in text]  # no system passes that on, and there is no such path
    accepted = sum(check(caller, busy_repo, command, field, value, before) for value in chosen)
    assert accepted > 0 or not FIELDS[command][field][2] or command in ALIKE
    assert not list(busy_repo.root.parent.rglob("owned"))


@pytest.mark.full
def test_a_hostile_message_is_one_word_for_git(caller, busy_repo):
    """The message of a commit reaches git as one word, and the commit has it unchanged."""
    messages = []
    for number, value in enumerate(item for item in HOSTILE if item not in NO_TEXT_FOR_GIT):
        (busy_repo.project / "context" / "number.md").write_text(str(number))
        answer = caller.call(
            "project", "save", f"--message={value}", cwd=busy_repo.root, environment=busy_repo.environment
        )
        if answer.code:
            check_refusal(answer)
            assert answer.started == [], value
            continue
        messages.append(value.strip())
        assert all(words[0] == "git" for words in answer.started)
        assert [word for words in answer.started for word in words if word.startswith("--message=")] == [
            f"--message={value.strip()}"
        ]
    assert len(messages) > 60
    log = busy_repo.git("log", "--format=%B%x00", f"--max-count={len(messages)}").split("\0")
    assert [line.strip("\n") for line in log[:-1]] == list(reversed(messages))
    assert not list(busy_repo.root.parent.rglob("owned"))


@pytest.mark.parametrize("source", ["--root", "SOW_ROOT"])
def test_a_hostile_root_is_refused(caller, busy_repo, source):
    """A root that is no checkout is refused, and no other folder is changed."""
    outside = Picture(busy_repo.root.parent)
    for value in HOSTILE:
        if source == "SOW_ROOT" and "\0" in value:  # no system can pass that on
            continue
        arguments = [f"--root={value}"] if source == "--root" else []
        environment = busy_repo.environment | ({"SOW_ROOT": value} if source == "SOW_ROOT" else {})
        answer = caller.call("log", "words", *arguments, cwd=busy_repo.root, environment=environment)
        assert answer.started == []
        if answer.code:
            check_refusal(answer)
        else:
            assert os.path.realpath(busy_repo.root / value) == str(busy_repo.root)
    assert outside.changes() in ([], [f"{busy_repo.project}/log.md"])


MARKED = ("log words", "agent log words", "note list", "task show", "task set status paused", "approve 010")


def test_a_hostile_task_mark_is_refused(caller, busy_repo):
    """SOW_TASK is a task id, or every command refuses it."""
    before = Picture(busy_repo.root.parent)
    for value in HOSTILE:
        if "\0" in value or not value:
            continue
        environment = busy_repo.environment | {"SOW_TASK": value}
        for line in MARKED:
            check_refusal(caller.call(*line.split(), cwd=busy_repo.root, environment=environment))
    assert before.changes() == []


SIGNED = {
    "SOW_AGENT": ("log words --task=010", "log --list --task=010"),
    "USER": ("answer 030 words", "log --list"),
    "LOGNAME": ("answer 030 words", "log --list"),
}


@few_of("name", SIGNED, 2)
def test_a_hostile_user_name_is_one_line(caller, busy_repo, name):
    """Any user name gives a short name on one line of the log, and every entry can be read."""
    text, view = SIGNED[name]
    before = Picture(busy_repo.root.parent)
    at_first = len(read(caller, busy_repo, view)["entries"])
    marks = {"SOW_TASK": "010"} if name == "SOW_AGENT" else {"USER": ""}
    for value in [text for text in HOSTILE if "\0" not in text][:: 5 if name == "LOGNAME" else 1]:
        environment = busy_repo.environment | marks | {name: value}
        answer = caller.call(*text.split(), cwd=busy_repo.root, environment=environment)
        assert answer.code == 0, (value, answer)
        entries = read(caller, busy_repo, view)["entries"]
        assert len(entries) == at_first + 1, value
        signed = entries[-1]["agent"]
        assert signed == escape_line(signed)
        assert 0 < len(signed) <= 70
        before.bring_back()


@few_of("words", ["project remember words", "feedback add 010 words"], 1)
def test_a_hostile_user_name_stays_out_of_the_text(caller, busy_repo, words):
    """A name with line breaks or Markdown does not become a part of the text."""
    before = Picture(busy_repo.root.parent)
    for value in (text for text in HOSTILE if "\0" not in text):
        environment = busy_repo.environment | {"USER": value}
        assert caller.call(*words.split(), cwd=busy_repo.root, environment=environment).code == 0
        if words.startswith("project"):
            assert read(caller, busy_repo, "project show")["memories"] == ["words"]
        else:
            assert [entry["text"] for entry in read(caller, busy_repo, "task show 010")["feedback"]] == ["words"]
        before.bring_back()


@pytest.mark.full
def test_a_hostile_command_is_unknown(caller, busy_repo):
    """A hostile word in place of a command is unknown, or asks for help; it changes nothing."""
    before = Picture(busy_repo.root.parent)
    for value in HOSTILE:
        for item in ([value], ["task", value], ["help", value], [value, "task"]):
            answer = caller.call(*item, cwd=busy_repo.root, environment=busy_repo.environment)
            if answer.code:
                check_refusal(answer)
            assert answer.started == []
    assert before.changes() == []


@few_of("value", [text for text in HOSTILE if "\0" not in text and len(text) < 1000][::6], 6)
def test_the_real_command_behaves_the_same(repo, value):
    """Through the real command, with a real argument list, a hostile text is logged and read back, or refused."""
    result = repo.sow("log", "--", os.fsencode(value))
    assert result.code in (0, 2), result
    if result.code == 0:
        entry = repo.ok("log", "--list", "--json").json["entries"][-1]
        assert entry["text"] == escape_control(value).strip("\n")
