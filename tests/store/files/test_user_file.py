"""Files in the user's own folders."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sow.errors import SowError
from sow.store.files import user_file

MAKE = """
import sys
from sow.store.files import user_file
print("ready", flush=True)
sys.stdin.readline()
for number in range(200):
    user_file.make_folders(f"{sys.argv[1]}/{number}/a/b")
"""


def test_parallel_processes_make_the_same_folders(tmp_path: Path) -> None:
    """A process continues if another one made the folder first."""
    text = [sys.executable, "-c", MAKE, str(tmp_path)]
    pipe = subprocess.PIPE
    makers = [subprocess.Popen(text, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(4)]
    assert {maker.stdout.readline() for maker in makers if maker.stdout} == {"ready\n"}
    for maker in makers:
        assert maker.stdin
        maker.stdin.write("go\n")
        maker.stdin.flush()
    assert [maker.communicate(timeout=300)[1] for maker in makers] == [""] * 4
    assert len(list(tmp_path.glob("*/a/b"))) == 200


def test_a_file_in_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    """The error names it."""
    (tmp_path / "a").write_text("")
    with pytest.raises(SowError, match=f"cannot make {tmp_path}/a: File exists"):
        user_file.make_folders(str(tmp_path / "a"))
