"""--dry-run: shows what a turn would run, as text and as JSON; writes and starts nothing."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import SOW, Result
from fakes import install
from support.simulated_workers import WorkerRepo

ROLE = "---\nname: painter\ndescription: Paints.\n---\nYou paint.\n"
FIELDS = ["dry_run", "task", "agent", "executor", "type", "model", "argv", "cwd", "environment", "files", "commands"]


def looked(worker: WorkerRepo, *arguments: str) -> Result:
    """Makes a dry run, and checks that it leaves every file as it was."""
    before = worker.repo.snapshot()
    result = worker.repo.sow("agent", *arguments, "--dry-run")
    assert worker.repo.snapshot() == before
    return result


def document(worker: WorkerRepo, *arguments: str) -> dict[str, Any]:
    result = looked(worker, *arguments, "--json")
    assert (result.code, result.err) == (0, ""), result
    outcome: dict[str, Any] = result.json
    assert list(outcome) == [*FIELDS, "prompt", "session"]
    return outcome


@pytest.fixture
def claude(worker: WorkerRepo) -> WorkerRepo:
    """A repository with Claude Code, whose command lines have the most options."""
    install(worker.repo, "claude", worker.folder / "bin")
    return worker


def test_a_spawn_is_one_document(claude: WorkerRepo) -> None:
    """Executor, command, folder, names of the environment, the place of the prompt, and how the session is handled."""
    result = document(claude, "spawn", "implementer", "010", "--executor", "claude-code", "--model", "opus")
    root, folder = str(claude.repo.root), f"{claude.repo.root}/.sow/local/sessions/010/1"
    assert (result["dry_run"], result["task"], result["agent"]) == (True, "010", "implementer")
    assert (result["executor"], result["type"], result["model"]) == ("claude-code", "claude", "opus")
    assert result["argv"][:3] == [f"{claude.folder}/bin/claude", "-p", "--session-id"]
    assert (result["cwd"], result["files"]) == (root, [])
    assert result["prompt"] == {"place": "stdin", "file": f"{folder}/turn-001.prompt"}
    assert {"SOW_TASK", "SOW_MARK", "PATH", "CLAUDE_CODE_MAX_RETRIES"} <= set(result["environment"])
    assert result["session"] == {
        "turn": "spawn",
        "id": result["argv"][3],
        "id_from": "given",
        "resumes": True,
        "folder": folder,
    }


def test_the_command_denies_sows_own_files(claude: WorkerRepo) -> None:
    """Without yolo the task folder and the git folder are writable, and the rest of sow's files is denied."""
    argv = document(claude, "spawn", "implementer", "010", "--executor", "claude-code")["argv"]
    root, task_folder = str(claude.repo.root), str(claude.repo.task_folder("010"))
    added = [argv[index + 1] for index, word in enumerate(argv) if word == "--add-dir"]
    assert added == [root, task_folder, f"{root}/.git"]
    assert argv[argv.index("--allowedTools") + 1 :][:3] == [f"Bash({SOW}:*)", "Bash(sow:*)", "Bash(git:*)"]
    denied = argv[argv.index("--disallowedTools") + 1 :]
    assert f"Edit(/{root}/.sow/local/sessions/**)" in denied and f"Edit(/{root}/.git/sow/**)" in denied
    assert not any(f"{task_folder}/" in text for text in denied)


def test_a_worker_may_run_the_tests_of_its_task(claude: WorkerRepo) -> None:
    """Plain commands with consent are allowed for the worker and for no judge; those with rule syntax never are."""
    config = Path(claude.repo.environment["HOME"], ".config/sow/config.yaml")
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(yaml.safe_dump({"checks": {"allow": ["*"]}}))
    commands = ["make -s test", "x) Bash(rm", "grep 'a b' c", "true, Edit", "-x", "/bin/true"]
    plan = {"name": "P", "tasks": [{"number": 2, "name": "Two", "prompt": "x", "test_commands": commands}]}
    path = claude.folder / "plan.yaml"
    path.write_text(yaml.safe_dump(plan))
    claude.repo.ok("plan", "import", str(path))
    granted = []
    (claude.repo.root / "go.mod").write_text("module x\n")
    for agent in ("implementer", "reviewer"):
        claude.repo.ok("task", "set", "--id", "020", "agent", agent)
        argv = document(claude, "spawn", agent, "020", "--executor", "claude-code")["argv"]
        granted.append([word for word in argv if word.startswith("Bash(")])
    always = [f"Bash({SOW}:*)", "Bash(sow:*)"]
    assert granted[0][:4] == [*always, "Bash(git:*)", "Bash(make -s test:*)"]
    assert "Bash(go test:*)" in granted[0] and not [text for text in granted[0] if "rm" in text or "true" in text]
    assert granted[1] == always


def test_allowed_commands_are_shown(claude: WorkerRepo) -> None:
    """The list is one line for people and one field for programs; with yolo_mode everything may run (A1)."""
    (claude.repo.root / "package.json").write_text('{"scripts": {"test": "vitest", "deploy": "ship"}}')
    commands = document(claude, "spawn", "implementer", "010", "--executor", "claude-code")["commands"]
    assert commands[:4] == [SOW, "sow", "git", "npm test"] and "npm run test" in commands
    assert not [command for command in commands if "deploy" in command or "pytest" in command]
    lines = looked(claude, "spawn", "implementer", "010", "--executor", "claude-code").out.splitlines()
    expected = "sow, git, npm test, node --test, npm run test; and commands that only read, such as ls and grep"
    assert lines[-1] == f"may run: {expected}"
    config = Path(claude.repo.environment["HOME"], ".config/sow/config.yaml")
    config.parent.mkdir(parents=True, exist_ok=True)
    settings = {"type": "claude", "settings": {"yolo_mode": True}}
    config.write_text(yaml.safe_dump({"agents": {"executors": {"bold": settings}}}))
    lines = looked(claude, "spawn", "implementer", "010", "--executor", "bold").out.splitlines()
    assert lines[-1] == "may run: every command (yolo_mode)"
    assert document(claude, "spawn", "implementer", "010", "--executor", "bold")["commands"] is None


def test_files_that_would_be_written_are_named(claude: WorkerRepo) -> None:
    """A role that Claude plays as a subagent comes in a file of the session."""
    role = Path(claude.repo.environment["HOME"], ".claude/agents/painter.md")
    role.parent.mkdir(parents=True)
    role.write_text(ROLE)
    claude.repo.ok("task", "set", "--id", "010", "agent", "painter")
    result = document(claude, "spawn", "painter", "010", "--executor", "claude-code")
    assert result["files"] == [f"{result['session']['folder']}/agents.json"]
    assert result["files"][0] in result["argv"]


def test_a_resume_is_one_document(worker: WorkerRepo) -> None:
    """It shows the session's own id, its folder and its next turn."""
    worker.spawn()
    result = document(worker, "resume", "010", "go on")
    session = worker.record()["session_id"]
    assert result["argv"][-2:] == ["--resume", session]
    assert result["session"]["turn"] == "resume" and result["session"]["id"] == session
    assert result["prompt"]["file"].endswith("/sessions/010/1/turn-002.prompt")


def test_a_fresh_session_is_the_next_one(worker: WorkerRepo) -> None:
    """With --fresh the folder is that of the next session."""
    worker.spawn()
    result = document(worker, "spawn", "implementer", "010", "--fresh")
    assert result["session"]["turn"] == "recovery"
    assert result["session"]["folder"].endswith("/sessions/010/2")


def test_an_unknown_session_starts_fresh(worker: WorkerRepo) -> None:
    """Without a record a resume is a new session, and its dry run shows that one."""
    worker.spawn()
    shutil.rmtree(worker.repo.root / ".sow/local/sessions")
    result = document(worker, "resume", "010", "go on")
    assert result["session"]["turn"] == "recovery" and "--session-id" in result["argv"]


def test_a_cli_that_chooses_its_id_has_none_yet(worker: WorkerRepo) -> None:
    """The id of a session that the CLI chooses is unknown before it runs."""
    install(worker.repo, "codex", worker.folder / "bin")
    result = document(worker, "spawn", "implementer", "010", "--executor", "codex")
    assert (result["session"]["id"], result["session"]["id_from"]) == (None, "assigned")


def test_the_text_has_the_same_facts(worker: WorkerRepo) -> None:
    """The command line, the folder, the variables and the session, a line each."""
    lines = looked(worker, "spawn", "implementer", "010").out.splitlines()
    assert shlex.split(lines[0])[1:3] == ["-m", "sow.simulated"]
    assert lines[1] == f"in {worker.repo.root}, with the prompt on stdin"
    assert lines[2].startswith("environment: ") and "SOW_TASK" in lines[2]
    assert lines[3] == "session: new; the CLI takes a session id"
    assert lines[4:] == ["may run: whatever its agent CLI allows"]
    worker.spawn()
    lines = looked(worker, "resume", "010", "go on").out.splitlines()
    assert lines[3] == f"session: resumed: {worker.record()['session_id']}"


def test_refusals_are_those_of_the_real_call(worker: WorkerRepo) -> None:
    """A task with a session, without one, with a question and an ended one have the errors of the real call."""
    assert "no session found for task 010" in looked(worker, "resume", "010", "go on", "--json").err
    worker.scenario([{"ask": "Which?"}], [{"status": "needs_review"}])
    worker.spawn()
    assert "task 010 waits for an answer" in looked(worker, "spawn", "implementer", "010", "--fresh").err
    worker.resume()
    assert "task 010 has a session already" in looked(worker, "spawn", "implementer", "010").err
    worker.repo.ok("approve", "010")
    assert "task 010 is completed" in looked(worker, "spawn", "implementer", "010").err
    result = looked(worker, "resume", "010", "go on")
    assert (result.code, "task 010 is completed" in result.err) == (2, True)


def test_a_cli_without_resume_is_refused(worker: WorkerRepo) -> None:
    """There is no command line to show for it."""
    install(worker.repo, "devin", worker.folder / "bin")
    worker.spawn("--executor", "windsurf")
    result = looked(worker, "resume", "010", "go on", "--json")
    assert (result.code, result.out) == (2, "")
    assert 'executor "windsurf" does not support session resumption' in result.err
