"""The built packages install with pip, uv and pipx without a network, and run outside the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Repo, fresh_environment
from support.paths import ROOT
from test_readme import README, blocks

import sow

pytestmark = pytest.mark.release
PROGRAMS = Path(sys.executable).parent
NEEDED = ["hatchling", "pip", "py-yaml12", "PyYAML", "setuptools"]


def run(*arguments: str, environment: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    result = subprocess.run(arguments, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, f"{arguments}: {result.stdout}{result.stderr}"
    return result.stdout


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel and an sdist, built from a clone, and the packages that they need."""
    folder = tmp_path_factory.mktemp("release")
    run("git", "clone", "-q", str(ROOT), str(folder / "clone"))
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(folder / "clone"))
    run(sys.executable, "-m", "pip", "download", "-q", "-d", str(folder / "needed"), *NEEDED)
    return folder


@pytest.fixture(scope="session")
def commit(packages: Path) -> str:
    return run("git", "rev-parse", "HEAD", cwd=packages / "clone")[:12]


def wheel(packages: Path) -> str:
    (result,) = packages.glob("*.whl")
    return str(result)


def sdist(packages: Path) -> str:
    (result,) = packages.glob("*.tar.gz")
    return str(result)


@pytest.fixture
def machine(tmp_path: Path, packages: Path) -> dict[str, str]:
    """The environment of a new user: git, Python and no network."""
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs/python3").symlink_to(os.path.realpath(sys.executable))
    needed = str(packages / "needed")
    return fresh_environment(tmp_path / "home") | {
        "PATH": f"{tmp_path / 'programs'}:{tmp_path / 'home/.local/bin'}:/usr/bin:/bin",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": needed,
        "UV_OFFLINE": "1",
        "UV_FIND_LINKS": needed,
        "UV_PYTHON": os.path.realpath(sys.executable),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_CACHE_DIR": str(tmp_path / "uv-cache"),
        "PIPX_DEFAULT_BACKEND": "pip",
    }


def add_program(machine: dict[str, str], name: str) -> None:
    Path(machine["PATH"].split(":")[0], name).symlink_to(PROGRAMS / name)


def check(program: str, machine: dict[str, str], commit: str, folder: Path) -> None:
    """Checks that the installed program prints its version with the commit, and runs all commands of the README."""
    folder.mkdir()
    assert run(program, "--version", environment=machine, cwd=folder) == f"sow {sow.__version__} ({commit})\n"
    searched = machine | {"PATH": f"{Path(program).parent}:{machine['PATH']}"}
    assert shutil.which("sow", path=searched["PATH"]) == program
    printed = run("bash", "-euo", "pipefail", "-c", "".join(blocks(README)), environment=searched, cwd=folder)
    assert "2 GREEN" in printed
    assert "Write the index" in Repo(folder / "shop", searched).git("log", "-1", "--format=%s")


@pytest.mark.parametrize("kind", [wheel, sdist])
def test_pip(kind: object, packages: Path, machine: dict[str, str], commit: str, tmp_path: Path) -> None:
    """pip installs the wheel and the sdist into a fresh virtual environment."""
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"))
    python = str(tmp_path / "venv/bin/python")
    run(python, "-m", "pip", "install", "-q", kind(packages), environment=machine)  # type: ignore[operator]
    check(str(tmp_path / "venv/bin/sow"), machine, commit, tmp_path / "work")


@pytest.mark.parametrize("installer", ["uv", "pipx"])
def test_install_sh(installer: str, packages: Path, machine: dict[str, str], commit: str, tmp_path: Path) -> None:
    """The script installs a wheel with an available installer; a second call installs over the first."""
    add_program(machine, installer)
    script = str(shutil.copy(ROOT / "install.sh", tmp_path))
    for _ in range(2):
        result = run("sh", script, wheel(packages), environment=machine, cwd=tmp_path)
        assert result == (
            f"installed sow {sow.__version__} ({commit}) in {machine['HOME']}/.local/bin\nnext: sow doctor\n"
        )
    check(f"{machine['HOME']}/.local/bin/sow", machine, commit, tmp_path / "work")


@pytest.mark.parametrize("installer", ["uv", "pipx"])
def test_install_from_a_clone(
    installer: str, packages: Path, machine: dict[str, str], commit: str, tmp_path: Path
) -> None:
    """In a clone, `./install.sh .` builds and installs it."""
    add_program(machine, installer)
    result = run("./install.sh", ".", environment=machine, cwd=packages / "clone")
    assert result.startswith(f"installed sow {sow.__version__} ({commit}) in ")


def test_the_wheel_has_every_file_of_the_package(packages: Path) -> None:
    """Every file of the package is in the wheel, with the commit and nothing else."""
    listed = run(sys.executable, "-m", "zipfile", "-l", wheel(packages)).splitlines()
    packed = {line.split()[0] for line in listed if line.startswith("sow/")}
    files = run("git", "ls-files", "src/sow", cwd=packages / "clone").split()
    assert packed == {file.removeprefix("src/") for file in files} | {"sow/commit.txt"}
