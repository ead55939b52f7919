"""Fetching from hostile, large, slow and locked sources: refused with a reason, and nothing is left behind."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Repo, Result

from knowledge.remotes import Remote


def refused(init_repo: Repo, remote: Remote, *arguments: str, code: int = 2) -> Result:
    """Checks that an installation fails and changes nothing."""
    before = init_repo.snapshot()
    result = init_repo.sow("sinks", "install", remote.url, *arguments)
    assert result.code == code, result
    assert result.err.count("error: ") == 1
    assert "hint: " in result.err
    assert init_repo.snapshot() == before
    assert os.listdir(init_repo.root / ".sow/local/fetching") == []
    return result


@pytest.mark.parametrize("target", ["/etc/passwd", "../secret.md", "../../../etc/passwd", "deep/../../secret.md", ".."])
def test_a_link_out_of_the_folder_is_refused(init_repo: Repo, remote: Remote, target: str) -> None:
    """A sink with a link to the outside, also to another folder of its own repository, is refused as a whole."""
    remote.write("secret.md", "secret")
    remote.link("python-style/leak.md", target)
    remote.commit()
    assert "is a link that leads out of the folder" in refused(init_repo, remote, "python-style").err


def test_a_link_inside_becomes_a_copy(init_repo: Repo, remote: Remote) -> None:
    """A link to a file of the same folder, also over another link, becomes that file; one to a folder is left out."""
    remote.link("python-style/AGENTS.md", "README.md")
    remote.link("python-style/deep/again.md", "../AGENTS.md")
    remote.link("python-style/folder", "deep")
    remote.link("python-style/nothing", "nowhere.md")
    remote.commit()
    errors = init_repo.ok("sinks", "install", remote.url, "python-style").err
    place = init_repo.root / ".sow/sinks/python-style"
    for name in ("AGENTS.md", "deep/again.md"):
        assert not (place / name).is_symlink()
        assert (place / name).read_bytes() == (place / "README.md").read_bytes()
    assert "folder: a link to no file, left out" in errors
    assert "nothing: a link to no file, left out" in errors
    assert not os.path.lexists(place / "folder")


def test_links_in_a_circle_are_refused(init_repo: Repo, remote: Remote) -> None:
    """Links that lead to each other are refused."""
    remote.link("python-style/a", "b")
    remote.link("python-style/b", "a")
    remote.commit()
    assert "leads in a circle" in refused(init_repo, remote, "python-style").err


@pytest.mark.parametrize("name", [".git", ".GIT", "git~1", ".git.", "a\\b", "line\nbreak", "\x1b[2J", "..", "."])
def test_bad_names_are_refused(init_repo: Repo, remote: Remote, name: str) -> None:
    """A tree with a name that is more than a name is refused, by git's check or by sow's."""
    made = remote.raw_tree(name, remote.blob("text"))
    remote.tree(f"040000 tree {made}\tdocs\n")
    result = init_repo.sow("sinks", "install", remote.url, "docs")
    assert result.code in (1, 2), result
    assert list((init_repo.root / ".sow/sinks").iterdir()) == []


def test_a_submodule_is_left_out(init_repo: Repo, remote: Remote) -> None:
    """A submodule is neither fetched nor made, and is named."""
    remote.repo.git("update-index", "--add", "--cacheinfo", f"160000,{remote.head},python-style/module")
    remote.repo.git("commit", "-q", "-m", "module")
    assert "module: another repository, left out" in init_repo.ok("sinks", "install", remote.url, "python-style").err
    assert not (init_repo.root / ".sow/sinks/python-style/module").exists()


def test_files_are_kept_as_they_are_stored(init_repo: Repo, remote: Remote, tmp_path: Path) -> None:
    """No filter, attribute or mode of the source has an effect, and no file is executable."""
    remote.write("python-style/.gitattributes", "* text eol=crlf filter=evil\n*.md export-ignore ident\n")
    remote.write("python-style/run.sh", "#!/bin/sh\n$Id$\n")
    (remote.root / "python-style/run.sh").chmod(0o755)
    remote.commit()
    init_repo.git("config", "--global", "filter.evil.smudge", f"touch {tmp_path}/owned")
    init_repo.ok("sinks", "install", remote.url, "python-style")
    script = init_repo.root / ".sow/sinks/python-style/run.sh"
    assert script.read_bytes() == b"#!/bin/sh\n$Id$\n"
    assert not os.access(script, os.X_OK) or not script.stat().st_mode & 0o111
    assert not (tmp_path / "owned").exists()


def limit(init_repo: Repo, text: str) -> None:
    path = Path(init_repo.environment["HOME"]) / ".config/sow/config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"knowledge: {{{text}}}\n")


def test_a_large_source_is_refused(init_repo: Repo, remote: Remote) -> None:
    """More than the limit is refused: in transfer, and on disk."""
    limit(init_repo, "sink_mb: 1")
    remote.write("large/noise.bin", os.urandom(3 << 20))
    remote.write("bomb/zeros.bin", b"\0" * (40 << 20))
    remote.commit()
    remote.repo.git("config", "uploadpack.allowFilter", "true")
    assert "is larger than the limit of 1 MB" in refused(init_repo, remote, "large", code=1).err
    assert "the source has 40 MB, and the limit is 1" in refused(init_repo, remote, "bomb").err


@pytest.mark.full
def test_a_small_folder_of_a_large_repository(init_repo: Repo, remote: Remote, tmp_path: Path) -> None:
    """Locally, and from a server with partial clones, only the folder's own files count."""
    limit(init_repo, "sink_mb: 1")
    remote.write("large/noise.bin", os.urandom(3 << 20))
    remote.commit()
    init_repo.ok("sinks", "install", remote.url, "api")
    init_repo.ok("sinks", "install", f"file://{remote.root}", "api", "--name", "by-file")
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    init_repo.environment["GIT_SSH_COMMAND"] = str(ssh)
    arguments = ("sinks", "install", f"git@127.0.0.1:{remote.root}", "api", "--name", "by-ssh")
    result = init_repo.sow(*arguments)
    assert result.code == 1 and "use a server that sends single folders" in result.err
    remote.repo.git("config", "uploadpack.allowFilter", "true")
    init_repo.ok(*arguments)


def test_a_partial_clone_with_modules_and_attributes(init_repo: Repo, remote: Remote) -> None:
    """Missing .gitmodules and attribute files of a partial clone do not matter."""
    remote.repo.git("config", "uploadpack.allowFilter", "true")
    remote.write(".gitmodules", '[submodule "x"]\n\tpath = x\n\turl = https://example.org/x.git\n')
    remote.write(".gitattributes", "*.md text\n")
    remote.write(".mailmap", "A <a@example.org>\n")
    remote.commit()
    init_repo.ok("sinks", "install", remote.url, "api")


@pytest.mark.full
def test_a_tree_bomb_is_refused(init_repo: Repo, remote: Remote) -> None:
    """A few trees that contain each other ten times over, and so a million files, are refused quickly."""
    blob = remote.blob("x")
    lines = "".join(f"100644 blob {blob}\tf{number}\n" for number in range(20))
    tree = remote.make_tree(lines)
    for _ in range(5):
        tree = remote.make_tree("".join(f"040000 tree {tree}\td{number}\n" for number in range(20)))
    remote.tree(f"040000 tree {tree}\tdocs\n")
    assert "too many files" in refused(init_repo, remote, "docs").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere",), "the folder 'nowhere' is not there"),
        (("nowhere",), "its folders are: "),
        (("api/rest.md",), "the folder 'api/rest.md' is a file there"),
        (("api", "--ref", "nowhere"), "has no branch or tag 'nowhere'"),
        (("api", "--ref", "0" * 40), "has no such commit"),
    ],
)
def test_a_missing_folder_ref_or_commit_is_named(
    init_repo: Repo, remote: Remote, words: tuple[str, ...], said: str
) -> None:
    """A folder, a ref or a commit that the source does not have is named."""
    before = init_repo.snapshot()
    result = init_repo.sow("sinks", "install", remote.url, *words)
    assert (result.code, said in result.err) == (2, True), result
    assert init_repo.snapshot() == before


def test_an_empty_source_is_refused(init_repo: Repo, tmp_path: Path) -> None:
    """A source without a commit, or without a file, is refused."""
    empty = Remote(tmp_path / "empty", init_repo.environment)
    assert "has no commit" in init_repo.sow("sinks", "install", empty.url).err
    empty.commit("nothing")
    assert "there is no file in" in init_repo.sow("sinks", "install", empty.url).err


@pytest.fixture
def silent() -> Iterator[int]:
    """Starts a server that accepts a connection and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_silent_remote_times_out(init_repo: Repo, silent: int) -> None:
    """After the time-out the call ends with the reason, and no process of it is left."""
    limit(init_repo, "timeout: 2s")
    result = init_repo.sow("sinks", "install", f"https://127.0.0.1:{silent}/x.git")
    assert result.code == 1
    assert "did not answer within 2 seconds" in result.err
    mark = f"127.0.0.1:{silent}"
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark in _read(path)]


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def test_a_refused_connection_is_reported(init_repo: Repo) -> None:
    """A refused connection is told."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    result = init_repo.sow("sinks", "install", f"https://127.0.0.1:{port}/x.git")
    assert result.code == 1
    assert f"https://127.0.0.1:{port}/x.git" in result.err


SSH = """#!/bin/sh
echo "$@" > {folder}/called
test -t 0 && echo terminal >> {folder}/called
echo "askpass=$SSH_ASKPASS/$SSH_ASKPASS_REQUIRE" >> {folder}/called
echo "git@host: Permission denied (publickey,password)." >&2
exit 255
"""


def test_a_password_is_never_asked_for(init_repo: Repo, tmp_path: Path) -> None:
    """SSH may not ask, has no terminal and no helper, and its refusal is explained."""
    program = tmp_path / "bin/ssh"
    program.parent.mkdir()
    program.write_text(SSH.format(folder=tmp_path))
    program.chmod(0o755)
    path = f"{program.parent}:{init_repo.environment['PATH']}"
    result = init_repo.sow(
        "sinks", "install", "git@example.org:team/guides.git", "api", PATH=path, SSH_ASKPASS="/bin/true", DISPLAY=":0"
    )
    assert result.code == 1
    assert "asks for a password or a key" in result.err
    assert "ssh-agent" in result.err
    called = (tmp_path / "called").read_text()
    assert "-o BatchMode=yes" in called
    assert "git@example.org" in called
    assert "terminal" not in called
    assert "askpass=/never" in called


@pytest.mark.parametrize(
    "line", ["ssh: connect to host example.org port 22: Connection refused", "ERROR: Repository not found."]
)
def test_the_cause_of_a_failed_fetch_is_reported(init_repo: Repo, tmp_path: Path, line: str) -> None:
    """The line of ssh or of the server is in the message, and not only git's line that it failed (B24)."""
    program = tmp_path / "bin/ssh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "{line}" >&2\nexit 255\n')
    program.chmod(0o755)
    path = f"{program.parent}:{init_repo.environment['PATH']}"
    result = init_repo.sow("sinks", "install", "git@example.org:team/guides.git", PATH=path)
    assert result.code == 1
    assert line in result.err
    assert "Could not read from remote repository" not in result.err
