"""The setup of a checkout is detected from its files, asked about once, and keyed by its inputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.worktree_repo import WorktreeRepo

from sow import config as configs
from sow.engine.checks.setup_plan import Setup, Setups, commit_reader, copy_consent_text, folder_reader
from sow.gitwork.worktree import EnvironmentProblem

UV = ["uv", "sync", "--frozen"]
LOCK = {"lockfileVersion": 3, "packages": {"": {}, "node_modules/ms": {"version": "2.1.3"}}}


class Bench:
    """A repository whose user has some programs on PATH."""

    def __init__(self, worktree_repo: WorktreeRepo, tools: Path) -> None:
        self.worktree_repo = worktree_repo
        self.tools = tools
        self.environment = {**worktree_repo.repo.environment, "PATH": str(tools)}

    def install(self, *names: str) -> None:
        for name in names:
            (self.tools / name).write_text("#!/bin/sh\n")
            (self.tools / name).chmod(0o755)

    def files(self, **files: str) -> None:
        """Commits files; `__` in a name means a dot, and `_` a hyphen."""
        for name, text in files.items():
            self.worktree_repo.write(name.replace("__", ".").replace("_", "-"), text)
        self.worktree_repo.commit()

    def setups(self, **worktree: list[str] | list[list[str]]) -> Setups:
        """Returns the setups that a new call of sow finds, with this section of the user's config."""
        path = Path(self.environment["HOME"], ".config/sow/config.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"worktree": worktree}) if worktree else "")
        return Setups(self.worktree_repo.home, configs.load(self.environment), self.environment)

    def proposed(self) -> Setup:
        return self.setups().proposed(commit_reader(str(self.worktree_repo.root), "HEAD"))


@pytest.fixture
def bench(worktree_repo: WorktreeRepo, tmp_path: Path) -> Bench:
    tools = tmp_path / "tools"
    tools.mkdir()
    return Bench(worktree_repo, tools)


FOUND: dict[str, tuple[dict[str, str], list[list[str]], list[str]]] = {
    "uv with a lock": ({"uv__lock": "", "pyproject__toml": "[project]\nname='a'\n"}, [UV], [".venv"]),
    "uv without a lock": ({"pyproject__toml": "[tool.uv]\n"}, [["uv", "sync"]], [".venv"]),
    "uv with extras and groups": (
        {
            "uv__lock": "",
            "pyproject__toml": "[project.optional-dependencies]\ntest=['x']\n[dependency-groups]\ndev=[]\ntests=[]\n",
        },
        [[*UV, "--extra", "test", "--group", "tests"]],
        [".venv"],
    ),
    "poetry": (
        {"poetry__lock": "", "pyproject__toml": "[tool.poetry.group.test]\noptional=true\n"},
        [["poetry", "install", "--no-interaction", "--with", "test"]],
        [".venv"],
    ),
    "npm": (
        {"package__json": "{}", "package_lock__json": json.dumps(LOCK)},
        [["npm", "ci", "--no-audit", "--no-fund"]],
        ["node_modules"],
    ),
    "npm without dependencies": (
        {"package__json": "{}", "package_lock__json": json.dumps({"lockfileVersion": 3, "packages": {"": {}}})},
        [],
        [],
    ),
    "pnpm": (
        {"package__json": "{}", "pnpm_lock__yaml": "lockfileVersion: '9.0'\n"},
        [["pnpm", "install", "--frozen-lockfile", "--prefer-offline"]],
        ["node_modules"],
    ),
    "yarn, classic": (
        {"package__json": "{}", "yarn__lock": "# yarn lockfile v1\n"},
        [["yarn", "install", "--frozen-lockfile"]],
        ["node_modules"],
    ),
    "yarn, berry": (
        {"package__json": "{}", "yarn__lock": "# x\n\n__metadata:\n  version: 8\n"},
        [["yarn", "install", "--immutable"]],
        [],
    ),
    "Python and JavaScript": (
        {"uv__lock": "", "package__json": "{}", "package_lock__json": json.dumps(LOCK)},
        [UV, ["npm", "ci", "--no-audit", "--no-fund"]],
        [".venv", "node_modules"],
    ),
    "cargo": ({"Cargo__toml": "[package]\n", "Cargo__lock": ""}, [], []),
    "go": ({"go__mod": "module a\n"}, [], []),
    "a library that nobody installed": ({"pyproject__toml": "[project]\nname='a'\n"}, [], []),
    "broken manifests": ({"pyproject__toml": "[[", "package__json": "{", "package_lock__json": "["}, [], []),
}


@pytest.mark.parametrize("what", FOUND)
def test_the_setup_of_a_tree(bench: Bench, what: str) -> None:
    """Each ecosystem has its command and the folder that it makes; cargo and go need none."""
    files, commands, outputs = FOUND[what]
    bench.install("uv", "poetry", "npm", "pnpm", "yarn")
    bench.files(**files)
    setup = bench.proposed()
    assert (setup.commands, setup.outputs) == (commands, outputs)


def venv(bench: Bench, name: str = ".venv") -> Path:
    """Makes a virtual environment of the user in the checkout; returns its package folder."""
    site = bench.worktree_repo.root / name / "lib/python3.11/site-packages"
    site.mkdir(parents=True)
    (bench.worktree_repo.root / name / "bin").mkdir()
    bench.install("base-python")
    text = f"home = {bench.tools}\nexecutable = {bench.tools}/base-python\nversion = 3.11.2\n"
    (bench.worktree_repo.root / name / "pyvenv.cfg").write_text(text)
    return site


def test_pip_makes_an_environment_like_the_users(bench: Bench) -> None:
    """With a virtual environment of the user, pip installs the user's packages, then the tree's own."""
    site = venv(bench, "venv")
    for name in ("pytest-8.3.3", "pluggy-1.5.0", "pip-24.0", "lib-1.0", "mypy-1.0", "Lazy_Object.Proxy-1.4"):
        (site / f"{name}.dist-info").mkdir()
    for name in ("pytest-8.3.3", "pip-24.0", "lib-1.0"):
        (site / f"{name}.dist-info/REQUESTED").touch()
    (site / "lib-1.0.dist-info/direct_url.json").write_text("{}")
    bench.files(
        pyproject__toml="[project]\nname='mylib'\n"
        "[project.optional-dependencies]\ntest=['PyTest>=7', 'mylib[dev]']\ndev=['tox']\n",
        requirements_dev__txt="# for tests\nmypy==1.0\nlazy-object-proxy\ntomli; python_version < '3.11'\n",
        requirements_test__txt="mypy\nnot-installed\n",
    )
    pip = ["venv/bin/python", "-m", "pip", "install", "--disable-pip-version-check"]
    setup = bench.proposed()
    assert setup.commands == [
        [f"{bench.tools}/base-python", "-m", "venv", "venv"],
        [*pip, "pytest==8.3.3"],
        [*pip, "-r", "requirements-dev.txt", "-e", ".[test]"],
    ]
    assert setup.outputs == ["venv"]
    assert setup.side_outputs == ["mylib.egg-info", "src/mylib.egg-info"]


def test_a_package_that_a_task_adds_is_installed(bench: Bench) -> None:
    """A requirements file that the user installed is part of the setup of a tree whose file has more."""
    (venv(bench) / "mypy-1.0.dist-info").mkdir()
    bench.files(requirements_dev__txt="mypy\n")
    before = bench.proposed()
    bench.files(requirements_dev__txt="mypy\nruff\n")
    bench.worktree_repo.write("requirements-dev.txt", "mypy\n")
    after = bench.proposed()
    assert after.commands == before.commands
    assert after.commands[-1][-2:] == ["-r", "requirements-dev.txt"]
    assert after.key != before.key


def test_dependency_groups_need_a_new_pip(bench: Bench) -> None:
    """Groups of dependencies are installed by their names, after pip was upgraded."""
    (venv(bench) / "pytest-8.3.3.dist-info").mkdir()
    bench.files(pyproject__toml="[project]\nname='a'\n[dependency-groups]\ntests=['pytest']\ndocs=['sphinx']\n")
    commands = [command[5:] for command in bench.proposed().commands]
    assert commands[1:] == [["--upgrade", "pip"], ["-e", ".", "--group", "tests"]]


def test_a_missing_tool_is_named(bench: Bench) -> None:
    """A tool that is not on PATH is not proposed, but named with the file that needs it."""
    bench.files(poetry__lock="", package__json="{}", yarn__lock="")
    proposal = bench.setups().proposal(folder_reader(str(bench.worktree_repo.root)))
    assert (proposal.commands, proposal.missing_tools) == ([], {"poetry": "poetry.lock", "yarn": "yarn.lock"})


def test_a_committed_node_modules_needs_no_setup(bench: Bench) -> None:
    """A repository with its packages in git gets no setup."""
    bench.install("npm")
    bench.files(package__json="{}", package_lock__json=json.dumps(LOCK))
    bench.worktree_repo.write("node_modules/.package-lock.json", "{}")
    bench.worktree_repo.git("add", "--force", "node_modules")
    bench.worktree_repo.commit()
    assert bench.proposed().commands == []


def test_the_key_belongs_to_the_tree(bench: Bench) -> None:
    """The key changes with a lock file, an included file and the commands, and with nothing else."""
    bench.install("uv")
    bench.files(uv__lock="1", requirements__txt="-r more.txt\n", more__txt="a\n")
    keys = [bench.proposed().key]
    bench.files(uv__lock="2")
    keys.append(bench.proposed().key)
    bench.files(more__txt="b\n")
    keys.append(bench.proposed().key)
    bench.files(pyproject__toml="[dependency-groups]\ntest=[]\n")
    keys.append(bench.proposed().key)
    assert len(set(keys)) == 4
    bench.files(README__md="more")
    assert bench.proposed().key == keys[-1]
    bench.worktree_repo.write("uv.lock", "not committed")
    assert bench.proposed().key == keys[-1]


def test_the_users_config_replaces_detection(bench: Bench) -> None:
    """The config for worktrees is the whole setup and needs no consent; an empty list is no setup."""
    bench.install("uv")
    bench.files(uv__lock="")
    read = folder_reader(str(bench.worktree_repo.root))
    setups = bench.setups(setup=[["make", "deps"]], copy=[".env"])
    setup = setups.setup_for(read)
    assert (setup.commands, setup.copies, setup.links) == ([["make", "deps"]], [".env"], [])
    assert setups.missing(setup) == []
    assert bench.setups(setup=[]).setup_for(read).commands == []


def test_consent_and_refusal_are_remembered(bench: Bench) -> None:
    """Commands without consent are a question; a yes and a no are remembered for this repository and exact text."""
    bench.install("uv")
    bench.files(uv__lock="")
    read = folder_reader(str(bench.worktree_repo.root))
    with pytest.raises(EnvironmentProblem, match="uv sync --frozen"):
        bench.setups().setup_for(read)
    bench.setups().agree(["uv sync --frozen"])
    assert bench.setups().setup_for(read).commands == [UV]
    bench.setups().refuse(["uv sync --frozen"])
    assert bench.setups().setup_for(read).commands == []
    bench.setups().agree(["uv sync --frozen"])
    assert bench.setups().setup_for(read).commands == [UV]
    bench.files(pyproject__toml="[dependency-groups]\ntest=[]\n")
    with pytest.raises(EnvironmentProblem, match="--group test"):
        bench.setups().setup_for(read)
    assert not list(bench.worktree_repo.root.rglob("consents"))


def test_local_files_are_copied_with_consent_only(bench: Bench) -> None:
    """A well-known ignored file is proposed, and is part of the setup after the user agreed."""
    bench.worktree_repo.write(".env", "KEY=1")
    bench.worktree_repo.write("local_settings.py", "not ignored")
    read = folder_reader(str(bench.worktree_repo.root))
    assert (bench.setups().copies(agreed=False), bench.setups().setup_for(read).copies) == ([".env"], [])
    bench.setups().refuse([copy_consent_text(".env")])
    assert (bench.setups().copies(agreed=False), bench.setups().setup_for(read).copies) == ([], [])
    bench.setups().agree([copy_consent_text(".env")])
    assert (bench.setups().copies(agreed=False), bench.setups().setup_for(read).copies) == ([], [".env"])


@pytest.mark.parametrize("reader", [folder_reader, lambda root: commit_reader(root, "HEAD")])
def test_a_reader_stays_in_the_tree(bench: Bench, reader: Callable[[str], Callable[[str], bytes | None]]) -> None:
    """A reader returns the bytes of a file, and None for a missing file, a folder or a link out of the tree."""
    bench.worktree_repo.write("odd.txt", "a\r\nb")
    (bench.worktree_repo.root / "link").symlink_to("/etc/hostname")
    bench.worktree_repo.commit()
    read = reader(str(bench.worktree_repo.root))
    assert [read(name) for name in ("odd.txt", "missing", "src")] == [b"a\r\nb", None, None]
    assert read("link") in (None, b"/etc/hostname")


def test_setup_commands_get_the_settings_of_package_managers(bench: Bench) -> None:
    """Only setup commands see variables such as PIP_INDEX_URL."""
    bench.install("uv")
    bench.files(uv__lock="")
    bench.environment |= {"PIP_INDEX_URL": "https://x", "VIRTUAL_ENV": "/elsewhere", "UV_PROJECT_ENVIRONMENT": "/e"}
    setup = bench.proposed()
    before, after = setup.environment("/slot", setting_up=True), setup.environment("/slot")
    assert (before["PIP_INDEX_URL"], "PIP_INDEX_URL" in after) == ("https://x", False)
    assert ("VIRTUAL_ENV" in before, after["VIRTUAL_ENV"]) == (False, "/slot/.venv")
    assert after["PATH"].split(":")[0] == "/slot/.venv/bin"
    assert "UV_PROJECT_ENVIRONMENT" not in before
