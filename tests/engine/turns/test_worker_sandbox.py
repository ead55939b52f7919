"""No file in an agent's private home misleads sow, and only a refreshed login is copied back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sow.engine.turns.worker_sandbox import Logins
from sow.executors.adapter import PrivateHome

WANTED = PrivateHome(
    ".cli", files=("login.json", "settings.json", "skills"), beside=(".cli.json",), logins=("login.json",)
)
LOGIN: dict[str, Any] = {"key": None, "tokens": {"access": "a1", "refresh": "r1", "account_id": "nora"}, "expires": 1}


class Homes:
    """The user's home with a login and settings, and the private one of a task."""

    def __init__(self, folder: Path) -> None:
        self.user, self.private = folder / "user", folder / "private"
        self.private.mkdir()
        (self.user / ".cli/skills").mkdir(parents=True)
        self.login = self.user / ".cli/login.json"
        self.login.write_text(json.dumps(LOGIN))
        for name in ("settings.json", "skills/one.md"):
            (self.user / ".cli" / name).write_text(name)
        (self.user / ".cli.json").write_text("{}")

    def open(self) -> Logins:
        logins = Logins(WANTED, {"HOME": str(self.user)}, str(self.private))
        logins.copy_in()
        return logins


@pytest.fixture
def homes(tmp_path: Path) -> Homes:
    return Homes(tmp_path)


def test_a_login_is_removed_after_the_turn(homes: Homes) -> None:
    """Settings stay in the private home; the login is there only during a turn."""
    logins = homes.open()
    assert (homes.private / ".cli/login.json").read_text() == homes.login.read_text()
    logins.copy_back()
    left = sorted(str(path.relative_to(homes.private)) for path in homes.private.rglob("*") if path.is_file())
    assert left == [".cli.json", ".cli/settings.json", ".cli/skills/one.md"]
    assert json.loads(homes.login.read_text()) == LOGIN


def test_linked_settings_are_copied(homes: Homes) -> None:
    """A user may keep settings in another folder; a refreshed login goes there too, and the link stays."""
    kept = homes.user / "dotfiles"
    (homes.user / ".cli").rename(kept)
    (homes.user / ".cli").symlink_to(kept)
    logins = homes.open()
    assert (homes.private / ".cli/settings.json").read_text() == "settings.json"
    (homes.private / ".cli/login.json").write_text(json.dumps({**LOGIN, "expires": 2}))
    logins.copy_back()
    assert json.loads((kept / "login.json").read_text())["expires"] == 2
    assert (homes.user / ".cli").is_symlink()


NEW = {
    "refreshed": ({"tokens": {"access": "a2", "refresh": "r2", "account_id": "nora"}, "expires": 2}, True),
    "another account": ({"tokens": {"access": "a2", "refresh": "r2", "account_id": "mallory"}}, False),
    "a key in place of the login": ({"key": "mallory's"}, False),
    "a field more": ({"base_url": "https://evil.example"}, False),
    "a field less": ({"tokens": {"access": "a2", "refresh": "r2"}}, False),
    "another kind": ({"tokens": "a2"}, False),
}


@pytest.mark.parametrize(("change", "counts"), NEW.values(), ids=NEW)
def test_only_a_refreshed_login_is_copied_back(homes: Homes, change: dict[str, Any], counts: bool) -> None:
    """A login of another account, or with other fields, is not copied back."""
    logins = homes.open()
    (homes.private / ".cli/login.json").write_text(json.dumps({**LOGIN, **change}))
    logins.copy_back()
    assert json.loads(homes.login.read_text()) == ({**LOGIN, **change} if counts else LOGIN)


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[" * 100_000, "[]", "\0"], ids=["empty", "text", "deep", "list", "NUL"]
)
def test_a_broken_login_is_not_copied_back(homes: Homes, text: str) -> None:
    logins = homes.open()
    (homes.private / ".cli/login.json").write_text(text)
    logins.copy_back()
    assert json.loads(homes.login.read_text()) == LOGIN


def test_a_link_in_the_private_home_is_not_followed(homes: Homes, tmp_path: Path) -> None:
    """If a link replaces the CLI's folder, no login is written, read or removed behind it, in this turn or the next."""
    victim = tmp_path / "victim"
    victim.mkdir()
    forged = json.dumps({**LOGIN, "expires": 9})
    logins = homes.open()
    (homes.private / ".cli").rename(homes.private / "moved")
    (homes.private / ".cli").symlink_to(victim)
    (victim / "login.json").write_text(forged)
    logins.copy_back()
    assert (victim / "login.json").read_text() == forged
    assert json.loads(homes.login.read_text()) == LOGIN
    (victim / "login.json").unlink()
    homes.open().copy_back()
    assert list(victim.iterdir()) == []
    assert (homes.private / ".cli/settings.json").read_text() == "settings.json"


def test_files_in_place_of_folders_are_removed(homes: Homes) -> None:
    """A file in place of a folder, and folders in place of files, do not keep the next turn from its login."""
    (homes.private / ".cli").write_text("a file")
    homes.open().copy_back()
    (homes.private / ".cli/login.json/inner").mkdir(parents=True)
    homes.open()
    assert json.loads((homes.private / ".cli/login.json").read_text()) == LOGIN
