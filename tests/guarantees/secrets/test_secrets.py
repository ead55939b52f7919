"""S8: secrets reach neither disk nor children."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import quote

import pytest
from conftest import FULL, SOW
from fakes import install
from support.simulated_workers import WorkerRepo, script

NAMES = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_PASSWORD", "NPM_AUTH")
SECRETS = [f'sk-{name.lower()}-"{index}"/+=&é' for index, name in enumerate(NAMES)]
FORMS = {
    "plain": lambda text: text,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "shifted base64": lambda text: base64.b64encode(b"a:" + text.encode()).decode(),
    "url": lambda text: quote(text, safe=""),
    "hex": lambda text: text.encode().hex(),
}


def everything(folder: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("form", FORMS)
def test_no_secret_is_kept(worker: WorkerRepo, form: str) -> None:
    """A secret of sow's environment that a worker prints is masked in every file of the turn."""
    worker.repo.environment |= dict(zip(NAMES, SECRETS, strict=True))
    shown = [FORMS[form](secret) for secret in SECRETS]
    worker.scenario(
        [*({"say": text} for text in shown), *({"stderr": text} for text in shown), {"status": "needs_review"}]
    )
    worker.spawn()
    kept = everything(worker.repo.root / ".sow/local/sessions")
    for text in shown:
        assert text.encode()[3:-3] not in kept
    assert worker.record()["turns"][0]["redacted"] >= len(SECRETS)


UNNAMED = {
    "HTTPS_PROXY": ("http://ada:pr%40xy-w0rd@127.0.0.1:9", ["pr%40xy-w0rd", "pr@xy-w0rd"]),
    "MY_DATABASE": ("postgres://ada:d4tabase-w0rd@127.0.0.1/db", ["d4tabase-w0rd"]),
    "SLASHED_TOKEN": ("/begins/like/a-path", ["/begins/like/a-path"]),
    "PLAIN": ("let-through-by-the-user", ["let-through-by-the-user"]),
}


def test_unusual_secrets_are_not_kept(worker: WorkerRepo) -> None:
    """Passwords in URLs, values that begin with a slash and variables that the user passes are masked as well."""
    worker.repo.environment |= {name: value for name, (value, _) in UNNAMED.items()}
    shown = [text for _, texts in UNNAMED.values() for text in texts]
    lines = "".join(f"echo 'it is {text}.'\necho 'it is {text}.' >&2\n" for text in shown)
    script(worker, f"#!/bin/sh\n{lines}echo Ada wrote it.\n{SOW} task set status needs_review\n", env=["PLAIN"])
    worker.repo.environment |= {"GIT_AUTHOR_NAME": "Ada wrote it"}
    assert worker.spawn("--executor", "script").code == 0
    kept = everything(worker.repo.root / ".sow/local/sessions")
    assert [text for text in shown if text.encode() in kept] == []
    assert b"Ada wrote it." in kept


def test_a_child_has_only_its_own_key(worker: WorkerRepo) -> None:
    """The environment of a worker is an allow-list: no other provider's key, no mark of an outer session."""
    worker.repo.environment |= dict(zip(NAMES, SECRETS, strict=True))
    worker.repo.environment |= {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "x",
        "SOW_SIMULATED_KEY": "mine-and-only-mine",
        "FOO": "bar",
    }
    worker.scenario([{"run": ["sh", "-c", "env > seen.txt"]}, {"status": "needs_review"}])
    worker.spawn()
    seen = (worker.repo.root / "seen.txt").read_text()
    names = {line.partition("=")[0] for line in seen.splitlines()}
    assert not names & {*NAMES, "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "FOO"}
    assert names >= {
        "SOW_TASK",
        "SOW_AGENT",
        "SOW_ROOT",
        "SOW_DESK",
        "SOW_MARK",
        "SOW_RUN",
        "SOW_SIMULATED_KEY",
        "PATH",
    }


def test_files_of_a_session_are_private(worker: WorkerRepo) -> None:
    """Only their owner can read transcripts and prompts."""
    worker.spawn()
    folder = worker.repo.root / ".sow/local/sessions/010/1"
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir() if path.name != "record.yaml")


def test_a_secret_across_two_blocks_is_found(tmp_path: Path) -> None:
    """Masking works in blocks, and a secret that lies across two of them is still found."""
    from sow.system import environment

    secret = "a-secret-that-lies-on-the-edge"
    for offset in range(-len(secret) - 1, 3, 1 if FULL else 7):
        path = tmp_path / "file"
        path.write_bytes(b"x" * (environment.CHUNK + offset) + secret.encode() + b"y" * 100)
        size = path.stat().st_size
        assert environment.redact_file(str(path), [secret]) >= 1
        assert secret.encode() not in path.read_bytes()
        assert path.stat().st_size == size


def test_no_secret_is_in_the_reason_of_a_failure(worker: WorkerRepo) -> None:
    """The reason of a turn that failed is shown and kept without the secrets in it."""
    secret = SECRETS[0]
    worker.repo.environment["ANTHROPIC_API_KEY"] = secret
    worker.scenario([{"stderr": f"bad key {secret} (401)"}, {"exit": 3}])
    result = worker.spawn("--json")
    assert result.code == 1
    assert secret not in result.out + result.err
    assert result.json["reason"].startswith("bad key *") and result.json["reason"].endswith("(401)")
    assert worker.record()["turns"][0]["reason"] == result.json["reason"]
    assert secret.encode() not in everything(worker.repo.root / ".sow/local/sessions")


def test_no_secret_is_in_the_final_text(worker: WorkerRepo) -> None:
    """A worker's final text is stored and given to programs without secrets."""
    worker.repo.environment["ANTHROPIC_API_KEY"] = SECRETS[0]
    worker.scenario([{"say": f"the key is {SECRETS[0]}"}, {"status": "needs_review"}])
    result = worker.spawn("--json")
    assert result.json["text"].startswith("the key is *") and SECRETS[0] not in result.out
    assert worker.transcript(ending="txt").read_text().strip() == result.json["text"]


def test_files_of_a_cli_are_masked(worker: WorkerRepo) -> None:
    """A CLI's own history and the files that were written for it are in the session's folder, and are masked."""
    edits = worker.folder / "edits.json"
    edits.write_text('[[["a.py", "", "x"]], [["a.py", "", "y"]]]')
    worker.repo.environment |= {"ANTHROPIC_API_KEY": "sk-dummy-secret-1", "AIDER_STAND_IN_EDITS": str(edits)}
    install(worker.repo, "aider", worker.folder / "bin")
    assert worker.spawn("--executor", "aider").code == 0
    assert worker.resume("Use sk-dummy-secret-1 there").code == 0
    history = worker.repo.root / f".sow/local/sessions/010/1/{worker.record()['session_id']}.md"
    assert "Use ***************** there" in history.read_text()
    assert b"sk-dummy-secret-1" not in everything(worker.repo.root / ".sow/local/sessions")


def test_the_file_of_a_role_is_masked(worker: WorkerRepo) -> None:
    """The file with the role for a CLI is masked after the turn, and written anew for the next."""
    folder = worker.repo.root / ".claude/agents"
    folder.mkdir(parents=True)
    (folder / "swiftdev.md").write_text("---\nname: swiftdev\ndescription: d\n---\nSay sk-dummy-secret-1.\n")
    worker.repo.environment["ANTHROPIC_API_KEY"] = "sk-dummy-secret-1"
    install(worker.repo, "claude", worker.folder / "bin")
    worker.repo.ok("task", "set", "--id", "010", "agent", "swiftdev")
    worker.repo.sow("agent", "spawn", "swiftdev", "010", "--executor", "claude-code")
    text = (worker.repo.root / ".sow/local/sessions/010/1/agents.json").read_text()
    assert "Say *****************." in text
    assert b"sk-dummy-secret-1" not in everything(worker.repo.root / ".sow/local/sessions")
