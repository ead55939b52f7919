"""R5 has no hole: whatever changes something outside of the process is a boundary at which a test can end it."""

from __future__ import annotations

import ast

import pytest
from support.paths import ROOT

PACKAGE = ROOT / "src/sow"
PACKAGES = ("engine", "reports", "gitwork", "executors", "agents", "knowledge", "store", "system")
MODULES = sorted(path for name in PACKAGES for path in (PACKAGE / name).rglob("*.py") if "validators" not in path.parts)
CHANGES = {
    "os": ("chmod", "ftruncate", "link", "makedirs", "mkdir", "pwrite", "removedirs", "rename", "replace", "rmdir",
           "symlink", "truncate", "unlink"),
    "shutil": ("copy", "copy2", "copyfile", "copytree", "move", "rmtree"),
    "subprocess": ("Popen", "call", "check_call", "check_output", "run"),
}  # fmt: skip
COUNTS = {"crash_point", "_cross", "crash_counted"}
EXCEPTIONS = {
    "system/crash_points.py": ["cross"],  # the counter's own line
    "system/process/channel_server.py": ["_open_streams"],  # streams that exist already
    "system/process_table.py": ["set_process_name"],  # a process's name ends with it
}
WRITING = set("wax+")


def opens_to_write(call: ast.Call) -> bool:
    """Whether this is `open(…)` with a mode that changes the file."""
    modes = [each.value for each in [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
             if isinstance(each, ast.Constant)]  # fmt: skip
    return isinstance(call.func, ast.Name) and call.func.id == "open" and any(WRITING & set(mode) for mode in modes)


def changes(call: ast.Call) -> bool:
    """Whether a call reaches the outside by itself, and not through one of our doors."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.attr in CHANGES.get(function.value.id, ())
    return opens_to_write(call)


def uncounted(tree: ast.Module) -> list[str]:
    """The functions that change something and cross no boundary."""
    found = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            names = {getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls}
            if any(changes(call) for call in calls) and not names & COUNTS:
                found.append(function.name)
    return found


def test_every_change_is_counted() -> None:
    """A function that writes, moves, removes or starts something says so to the counter of boundaries."""
    found = {str(path.relative_to(PACKAGE)): uncounted(ast.parse(path.read_text())) for path in MODULES}
    assert {path: names for path, names in found.items() if names} == EXCEPTIONS
    assert len(found) > 100


@pytest.mark.parametrize(
    "line", ["os.unlink(path)", "open(path, 'w')", "open(path, mode='ab')", "subprocess.run(words)", "os.mkdir(path)"]
)
def test_the_search_would_find_one(line: str) -> None:
    """A function with such a line and no count is named, and with a count it is not."""
    assert uncounted(ast.parse(f"def f(path):\n    {line}\n")) == ["f"]
    assert uncounted(ast.parse(f"def f(path):\n    crash_points.crash_point()\n    {line}\n")) == []
