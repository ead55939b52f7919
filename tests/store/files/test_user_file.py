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


def test_many_make_the_same_folders(tmp_path: Path) -> None:
    """Whoever finds that another was quicker goes on."""
    words = [sys.executable, "-c", MAKE, str(tmp_path)]
    pipe = subprocess.PIPE
    makers = [subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(4)]
    assert {each.stdout.readline() for each in makers if each.stdout} == {"ready\n"}
    for each in makers:
        assert each.stdin
        each.stdin.write("go\n")
        each.stdin.flush()
    assert [each.communicate(timeout=300)[1] for each in makers] == [""] * 4
    assert len(list(tmp_path.glob("*/a/b"))) == 200


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    """What is no folder is named."""
    (tmp_path / "a").write_text("")
    with pytest.raises(SowError, match=f"cannot make {tmp_path}/a: File exists"):
        user_file.make_folders(str(tmp_path / "a"))
