"""Packets: files and facts in a commit, and the limits within which one is read."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from support.worktree_repo import WorktreeRepo

from sow.cluster.packet import FACTS, MOST_FILES, BadPacket, Packet, files_below, pack, within_limits
from sow.errors import SowError


def tree_commit(worktree_repo: WorktreeRepo, *entries: tuple[str, str, str]) -> str:
    """A commit with a tree of these entries: mode, content or commit, and name."""
    lines = []
    for mode, content, name in entries:
        given = {"input": content.encode(), "capture_output": True, "check": True, "cwd": worktree_repo.root}
        blob = subprocess.run(["git", "hash-object", "-w", "--stdin"], **given).stdout.decode().strip()  # type: ignore[call-overload]
        oid = content if mode == "160000" else blob
        lines.append(f"{mode} {'commit' if mode == '160000' else 'blob'} {oid}\t{name}\0")
    listing = {"input": "".join(lines).encode(), "capture_output": True, "check": True, "cwd": worktree_repo.root}
    tree = subprocess.run(["git", "mktree", "-z"], **listing).stdout.decode().strip()  # type: ignore[call-overload]
    return worktree_repo.git("commit-tree", "-m", "A packet", tree).strip()


def test_a_packet_comes_back_as_it_was_packed(worktree_repo: WorktreeRepo, tmp_path: Path) -> None:
    """Facts, files and parents of a packet are read as they were packed; the user's index and branch do not change."""
    (tmp_path / "notes.txt").write_bytes(b"\xff\r\nline\n")
    before = worktree_repo.user_side()
    head = worktree_repo.head()
    facts = {"text": "Grüße\n", "number": 3}
    commit = pack(
        worktree_repo.worktrees.repository,
        facts,
        {"session/1.md": str(tmp_path / "notes.txt")},
        [head],
        message="A packet",
    )
    packet = Packet(str(worktree_repo.root), commit)
    assert packet.facts == facts
    assert dict(packet.files("session")) == {"1.md": b"\xff\r\nline\n"}
    assert dict(packet.files("output")) == {}
    assert packet.parents == [head]
    assert worktree_repo.user_side() == before


def test_links_and_odd_names_are_not_packed(tmp_path: Path) -> None:
    """Only plain files are packed: no links, no files behind linked folders, no names with line breaks."""
    folder = tmp_path / "task_output"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "a.txt").write_text("a")
    (folder / "b\nc").write_text("b")
    (folder / "link").symlink_to("/etc/passwd")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_text("s")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(folder / "pipe")
    assert files_below(str(folder), "output") == {"output/inner/a.txt": str(folder / "inner" / "a.txt")}


def test_files_beyond_the_limits_are_named(tmp_path: Path) -> None:
    """A packet takes files up to its size; the names of the others are returned."""
    for name, megabytes in (("a", 40), ("b", 40), ("c", 24)):
        (tmp_path / name).touch()
        os.truncate(tmp_path / name, megabytes << 20)  # sparse: it takes no space on the disk
    kept, left_out = within_limits({name: str(tmp_path / name) for name in "abc"})
    assert (list(kept), left_out) == (["a", "c"], ["b"])


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (("120000", "/etc/passwd", "link"), "a link or a submodule"),
        (("160000", "1" * 40, "module"), "a link or a submodule"),
    ],
)
def test_a_packet_with_a_link_is_refused(
    worktree_repo: WorktreeRepo, entry: tuple[str, str, str], problem: str
) -> None:
    """A packet that holds anything but plain files is refused."""
    commit = tree_commit(worktree_repo, ("100644", "{}", FACTS), entry)
    with pytest.raises(BadPacket, match=problem):
        Packet(str(worktree_repo.root), commit)


@pytest.mark.parametrize("document", ["", "[]", "nonsense", "[" * 100_000, '"text"'])
def test_facts_must_be_an_object(worktree_repo: WorktreeRepo, document: str) -> None:
    """A packet whose document is not a JSON object is refused."""
    commit = tree_commit(worktree_repo, ("100644", document, FACTS))
    with pytest.raises(BadPacket, match="is not a JSON object"):
        Packet(str(worktree_repo.root), commit)


def test_a_packet_needs_its_document(worktree_repo: WorktreeRepo) -> None:
    """A commit without the document is no packet."""
    with pytest.raises(BadPacket, match=f"has no {FACTS}"):
        Packet(str(worktree_repo.root), worktree_repo.head())


def test_too_many_files_are_refused(worktree_repo: WorktreeRepo) -> None:
    """A packet with more files than the limit is refused before one of them is read."""
    document = worktree_repo.git("rev-parse", f"{tree_commit(worktree_repo, ('100644', '{}', FACTS))}:{FACTS}").strip()
    names = [FACTS, *(f"file-{number}" for number in range(MOST_FILES))]
    listing = "".join(f"100644 blob {document}\t{name}\0" for name in names).encode()
    made = subprocess.run(
        ["git", "mktree", "-z"], input=listing, capture_output=True, check=True, cwd=worktree_repo.root
    )
    commit = worktree_repo.git("commit-tree", "-m", "A packet", made.stdout.decode().strip()).strip()
    with pytest.raises(BadPacket, match="more than 10,000 files"):
        Packet(str(worktree_repo.root), commit)


def test_a_fact_has_its_type(worktree_repo: WorktreeRepo) -> None:
    """A fact of another type is refused; a missing one has its default, if there is one."""
    commit = tree_commit(worktree_repo, ("100644", json.dumps({"host": 3}), FACTS))
    packet = Packet(str(worktree_repo.root), commit)
    assert packet.value("remarks", list, []) == []
    for name in ("host", "outcome"):
        with pytest.raises(BadPacket, match=name):
            packet.value(name, str)


def test_a_key_that_cannot_sign_is_an_error(worktree_repo: WorktreeRepo, tmp_path: Path) -> None:
    """If the request cannot be signed, nothing is packed and the error names the setting."""
    repository = worktree_repo.worktrees.repository
    with pytest.raises(SowError, match="cannot be signed") as error:
        pack(repository, {}, {}, [worktree_repo.head()], message="A packet", sign=str(tmp_path / "missing"))
    assert error.value.hint == "check cluster.sign"
