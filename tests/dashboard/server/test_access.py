"""The token, the key and the cookie: where they are stored, for whom, and how long they are valid."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from conftest import Repo
from support.ui_client import Dashboard

from sow.dashboard.server import access
from sow.dashboard.server.access import LIFE, Access
from sow.errors import SowError


def at(folder: Path, *, read_only: bool = False) -> Access:
    return Access({"HOME": str(folder)}, str(folder / "repo"), read_only=read_only)


def test_the_file_is_private(tmp_path: Path):
    """Only the user can enter the folder and read the file; its name does not show the checkout's path."""
    made = at(tmp_path)
    made.write_secrets(7690)
    path = Path(made.path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert "repo" not in path.name
    kept = json.loads(path.read_text())
    assert set(kept) == {"token", "key", "port", "pid"}
    assert (kept["port"], kept["pid"], kept["token"]) == (7690, os.getpid(), made.token)


def test_a_restarted_server_accepts_its_cookies(tmp_path: Path):
    """The key stays, so that an open page continues; the token changes."""
    first = at(tmp_path)
    first.write_secrets(7690)
    cookie = first.cookie().partition(";")[0]
    second = at(tmp_path)
    second.write_secrets(7690)
    assert second.has_valid_cookie(cookie)
    assert second.token != first.token
    assert not second.use_token(first.token)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_key_that_others_could_read_is_dropped(tmp_path: Path, mode: int):
    """If the file was readable for others, a new key is made, and old cookies are refused."""
    first = at(tmp_path)
    first.write_secrets(7690)
    os.chmod(first.path, mode)
    second = at(tmp_path)
    assert not second.has_valid_cookie(first.cookie().partition(";")[0])
    second.write_secrets(7690)
    assert os.stat(second.path).st_mode & 0o777 == 0o600


def test_a_linked_file_is_no_key(tmp_path: Path):
    """If the file is a link, the content of its target is not used."""
    first = at(tmp_path)
    first.write_secrets(7690)
    os.rename(first.path, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", first.path)
    assert access.read_secrets(first.path) == {}
    assert at(tmp_path).key != first.key


BROKEN = {
    "empty": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "a key that is short": b'{"token": "t", "key": "00", "port": 1, "pid": 1}',
    "a key of other letters": b'{"token": "t", "key": "' + b"x" * 64 + b'", "port": 1, "pid": 1}',
    "a key that is a number": b'{"token": "t", "key": 1, "port": 1, "pid": 1}',
    "no port": b'{"token": "t", "key": "' + b"0" * 64 + b'", "pid": 1}',
    "a port that is none": b'{"token": "t", "key": "' + b"0" * 64 + b'", "port": 70000, "pid": 1}',
    "not UTF-8": b"\xff",
    "deep": b"[" * 5000,
    "large": b'"' + b"x" * (1 << 17) + b'"',
}


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_file_is_replaced(tmp_path: Path, content: str):
    """With any content of the file, the server starts with a key of its own."""
    first = at(tmp_path)
    first.write_secrets(7690)
    Path(first.path).write_bytes(BROKEN[content])
    second = at(tmp_path)
    assert len(second.key) == 64
    assert second.key not in ("0" * 64, first.key)
    second.write_secrets(7691)
    assert access.read_secrets(second.path)["port"] == 7691


def test_a_cookie_expires(tmp_path: Path):
    """A cookie is valid for thirty days, and its age is signed."""
    made = at(tmp_path)
    name, _, value = made.cookie().partition(";")[0].partition("=")
    until = int(value.partition(".")[0])
    assert abs(until - time.time() - LIFE) < 60
    past = str(int(time.time()) - 1)
    assert not made.has_valid_cookie(f"{name}={past}.{made._signature(past)}")
    assert made.has_valid_cookie(f"{name}={until}.{made._signature(str(until))}")


def test_checkouts_do_not_share_keys(tmp_path: Path):
    """Each checkout, and each mode of the page, has a file, a cookie name and a key of its own."""
    environment = {"HOME": str(tmp_path)}
    made = [Access(environment, f"/{name}", read_only=only) for name in ("a", "b") for only in (False, True)]
    for item in made:
        item.write_secrets(1)
    for facts in ("path", "cookie_name", "key", "token"):
        assert len({getattr(item, facts) for item in made}) == 4


def test_a_linked_checkout_has_the_same_file(tmp_path: Path):
    """A checkout that is reached over a link has the same file."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    paths = {access.path({"HOME": "/h"}, str(tmp_path / name), read_only=False) for name in ("real", "link")}
    assert len(paths) == 1


def test_a_token_that_cannot_be_replaced_stays(tmp_path: Path):
    """If the new token cannot be written, the exchange fails, and the old token stays valid."""
    made = at(tmp_path)
    made.write_secrets(7690)
    folder = Path(made.path).parent
    os.rename(folder, tmp_path / "aside")
    folder.write_text("in the way")
    with pytest.raises(SowError):
        made.use_token(made.token)
    folder.unlink()
    os.rename(tmp_path / "aside", folder)
    assert made.use_token(made.token)


def test_a_second_dashboard_is_the_first(repo: Repo):
    """A second `sow ui` prints the first one's address with a valid token, and ends."""
    with Dashboard(repo) as served:
        second = repo.ok("ui", "--json").json
        assert second == {**served.said, "started": False}
        served.sign_in()
        third = repo.ok("ui")
        assert third.out == f"http://127.0.0.1:{served.port}/#token={served.secrets()['token']}\n"
        assert third.out.strip() != served.said["url"]
        assert f"pid {served.process.pid}" in third.err


def test_a_read_only_dashboard_has_its_own_address(repo: Repo):
    """--read-only is another dashboard, with an address of its own."""
    with Dashboard(repo) as acting, Dashboard(repo, "--read-only") as looking:
        assert acting.port != looking.port
        assert acting.file != looking.file
        assert repo.ok("ui", "--read-only", "--json").json["port"] == looking.port
        assert repo.ok("ui", "--json").json["port"] == acting.port


def test_a_killed_server_is_replaced(repo: Repo):
    """After kill -9 the next `sow ui` serves at the same port and accepts the earlier cookies."""
    with Dashboard(repo) as first:
        first.sign_in()
        first.kill()
        with Dashboard(repo, port=first.port) as second:
            assert second.said["started"] is True
            second.cookie = first.cookie
            assert second.ask("GET", "/api/state").status == 200
            assert second.ask("POST", "/api/session", {"token": first.token}).status == 401
