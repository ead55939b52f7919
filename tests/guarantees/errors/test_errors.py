"""Q1: errors have the right exit code, say what and where, give a hint, and change nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Repo, Result, fresh_environment
from support.paths import ROOT

from sow.store.files.checkout_home import find

WORKER = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}


def check(result: Result, code: int, mention: str) -> None:
    """Checks that there is one `error:` line with the place or the value, one `hint:` line, and no other such line."""
    assert result.code == code, result
    assert result.out == ""
    lines = result.err.splitlines()
    assert lines[0].startswith("error: "), result.err
    assert mention in lines[0], result.err
    assert lines[1].startswith("hint: "), result.err
    assert len(lines[1]) > len("hint: x")
    assert all(line.startswith("      ") for line in lines[2:])
    assert "Traceback" not in result.err
    assert "sow itself failed" not in result.err


EXAMPLE = str(ROOT / "examples" / "user-accounts.md")


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory, _project_template: Path) -> Repo:
    """A project with a task in every status, shared by all rows, since none of them may change it."""
    folder = tmp_path_factory.mktemp("busy")
    shutil.copytree(_project_template, folder / "repo", symlinks=True)
    repo = Repo(folder / "repo", fresh_environment(folder / "home"))
    repo.ok("phase", "add", "release", "--reason", "later", "--yes")
    repo.ok("phase", "add", "audit", "--reason", "perhaps")
    ways = {
        "010": ("in_progress",),
        "020": (),
        "030": ("in_progress", "needs_review"),
        "040": ("in_progress", "paused"),
        "050": ("in_progress", "needs_review", "completed"),
        "060": (),
        "070": ("in_progress", "failed"),
    }
    for task, statuses in ways.items():
        depends = ("--depends-on", "010") if task == "020" else ()
        repo.ok("task", "create", "--name", f"Task {task}", *depends)
        for status in statuses:
            repo.ok("task", "set", "--id", task, "status", status)
    repo.ok("task", "abandon", "060", "--reason", "not needed")
    repo.ok("task", "create", "--name", "Ship", "--phase", "release")
    note = ("note", "add", "--task", "010", "--context", "c", "--description")
    repo.ok(*note, "open")
    repo.ok(*note, "closed")
    repo.ok("note", "resolve", "2", "--task", "010", "--resolution", "yes")
    (repo.root / "binary.bin").write_bytes(b"\xff\xfe\x00")
    (repo.root / "notes.txt").write_text("just text\n")
    (repo.root / "list.json").write_text("[]\n")
    return repo


CALLS: list[tuple[tuple[str | bytes, ...], str]] = [
    # Words that are no command, or not enough of one.
    (("nonsense",), "unknown command: nonsense"),
    (("Status",), "unknown command: Status"),
    (("",), "unknown command"),
    ((b"\xff\xfe",), "unknown command"),
    (("\x1b[2J",), "unknown command: ␛[2J"),
    (("task",), "sow task needs a command"),
    (("task", "explode"), "unknown command: sow task explode"),
    (("task", "--json"), "unknown command: sow task --json"),
    (("agent", "fly"), "sow agent fly"),
    (("help", "nonsense"), "nonsense"),
    (("help", "task", "nonsense"), "sow task nonsense"),
    (("--nonsense",), "unknown option --nonsense"),
    (("-x", "status"), "unknown option -x"),
    (("--version", "now"), "--version takes no other arguments"),
    (("--root",), "--root needs a value"),
    # Options and places.
    (("status", "--nonsense"), "unknown option --nonsense"),
    (("status", "-x"), "unknown option -x"),
    (("status", "-json"), "unknown option -json"),
    (("status", "--json=yes"), "--json takes no value"),
    (("status", "extra"), "unexpected argument 'extra'"),
    (("status", "--root"), "--root needs a value"),
    (("status", "--root", "a", "--root", "b"), "--root is given twice"),
    (("--root", "", "status"), "--root is empty"),
    (("--root", "/nonexistent/place", "status"), "/nonexistent/place"),
    (("--root", "notes.txt", "status"), "notes.txt"),
    (("task", "create"), "--name is required"),
    (("task", "create", "--name"), "--name needs a value"),
    (("task", "create", "--name", "--json"), "--name needs a value"),
    (("task", "create", "--name", "a", "--name", "b"), "--name is given twice"),
    (("log", "two", "words"), "unexpected argument 'words'"),
    (("task", "show", "010", "020"), "unexpected argument '020'"),
    # What a worker is pointed to, and decision records.
    (("context", "090"), "there is no task 090"),
    (("context", "ten"), "'ten'"),
    (("context", "020", "--budget", "much"), "'much' is not a number of tokens"),
    (("context", "020", "--budget", "0"), "'0' is not a number of tokens"),
    (("context", "020", "--budget", "-5"), "'-5' is not a number of tokens"),
    (("context", "020", "--budget", "8kk"), "'8kk' is not a number of tokens"),
    (("context", "050"), "task 050 is completed"),
    (("context", "060"), "task 060 is abandoned"),
    (("adr",), "sow adr needs a command"),
    (("adr", "new"), "TITLE"),
    (("adr", "new", " "), "the title is empty"),
    (("adr", "new", "two\nlines"), "the title has a line break"),
    (("adr", "new", "x" * 201), "the title is 201 characters long"),
    (("adr", "new", "x", "--status", "perhaps"), "perhaps"),
    # Knowledge of others.
    (("sinks",), "sow sinks needs a command"),
    (("sinks", "install", "--", "--upload-pack=touch owned"), "is no URL of a repository"),
    (("sinks", "install", "ext::sh -c 'touch owned'"), "names a program to be run"),
    (("sinks", "install", "EXT::sh"), "names a program to be run"),
    (("sinks", "install", "git://127.0.0.1/x"), "a scheme that is not allowed (git)"),
    (("sinks", "install", "http://127.0.0.1/x"), "a scheme that is not allowed (http)"),
    (("sinks", "install", "https://me:secret@example.org/x"), "contains a password"),
    (("sinks", "install", "two\nlines"), "the URL has a line break"),
    (("sinks", "install", "nowhere"), "there is no folder"),
    (("sinks", "install", ".sow"), "is no git repository"),
    (("sinks", "install", ".", "../.."), "'../..' leaves the repository"),
    (("sinks", "install", ".", "/etc"), "'/etc' leaves the repository"),
    (("sinks", "install", ".", ".git/hooks"), "is git's own"),
    (("sinks", "install", ".", "docs", "--ref=-x"), "'-x' is no name of a branch"),
    (("sinks", "install", ".", "docs", "--name", "../x"), "'../x' is no name"),
    (("sinks", "install", ".", "docs", "--executor", "simulated"), "--executor needs --describe"),
    (("sinks", "install", ".", "docs", "--describe", "--executor", "nobody"), "unknown executor: nobody"),
    (("sinks", "show", "nothing"), "there is no sink 'nothing'"),
    (("sinks", "update", "nothing"), "there is no sink 'nothing'"),
    (("sinks", "update", "--ref", "v1"), "--ref needs one sink"),
    (("sinks", "update", "--check", "--force"), "--check excludes --ref and --force"),
    (("sinks", "remove", "../x"), "there is no sink '../x'"),
    (("sinks", "describe", "nothing", "--summary", "x"), "there is no sink 'nothing'"),
    (("repos", "add", "ext::sh"), "names a program to be run"),
    (("repos", "add", "nowhere"), "there is no folder"),
    (("repos", "add", "."), "is this repository itself"),
    (("repos", "add", ".", "--ref", "main"), "--ref has no effect"),
    (("repos", "add", ".", "--hint", "../secret"), "'../secret' leaves the repository"),
    (("repos", "show", "nothing"), "there is no repository 'nothing'"),
    (("repos", "describe", "nothing"), "the description is missing"),
    # The execution layer, the orchestrator and the tools.
    (("start",), "GOAL is missing"),
    (("start", "Login"), "one project per branch"),
    (("start", "Login", "--branch", "main"), "'main' is not a name for a feature branch"),
    (("start", "Login", "--phases", "a,,b"), "'' is not a name for a phase"),
    (("continue",), "not an interactive terminal"),
    (("continue", "010"), "unexpected argument '010'"),
    (("install",), "CLI is missing"),
    (("install", "emacs"), "CLI cannot be 'emacs'"),
    (("uninstall", "../claude"), "CLI cannot be '../claude'"),
    (("hook", "at-noon"), "EVENT cannot be 'at-noon'"),
    (("hook",), "EVENT is missing"),
    (("mcp", "status"), "unexpected argument 'status'"),
    (("ui", "--port", "http"), "--port is 'http', which is not a port"),
    (("ui", "--port", "65536"), "--port is '65536', which is not a port"),
    (("ui", "--port", "-1"), "--port is '-1', which is not a port"),
    (("ui", "board"), "unexpected argument 'board'"),
    # Names, roles, paths and texts.
    (("task", "create", "--name", ""), "--name is empty"),
    (("task", "create", "--name", "   "), "--name is empty"),
    (("task", "create", "--name", "x" * 201), "--name is 201 characters long"),
    (("task", "create", "--name", "two\nlines"), "--name has a line break"),
    (("task", "create", "--name", "\x1b[31mred"), "--name has a line break or a control character"),
    (("task", "create", "--name", b"\xff"), "--name is not UTF-8"),
    (("task", "create", "--name", "x", "--agent", "No Such Role"), "'No Such Role'"),
    (("task", "create", "--name", "x", "--agent", "../../etc"), "'../../etc'"),
    (("task", "create", "--name", "x", "--agent=-rf"), "'-rf'"),
    (("task", "create", "--name", "x", "--agent", "ı"), "'ı'"),
    (("task", "create", "--name", "x", "--phase", "nowhere"), "there is no phase 'nowhere'"),
    (("task", "create", "--name", "x", "--phase", "../.."), "'../..'"),
    (("task", "create", "--name", "x", "--priority", "urgent"), "--priority cannot be 'urgent'"),
    (("task", "create", "--name", "x", "--depends-on", "999"), "999"),
    (("task", "create", "--name", "x", "--depends-on", "ten"), "'ten' is not a task id"),
    (("task", "create", "--name", "x", "--after", "999"), "999"),
    (("task", "create", "--name", "x", "--after", "-1"), "'-1' is not a task id"),
    (("task", "create", "--name", "x", "--reference", "../secret"), "'../secret' leaves the repository"),
    (("task", "create", "--name", "x", "--reference", "/etc/passwd"), "'/etc/passwd' leaves the repository"),
    (("task", "create", "--name", "x", "--reference", "a\\b"), "leaves the repository"),
    (("task", "create", "--name", "x", "--criterion", "a\nb"), "--criterion has a line break"),
    (("task", "create", "--name", "x", "--description", "@missing.md"), "there is no file 'missing.md'"),
    (("task", "create", "--name", "x", "--description", "@binary.bin"), "binary.bin:1: not UTF-8"),
    (("task", "create", "--name", "x", "--description", "@.git"), ".git is not a regular file"),
    (("task", "create", "--name", "x", "--description", "-"), "--description is empty"),
    # Tasks that are not there, and moves that are not.
    (("task", "show"), "no task is named"),
    (("task", "show", "999"), "there is no task 999"),
    (("task", "show", "abc"), "'abc' is not a task id"),
    (("task", "show", "1e1"), "'1e1' is not a task id"),
    (("task", "show", "٠١٠"), "is not a task id"),
    (("task", "show", "../010"), "'../010' is not a task id"),
    (("task", "show", "0000000000010"), "is not a task id"),
    (("task", "list", "--status", "done"), "--status cannot be 'done'"),
    (("task", "list", "--phase", "nowhere"), "there is no phase 'nowhere'"),
    (("task", "set", "status", "completed"), "no task is named"),
    (("task", "set", "--id", "010", "status"), "VALUE is missing"),
    (("task", "set", "--id", "010", "status", "done"), "unknown status 'done'"),
    (("task", "set", "--id", "010", "status", ""), "unknown status ''"),
    (("task", "set", "--id", "010", "status", "in_progress"), "task 010 is in_progress already"),
    (("task", "set", "--id", "010", "status", "pending"), "from in_progress to pending"),
    (("task", "set", "--id", "010", "status", "completed"), "from in_progress to completed"),
    (("task", "set", "--id", "010", "status", "needs_review"), "open notes: note_001"),
    (("task", "set", "--id", "010", "status", "abandoned"), "only with a reason"),
    (("task", "set", "--id", "020", "status", "in_progress"), "task 020 waits for 010 (in_progress)"),
    (("task", "set", "--id", "020", "status", "needs_review"), "from pending to needs_review"),
    (("task", "set", "--id", "040", "status", "in_progress"), "task 040 waits for an answer"),
    (("task", "set", "--id", "050", "status", "in_progress"), "task 050 is completed"),
    (("task", "set", "--id", "050", "status", "abandoned", "--reason", "x"), "from completed to abandoned"),
    (("task", "set", "--id", "060", "status", "in_progress"), "from abandoned to in_progress"),
    (("task", "set", "--id", "080", "status", "in_progress"), "phase release waits: the active phase is"),
    (("task", "set", "--id", "010", "colour", "red"), "no field 'colour'"),
    (("task", "set", "--id", "010", "iteration", "7"), "no field 'iteration'"),
    (("task", "set", "--id", "010", "session_id", "x"), "no field 'session_id'"),
    (("task", "set", "--id", "010", "name", ""), "the name is empty"),
    (("task", "set", "--id", "010", "priority", "urgent"), "'urgent'"),
    (("task", "set", "--id", "010", "agent", "Nobody"), "'Nobody'"),
    (("task", "set", "--id", "010", "depends_on", "010"), "cannot depend on itself"),
    (("task", "set", "--id", "010", "depends_on", "020"), "010 → 020 → 010"),
    (("task", "set", "--id", "010", "depends_on", "999"), "999"),
    (("task", "abandon", "020"), "--reason is required"),
    (("task", "abandon", "020", "--reason", ""), "--reason is empty"),
    (("task", "abandon", "050", "--reason", "x"), "from completed to abandoned"),
    (("task", "abandon", "999", "--reason", "x"), "there is no task 999"),
    (("approve", "010"), "from in_progress to completed"),
    (("approve", "050"), "task 050 is completed already"),
    (("approve",), "TASK is missing"),
    (("approve", "next"), "'next' is not a task id"),
    # Questions, feedback, notes, logs.
    (("answer", "1"), "TEXT is missing"),
    (("answer", "99", "yes"), "no open question '99'"),
    (("answer", "010", "yes"), "no open question '010'"),
    (("answer", "what", "yes"), "no open question 'what'"),
    (("answer", "2", "  "), "the answer is empty"),
    (("answer", "1", "maybe"), "answer yes or no"),
    (("feedback", "add", "010"), "TEXT is missing"),
    (("feedback", "add", "010", ""), "the feedback is empty"),
    (("feedback", "add", "050", "more"), "task 050 is completed"),
    (("feedback", "list", "999"), "there is no task 999"),
    (("note", "add", "--description", "d", "--context", "c"), "no task is named"),
    (("note", "add", "--task", "010", "--description", "d"), "--context is required"),
    (("note", "add", "--task", "010", "--description", " ", "--context", "c"), "--description is empty"),
    (("note", "add", "--task", "010", "--description", "d", "--context", "c", "--category", "mood"), "'mood'"),
    (("note", "add", "--task", "060", "--description", "d", "--context", "c"), "task 060 is abandoned"),
    (("note", "resolve", "9", "--task", "010", "--resolution", "r"), "no note '9'"),
    (("note", "resolve", "first", "--task", "010", "--resolution", "r"), "no note 'first'"),
    (("note", "resolve", "2", "--task", "010", "--resolution", "r"), "note_002 is resolved already"),
    (("note", "resolve", "1", "--task", "010"), "--resolution is required"),
    (("note", "escalate", "2", "--task", "010", "--reason", "r"), "from resolved to escalated"),
    (("note", "escalate", "1", "--task", "020", "--reason", "r"), "task 020 has no note '1'"),
    (("log",), "the text is missing"),
    (("log", "--list", "text"), "--list takes no text"),
    (("log", "--task", "999", "x"), "there is no task 999"),
    (("log", "--action", "two words", "x"), "'two words' is not one word"),
    (("log", "--result", "-", "x"), "'-' is not one word"),
    (("log", "--file", "a\nb", "x"), "--file has a line break"),
    (("log", b"\xff"), "is not UTF-8"),
    (("log", "@missing.txt"), "'missing.txt'"),
    (("log", "@"), "is not a regular file"),
    (("agent", "log"), "TEXT is missing"),
    # Projects and phases.
    (("init", "--project", "Again"), "one project per branch"),
    (("init", "--description", "of what?"), "--description and --phase need a project"),
    (("project", "new", "Again"), "one project per branch"),
    (("project", "new"), "NAME is missing"),
    (("project", "new", "x" * 101), "the project's name is 101 characters long"),
    (("project", "remember"), "TEXT is missing"),
    (("project", "remember", ""), "the memory is empty"),
    (("project", "save", "--message", "a\nb"), "--message has a line break"),
    (("project", "delete"), "open tasks: 010"),
    (("cleanup",), "open tasks: 010"),
    (("phase", "add", "audit"), "--reason is required"),
    (("phase", "add", "audit", "--reason", "x"), "there is a phase 'audit' already"),
    (("phase", "add", "Big Name", "--reason", "x"), "'Big Name'"),
    (("phase", "add", "../up", "--reason", "x"), "'../up'"),
    (("phase", "add", "x" * 41, "--reason", "x"), "is not a name for a phase"),
    (("phase", "add", "test", "--reason", "x", "--after", "nowhere"), "there is no phase 'nowhere'"),
    (
        ("phase", "add", "test", "--reason", "x", "--after", "audit", "--before", "audit"),
        "more than one place is given",
    ),
    (("phase", "advance"), "phase implementation has open tasks"),
    (("phase", "back"), "no earlier phase"),
    (("phase", "back", "nowhere"), "earlier phase"),
    (("phase", "approve", "release"), "phase release is pending"),
    (("phase", "approve", "nowhere"), "there is no phase 'nowhere'"),
    # Schemas and files.
    (("schema", "show"), "NAME is missing"),
    (("schema", "show", "tasks"), "NAME cannot be 'tasks'"),
    (("schema", "show", "task", "--format", "xml"), "--format cannot be 'xml'"),
    (("schema", "show", "task", "--version", "v7.0.0"), "'v7.0.0'"),
    (("schema", "show", "task", "--version", "../.."), "'../..'"),
    (("schema", "diff", "v0.9.0"), "NEWER is missing"),
    (("schema", "diff", "v0.9.0", "v7.0.0"), "'v7.0.0'"),
    (("plan",), "plan"),
    (("plan", "shov", "plan.md"), "plan"),
    (("plan", "show"), "PLAN is missing"),
    (("plan", "show", ""), "there is no such file"),
    (("plan", "show", "missing.md"), "missing.md: there is no such file"),
    (("plan", "show", "binary.bin"), "binary.bin"),
    (("plan", "show", "notes.txt"), "notes.txt: there are no tasks in this file"),
    (("plan", "show", ".git"), "there is no plan file in this folder"),
    (("plan", "show", "notes.txt", "--graph", "png"), "--graph cannot be 'png'"),
    (("plan", "waves", "missing.md"), "missing.md: there is no such file"),
    (("plan", "show", "list.json"), "list.json#master:1: this JSON is not a task list"),
    (("plan", "show", "list.json", "--tag", "x"), "list.json#x:1: this JSON is not a task list"),
    (("plan", "show", EXAMPLE, "--tag", "x"), "--tag: this is no task list of Task Master"),
    (("plan", "waves", EXAMPLE, "--parallel-stories"), "--parallel-stories: this is no task list of spec-kit"),
    (("run", EXAMPLE, "--tag", "x"), "--tag: this is no task list of Task Master"),
    (("plan", "show", "list.json", "--tag"), "--tag needs a value"),
    (("plan", "update", "list.json"), "no task of this project comes from list.json"),
    (("plan", "simulate", "notes.txt", "--max-concurrency", "0"), "--max-concurrency: '0'"),
    (("plan", "simulate", "notes.txt", "--max-concurrency", "many"), "--max-concurrency: 'many'"),
    (("plan", "import", "notes.txt"), "notes.txt: there are no tasks in this file"),
    (("plan", "import", EXAMPLE, "--phase", "dreams"), "there is no phase 'dreams'"),
    (("plan", "update"), "no imported plan"),
    (("plan", "update", "missing.md"), "missing.md: there is no such file"),
    (("run",), "PLAN is missing"),
    (("run", "missing.md"), "missing.md: there is no such file"),
    (("run", "notes.txt"), "notes.txt: there are no tasks in this file"),
    (("run", EXAMPLE, "--max-concurrency", "0"), "nothing runs with 0 at once"),
    (("run", EXAMPLE, "--max-concurrency", "three"), "--max-concurrency: 'three'"),
    (("run", EXAMPLE, "--retries", "-1"), "--retries"),
    (("run", EXAMPLE, "--retries", "often"), "--retries: 'often'"),
    (("run", EXAMPLE, "--timeout", "45"), "--timeout: '45' is not a duration"),
    (("run", EXAMPLE, "--timeout", "0s"), "--timeout: a turn of no time"),
    (("run", EXAMPLE, "--max-wait", "forever"), "--max-wait: 'forever' is not a duration"),
    (("run", EXAMPLE, "--max-cost", "cheap"), "--max-cost: 'cheap'"),
    (("run", EXAMPLE, "--schedule", "later"), "--schedule cannot be 'later'"),
    (("run", EXAMPLE, "--isolation", "vm"), "--isolation cannot be 'vm'"),
    (("run", EXAMPLE, "--review", "maybe"), "--review cannot be 'maybe'"),
    (("run", EXAMPLE, "--executor", "nobody"), "unknown executor: nobody"),
    (("run", EXAMPLE, "--executor", "simulated", "--agent", "wizard"), "unknown agent: wizard"),
    (("run", EXAMPLE, "--executor", "simulated", "--task", "99"), "the plan has no task '99'"),
    (("run", EXAMPLE, "--executor", "codex"), "codex"),
    (("runs",), "sow runs needs a command"),
    (("runs", "shwo"), "unknown command: sow runs shwo"),
    (("runs", "show"), "there is no run here"),
    (("runs", "show", "last"), "there is no run here"),
    (("runs", "show", "2026"), "there is no run here"),
    (("runs", "show", "--format", "xml"), "--format cannot be 'xml'"),
    (("runs", "show", "--format", "md", "--json"), "--json and --format md"),
    (("runs", "report", "--format", "text"), "--format cannot be 'text'"),
    (("runs", "report", "--out", "report.md"), "there is no run here"),
    (("runs", "report", "--out"), "--out needs a value"),
    (("runs", "stop"), "there is no run here"),
    (("runs", "stop", "--wait", "soon"), "'soon' is not a duration"),
    (("runs", "list", "all"), "unexpected argument 'all'"),
    (("runs", "verify"), "there is no run here"),
    (("watch",), "there is no run here"),
    (("watch", "2026", "--json"), "there is no run here"),
    (("watch", "last", "first"), "unexpected argument 'first'"),
    (("runs", "verify", "--task"), "--task needs a value"),
    (("integrate",), "there is no run here"),
    (("integrate", "20260101"), "there is no run here"),
    (("integrate", "--now"), "unknown option --now"),
    (("deliver",), "there is no run on"),
    (("deliver", "20260101"), "there is no run here"),
    (("deliver", "--base"), "--base needs a value"),
    (("deliver", "--merge"), "--merge needs --watch"),
    (("deliver", "--watch", "--merge=fast"), "--merge cannot be 'fast'"),
    (("deliver", "watch", "--max-wait", "soon"), "'soon' is not a duration"),
    (("deliver", "watch"), "there is no run on"),
    (("salvage", "nothing"), "unexpected argument 'nothing'"),
    (("salvage", "restore"), "WHAT is missing"),
    (("salvage", "restore", "nothing"), "'nothing' names nothing that a run left"),
    (("salvage", "restore", "x", "--branch", "a..b"), "'a..b' is not a valid branch name"),
    (("salvage", "prune", "--yes"), "--older-than is required"),
    (("salvage", "prune", "--older-than", "old", "--yes"), "'old' is not a duration"),
    (("answers", "forget"), "NUMBER is missing"),
    (("answers", "forget", "1"), "there is no saved answer 1"),
    (("answers", "forget", "one"), "'one' is not the number of a saved answer"),
    (("consent",), "sow consent needs a command"),
    (("consent", "forget"), "no consent is named"),
    (("consent", "forget", "1", "--all"), "no consent is named"),
    (("consent", "forget", "one"), "there is no consent 'one'"),
    (("consent", "forget", "1"), "there is no consent '1'"),
    (("answer", "4", "yes", "--forever"), "unknown option --forever"),
    (("demo", "--keep", "."), "--keep: "),
    (("demo", "--keep", "notes.txt"), "notes.txt exists"),
    (("demo", "now"), "unexpected argument 'now'"),
    (("workflow",), "sow workflow needs a command"),
    (("workflow", "start"), "unknown command: sow workflow start"),
    (("workflow", "new"), "NAME is missing"),
    (("workflow", "new", "Bad Name"), "'Bad Name'"),
    (("workflow", "new", "../x"), "'../x'"),
    (("workflow", "new", "x", "--summary", "missing.md"), "missing.md"),
    (("workflow", "new", "x", "--summary", "binary.bin"), "binary.bin"),
    (("workflow", "status"), "there is no workflow"),
    (("workflow", "verify"), "there is no workflow"),
    (("workflow", "verify", "--executor", "simulated", "--timeout", "soon"), "there is no workflow"),
    (("workflow", "approve"), "there is no workflow"),
    (("workflow", "design"), "there is no workflow"),
    (("workflow", "design", "--headless", "--timeout", "soon"), "'soon' is not a duration"),
    (("workflow", "run"), "there is no workflow"),
    (("workflow", "run", "--max-concurrency", "0"), "nothing runs with 0 at once"),
    (("workflow", "run", "--max-cost", "cheap"), "--max-cost: 'cheap'"),
    (("workflow", "run", "--executor", "nobody"), "unknown executor: nobody"),
    (("workflow", "set", "status"), "VALUE is missing"),
    (("workflow", "set", "priority", "high"), "FIELD cannot be 'priority'"),
    (("workflow", "set", "status", "verified"), "VALUE cannot be 'verified'"),
    (("workflow", "set", "status", "working"), "no agent is named"),
    (("workflow", "set", "status", "working", "--agent", "ghost"), "there is no workflow"),
    (("workflow", "archive"), "there is no workflow"),
    (("workflow", "list", "all"), "unexpected argument 'all'"),
    (("agent", "new"), "NAME is missing"),
    (("agent", "new", "x"), "--description is required"),
    (("agent", "new", "x", "--from-workflow"), "there is no workflow"),
    (("answer", "w1", "yes"), "there is no open question 'w1'"),
    (("note", "list", "--task", "database_agent"), "there is no workflow"),
    (("validate",), "FILE is missing"),
    (("validate", "missing.yaml"), "missing.yaml"),
    (("validate", "notes.txt"), "notes.txt"),
    (("validate", "notes.txt", "--kind", "poem"), "--kind cannot be 'poem'"),
    (("validate", "binary.bin"), "binary.bin:1: not UTF-8"),
    (("validate", "."), "is not a regular file"),
    (("completion",), "SHELL is missing"),
    (("completion", "tcsh"), "SHELL cannot be 'tcsh'"),
    (("completion", "bash", "now"), "takes no other arguments"),
    (("version", "--all"), "unknown option --all"),
]


def title(words: tuple[str | bytes, ...]) -> str:
    return " ".join(word[:24] if isinstance(word, str) else "bytes" for word in words) or "nothing"


@pytest.mark.parametrize(("words", "mention"), CALLS, ids=[title(words) for words, _ in CALLS])
def test_bad_arguments(busy: Repo, words: tuple[str | bytes, ...], mention: str):
    """An invalid call is refused with exit 2, the wrong value, and what would be right."""
    before, commits = busy.snapshot(), (busy.root / ".git/logs/HEAD").read_text()
    check(busy.sow(*words), 2, mention)
    assert busy.snapshot() == before
    assert (busy.root / ".git/logs/HEAD").read_text() == commits


def test_the_table_has_a_hundred_calls(busy: Repo):
    """The table has more than a hundred different calls."""
    assert len({words for words, _ in CALLS}) == len(CALLS) > 100


MARKS: list[tuple[dict[str, str], tuple[str, ...], str]] = [
    ({"SOW_TASK": "ten"}, ("log", "x"), "'ten'"),
    ({"SOW_TASK": "Ten"}, ("approve", "030"), "SOW_TASK is 'Ten'"),
    ({"SOW_TASK": "../010"}, ("task", "show"), "'../010'"),
    ({"SOW_TASK": "999"}, ("task", "show"), "there is no task 999"),
    ({"SOW_ROOT": "/nonexistent"}, ("status",), "SOW_ROOT is /nonexistent"),
    (WORKER, ("approve", "030"), "a worker may not approve a task"),
    (WORKER, ("task", "set", "status", "completed"), "a worker may not complete a task"),
    (WORKER, ("task", "set", "--id", "030", "status", "in_progress"), "a worker on task 010 may not move task 030"),
    (WORKER, ("note", "add", "--task", "020", "--description", "d", "--context", "c"), "notes of task 020"),
    (WORKER, ("phase", "advance"), "a worker may not advance the phase"),
    (WORKER, ("run", EXAMPLE), "a worker may not run a plan"),
    (WORKER, ("runs", "stop"), "a worker may not stop a run"),
    (WORKER, ("workflow", "new", "x"), "a worker may not create a workflow"),
    (WORKER, ("workflow", "approve"), "a worker may not approve a design"),
    (WORKER, ("workflow", "run"), "a worker may not run a workflow"),
    (WORKER, ("workflow", "design", "--headless"), "a worker may not design a workflow"),
    (WORKER, ("workflow", "archive"), "a worker may not archive a workflow"),
    (WORKER, ("workflow", "set", "status", "blocked"), "the worker of task 010 is not an agent of a workflow"),
    (WORKER, ("agent", "new", "x", "--description", "d"), "a worker may not write a role"),
    ({"SOW_TASK": "api_agent"}, ("workflow", "set", "status", "blocked"), "there is no workflow"),
    ({"SOW_TASK": "api_agent"}, ("note", "list"), "there is no workflow"),
    ({"SOW_TASK": "api_agent"}, ("task", "set", "status", "paused"), "'api_agent' is not a task id"),
    (WORKER, ("runs", "report", "--out", "/tmp/x"), "a worker may not write a report into a file"),
]


@pytest.mark.parametrize(("marks", "words", "mention"), MARKS, ids=[title(words) for _, words, _ in MARKS])
def test_a_bad_environment(busy: Repo, marks: dict[str, str], words: tuple[str, ...], mention: str):
    """A wrong variable, or a missing permission, is refused in the same form."""
    before = busy.snapshot()
    check(busy.sow(*words, **marks), 2, mention)
    assert busy.snapshot() == before


def spoil(name: str, old: str, new: str) -> Callable[[Repo], None]:
    """Changes a text in a file of the project."""

    def change(repo: Repo) -> None:
        path = repo.project / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return change


def put(name: str, data: bytes) -> Callable[[Repo], None]:
    """Puts other bytes into a file of the project."""
    return lambda repo: (repo.project / name).write_bytes(data) and None


STATE = "state.yaml"
TASK = "phases/implementation/tasks/010/state.yaml"
SHOW = ("task", "show", "010")
FILES: dict[str, tuple[Callable[[Repo], None], tuple[str, ...], str]] = {
    "an unknown key": (spoil(STATE, "questions:", "qestions: 1\nquestions:"), ("status",), "qestions: is not a field"),
    "a missing key": (spoil(STATE, "name: Add authentication\n", ""), ("status",), "state.yaml: name: is missing"),
    "a key twice": (spoil(STATE, "questions:", "questions: 1\nquestions:"), ("status",), "the key 'questions'"),
    "a wrong type": (spoil(STATE, "questions: 0", "questions: many"), ("status",), "questions: must be"),
    "a project on main": (spoil(STATE, "branch: feat/auth", "branch: main"), ("status",), "branch: must be anything"),
    "no phase": (spoil(STATE, "phases:\n", "phases: []\nx:\n"), ("status",), "phases: must be a list of at least 1"),
    "no version": (spoil(STATE, 'schema_version: "1.2.0"\n', ""), ("status",), "schema_version"),
    "a version that is none": (spoil(STATE, '"1.2.0"', '"one"'), ("status",), "schema_version: must be a version"),
    "an older version": (spoil(STATE, '"1.2.0"', '"0.9.0"'), ("log", "x"), "Project state schema v0.9.0 detected"),
    "a newer version": (spoil(STATE, '"1.2.0"', '"2.0.0"'), ("log", "x"), "project=2.0.0 cli=1.2.0"),
    "a list": (put(STATE, b"- a\n- b\n"), ("status",), "state.yaml: not a mapping"),
    "nothing": (put(STATE, b""), ("status",), "state.yaml: not a mapping"),
    "no yaml": (put(STATE, b"{[\n"), ("status",), "state.yaml"),
    "no text": (put(STATE, b"name: \xff\n"), ("status",), "state.yaml:1: not UTF-8"),
    "an alias": (put(STATE, b"a: &x 1\nb: *x\n"), ("status",), "anchors and aliases"),
    "a conflict": (
        put(TASK, b"<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> b\n"),
        ("task", "set", "--id", "010", "status", "failed"),
        "state.yaml:1: git left a merge conflict",
    ),
    "a task's bad status": (spoil(TASK, "in_progress", "doing"), SHOW, "task.status: must be one of"),
    "a task's bad iteration": (spoil(TASK, "iteration: 1", "iteration: 0"), SHOW, "task.iteration: must be at least 1"),
    "a task's bad time": (
        spoil(TASK, "  created_at: ", "  created_at: now # "),
        SHOW,
        "task.created_at: must be",
    ),
    "another task's file": (spoil(TASK, 'id: "010"', 'id: "020"'), SHOW, "task.id: is 020, but the folder is 010"),
    "an id without quotes": (spoil(TASK, 'id: "010"', "id: 10"), SHOW, "task.id: must be a text, not 10"),
    "completed without a time": (spoil(TASK, "in_progress", "completed"), SHOW, "task.completed_at: is missing"),
    "a list of notes": (
        lambda repo: (
            (repo.task_folder("010") / "completion_drive").mkdir()
            or put("phases/implementation/tasks/010/completion_drive/session_current.json", b"[]")(repo)
        ),
        ("note", "list", "--task", "010"),
        "session_current.json: must be a mapping",
    ),
    "a link": (
        lambda repo: (
            (repo.project / STATE).rename(repo.root / "elsewhere")
            and (repo.project / STATE).symlink_to(repo.root / "elsewhere")
        ),
        ("status",),
        "state.yaml",
    ),
}


@pytest.mark.parametrize("what", FILES)
def test_bad_files(task_repo: Repo, what: str):
    """An invalid file is named with the line, and stays as it is."""
    damage, arguments, mention = FILES[what]
    damage(task_repo)
    before = task_repo.snapshot()
    check(task_repo.sow(*arguments), 2, mention)
    assert task_repo.snapshot() == before


def ignored(repo: Repo) -> None:
    (repo.root / ".gitignore").write_text(".sow/project\n")


def in_the_way(repo: Repo) -> None:
    (repo.project / "log.md").unlink()
    (repo.project / "log.md").mkdir()


MACHINE: dict[str, tuple[Callable[[Repo], None], tuple[str, ...], dict[str, str], str]] = {
    "no git": (lambda repo: None, ("project", "save"), {"PATH": "/nonexistent"}, "git is not installed"),
    "an ignored project": (ignored, ("project", "save"), {}, "is ignored by git"),
    "a folder for a log": (in_the_way, ("log", "x"), {}, ".sow/project/log.md: it is a folder"),
    "a project in CI": (lambda repo: None, ("check",), {}, ".sow/project must not be merged"),
    "no HEAD": (lambda repo: (repo.root / ".git/HEAD").unlink(), ("status",), {}, ".git/HEAD"),
}


@pytest.mark.parametrize("what", MACHINE)
def test_errors_of_the_machine(repo: Repo, what: str):
    """For an error of the system the exit code is 1, and the error has its text and the path."""
    prepare, arguments, environment, mention = MACHINE[what]
    prepare(repo)
    before = repo.snapshot()
    check(repo.sow(*arguments, **environment), 1, mention)
    assert repo.snapshot() == before


@pytest.fixture
def claimed(task_repo: Repo) -> Iterator[Repo]:
    """A project that a run has claimed."""
    home = find(option=str(task_repo.root), environment={}, cwd="/")
    with home.claim("project", purpose="running a plan"):
        yield task_repo


@pytest.mark.parametrize("words", [("cleanup", "--yes"), ("project", "delete", "--yes")])
def test_waiting_for_a_claim(claimed: Repo, words: tuple[str, ...]):
    """A claimed project stays as it is with exit 4, and the error names the holder."""
    before = claimed.snapshot()
    check(claimed.sow(*words), 4, "project is claimed by pid ")
    assert claimed.snapshot() == before


def half_merged(repo: Repo) -> None:
    """A merge without its commit, during which git commits no part of the tree."""
    for branch in ("one", "two"):
        repo.git("switch", "-q", "-c", branch, "main")
        (repo.root / "file").write_text(branch)
        repo.git("add", "file")
        repo.git("commit", "-q", "-m", branch)
    repo.git("switch", "-q", "feat/auth")
    repo.git("merge", "-q", "one")
    repo.git("merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "two")


def test_waiting_for_a_merge(repo: Repo):
    """During a merge without its commit the project is not saved into it."""
    half_merged(repo)
    before, head = repo.snapshot(), repo.git("rev-parse", "HEAD")
    check(repo.sow("project", "save"), 4, "a merge is under way")
    assert (repo.snapshot(), repo.git("rev-parse", "HEAD")) == (before, head)


def test_waiting_for_consent(task_repo: Repo):
    """A migration without a terminal waits with exit 4, after it has shown its changes."""
    spoil(TASK, '"1.2.0"', '"0.9.0"')(task_repo)
    spoil(TASK, "assigned_agent", "assignee")(task_repo)
    spoil(TASK, "  priority: medium\n", "")(task_repo)
    before = task_repo.snapshot()
    result = task_repo.sow("migrate")
    assert (result.code, result.err.splitlines()) == (
        4,
        [
            "error: the migration needs confirmation",
            "hint: check the changes above, then run: sow migrate --yes",
        ],
    )
    assert task_repo.snapshot() == before


@pytest.mark.parametrize("words", [("task", "show", "999"), ("nonsense",), ("task", "create")])
def test_a_traceback_on_request(busy: Repo, words: tuple[str, ...]):
    """--debug shows where an error came from."""
    result = busy.sow("--debug", *words)
    assert result.code != 0
    assert "Traceback" in result.err


@pytest.mark.parametrize("words", [("status", "--json"), ("task", "show", "999", "--json"), ("inbox", "--json")])
def test_an_error_is_no_json(busy: Repo, words: tuple[str, ...]):
    """With --json an error leaves stdout empty."""
    result = busy.sow(*words, SOW_ROOT="/nonexistent")
    check(result, 2, "/nonexistent")
