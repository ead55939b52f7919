"""The structure of the package: the order of imports, its folders, and that nothing runs at import."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from support.paths import ROOT
from support.quick_cases import all_of

import sow

PACKAGE = Path(sow.__file__).parent
GENERATED = PACKAGE / "store" / "validators"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if GENERATED not in path.parents)
every_module = all_of("path", MODULES)

# The parts of the package, high to low. A part uses itself and parts that come later; a part is a module of the
# package, a package without sub-packages, a sub-package, or a module beside sub-packages.
ORDER = """
__main__
cli.main cli.help cli.completion cli.worker_commands cli.cluster cli.setup cli.serve cli.workflows cli.runs
cli.knowledge cli.plans cli.agents cli.project cli.tasks cli.open_cli cli.progress cli.output cli.context cli.command
cli
dashboard.server dashboard.data dashboard
cluster
engine.delivery engine.launch engine.workflows engine.runs engine engine.turns engine.checks engine.consent
reports gitwork forge config
executors.clis executors.library executors.probe executors.settings executors.write_rules
executors.plugins
executors.adapter executors
agents knowledge simulated
store.health store.migration store.state_commit store.note_updates store.inbox store.planning store.conflicts
store.state_watcher store.git_watch store.workflows store.file_kinds store.projects store.runs store.knowledge
store.user store.layout store.files store.formats store
plans.workflow_plan plans.write_back plans.reader plans.task_lists plans.markdown plans.yaml_status
plans.yaml_plan plans.settings plans.fields plans.field_reader plans.values
plans
system.remote_git system.git system.sandbox system.environment
system.checkout system.process system.channel system.caller
system.terminal system.plain_file system.clock system
domain.install domain.runs domain.workflows domain.inbox domain.checks domain.reviews
domain.plans domain.task domain.text domain.inputs domain.documents
domain errors record __init__
""".split()  # noqa: SIM905
RANK = {part: position for position, part in enumerate(ORDER)}
# What a package does not use, although it comes later.
NEVER = {
    "plans": {"system", "store"},
    "simulated": {"store", "plans", "system", "domain"},
    "agents": {"knowledge", "simulated"},
    "store": {"plans"},
    "knowledge": {"plans", "simulated"},
    "executors": {"knowledge", "plans", "simulated"},
}
# Names that domain modules may not use: files, clock, random numbers, environment and processes.
DOORS = {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint", "globals", "os", "sys"}
MOST_MODULES = 20  # of a folder
LEAST_LINES = 40
PURE_IMPORTS = {"__future__", "typing", "collections.abc", "bisect", "hashlib", "heapq", "json", "sow.errors"}
PURE_IMPORTS |= {"configparser", "dataclasses", "fnmatch", "re", "shlex", "tomllib", "unicodedata", "yaml"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree(path)))


def package_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    """Returns the dotted name of a module below `sow`, empty for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


BY_NAME = {name_of(path): path for path in MODULES}


def part_of(name: str) -> str:
    """Returns the part of a module: the longest matching name in the order."""
    while name and name not in RANK:
        name = name.rpartition(".")[0]
    return name


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Returns every import of a file: the module's full name, and whether only the type checker sees it."""
    checking = {
        id(node)
        for branch in tree(path).body
        if isinstance(branch, ast.If)
        for node in ast.walk(branch)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in checking) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            assert node.module
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                is_module = full.removeprefix("sow.") in BY_NAME
                yield (full if is_module else node.module), id(node) in checking


def targets(path: Path) -> Iterator[str]:
    """Returns the modules that a command table names as text, such as "runs.recheck:verify"."""
    if package_of(path) != "cli":
        return
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            module, colon, function = node.value.partition(":")
            if colon and function.isidentifier() and f"cli.{module}" in BY_NAME:
                yield f"cli.{module}"


def used_modules(path: Path, *, types: bool) -> set[str]:
    """Returns the modules of sow that a file uses, as names below `sow`; with `types` also those for type checks."""
    names = {name for name, checking in imports(path) if name.startswith("sow.") and (types or not checking)}
    result = {name.removeprefix("sow.") for name in names if not name.startswith("sow.store.validators")}
    return result.union(targets(path)) - {name_of(path)}


def functions(path: Path) -> Iterator[tuple[str, Function]]:
    for node in nodes(path):
        if isinstance(node, Function):
            yield f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}", node


def test_every_module_belongs_to_a_part():
    """A new module or sub-package has its place in the order, and every name in the order exists."""
    parts = {part_of(name) for name in BY_NAME if name}
    assert "" not in parts
    packages = {name for name in ORDER if (PACKAGE / name.replace(".", "/")).is_dir()}
    assert set(ORDER) - parts - packages == {"__init__"}


@every_module
def test_imports_point_one_way(path: Path):
    """A module uses its own part and later parts, at the top of a file and inside a function.

    Imports for the type checker point one way between packages; within a package they are free.
    """
    own, package = part_of(name_of(path)), package_of(path)
    for name in used_modules(path, types=False):
        assert RANK[part_of(name)] >= RANK[own], f"{name_of(path)} uses {name}"
    for name in used_modules(path, types=True):
        other = name.split(".")[0]
        assert other == package or RANK[part_of(name)] >= RANK[own], f"{name_of(path)} uses {name}"
        assert other not in NEVER.get(package, ()), f"{name_of(path)} uses {name}"


def test_no_import_closes_a_circle():
    """No module uses itself through others, also not by an import inside a function."""
    uses = {name: used_modules(path, types=False) & BY_NAME.keys() for name, path in BY_NAME.items()}
    while leaves := {name for name, used in uses.items() if not used}:
        uses = {name: used - leaves for name, used in uses.items() if name not in leaves}
    assert uses == {}


def test_folders_are_small():
    """A folder has at most twenty modules."""
    counts = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    assert {str(folder): count for folder, count in counts.items() if count > MOST_MODULES} == {}


def test_no_module_is_a_fragment():
    """A module with fewer than forty lines has more than one user, or a table names it."""
    users = Counter(name for path in MODULES for name in used_modules(path, types=True))
    small = {
        name
        for name, path in BY_NAME.items()
        if path.name != "__init__.py" and len(path.read_text().splitlines()) < LEAST_LINES and users[name] == 1
    }
    assert small == set()


def test_the_test_tree_follows_the_package():
    """A test folder that is named like a package has only folders that the package has."""
    tests = ROOT / "tests"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    ours = {folder for folder in folders if folder.parts and (PACKAGE / folder.parts[0]).is_dir()}
    assert len(ours) > 30
    assert [str(folder) for folder in sorted(ours) if not (PACKAGE / folder).is_dir()] == []


def test_no_class_name_is_used_twice():
    """One name means one thing."""
    names = Counter(node.name for path in MODULES for node in nodes(path) if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_module_is_named_like_the_standard_library():
    """Nobody has to ask which `json` or `types` is meant."""
    assert [name for name in BY_NAME if name.rpartition(".")[2] in sys.stdlib_module_names - {"__main__"}] == []


def test_imports_name_no_module_in_a_text():
    """A computed name imports a command group, the function of a command, a validator or an adapter."""
    result = []
    for path in MODULES:
        for node in nodes(path):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
                assert isinstance(node.args[0], ast.JoinedStr)
                start = node.args[0].values[0]
                assert isinstance(start, ast.Constant)
                result.append((package_of(path), start.value))
    assert set(result) == {
        ("cli", "sow.cli."),
        ("store", "sow.store.validators."),
        ("executors", "sow.executors."),
        ("executors", "sow.executors.clis."),
    }


@all_of("path", [module for module in MODULES if package_of(module) == "domain"])
def test_the_rules_are_pure(path: Path):
    """The rules import only rules and types, and use no function that reaches the outside."""
    outside = {name for name, _ in imports(path) if not name.startswith("sow.")}
    assert outside <= PURE_IMPORTS
    names = {node.id for node in nodes(path) if isinstance(node, ast.Name)}
    assert names & DOORS == set()


@every_module
def test_nothing_runs_at_import(path: Path):
    """A module consists of imports, definitions and tables: no loop, and no call without a use of its value."""
    allowed = (
        ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Assign, ast.AnnAssign,
        ast.AugAssign, ast.If,
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


def test_every_module_has_a_docstring():
    """The first line of every module is one sentence about what the module does."""
    first_lines = {name_of(path): (ast.get_docstring(tree(path)) or "").split("\n")[0] for path in MODULES}
    vague = ("What ", "Who ", "Where ", "How ", "Let ")
    assert [name for name, line in first_lines.items() if not line.endswith((".", ":")) or line.startswith(vague)] == []


def test_docstrings_have_one_form():
    """The docstring of a function says "Returns the task", and never "Return the task"."""
    docstrings = ((name, ast.get_docstring(node)) for path in MODULES for name, node in functions(path))
    first_words = {name: docstring.split()[0] for name, docstring in docstrings if docstring}
    existing = set(first_words.values())
    others = {name: (f"{word}s", f"{word}es", f"{word[:-1]}ies") for name, word in first_words.items()}
    assert [name for name, forms in others.items() if not existing.isdisjoint(forms)] == []


@every_module
def test_variables_have_specific_names(path: Path):
    """No variable has a name that fits everything: a task is `task`, and a list of paths is `paths`."""
    names = {node.id: node.lineno for node in nodes(path) if isinstance(node, ast.Name)}
    assert [name for name in ("each", "found", "said", "told") if name in names] == []


def test_every_function_has_a_return_type():
    """Every function has the type of what it returns."""
    assert [name for path in MODULES for name, node in functions(path) if node.returns is None] == []


def comments(path: Path) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}


@every_module
def test_a_broad_except_gives_its_reason(path: Path):
    """A broad `except` has a reason on its line, and none is bare."""
    reasons = comments(path)
    for node in nodes(path):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"line {node.lineno}"
            names = {node.id for node in ast.walk(node.type) if isinstance(node, ast.Name)}
            if names & {"Exception", "BaseException"}:
                assert len(reasons.get(node.lineno, "")) > 10, f"line {node.lineno}"


def test_broad_excepts_are_rare():
    """There is less than one broad `except` in 2,000 lines."""
    lines = sum(len(path.read_text().splitlines()) for path in MODULES)
    broad = sum(path.read_text().count("except Exception") for path in MODULES)
    assert broad / lines < 0.5 / 1000


def test_outside_calls_are_in_one_place():
    """Programs are started, files locked and trees copied in one place each."""
    owners = {
        "subprocess": {
            "system/git.py",
            "system/process/child_process.py",
            "system/process/program.py",
            "system/caller.py",
            "system/remote_git.py",
            "simulated/player.py",
        },
        "fcntl": {"store/files/disk.py"},
        "tempfile": set(),
        "shutil": {"store/migration.py"},
    }
    for module, files in owners.items():
        users = {str(path.relative_to(PACKAGE)) for path in MODULES if module in {name for name, _ in imports(path)}}
        assert users == files, module


def test_generated_files_are_current():
    """The validators, the types and the generated pages follow from their sources."""
    result = subprocess.run(
        [sys.executable, "-m", "tools.generate", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert (result.returncode, result.stderr) == (0, "")
