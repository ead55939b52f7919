"""The last good copies: each is a new file or a longer one, never half of one, and never behind a link."""

from __future__ import annotations

import os

import pytest

from sow.store import home as homes
from sow.store import kept
from sow.store.disk import PAGE, Disk, write_over

OWNER = "5e0a4bd1-5b4d-4f4e-8d3a-1f6c0f4f9a11"


@pytest.fixture
def home(repo):
    return homes.locate(option=str(repo.root), environment={}, cwd=str(repo.root))


def copy_of(home, name="010"):
    return f"{kept.folder(home, OWNER)}/{kept.file_name(name)}"


@pytest.mark.parametrize(
    ("before", "after", "same_file"),
    [
        pytest.param("short\n", "a longer one\n", True, id="longer"),
        pytest.param("short\n", "x" * PAGE, True, id="a-whole-page"),
        pytest.param("short\n", "x" * (PAGE + 1), False, id="more-than-a-page"),
        pytest.param("a longer one\n", "short\n", False, id="shorter"),
        pytest.param("short\n", "trohs\n", False, id="as-long"),
        pytest.param("abc\n", "äöü\n", True, id="longer-in-bytes"),
    ],
)
def test_what_is_kept_is_the_last_text(home, before, after, same_file):
    """Only a longer text that fits into one page is written over the one before; both ways, the stamp is another."""
    kept.keep(home, OWNER, "010", before)
    first = kept.stamp(home, OWNER, "010")
    kept.keep(home, OWNER, "010", after)
    assert kept.recall(home, OWNER, "010") == after
    assert kept.stamp(home, OWNER, "010") != first
    assert (kept.stamp(home, OWNER, "010")[0] == first[0]) == same_file


def test_all_is_written_in_one_call(home):
    """So that whoever is killed leaves the old copy or the new one."""
    kept.keep(home, OWNER, "010", "short\n")
    calls = []

    class Counting(Disk):
        def write(self, descriptor, data):
            calls.append(len(data))
            return super().write(descriptor, data)

    assert write_over(Counting(), copy_of(home), "x" * PAGE)
    assert calls == [PAGE]


def test_a_copy_that_became_a_link_is_replaced(home, tmp_path):
    """What it leads to stays as it is."""
    other = tmp_path / "other"
    other.write_text("mine\n")
    kept.keep(home, OWNER, "010", "short\n")
    os.unlink(copy_of(home))
    os.symlink(other, copy_of(home))
    kept.keep(home, OWNER, "010", "a longer one than before\n")
    assert other.read_text() == "mine\n"
    assert not os.path.islink(copy_of(home))
    assert kept.recall(home, OWNER, "010") == "a longer one than before\n"


def test_a_write_that_fails_half_way_is_made_good(home):
    """The whole text takes the place of what was half written."""
    kept.keep(home, OWNER, "010", "short\n")

    class Failing(Disk):
        failed = False

        def write(self, descriptor, data):
            if not Failing.failed:
                Failing.failed = True
                super().write(descriptor, data[:7])
                raise OSError(28, "full")
            return super().write(descriptor, data)

    home.disk = Failing()
    kept.keep(home, OWNER, "010", "a longer one than before\n")
    assert Failing.failed
    assert kept.recall(home, OWNER, "010") == "a longer one than before\n"
