"""R5: every change outside of the process is a crash point at which a test can kill it."""

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
    "system/clock.py": ["cross"],  # the counter's own line
    "system/process/channel_server.py": ["_open_streams"],  # streams that exist already
    "system/caller.py": ["set_process_name"],  # a process's name ends with it
}
WRITING = set("wax+")


def opens_to_write(call: ast.Call) -> bool:
    """Tells whether this is `open(…)` with a mode that changes the file."""
    arguments = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    modes = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
    return isinstance(call.func, ast.Name) and call.func.id == "open" and any(WRITING & set(mode) for mode in modes)


def changes(call: ast.Call) -> bool:
    """Tells whether a call changes something outside the process directly."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.attr in CHANGES.get(function.value.id, ())
    return opens_to_write(call)


def uncounted(tree: ast.Module) -> list[str]:
    """Returns the functions that change something without a crash point."""
    result = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            names = {getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls}
            if any(changes(call) for call in calls) and not names & COUNTS:
                result.append(function.name)
    return result


def test_every_change_is_counted() -> None:
    """A function that writes, moves, removes or starts something has a crash point."""
    result = {str(path.relative_to(PACKAGE)): uncounted(ast.parse(path.read_text())) for path in MODULES}
    assert {path: names for path, names in result.items() if names} == EXCEPTIONS
    assert len(result) > 100


@pytest.mark.parametrize(
    "line", ["os.unlink(path)", "open(path, 'w')", "open(path, mode='ab')", "subprocess.run(words)", "os.mkdir(path)"]
)
def test_an_uncounted_change_is_found(line: str) -> None:
    """A function with such a line and no crash point is named; with one it is not."""
    assert uncounted(ast.parse(f"def f(path):\n    {line}\n")) == ["f"]
    assert uncounted(ast.parse(f"def f(path):\n    crash_points.crash_point()\n    {line}\n")) == []
