"""The shape of the house: which way imports point, how large things are, and that nothing happens on the quiet."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "sow"
GENERATED = PACKAGE / "store" / "validators"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if GENERATED not in path.parents)
every_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))

# Which rooms each room may use besides itself; `errors` is everybody's.
MAY_USE = {
    "cli": {"dashboard", "workflows", "engine", "knowledge", "config", "executors", "agents", "plans", "store"}
    | {"system", "domain", "errors"},
    "dashboard": {"workflows", "engine", "knowledge", "config", "executors", "agents", "plans", "store", "system"}
    | {"domain", "errors"},
    "workflows": {"engine", "config", "executors", "agents", "plans", "store", "system", "domain", "errors"},
    "engine": {"knowledge", "config", "executors", "agents", "plans", "store", "system", "domain", "errors"},
    "knowledge": {"store", "system", "domain", "errors"},
    "plans": {"domain", "errors"},
    "config": {"executors", "store", "system", "domain", "errors"},
    "executors": {"store", "system", "domain", "errors"},
    "agents": {"store", "system", "domain", "errors"},
    "simulated": {"errors"},
    "store": {"system", "domain", "errors"},
    "system": {"domain", "errors"},
    "domain": {"errors"},
    "errors": set(),
    "__main__": {"cli"},
    "__init__": set(),
}
# What the rules may not even name: the doors to files, clock, random numbers, environment and processes.
DOORS = {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint", "globals", "os", "sys"}
PURE_IMPORTS = {"__future__", "typing", "collections.abc", "bisect", "hashlib", "heapq", "json", "sow.errors"}
PURE_IMPORTS |= {"configparser", "fnmatch", "re", "tomllib"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in it and for whatever reason."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            assert node.module
            yield from (f"{node.module}.{each.name}" if node.module == "sow" else node.module for each in node.names)
            yield from (f"{node.module}.{each.name}" for each in node.names if node.module.startswith("sow."))


def functions(path: Path) -> Iterator[tuple[str, Function]]:
    for node in ast.walk(tree(path)):
        if isinstance(node, Function):
            yield f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}", node


def test_every_room_has_its_rule():
    """A new room must say which others it may use."""
    assert {room(path) for path in MODULES} == set(MAY_USE)


@every_module
def test_imports_point_one_way(path: Path):
    """A room uses only the rooms below it, at the top of a file, inside a function, and for the type checker alike."""
    allowed = MAY_USE[room(path)] | {room(path), "__version__"}
    used = {name.split(".")[1] for name in imported(path) if name.startswith("sow.")}
    assert used <= allowed


def test_imports_name_no_module_in_a_text():
    """What is imported by a computed name is a command group, the function of a command, a validator or an adapter."""
    found = []
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
                assert isinstance(node.args[0], ast.JoinedStr)
                start = node.args[0].values[0]
                assert isinstance(start, ast.Constant)
                found.append((room(path), start.value))
    assert set(found) == {("cli", "sow.cli."), ("store", "sow.store.validators."), ("executors", "sow.executors.")}


@pytest.mark.parametrize("path", [each for each in MODULES if room(each) == "domain"], ids=lambda path: path.name)
def test_the_rules_are_pure(path: Path):
    """The rules import nothing but rules and types, and name no door to the outside."""
    outside = {name for name in imported(path) if not name.startswith("sow.")}
    assert outside <= PURE_IMPORTS
    names = {node.id for node in ast.walk(tree(path)) if isinstance(node, ast.Name)}
    assert names & DOORS == set()


@every_module
def test_nothing_runs_at_import(path: Path):
    """A module consists of imports, definitions and tables: no loop, no call whose value is dropped."""
    allowed = (
        ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If,
    )  # fmt: skip
    docstring, *body = tree(path).body
    assert isinstance(docstring, ast.Expr)
    for node in body:
        if path.name == "__main__.py" and isinstance(node, (ast.Expr, ast.If)):
            continue
        assert isinstance(node, allowed), f"line {node.lineno}"
        if isinstance(node, ast.If):
            assert isinstance(node.test, ast.Name)
            assert node.test.id == "TYPE_CHECKING"


def test_every_module_says_what_it_is():
    """The first line of every module says in one sentence what is inside."""
    assert [path for path in MODULES if not ast.get_docstring(tree(path))] == []


def test_every_function_says_what_it_returns():
    """Every function has the type of what it returns."""
    assert [name for path in MODULES for name, node in functions(path) if node.returns is None] == []


def comments(path: Path) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}


@every_module
def test_a_broad_except_gives_its_reason(path: Path):
    """Who catches everything says why on that line, and nobody catches without naming what."""
    reasons = comments(path)
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"line {node.lineno}"
            names = {each.id for each in ast.walk(node.type) if isinstance(each, ast.Name)}
            if names & {"Exception", "BaseException"}:
                assert len(reasons.get(node.lineno, "")) > 10, f"line {node.lineno}"


def test_broad_excepts_are_rare():
    """There is less than one broad `except` in 2,000 lines."""
    lines = sum(len(path.read_text().splitlines()) for path in MODULES)
    broad = sum(path.read_text().count("except Exception") for path in MODULES)
    assert broad / lines < 0.5 / 1000


def test_each_door_has_one_keeper():
    """Programs are started, files locked and trees copied in one place each."""
    owners = {
        "subprocess": {
            "system/process/background_program.py",
            "system/git.py",
            "system/process/child_process.py",
            "system/process/program.py",
            "system/process/process_table.py",
            "system/remote_git.py",
            "simulated/player.py",
        },
        "fcntl": {"store/files/lock.py"},
        "tempfile": set(),
        "shutil": {"store/migration.py"},
    }
    for module, files in owners.items():
        users = {str(path.relative_to(PACKAGE)) for path in MODULES if module in set(imported(path))}
        assert users == files, module


def test_generated_files_are_current():
    """The validators and the generated pages follow from their sources."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.generate", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
