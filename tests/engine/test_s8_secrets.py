"""S8: secrets reach neither disk nor children."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import quote

import pytest
from conftest import FULL
from workers import Yard

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
def test_no_secret_is_kept(yard: Yard, form: str) -> None:
    """A secret of our environment that a worker prints is struck out of every file of the turn."""
    yard.repo.environment |= dict(zip(NAMES, SECRETS, strict=True))
    shown = [FORMS[form](secret) for secret in SECRETS]
    yard.scenario(
        [*({"say": text} for text in shown), *({"stderr": text} for text in shown), {"status": "needs_review"}]
    )
    yard.spawn()
    kept = everything(yard.repo.root / ".sow/local/sessions")
    for text in shown:
        assert text.encode()[3:-3] not in kept
    assert yard.record()["turns"][0]["redacted"] >= len(SECRETS)


def test_a_child_has_its_own_key_and_no_other(yard: Yard) -> None:
    """The environment of a worker is an allow-list: no other provider's key, no mark of an outer session."""
    yard.repo.environment |= dict(zip(NAMES, SECRETS, strict=True))
    yard.repo.environment |= {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "x",
        "SOW_SIMULATED_KEY": "mine-and-only-mine",
        "FOO": "bar",
    }
    yard.scenario([{"run": ["sh", "-c", "env > seen.txt"]}, {"status": "needs_review"}])
    yard.spawn()
    seen = (yard.repo.root / "seen.txt").read_text()
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


def test_files_of_a_session_are_private(yard: Yard) -> None:
    """Transcripts and prompts can be read by their owner only."""
    yard.spawn()
    folder = yard.repo.root / ".sow/local/sessions/010/1"
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir() if path.name != "record.yaml")


def test_a_secret_over_the_edge_of_a_block_is_found(tmp_path: Path) -> None:
    """Striking out works in blocks, and a secret that lies across two of them is still found."""
    from sow.system import redaction

    secret = "a-secret-that-lies-on-the-edge"
    for offset in range(-len(secret) - 1, 3, 1 if FULL else 7):
        path = tmp_path / "file"
        path.write_bytes(b"x" * (redaction.CHUNK + offset) + secret.encode() + b"y" * 100)
        size = path.stat().st_size
        assert redaction.redact_file(str(path), [secret]) >= 1
        assert secret.encode() not in path.read_bytes()
        assert path.stat().st_size == size
