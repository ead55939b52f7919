"""S2: no shell, eval or pickle, and processes start in one place only, by the syntax tree of the package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.quick_cases import all_of

import sow

PACKAGE = Path(sow.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
FORBIDDEN_CALLS = {
    *("eval", "exec", "compile", "__import__", "breakpoint", "input"),
    *("os.system", "os.popen", "os.startfile", "pty.spawn", "subprocess.getoutput", "subprocess.getstatusoutput"),
    *("yaml.unsafe_load", "yaml.full_load", "yaml.unsafe_load_all", "yaml.full_load_all", "yaml.load_all"),
}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "ctypes", "code", "codeop", "pty", "runpy", "telnetlib"}
PROCESS_MODULES = {"subprocess", "multiprocessing", "asyncio.subprocess", "_posixsubprocess"}
PROCESS_CALLS = (
    "os.exec",
    "os.spawn",
    "os.posix_spawn",
    "os.fork",
    "os.kill",
    "os.killpg",
    "asyncio.create_subprocess",
)
SAFE_LOADERS = {"SafeLoader", "CSafeLoader", "yaml.SafeLoader", "yaml.CSafeLoader", "yaml.CBaseLoader"}


def complaints(text: str, *, in_system: bool) -> list[str]:
    """Returns the forbidden calls of a module."""
    return [f"line {line}: {problem}" for line, problem in _walk(ast.parse(text), in_system)]


def _walk(tree: ast.Module, in_system: bool) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name in _imported(node):
                if name.split(".")[0] in FORBIDDEN_MODULES:
                    yield node.lineno, f"imports {name}"
                if not in_system and (name in PROCESS_MODULES or name.split(".")[0] in PROCESS_MODULES):
                    yield node.lineno, f"imports {name} outside of sow.system"
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, problem) for problem in _of_call(node, in_system))


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    return [node.module or "", *(f"{node.module}.{name.name}" for name in node.names)]


def _of_call(node: ast.Call, in_system: bool) -> Iterator[str]:
    name = ast.unparse(node.func)
    values = {keyword.arg: keyword.value for keyword in node.keywords}
    if name in FORBIDDEN_CALLS:
        yield f"calls {name}"
    if not in_system and name.startswith(PROCESS_CALLS):
        yield f"calls {name} outside of sow.system"
    if "shell" in values and ast.unparse(values["shell"]) != "False":
        yield "asks for a shell"
    if "preexec_fn" in values:
        yield "runs code between fork and exec"
    if name in ("yaml.load", "yaml.parse", "yaml.scan", "yaml.compose"):
        loader = ast.unparse(values.get("Loader") or (node.args[1] if len(node.args) > 1 else ast.Constant(None)))
        if loader not in SAFE_LOADERS:
            yield f"{name} without a safe loader"
    if name.endswith("import_module") and not ast.unparse(node.args[0]).lstrip("f").strip("'\"").startswith("sow."):
        yield "imports a module by a name that is not ours"


def test_the_whole_package_is_searched():
    """The search covers the whole package, including generated validators."""
    names = {path.relative_to(PACKAGE).as_posix() for path in MODULES}
    assert {"cli/main.py", "store/formats/yaml_text.py", "system/git.py", "store/validators/task.py"} <= names


# System calls that Python does not have.
ALLOWED = {
    "system/process/process_tree.py": "imports ctypes",
    "system/process/box_limits.py": "imports ctypes",
}


@all_of("path", MODULES)
def test_processes_start_in_sow_system_only(path):
    """No module evaluates text, unpickles, uses a shell, or starts a process outside of sow.system."""
    room = path.relative_to(PACKAGE).parts[0]
    result = complaints(
        path.read_text(), in_system=room in ("system", "simulated")
    )  # the second is a program of its own
    allowed = ALLOWED.get(path.relative_to(PACKAGE).as_posix(), "\n")
    assert [text for text in result if not text.endswith(allowed)] == []


BAD = [
    "eval('1')",
    "exec(text)",
    "__import__('os')",
    "import os\nos.system('ls')",
    "import os\nos.popen('ls')",
    "import subprocess\nsubprocess.run('ls', shell=True)",
    "import subprocess\nsubprocess.run('ls', shell=wanted)",
    "import subprocess\nsubprocess.Popen(['ls'], preexec_fn=os.setsid)",
    "import subprocess\nsubprocess.getoutput('ls')",
    "import pickle",
    "from marshal import loads",
    "import yaml\nyaml.load(text)",
    "import yaml\nyaml.load(text, yaml.Loader)",
    "import yaml\nyaml.load(text, Loader=yaml.FullLoader)",
    "import yaml\nyaml.unsafe_load(text)",
    "import yaml\nyaml.parse(text)",
    "from importlib import import_module\nimport_module(name)",
    "import importlib\nimportlib.import_module(f'{name}.x')",
]
BAD_OUTSIDE = [
    "import subprocess",
    "from subprocess import run",
    "import multiprocessing.pool",
    "import os\nos.fork()",
    "import os\nos.execvp('ls', ['ls'])",
    "import os\nos.posix_spawn('ls', [], {})",
    "import os\nos.kill(1, 9)",
]


@all_of("text", BAD)
def test_forbidden_calls_are_found(text):
    """The search finds each forbidden call, even in sow.system."""
    assert complaints(text, in_system=True)


@pytest.mark.parametrize("text", BAD_OUTSIDE)
def test_a_process_outside_sow_system_is_found(text):
    """Calls that only sow.system may make are found elsewhere, and allowed there."""
    assert complaints(text, in_system=False)
    assert not complaints(text, in_system=True)
