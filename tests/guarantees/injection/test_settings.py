"""S1 for the user's settings: no value of the config, SOW_AGENTS_… or EDITOR becomes more than one word."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Repo
from support.call_server import Answer, Caller
from support.quick_cases import few_of

from guarantees.folder_snapshot import Picture
from guarantees.hostile_values import HOSTILE
from sow.system.terminal import escape_control

Config = dict[str, Any]
SHORT = [item for item in dict.fromkeys(HOSTILE) if len(item) < 100_000]
PASSED_ON = [text for text in SHORT if "\0" not in text]  # no system has a NUL in a variable or an argument
WRITTEN = [item for item in SHORT if not any("\ud800" <= letter <= "\udfff" for letter in item)]  # as UTF-8
SPAWN = ("agent", "spawn", "implementer", "010", "--dry-run")


def executor(kind: str = "claude", name: str = "mine", custom_args: tuple[str, ...] = (), **settings: Any) -> Config:
    """Returns a config with one executor, bound to the implementer."""
    entry = {"type": kind, "settings": settings, "custom_args": list(custom_args)}
    return {"agents": {"executors": {name: entry}, "bindings": {"implementer": name}}}


# Where a value is in the file.
FIELDS: dict[str, Callable[[str], Config]] = {
    "model": lambda value: executor(model=value),
    "custom_args": lambda value: executor(custom_args=(value,)),
    "binary": lambda value: executor(binary=value),
    "env": lambda value: executor(env=[value]),
    "scenario": lambda value: executor("simulated", scenario=value),
    "command": lambda value: executor("command", command=[value]),
    "word of the command": lambda value: executor("command", command=["claude", value]),
    "type": lambda value: executor(value),
    "name of an executor": lambda value: executor(name=value),
    "binding": lambda value: {"agents": {"bindings": {"implementer": value}}},
    "bound role": lambda value: {"agents": {"bindings": {value: "codex"}}},
    "fallback": lambda value: {"agents": {"fallbacks": {"implementer": [value]}}},
    "role with a fallback": lambda value: {"agents": {"fallbacks": {value: ["codex"]}}},
    "limit": lambda value: {"limits": {"turn_timeout": value}},
    "trust": lambda value: {"trust": [value]},
    "notification command": lambda value: {"notify": {"command": value}},
    "word of that command": lambda value: {"notify": {"command": [value, value]}},
    "section": lambda value: {value: {}},
}
# The fields whose values reach a command line: what is there for an accepted one, among the words of the call.
WORDS: dict[str, Callable[[list[str]], str]] = {
    "model": lambda words: words[words.index("--model") + 1],
    "custom_args": lambda words: words[-1],
    "scenario": lambda words: words[-1].removeprefix("--scenario="),
    "word of the command": lambda words: words[-1],
}


class User:
    """A repository with a task, a `claude` that must not be started, and calls by its user."""

    def __init__(self, repo: Repo, caller: Caller) -> None:
        self.repo = repo
        self.caller = caller
        self.home = Path(repo.environment["HOME"])
        self.file = self.home / ".config/sow/config.yaml"
        self.file.parent.mkdir(parents=True)
        self.program("claude", "touch owned")
        repo.environment["PATH"] = f"{self.home / 'bin'}:{repo.environment['PATH']}"
        repo.ok("task", "create", "--name", "Add login", "--agent", "implementer")

    def program(self, name: str, line: str) -> Path:
        path = self.home / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
        return path

    def call(self, *arguments: str, **environment: str) -> Answer:
        """Makes one call that starts nothing, and prints no control codes."""
        answer = self.quiet(*arguments, **environment)
        assert answer.started == [], (arguments, answer.started)
        return answer

    def quiet(self, *arguments: str, **environment: str) -> Answer:
        variables = {**self.repo.environment, **environment}
        answer = self.caller.call(*arguments, cwd=self.repo.root, environment=variables)
        assert answer.code in (0, 2), (arguments, answer)
        if answer.code:
            assert f"\n{answer.err}".count("\nerror: ") >= 1 and "\nhint: " in answer.err, answer
        rude = {letter for letter in answer.said if letter < " " or "\x7f" <= letter <= "\x9f"} - {"\n", "\t"}
        assert rude == set(), (arguments, rude)
        return answer


@pytest.fixture
def user(repo: Repo, caller: Caller) -> User:
    return User(repo, caller)


def texts(data: Any) -> Iterator[str]:
    """Returns every text in a document, keys included."""
    if isinstance(data, str):
        yield data
    for item in [*data, *data.values()] if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from texts(item)


@few_of("field", FIELDS, 1)
def test_a_hostile_setting_is_refused_or_one_word(user: User, field: str) -> None:
    """In every field of the file it is refused by name, or shown unchanged and one word of the command line."""
    accepted = 0
    user.file.touch()
    before = Picture(user.repo.root.parent)
    for value in WRITTEN:
        user.file.write_text(yaml.safe_dump(FIELDS[field](value)))
        checked, spawned = user.call("config", "validate"), user.call(*SPAWN)
        shown = user.call("config", "show", "--json")
        assert shown.code or value in texts(json.loads(shown.out)) or field in ("limit", "section"), value
        assert shown.code == 0 or checked.code == spawned.code == 2
        assert user.call("config", "show").code == shown.code
        if checked.code == 0 and spawned.code == 0 and field in WORDS:
            # The user's own file may be named from the user's home, as in a shell.
            meant = value.replace("~", str(user.home), 1) if field == "scenario" and value[:2] in ("~", "~/") else value
            assert escape_control(meant) == WORDS[field](shlex.split(spawned.out.partition("\nin ")[0])), value
            accepted += 1
    assert before.changes() in ([], [str(user.file)])
    assert accepted > (0 if field == "scenario" else 50) or field not in WORDS  # a scenario is named by a full path
    assert not list(user.repo.root.parent.rglob("owned"))


def test_a_model_is_never_a_flag(user: User) -> None:
    """A model that looks like an option is refused, for every type that takes one."""
    for kind in ("claude", "codex", "gemini", "opencode", "copilot", "qwen", "aider", "cursor", "windsurf"):
        for value in ("--dangerously-skip-permissions", "-x", "a b"):
            user.file.write_text(yaml.safe_dump(executor(kind, model=value)))
            assert user.call("config", "validate").code == user.call(*SPAWN).code == 2


def test_a_hostile_binding_in_the_environment(user: User) -> None:
    """SOW_AGENTS_<ROLE> must name an executor that exists; the error names the variable."""
    before = Picture(user.repo.root.parent)
    for value in PASSED_ON:
        spawned = user.call(*SPAWN, SOW_AGENTS_IMPLEMENTER=value)
        user.call("config", "show", SOW_AGENTS_IMPLEMENTER=value)
        assert (spawned.code == 0) == (value == ""), (value, spawned)
        assert value == "" or "SOW_AGENTS_IMPLEMENTER names it" in spawned.err
    assert before.changes() == []


@pytest.mark.full
def test_a_hostile_role_in_a_variable_name(user: User) -> None:
    """Any text after SOW_AGENTS_ is shown escaped, and changes no binding of another role."""
    before = Picture(user.repo.root.parent)
    for value in (text for text in PASSED_ON if "=" not in text):
        variable = {f"SOW_AGENTS_{value}": "codex"}
        for case in (("config", "show"), ("config", "show", "--json"), ("config", "validate")):
            assert user.call(*case, **variable).code == 0
        assert str(user.home / "bin/claude") in user.call(*SPAWN, **variable).out
    assert before.changes() == []


@pytest.mark.parametrize("variable", ["EDITOR", "VISUAL"])
def test_a_hostile_editor_is_no_program(user: User, variable: str) -> None:
    """The editor is a program and its words, looked for before anything is written, and run without a shell."""
    before = Picture(user.repo.root.parent)
    for value in (line for line in PASSED_ON if line.split()[:1] != ["touch"]):  # which is a program, and its word
        assert user.call("config", "edit", **{variable: value}).code == 2, value
    assert before.changes() == []


def test_words_of_an_editor_are_passed_unchanged(user: User) -> None:
    """A word after the editor's name is one word of its command line, followed by the file and nothing else."""
    editor, reached = str(user.program("editor", "exit 0")), 0
    for value in PASSED_ON[::2]:
        answer = user.quiet("config", "edit", EDITOR=f"editor {shlex.quote(value)}")
        assert answer.started == [[editor, value, str(user.file)]] or answer.code == 2, value
        reached += len(answer.started)
    assert reached > 40
    assert not list(user.repo.root.parent.rglob("owned"))


def test_an_editor_in_the_current_folder_is_not_run(user: User) -> None:
    """With a relative path a repository would choose the program, so it is not looked for."""
    program = user.repo.root / "bin" / "editor"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\ntouch owned\n")
    program.chmod(0o755)
    user.program("editor", "touch owned")
    for value in ("./bin/editor", "bin/editor", "../bin/editor", "../repo/bin/editor"):
        answer = user.call("config", "edit", EDITOR=value)
        assert answer.code == 2 and f"there is no program {value}" in answer.err
