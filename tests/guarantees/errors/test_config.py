"""Q1 for the user's settings: every mistake has one error with its place and one hint, and changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.quick_cases import few_of

LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefghijk", "bcdefghijkl", strict=True)
)
EXECUTOR = "agents:\n  executors:\n    mine:\n"

# What the file holds → what the error says.
BROKEN: dict[str, tuple[str | bytes, str]] = {
    "unknown section": ("agnts: {}\n", "agnts: is not a field; did you mean agents?"),
    "unknown part": ("agents:\n  binding: {}\n", "agents.binding: is not a field; did you mean bindings?"),
    "unknown key of an executor": (
        f"{EXECUTOR}      type: claude\n      setings: {{}}\n",
        "agents.executors.mine.setings: is not a field; did you mean settings?",
    ),
    "unknown setting": (
        f"{EXECUTOR}      type: claude\n      settings:\n        yolo: true\n",
        "agents.executors.mine.settings.yolo: is not a field; did you mean yolo_mode?",
    ),
    "unknown limit": (
        "limits:\n  turn_time_out: 5m\n",
        "limits.turn_time_out: is not a field; did you mean turn_timeout?",
    ),
    "agents is a number": ("agents: 5\n", "agents: must be a mapping, not 5"),
    "bindings is a list": ("agents:\n  bindings: [a]\n", "agents.bindings: must be a mapping"),
    "binding is a list": ("agents:\n  bindings:\n    planner: [a]\n", "agents.bindings.planner: must be a text"),
    "role is a number": (
        "agents:\n  bindings:\n    1: codex\n",
        "agents.bindings: must be a mapping with names as keys",
    ),
    "fallback is a text": ("agents:\n  fallbacks:\n    planner: codex\n", "agents.fallbacks.planner: must be a list"),
    "executor is a text": ("agents:\n  executors:\n    mine: claude\n", "agents.executors.mine: must be a mapping"),
    "executor without a type": (f"{EXECUTOR}      settings: {{}}\n", "agents.executors.mine.type: is missing"),
    "yes is no boolean": (
        f"{EXECUTOR}      type: claude\n      settings: {{yolo_mode: yes}}\n",
        "agents.executors.mine.settings.yolo_mode: must be true or false, not 'yes'",
    ),
    "model is a number": (
        f"{EXECUTOR}      type: claude\n      settings: {{model: 4}}\n",
        "agents.executors.mine.settings.model: must be a text, not 4",
    ),
    "model of two lines": (
        f'{EXECUTOR}      type: claude\n      settings: {{model: "a\\nb"}}\n',
        "agents.executors.mine.settings.model: must be one line",
    ),
    "arguments are a text": (
        f"{EXECUTOR}      type: claude\n      custom_args: --fast\n",
        "agents.executors.mine.custom_args: must be a list",
    ),
    "argument is a number": (
        f"{EXECUTOR}      type: claude\n      custom_args: [1]\n",
        "agents.executors.mine.custom_args[0]: must be a text",
    ),
    "no duration": ("limits:\n  turn_timeout: soon\n", "limits.turn_timeout: must be a duration such as 90s"),
    "no size": ("limits:\n  transcript_mb: 0\n", "limits.transcript_mb: must be at least 1"),
    "trust is a text": ("trust: /here\n", "trust: must be a list"),
    "a list": ("- agents\n", "must be a mapping"),
    "a word": ("hello\n", "must be a mapping"),
    "tabs": ("agents:\n\tbindings:\n", ":2: a tab at the beginning of the line, where YAML takes blanks only"),
    "repeated key": ("trust: []\ntrust: []\n", ":2: the key 'trust' is here a second time"),
    "billion laughs": (LAUGHS, ":1: anchors and aliases are not read here"),
    "undefined alias": ("agents: *nobody\n", ":1: anchors and aliases are not read here"),
    "tag": ("agents: !!python/object/apply:os.system [id]\n", ":1: the tag"),
    "unclosed": ("agents: {", "did not find expected node content"),
    "two documents": ("trust: []\n---\ntrust: []\n", ":2: a second document"),
    "merge conflict": ("<<<<<<< HEAD\ntrust: []\n=======\n>>>>>>> x\n", ":1: git left a merge conflict here"),
    "deep": ("[" * 100_000, ":1: nested deeper than 64 levels"),
    "NUL": ("agents: \0\n", "control characters are not allowed"),
    "binary": (bytes(range(256)) * 40, "not UTF-8"),
    "another encoding": ("agents: {} # é\n".encode("latin-1"), ":1: not UTF-8"),
    "5 MB": ("# x\n" * 1_310_720, "larger than 1024 KiB"),
}

# What is right by the schema and yet cannot be used by the implementer → what the error says, here and at a spawn.
UNUSABLE = {
    "unknown type": (f"{EXECUTOR}      type: claud\n", "unknown executor type: claud; did you mean claude?"),
    "unknown executor": ("agents:\n  bindings:\n    implementer: cusor\n", "unknown executor: cusor"),
    "executor in capitals": ("agents:\n  bindings:\n    implementer: Codex\n", "unknown executor: Codex"),
    "unknown fallback": ("agents:\n  fallbacks:\n    implementer: [cusor]\n", "unknown executor: cusor"),
    "no model there": (
        f"{EXECUTOR}      type: amp\n      settings: {{model: big}}\n",
        "agents.executors.mine.settings.model: type amp takes no model",
    ),
    "no command": (f"{EXECUTOR}      type: command\n", "agents.executors.mine.settings.command: is missing"),
    "command elsewhere": (
        f"{EXECUTOR}      type: claude\n      settings: {{command: [x]}}\n",
        "agents.executors.mine.settings.command: only type command has this",
    ),
    "scenario of the repository": (
        f"{EXECUTOR}      type: simulated\n      settings: {{scenario: x.yaml}}\n",
        "agents.executors.mine.settings.scenario: must be an absolute path, not 'x.yaml'",
    ),
    "variable with a value": (
        f"{EXECUTOR}      type: claude\n      settings: {{env: [FINE, A=B]}}\n",
        "agents.executors.mine.settings.env[1]: must be the name of a variable, not 'A=B'",
    ),
    "scenario elsewhere": (
        f"{EXECUTOR}      type: claude\n      settings: {{scenario: x}}\n",
        "agents.executors.mine.settings.scenario: only type simulated has this",
    ),
    "program below the repository": (
        f"{EXECUTOR}      type: claude\n      settings: {{binary: ./claude}}\n",
        "agents.executors.mine.settings.binary: must be the name of a program or an absolute path",
    ),
    "no name": (
        "agents:\n  executors:\n    a b:\n      type: claude\n  bindings: {implementer: a b}\n",
        "'a b' is no name",
    ),
}


class User:
    """A repository with a task in progress, and the home of its user."""

    def __init__(self, repo: Any) -> None:
        self.repo = repo
        self.home = Path(repo.environment["HOME"])
        self.file = self.home / ".config/sow/config.yaml"
        self.file.parent.mkdir(parents=True)

    def state(self) -> dict[str, bytes | str]:
        """Returns everything in the home and below .sow."""
        result: dict[str, bytes | str] = dict(self.repo.snapshot())
        for folder, folders, names in os.walk(self.home):
            for name in (*folders, *names):
                path = Path(folder) / name
                result[str(path)] = path.read_bytes() if path.is_file() else "no file"
        return result

    def refused(self, *arguments: str, code: int, says: str, **environment: str) -> None:
        """Checks that the call fails with the right code, and changes nothing."""
        before = self.state()
        result = self.repo.sow(*arguments, **environment)
        assert result.code == code, result
        lines = result.err.splitlines()
        errors = [line for line in lines if line.startswith("error:")]
        assert len(errors) == 1, result
        assert len([line for line in lines if line.startswith("hint:")]) == 1, result
        assert says in errors[0], result
        assert "Traceback" not in result.err + result.out
        assert self.state() == before


@pytest.fixture
def user(task_repo: Any) -> User:
    return User(task_repo)


@pytest.mark.parametrize(
    "words", [("config", "validate"), ("config", "show"), ("agent", "spawn", "implementer", "010")]
)
@few_of("case", BROKEN, 6)
def test_a_broken_file(user: User, case: str, words: tuple[str, ...]):
    """An unreadable file of settings stops every command that needs it, with the path and the line."""
    content, says = BROKEN[case]
    user.file.write_bytes(content if isinstance(content, bytes) else content.encode())
    user.refused(*words, code=2, says=says)
    user.refused(*words, code=2, says=str(user.file))


@pytest.mark.parametrize("case", UNUSABLE)
def test_unusable_settings(user: User, case: str):
    """Mistakes that the schema cannot see are refused by the check and by a spawn, before the first write."""
    text, says = UNUSABLE[case]
    user.file.write_text(text)
    user.refused("config", "validate", code=2, says=says)
    bound = {} if "bindings" in text or "fallbacks" in text else {"SOW_AGENTS_IMPLEMENTER": "mine"}
    path = install(user, "claude")
    user.refused("agent", "spawn", "implementer", "010", code=2, says=says, PATH=path, **bound)


def install(user: User, name: str) -> str:
    """Makes a program on PATH; returns that PATH."""
    path = user.home / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\nexit 0\n")
    path.chmod(0o755)
    return f"{path.parent}:{user.repo.environment['PATH']}"


def _folder(user: User) -> None:
    user.file.mkdir()


def _pipe(user: User) -> None:
    os.mkfifo(user.file)


def _loop(user: User) -> None:
    user.file.symlink_to(user.file)


def _good(user: User) -> None:
    user.file.write_text("agents: {}\n")


def _file_in_the_way(user: User) -> None:
    user.file.parent.rmdir()
    user.file.parent.write_text("")


def _nothing(user: User) -> None:
    return


SPAWN = "agent spawn implementer 010"
# words → how the home looks, environment, exit code, what the error says
CALLS: dict[str, tuple[str, Callable[[User], None], dict[str, str], int, str]] = {
    "a folder in its place": ("config validate", _folder, {}, 2, "is not a regular file"),
    "a folder, shown": ("config show", _folder, {}, 2, "is not a regular file"),
    "a folder, overwritten": ("config init --yes", _folder, {}, 2, "is not a regular file"),
    "a folder, reset": ("config reset --yes", _folder, {}, 2, "is not a regular file"),
    "a folder at a spawn": (SPAWN, _folder, {}, 2, "is not a regular file"),
    "a pipe in its place": ("config validate", _pipe, {}, 2, "is not a regular file"),
    "a link to itself": ("config validate", _loop, {}, 2, "is not a regular file"),
    "unknown executor in the environment": (
        SPAWN, _nothing, {"SOW_AGENTS_IMPLEMENTER": "cusor"}, 2, "unknown executor: cusor",
    ),
    "the same, checked": (
        "config validate", _nothing, {"SOW_AGENTS_IMPLEMENTER": "cusor"}, 2, "SOW_AGENTS_IMPLEMENTER: unknown executor",
    ),
    "a hostile name in the environment": (
        SPAWN, _nothing, {"SOW_AGENTS_IMPLEMENTER": "--help\x1b[2J"}, 2, "unknown executor: --help␛[2J",
    ),
    "unknown executor on the command line": (f"{SPAWN} --executor cusor", _good, {}, 2, "unknown executor: cusor"),
    "a model where none is taken": (f"{SPAWN} --executor amp --model big", _good, {}, 2, '"amp" takes no model'),
    "a missing program": (f"{SPAWN} --executor amp", _good, {}, 2, "executor binary not found: amp"),
    "command without definition": (f"{SPAWN} --executor command", _good, {}, 2, "unknown executor: command"),
    "no editor": ("config edit", _nothing, {}, 2, "no editor is set"),
    "an empty editor": ("config edit", _nothing, {"EDITOR": "  "}, 2, "no editor is set"),
    "a missing editor": ("config edit", _nothing, {"EDITOR": "nowhere-edit -x"}, 2, "there is no program nowhere-edit"),
    "an editor with half a quote": ("config edit", _nothing, {"VISUAL": "vi 'x"}, 2, "VISUAL is"),
    "an editor of quotes": ("config edit", _nothing, {"EDITOR": "''"}, 2, "there is no program"),
    "an editor that fails": ("config edit", _nothing, {"EDITOR": "false"}, 1, "false ended with exit code 1"),
    "an editor that fails on a file": ("config edit", _good, {"EDITOR": "false"}, 1, "false ended with exit code 1"),
    "overwriting unasked": ("config init", _good, {}, 4, "exists; not an interactive terminal"),
    "removing unasked": ("config reset", _good, {}, 4, "has your settings"),
    "a file where the folder belongs": ("config init", _file_in_the_way, {}, 1, "cannot make"),
    "the same for an editor": ("config edit", _file_in_the_way, {"EDITOR": "true"}, 1, "cannot make"),
    "a folder that cannot be made": ("config init", _nothing, {"XDG_CONFIG_HOME": "/proc/x"}, 1, "cannot make /proc/x"),
    "no home": ("config path", _nothing, {"HOME": ""}, 2, "neither XDG_CONFIG_HOME nor HOME is set"),
    "no home at a spawn": (SPAWN, _nothing, {"HOME": ""}, 2, "neither XDG_CONFIG_HOME nor HOME is set"),
    "a worker writes": ("config init", _nothing, {"SOW_TASK": "010"}, 2, "a worker may not"),
    "a worker edits": ("config edit", _good, {"SOW_TASK": "010", "EDITOR": "true"}, 2, "a worker may not"),
    "a worker resets": ("config reset --yes", _good, {"SOW_TASK": "010"}, 2, "a worker may not"),
    "no command": ("config", _nothing, {}, 2, "needs a command"),
    "a mistyped command": ("config vaildate", _nothing, {}, 2, "unknown command: sow config vaildate"),
    "an unknown option": ("config path --exist", _nothing, {}, 2, "did you mean --exists?"),
    "an option with a value": ("config path --exists=yes", _nothing, {}, 2, "--exists takes no value"),
    "one word too many": ("config show me", _nothing, {}, 2, "unexpected argument"),
}  # fmt: skip


@few_of("case", CALLS, 6)
def test_a_call_that_cannot_work(user: User, case: str):
    """A wrong call, a strange home or a strange environment is an error with a hint, and changes nothing."""
    text, prepare, environment, code, says = CALLS[case]
    prepare(user)
    user.refused(*text.split(), code=code, says=says, **environment)


def test_a_missing_program_is_reported_first(user: User):
    """The program of the role's own executor is looked for before the task changes; a fallback does not replace it."""
    path = install(user, "claude")
    user.file.write_text("agents: {default: amp, fallbacks: {implementer: [claude-code]}}\n")
    user.refused(*SPAWN.split(), code=2, says="executor binary not found: amp (for role implementer)", PATH=path)
