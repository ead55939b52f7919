"""The commands that a worker may run: those that the repository declares, and those in the task's criteria."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.quick_cases import all_of

from sow.engine.turns.allowed_commands import ALL_RUNNERS, MOST_COMMANDS, declared_commands, is_test_command


def declared(folder: Path, files: dict[str, str]) -> set[str]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return set(declared_commands(str(folder)))


@pytest.mark.parametrize(
    ("files", "commands", "others"),
    [
        ({"test_x.py": ""}, {"pytest", "python3 -m pytest"}, {"ruff", "cargo test", ".venv/bin/pytest"}),
        ({"test_x.py": "", ".venv/x": ""}, {".venv/bin/pytest", ".venv/bin/python -m pytest"}, {"venv/bin/pytest"}),
        ({"pyproject.toml": "[tool.ruff]"}, {"pytest", "ruff", "python -m ruff"}, {"mypy", "tox"}),
        ({"tox.ini": "", "noxfile.py": ""}, {"tox", "nox", "pytest"}, {"npm test"}),
        ({"backend/pyproject.toml": "", "web/package.json": "{}"}, {"pytest", "npm test"}, {"npm run test"}),
        ({"Cargo.toml": "", "go.mod": ""}, {"cargo test", "go test", "go vet"}, {"pytest"}),
        ({"app.csproj": ""}, {"dotnet test"}, {"pytest"}),
        ({"Makefile": "A := 1\nB = x:y\ntest lint: a\n\trm:\n.PHONY: test\n"}, {"make test", "make lint"}, {"make A"}),
        ({"Makefile": "deploy: a\ninstall:\n$(X): y\n%.o: %.c\n"}, set(ALL_RUNNERS), {"make deploy", "make install"}),
        ({"README.md": "", "node_modules/a.py": ""}, set(ALL_RUNNERS), {"npm run test"}),
    ],
)
def test_a_repository_declares_its_runners(
    tmp_path: Path, files: dict[str, str], commands: set[str], others: set[str]
) -> None:
    """Files at the root or one folder below stand for test runners; without any all are allowed (A1)."""
    result = declared(tmp_path, files)
    assert commands <= result and not others & result


def test_package_scripts_are_declared(tmp_path: Path) -> None:
    """Scripts can be run with npm and with the package manager of the lock file, but not those that publish (A1)."""
    scripts = {"test": "vitest", "test:unit": "x", "publish:all": "x", "deploy": "x", "a; rm": "x"}
    package = {"scripts": scripts, "devDependencies": {"vitest": "1", "typescript": "5"}}
    result = declared(tmp_path, {"package.json": json.dumps(package), "pnpm-lock.yaml": ""})
    assert {"npm run test", "npm run test:unit", "pnpm run test", "pnpm test:unit", "npx vitest", "npx tsc"} <= result
    assert not [text for text in result if any(word in text for word in ("publish", "deploy", "rm"))]


def test_an_unreadable_package_declares_its_runner_only(tmp_path: Path) -> None:
    """Broken files and folders of a repository stop no worker."""
    files = {"package.json": '{"scripts": ["a"], "devDependencies": 3}', "web/package.json": "not json"}
    assert declared(tmp_path, files) == {"npm test", "node --test"}
    (tmp_path / "pyproject.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "Makefile").symlink_to("nowhere")
    assert {"pytest", "npm test"} <= set(declared_commands(str(tmp_path)))
    assert declared_commands(f"{tmp_path}/missing") == list(ALL_RUNNERS)


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    """A Makefile with very many targets does not make a huge command line."""
    result = declared(tmp_path, {"Makefile": "".join(f"t{number}:\n" for number in range(999))})
    assert len(result) == MOST_COMMANDS


@all_of(
    ("command", "expected"),
    [
        ("pytest -q tests", True),
        ("npm run e2e", True),
        ("make check", True),
        ("uv run pytest", True),
        ("pytestx", False),
        ("rm -rf /", False),
        ("npm install x", False),
        ("make deploy", False),
        ("pytest; rm x", False),
        ("", False),
    ],
)
def test_only_a_test_runner_is_a_test_command(command: str, expected: bool) -> None:
    """A command in backticks in a criterion is allowed only if it starts a test runner and nothing else (A1)."""
    assert is_test_command(command) is expected
