"""Small repositories of several ecosystems whose code is installed into an environment of the user's checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from support.plan_repo import PlanRepo

# A build backend that needs nothing but Python: it installs the code in place, by a .pth file.
BACKEND = """
import os, zipfile

def _wheel(folder, lines):
    name = "lib-1.0-py3-none-any.whl"
    files = {
        "__editable__.lib-1.0.pth": lines,
        "lib-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: lib\\nVersion: 1.0\\n",
        "lib-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    record = "".join(f"{path},,\\n" for path in [*files, "lib-1.0.dist-info/RECORD"])
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        for path, text in {**files, "lib-1.0.dist-info/RECORD": record}.items():
            wheel.writestr(path, text)
    return name

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _wheel(wheel_directory, os.path.abspath(SOURCE) + "\\n")

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _wheel(wheel_directory, os.path.abspath(SOURCE) + "\\n")
"""
PYPROJECT = """[build-system]
requires = []
build-backend = "backend"
backend-path = ["build_tools"]

[project]
name = "lib"
version = "1.0"
"""
FINDER = """from __future__ import annotations
MAPPING: dict[str, str] = {{'lib': '{folder}/lib'}}
NAMESPACES: dict[str, list[str]] = {{}}
"""
IGNORED = ".venv/\nnode_modules/\n__pycache__/\n*.egg-info/\ntarget/\n.env\n"


class Library:
    """A Python library in a repository, and the virtual environment in which the user installed it."""

    def __init__(self, plan_repo: PlanRepo, *, source: str = "src", venv: Path | None = None) -> None:
        self.plan_repo = plan_repo
        self.root = plan_repo.repo.root
        self.source = source
        self.code = f"{source}/lib/__init__.py".removeprefix("./")
        files = {
            ".gitignore": IGNORED,
            "pyproject.toml": PYPROJECT,
            "build_tools/backend.py": f"SOURCE = {source!r}\n{BACKEND}",
            self.code: "def answer():\n    return 42\n",
            "tests/check.py": "import lib\n\nassert lib.answer() == 42\n",
        }
        commit(plan_repo, files)
        self.venv = venv or self.root / ".venv"
        python = getattr(sys, "_base_executable", sys.executable)
        subprocess.run([python, "-m", "venv", "--without-pip", str(self.venv)], check=True, timeout=300)
        [self.site] = self.venv.glob("lib/python3*/site-packages")
        activate(plan_repo, self.venv)

    def install_by_path(self) -> None:
        """Installs the library in place, by a .pth file."""
        where = os.path.normpath(self.root / self.source)
        (self.site / "__editable__.lib-1.0.pth").write_text(f"{where}\n")

    def install_by_finder(self) -> None:
        """Installs the library in place, as setuptools does for a flat layout."""
        where = os.path.normpath(self.root / self.source)
        (self.site / "__editable___lib_1_0_finder.py").write_text(
            FINDER.format(folder=where) + "import sys, importlib.util\n"
            "class Finder:\n"
            "    @staticmethod\n"
            "    def find_spec(name, path=None, target=None):\n"
            "        if name in MAPPING:\n"
            "            return importlib.util.spec_from_file_location(name, MAPPING[name] + '/__init__.py')\n"
            "def install():\n"
            "    sys.meta_path.append(Finder)\n"
        )
        (self.site / "__editable__.lib-1.0.pth").write_text(
            "import __editable___lib_1_0_finder; __editable___lib_1_0_finder.install()\n"
        )

    def install_by_egg_link(self) -> None:
        """Installs the library in place, as an old setup.py does."""
        where = os.path.normpath(self.root / self.source)
        (self.site / "lib.egg-link").write_text(f"{where}\n.\n")
        (self.site / "easy-install.pth").write_text(f"{where}\n")

    def install_a_copy(self) -> None:
        """Installs a copy of the library."""
        (self.site / "lib").mkdir()
        (self.site / "lib/__init__.py").write_text((self.root / self.code).read_text())
        info = self.site / "lib-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lib\nVersion: 1.0\n")
        (info / "direct_url.json").write_text(json.dumps({"url": self.root.as_uri(), "dir_info": {}}))


def commit(plan_repo: PlanRepo, files: dict[str, str]) -> None:
    """Writes files into the repository and commits them."""
    for path, text in files.items():
        file = plan_repo.repo.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    plan_repo.repo.git("add", "--force", "--", *files)
    plan_repo.repo.git("commit", "-q", "-m", "A library")


def activate(plan_repo: PlanRepo, venv: Path) -> None:
    """Puts a virtual environment into the user's shell."""
    environment = plan_repo.repo.environment
    environment |= {"VIRTUAL_ENV": str(venv), "PATH": f"{venv}/bin:{environment['PATH']}", "PIP_NO_INDEX": "1"}


def workspace(plan_repo: PlanRepo, *, lock: bool) -> None:
    """A JavaScript repository with a package of its own, linked into node_modules of the user's checkout."""
    root = {"name": "top", "version": "1.0.0", "private": True, "workspaces": ["packages/*"]}
    part = {"name": "@own/part", "version": "1.0.0", "main": "index.js"}
    files = {
        ".gitignore": IGNORED,
        "package.json": json.dumps(root),
        "packages/part/package.json": json.dumps(part),
        "packages/part/index.js": "exports.answer = () => 42;\n",
        "check.js": "if (require('@own/part').answer() !== 42) process.exit(1);\n",
    }
    if lock:
        packages = {
            "": root,
            "node_modules/@own/part": {"resolved": "packages/part", "link": True},
            "packages/part": part,
        }
        files["package-lock.json"] = json.dumps(
            {"name": "top", "version": "1.0.0", "lockfileVersion": 3, "requires": True, "packages": packages}
        )
    commit(plan_repo, files)
    scope = plan_repo.repo.root / "node_modules/@own"
    scope.mkdir(parents=True)
    (scope / "part").symlink_to("../../packages/part")
    plan_repo.repo.environment |= {"npm_config_offline": "true", "npm_config_update_notifier": "false"}
