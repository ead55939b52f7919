"""Requests in a shared transfer repository: which ones a host takes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml
from conftest import SOW, Repo, fresh_environment

TOKEN = "0f4c2d9ab1e34c7f8a6b5d4e3c2b1a09"
REF = f"refs/sow/turns/{TOKEN}/request"
WEEK_AND_A_DAY = "8 days ago"


class RequestScene:
    """A transfer repository, the keys of two senders, and a host that knows one of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = Repo(folder, fresh_environment(folder / "home"))
        self.transfer = folder / "transfer.git"
        self.git("init", "-q", "--bare", str(self.transfer))
        self.keys = {name: self.make_key(name) for name in ("ada", "eve")}
        (folder / "signers").write_text("ada " + Path(f"{self.keys['ada']}.pub").read_text())
        self.configure({"signers": str(folder / "signers")})

    def configure(self, host: dict[str, object], **cluster: object) -> None:
        path = self.folder / "home" / ".config" / "sow" / "config.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump({"cluster": {"transfer": str(self.transfer), **cluster}, "host": host}))

    def git(self, *words: str, given: str = "", **variables: str) -> str:
        environment = {**self.host.environment, **variables}
        done = subprocess.run(["git", *words], input=given, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def make_key(self, name: str) -> Path:
        path = self.folder / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)], check=True)
        return path

    def send(self, signer: str = "", *, date: str = "", changed: bool = False) -> None:
        """Put a commit without a packet there; a host that takes it finds that out next."""
        folder = ("-C", str(self.transfer))
        tree = self.git(*folder, "mktree")
        key = ("-c", "gpg.format=ssh", "-c", f"user.signingkey={self.keys[signer]}") if signer else ()
        seconds = self.git("rev-parse", f"--since={date}").partition("=")[2]
        variables = {"GIT_COMMITTER_DATE": f"{seconds} +0000"} if date else {}
        words = [*folder, *key, "commit-tree", *(["-S"] if signer else []), "-m", "Turn", tree]
        commit = self.git(*words, **variables)
        if changed:
            text = self.git(*folder, "cat-file", "commit", commit)
            commit = self.git(*folder, "hash-object", "-t", "commit", "-w", "--stdin", given=f"{text}, changed\n")
        self.git(*folder, "update-ref", REF, commit)

    def reason(self, url: str = "") -> str:
        """Why the host refuses the request."""
        words = [SOW, "turn", "run", TOKEN, f"--transfer={url or self.transfer}"]
        turn = subprocess.Popen(
            words, env=self.host.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        with turn:  # its standard input is open until it has ended
            out, err = turn.stdout.read(), turn.stderr.read()
            assert turn.wait() == 1, (out, err)
        event = json.loads(out.splitlines()[-1])
        assert event["event"] == "refused"
        return str(event["reason"])


@pytest.fixture
def scene(tmp_path: Path) -> RequestScene:
    return RequestScene(tmp_path)


def test_only_a_known_signer_is_heard(scene: RequestScene):
    """Unsigned, unknown, changed and old requests are refused; one of a known signer is read."""
    unknown = "is not signed by anybody whom this host knows"
    cases = (
        ({}, "the request has no signature"),
        ({"signer": "eve"}, unknown),
        ({"signer": "ada", "changed": True}, unknown),
        ({"signer": "ada", "date": WEEK_AND_A_DAY}, "the request is too old"),
        ({"signer": "ada"}, "it has no packet.json"),
    )
    for how, reason in cases:
        scene.send(**how)
        assert reason in scene.reason(), how
    kept = scene.git("-C", str(scene.folder / "home/.local/state/sow/hosting/transfer.git"), "for-each-ref")
    assert kept == ""


def test_without_signers_only_a_folder_of_this_machine_is_trusted(scene: RequestScene):
    """Who can write into a local folder may run work; for any other repository signers are needed."""
    scene.configure({})
    scene.send()
    assert "it has no packet.json" in scene.reason()
    scene.configure({"transfers": ["ssh://box.invalid/sow.git"]})
    assert "this host knows no signers" in scene.reason("ssh://box.invalid/sow.git")


def test_a_transfer_repository_that_the_host_does_not_name(scene: RequestScene):
    """A sender cannot choose from where a host fetches."""
    assert "takes no requests from /elsewhere.git" in scene.reason("/elsewhere.git")


def test_the_end_of_its_starter_stops_a_turn(scene: RequestScene):
    """With standard input at its end the starter is gone, and nothing begins."""
    scene.send("ada")
    done = scene.host.sow("turn", "run", TOKEN, f"--transfer={scene.transfer}")
    assert done.code == 130
    assert not list((scene.folder / "home/.local/state/sow/hosting/turns").glob("*/begun"))


def test_a_file_of_signers_that_is_missing(scene: RequestScene):
    """The host takes nothing, and says which file lacks."""
    scene.configure({"signers": "/nowhere/signers"})
    scene.send("ada")
    assert "host.signers names no file: /nowhere/signers" in scene.reason()
