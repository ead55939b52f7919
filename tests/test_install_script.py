"""install.sh chooses an installer, and says what to do if it cannot install."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.paths import ROOT

INSTALLER = """#!/bin/sh
echo "$0 $*" >> "$HOME/calls"
case "$*" in
*'dir --bin' | *PIPX_BIN_DIR) echo "$HOME/bin" ;;
*missing*) exit 1 ;;
esac
"""
UV = "uv tool install --quiet --force --reinstall --python >=3.11 --from {} sow\n"
PIPX = "pipx install --quiet --force {}\n"


def call(home: Path, programs: tuple[str, ...], *arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
    """Runs the script as a user who has these programs."""
    (home / "bin").mkdir(parents=True)
    for name in programs:
        (home / name).write_text("#!/bin/sh\n" if name == "git" else INSTALLER)
        (home / name).chmod(0o755)
    (home / "bin/sow").write_text("#!/bin/sh\necho sow 1.0.0\n")
    (home / "bin/sow").chmod(0o755)
    environment = {"HOME": str(home), "PATH": str(home), **options}
    script = str(ROOT / "install.sh")
    return subprocess.run(["/bin/sh", script, *arguments], env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("programs", "more", "words", "expected"),
    [
        (("git", "uv", "pipx"), {}, ("x.whl",), UV.format("x.whl")),
        (("git", "pipx"), {}, ("x.whl",), PIPX.format("x.whl")),
        (("git", "uv", "pipx"), {"SOW_INSTALLER": "pipx"}, ("a b.whl",), PIPX.format("a b.whl")),
        (("git", "uv"), {}, (), UV.format("sow")),
    ],
)
def test_the_choice_of_an_installer(
    tmp_path: Path, programs: tuple[str, ...], more: dict[str, str], words: tuple[str, ...], expected: str
) -> None:
    """uv goes first, pipx is next, and a variable chooses; the last line is the next step."""
    done = call(tmp_path / "home", programs, *words, **more)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "home/calls").read_text().replace(f"{tmp_path}/home/", "").startswith(expected)
    assert done.stdout.startswith(f"installed sow 1.0.0 in {tmp_path}/home/bin\nnext: ")


@pytest.mark.parametrize(
    ("programs", "words", "error"),
    [
        ((), (), "git is not installed"),
        (("git",), (), "neither uv nor pipx is installed"),
        (("git", "uv"), ("missing.whl",), "uv could not install sow"),
        (("git", "pipx"), ("missing.whl",), "pipx could not install sow"),
    ],
)
def test_errors(tmp_path: Path, programs: tuple[str, ...], words: tuple[str, ...], error: str) -> None:
    """Each failure is one error line and one hint line, with exit code 1."""
    done = call(tmp_path / "home", programs, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {error}\nhint: ")
    assert len(done.stderr.splitlines()) == 2


def test_a_partial_download_does_nothing(tmp_path: Path) -> None:
    """A part of the script that ends at any line calls no installer."""
    lines = (ROOT / "install.sh").read_text().splitlines()
    assert os.access(ROOT / "install.sh", os.X_OK)
    assert lines[-1] == 'main "$@"'
    assert not any(
        line.strip() and not line.startswith((" ", "#", "}", "set -eu", "fail() {", "main() {")) for line in lines[:-1]
    )
