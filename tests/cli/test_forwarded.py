"""The commands that a worker in a sandbox sends to the supervising sow, and what they must not reach."""

from __future__ import annotations

import inspect
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import PATIENCE, SOW, Repo, Result
from support.channel_supervisor import Supervisor, supervisor
from support.quick_cases import few_of

from sow.cli.command import FILE, GROUPS, Command, command_line, commands, parse
from sow.system import channel
from sow.system.sandbox import sandbox_state

# Commands that read, or that write nothing if a worker calls them, with arguments.
READING = {
    "status": "", "project show": "", "phase list": "", "task list": "", "task show": "", "plan show": "plan.md",
    "plan validate": "plan.md", "plan waves": "plan.md", "plan simulate": "plan.md", "runs list": "",
    "runs show": "", "watch": "", "workflow status": "", "workflow list": "", "workflow verify": "", "salvage": "",
    "salvage list": "", "sinks list": "", "sinks show": "none", "repos list": "", "repos show": "none", "context": "",
    "adr list": "", "feedback list": "", "agent list": "", "agent show": "implementer", "agent validate": "",
    "prompt": "--list", "config path": "", "config validate": "", "config show": "", "config get": "context.budget",
    "note list": "", "inbox": "", "answers": "", "consent list": "", "schema list": "", "schema show": "task",
    "schema diff": "v0.9.0 v1.0.0", "validate": ".sow/project/state.yaml", "version": "", "check": "",
    "hook": "session-start", "doctor": "", "completion": "bash", "host list": "",
    "cluster status": "",
}  # fmt: skip
# Commands that write, that a worker may call, and that are not sent; each with the reason.
LOCAL = {
    "adr new": "writes a document into the checkout in which the worker works",
    "init": "makes what is missing in .sow, which a worker's project has",
    "ui": "starts a server, which is not for a process of the sandbox",
    "mcp": "calls sow for each tool, and that call is sent",
}
TABLE = {command.name: command for group in GROUPS for command in commands(group)}
PROBLEM = sandbox_state("bwrap", os.environ).problem
boxed = pytest.mark.skipif(bool(PROBLEM), reason=f"no sandbox here: {PROBLEM}")
Call = Callable[..., Result]


def refuses_workers(command: Command) -> bool:
    """Tells whether the function of a command, or a function that it calls, refuses workers."""
    function = command.function()
    waiting, seen = [getattr(function, "func", function)], set()  # it may be a partial one
    while waiting:
        function = waiting.pop()
        source = inspect.getsource(function)
        if "require_non_worker(" in source or "require_person(" in source:
            return True
        seen.add(function)
        names = function.__code__.co_names
        called = [function.__globals__.get(name) for name in names]
        modules = [item for item in called if inspect.ismodule(item)]
        called += [getattr(module, name, None) for module in modules for name in names]
        functions = [item for item in called if inspect.isfunction(item) and item.__module__.startswith("sow.cli.")]
        waiting += [function for function in functions if function not in seen]
    return False


@pytest.mark.parametrize("name", TABLE)
def test_every_command_is_sent_refused_or_needs_no_writing(name: str):
    """A command that writes and does not refuse workers is sent, or this test names the reason why not."""
    command = TABLE[name]
    if command.forwarded:
        assert name not in {**READING, **LOCAL}
    else:
        assert name in {**READING, **LOCAL} or refuses_workers(command)


def test_the_lists_name_commands_that_exist():
    assert {**READING, **LOCAL}.keys() <= TABLE.keys()
    assert "task set" in {name for name, command in TABLE.items() if command.forwarded}


@pytest.fixture
def running(task_repo: Repo, tmp_path: Path) -> Iterator[Supervisor]:
    """The supervisor of the worker on task 010."""
    with supervisor(task_repo.root, tmp_path / "channel", task_repo.environment) as started:
        yield started


@pytest.fixture
def worker(task_repo: Repo, running: Supervisor) -> Call:
    """Calls sow as the worker of task 010, outside a sandbox."""
    marks = {
        "SOW_CHANNEL": running.path,
        "SOW_ROOT": str(task_repo.root),
        "SOW_TASK": "010",
        "SOW_AGENT": "implementer",
    }

    def call(*arguments: str, **options: str) -> Result:
        return task_repo.sow(*arguments, **{**marks, **options})

    return call


def raw(running: Supervisor, *arguments: str) -> Result:
    """Sends words that the command line would not send."""
    code = "import sys; from sow.system.channel import forward; sys.exit(forward(sys.argv[1], sys.argv[2:]))"
    return Result(
        subprocess.run(
            [Path(SOW).parent / "python", "-c", code, running.path, *arguments], capture_output=True, timeout=PATIENCE
        )
    )


def test_commands_are_run_as_the_worker(worker: Call, task_repo: Repo):
    """Each of the usual commands works, and prints its output."""
    assert worker("log", "did it").out == "logged to .sow/project/phases/implementation/tasks/010/log.md\n"
    assert worker("agent", "log", "--file", "a.py", "--action", "edit", "more").code == 0
    assert worker("note", "add", "--description", "d", "--context", "c").out == "note_001 is open\n"
    assert worker("note", "resolve", "1", "--resolution", "r").out == "note_001 is resolved by agent_self\n"
    assert worker("task", "set", "status", "needs_review").out == "task 010: status is needs_review\n"
    entries = task_repo.ok("log", "--task", "010", "--list", "--json").json["entries"]
    assert [(entry["agent"], entry["text"], entry["files"]) for entry in entries][:2] == [
        ("implementer-1", "did it", []),
        ("implementer-1", "more", ["a.py"]),
    ]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("approve", "010"), "a worker may not approve a task"),
        (("task", "set", "status", "completed"), "a worker may not complete a task"),
        (("task", "set", "--id", "020", "status", "in_progress"), "a worker on task 010 may not"),
        (("log", "--task", "020", "x"), "the worker of 010 may not write the log of task 020"),
        (("note", "add", "--task", "020", "--description", "d", "--context", "c"), "a worker on task 010 may not"),
        (("phase", "add", "later", "--reason", "r", "--yes"), "a worker may not add a phase at once"),
        (("workflow", "set", "status", "working"), "is not an agent of a workflow"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_the_rules_for_workers_hold(worker: Call, task_repo: Repo, words: tuple[str, ...], reason: str):
    """A worker decides on no task and changes no other one; nor does a client without its marks."""
    task_repo.ok("task", "create", "--name", "Another")
    before = task_repo.snapshot()
    for marks in ({}, {"SOW_TASK": "020", "SOW_AGENT": "orchestrator"}):
        result = worker(*words, **marks)
        assert (result.code, reason in result.err) == (2, True), result
    assert task_repo.snapshot() == before


def test_marks_of_the_client_do_not_count(running: Supervisor, task_repo: Repo):
    """The socket decides who calls, also for words that do not come from sow's command line."""
    task_repo.ok("task", "create", "--name", "Another")
    assert "a worker on task 010 may not" in raw(running, "task", "set", "--id=020", "status", "in_progress").err


@pytest.mark.parametrize(
    "words",
    [("approve", "010"), ("run", "plan.md"), ("config", "set", "review.agents", "x"), ("adr", "new", "x"), ("status",),
     ("agent", "new", "x"), ("validate", "/etc/passwd"), ("plan", "show", "/etc/passwd"), ("nonsense",),
     ("log", "--help"), ("--root", "/", "log", "x"), ("log", "--root=/tmp", "x"), ("--root",), ("",)],
    ids=" ".join,
)  # fmt: skip
def test_other_commands_are_refused(running: Supervisor, task_repo: Repo, words: tuple[str, ...]):
    """Only the marked commands run, and only for this project."""
    before = task_repo.snapshot()
    result = raw(running, *words)
    assert (result.code, result.out, result.err.startswith("error: ")) == (2, "", True)
    assert "root:" not in result.err
    assert task_repo.snapshot() == before


TEXTS = [
    ("log", "{}"),
    ("agent", "log", "{}"),
    ("note", "add", "--description={}", "--context=c"),
    ("note", "add", "--description=d", "--context={}"),
    ("note", "resolve", "1", "--resolution={}"),
    ("note", "escalate", "1", "--reason={}"),
    ("task", "create", "--name=n", "--description={}"),
    ("task", "add", "--name=n", "--description={}"),
    ("project", "remember", "{}"),
]


def test_every_text_that_may_name_a_file_is_tested():
    named = {
        (command.name, field.name)
        for command in TABLE.values()
        if command.forwarded
        for field in (*command.arguments, *command.options)
        if FILE in field.help
    }
    assert len(named) == len(TEXTS)


@few_of("words", TEXTS, 6, ids=" ".join)
def test_no_file_of_the_host_is_read(running: Supervisor, task_repo: Repo, tmp_path: Path, words: tuple[str, ...]):
    """If a hostile client sends @FILE, the words are stored, and not the file."""
    secret = tmp_path / "secret"
    secret.write_text("the-secret-words")
    task_repo.ok("note", "add", "--task", "010", "--description", "d", "--context", "c")
    result = raw(running, *(word.format(f"@{secret}") for word in words))
    assert result.code == 0, result
    written = b"".join(task_repo.snapshot().values())
    assert b"the-secret-words" not in written
    assert f"@{secret}".encode() in written


@pytest.mark.parametrize(
    "words",
    [("task", "set", "references", "{}"), ("task", "create", "--name=n", "--reference={}"), ("log", "--file={}", "x")],
    ids=" ".join,
)
def test_paths_are_kept_as_words(running: Supervisor, task_repo: Repo, tmp_path: Path, words: tuple[str, ...]):
    """A path in another argument is stored or refused, and the file is not read."""
    secret = tmp_path / "secret"
    secret.write_text("the-secret-words")
    for path in (str(secret), "../secret"):
        result = raw(running, *(word.format(path) for word in words))
        assert "the-secret-words" not in result.out + result.err
    assert b"the-secret-words" not in b"".join(task_repo.snapshot().values())


def test_texts_are_read_by_the_client(worker: Call, task_repo: Repo, tmp_path: Path):
    """@FILE and - are read on the worker's side; a text that begins with @ stays a text."""
    (tmp_path / "text").write_text("@from a file")
    assert worker("log", f"@{tmp_path / 'text'}").code == 0
    assert worker("log", "-", stdin=b"from input").code == 0  # type: ignore[arg-type]
    assert worker("log", "@@ada").code == 0
    assert worker("log", "--", "--list").code == 0
    texts = [entry["text"] for entry in task_repo.ok("log", "--task", "010", "--list", "--json").json["entries"]]
    assert texts == ["@from a file", "from input", "@ada", "--list"]
    missing = worker("log", f"@{tmp_path / 'missing'}")
    assert (missing.code, "there is no file" in missing.err) == (2, True)


def test_the_root_must_be_the_projects(worker: Call, task_repo: Repo, tmp_path: Path):
    """--root with the project's folder works, another one is refused."""
    assert worker("--root", str(task_repo.root), "log", "x").code == 0
    result = worker("--root", str(tmp_path), "log", "x")
    assert (result.code, "writes only in" in result.err) == (2, True)


def test_help_and_wrong_calls_need_no_supervisor(worker: Call, running: Supervisor):
    """Help and usage errors are local; a command that needs the missing supervisor fails clearly."""
    running.close()
    assert worker("task", "set", "--help").code == 0
    assert worker("task", "set", "--wrong").code == 2
    assert worker("task", "list").code == 0
    result = worker("log", "x")
    assert result.code == 1
    assert result.err.startswith("error: the sow that supervises this worker does not answer")
    assert f"hint: {channel.HINT}" in result.err


@pytest.mark.parametrize(
    "words",
    [
        ["task", "set", "010", "status", "paused", "--reason=why?"],
        ["task", "create", "--name", "n", "--criterion", "a", "--criterion=--b", "--allow-empty", "--json"],
        ["log", "--", "--text"],
        ["log", "--list"],
        ["note", "resolve", "1", "--resolution", "@@x", "--task", "020"],
        ["phase", "add", "later", "--reason", "r", "--now"],
    ],
    ids=" ".join,
)
def test_a_command_line_has_the_same_values(words: list[str]):
    """The client sends the values that the worker typed."""
    command = TABLE[" ".join(words[:2])] if " ".join(words[:2]) in TABLE else TABLE[words[0]]
    typed = words[len(command.name.split()) :]
    values = parse(command, typed)[0]
    sent = command_line(command, values)
    assert parse(command, sent[len(command.name.split()) :])[0] == values


@pytest.fixture
def boxed_worker(task_repo: Repo, running: Supervisor, tmp_path: Path) -> Call:
    """Calls sow in a sandbox without write access and with an empty home."""

    def call(*arguments: str) -> Result:
        marks = {"SOW_ROOT": str(task_repo.root), "SOW_TASK": "010", "SOW_AGENT": "implementer"}
        home = task_repo.environment["HOME"]
        box = ["bwrap", "--unshare-user", "--unshare-pid", "--cap-drop", "ALL", "--die-with-parent"]
        box += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--tmpfs", home]
        box += ["--ro-bind", str(tmp_path), str(tmp_path)] if str(tmp_path).startswith("/dev/") else []
        box += ["--ro-bind", str(running.folder), "/run/sow", "--chdir", str(task_repo.root), "--", SOW]
        return Result(
            subprocess.run(
                [*box, *arguments],
                env={**task_repo.environment, **marks, "SOW_CHANNEL": "/run/sow/channel"},
                capture_output=True,
                timeout=PATIENCE,
            )
        )

    return call


@boxed
def test_a_worker_in_a_sandbox_writes_through_the_socket(boxed_worker: Call, task_repo: Repo):
    """With every file read-only the commands of a worker work, and direct writing fails."""
    assert boxed_worker("log", "from the sandbox").code == 0
    assert boxed_worker("task", "set", "status", "needs_review").code == 0
    assert task_repo.task("010")["status"] == "needs_review"
    assert "read-only" in boxed_worker("adr", "new", "A decision").err


@boxed
@few_of("name", READING, 10)
def test_reading_needs_no_write_access(boxed_worker: Call, task_repo: Repo, name: str):
    """A command that reads needs no lock file, no cache and no repair."""
    (task_repo.root / "plan.md").write_text("# Plan\n\n## Task 1: One\n**Depends on**: None\n\nDo it.\n")
    task_repo.ok("task", "create", "--name", "Another")
    (task_repo.task_folder("020") / "state.yaml").write_text("garbage")
    result = boxed_worker(*name.split(), *READING[name].split())
    assert result.code in (0, 1, 2, 4)
    assert "read-only" not in result.err
    assert "sow itself failed" not in result.err


@boxed
def test_a_missing_supervisor_is_reported(boxed_worker: Call, running: Supervisor):
    """After kill -9 of sow, a command in the sandbox fails at once and says so."""
    running.kill()
    result = boxed_worker("log", "x")
    assert (result.code, "does not answer" in result.err) == (1, True)
