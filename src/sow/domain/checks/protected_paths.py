"""Finds changes that can weaken the evidence for a task: runner configuration, CI files, tests and protected paths."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from sow.domain.documents.state import Check, Task
from sow.domain.inputs import pattern_problem

MOST_NAMED = 8  # paths in one concern
MOST_PATTERNS = 500  # patterns from a task's text
# Files that configure a test runner, in any folder.
RUNNER_FILES = (
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "noxfile.py", "nose.cfg",
    "jest.config.*", "jest.setup.*", "jest-*.json", "vitest.config.*", "vitest.workspace.*", "vitest.setup.*",
    ".mocharc*", "mocha.opts", "karma.conf.*", "playwright.config.*", "cypress.config.*", "ava.config.*",
    "nextest.toml", "go.work", "phpunit.xml*", "phpunit.dist.xml", ".rspec", ".rspec-local", "spec_helper.rb",
    "rails_helper.rb", "sitecustomize.py", "usercustomize.py", "*.pth", ".npmrc", ".testr.conf", "setupTests.*",
)  # fmt: skip
RUNNER_PATHS = (".cargo/config.toml", ".cargo/config", "node_modules/**", "vendor/bin/**")
# Python imports a file or folder with the name of a runner's module instead of the runner.
SHADOWS = ("pytest", "_pytest", "unittest", "xdist", "pluggy", "nose", "tox", "nox", "doctest")
CI = (
    ".github/workflows/**", ".github/actions/**", ".gitlab-ci.yml", ".gitlab/ci/**", ".circleci/**",
    "azure-pipelines*.yml", "azure-pipelines*.yaml", ".azure-pipelines/**", ".pipelines/**", "Jenkinsfile*",
    ".travis.yml", "appveyor.yml", ".appveyor.yml", "bitbucket-pipelines.yml", ".drone.yml", ".woodpecker.yml",
    ".woodpecker/**", ".buildkite/**", ".cirrus.yml", ".cirrus.star", ".semaphore/**", ".teamcity/**", ".ci/**",
    ".forgejo/workflows/**", ".gitea/workflows/**", "cloudbuild.yaml", "buildspec.yml", ".pre-commit-config.yaml",
)  # fmt: skip
TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec", "specs", "e2e", "testdata", "__snapshots__"})
TEST_FILES = (
    "test_*.py", "*_test.py", "tests.py", "*_test.go", "*.test.[cm]?[jt]s", "*.test.[jt]s", "*.test.[jt]sx",
    "*.spec.[cm]?[jt]s", "*.spec.[jt]s", "*.spec.[jt]sx", "*_spec.rb", "*_test.rb", "test_*.rb", "*Test.php",
    "*Test.java", "*Tests.java", "*IT.java", "*Test.kt", "*Tests.cs", "*Test.cs", "*_test.rs", "*_test.exs",
)  # fmt: skip
MAKEFILES = ("Makefile", "makefile", "GNUmakefile", "*.mk")
JUSTFILES = ("justfile", ".justfile", "Justfile")
SECTIONS = ("pyproject.toml", "setup.cfg", "package.json", "Cargo.toml", "composer.json", "vite.config.*")
JS_RUNNERS = ("jest", "mocha", "vitest", "ava", "tap", "c8", "nyc")
SCRIPT_FOLDERS = frozenset({"scripts", "script", "tools", "ci", "bin", "hack"})
INTERPRETERS = frozenset({"python", "python3", "node", "ruby", "perl", "php", "bash", "sh", "zsh", "dash"})
SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
PACKAGE_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun", "composer"})
TASK_RUNNERS = {"poe": "poe", "task": "taskipy", "pdm": "pdm", "hatch": "hatch"}  # program: its table in pyproject.toml
SKIP = re.compile(
    r"mark\.(?:skip|xfail)|\bpytest\.(?:skip|xfail|exit)\b|importorskip|unittest\.(?:skip|expectedFailure)"
    r"|\.skipTest\(|@skip|SkipTest|\b(?:it|test|describe|context)\.(?:skip|only|todo)\b|\bx(?:it|test|describe)\("
    r"|\b[tb]\.Skip(?:f|Now)?\(|#\[ignore|markTest(?:Skipped|Incomplete)|@Disabled|@Ignore|\bpending\b"
    r"|\bos\._exit\(|\bsys\.exit\(|process\.exit\(|collect_ignore|__test__"
)
TEST = re.compile(
    r"^\s*(?:async )?def test|^\s*func (?:Test|Benchmark|Fuzz)|\b(?:it|test)\(|#\[(?:\w+::)?test\]|function test\w*\("
    r"|^\s*it ['\"]|@Test\b",
    re.MULTILINE,
)
ASSERTION = re.compile(r"\bassert|\bexpect\(|\bt\.(?:Error|Fatal)|\bshould\b|\brequire\.\w+\(")
SENTENCE = re.compile(r"\n|[.!?] ")
# A sentence that forbids something, or says what must pass, does not ask for a change of the paths in it.
NO_REQUEST = re.compile(
    r"\b(?:not|never|no|without|unchanged|avoid|leave|keep|pass|passes|passing|green)\b|n't\b", re.IGNORECASE
)
WORD = re.compile(r"[^\s`'\"()<>,;|&=]+")


@dataclass
class PathChange:
    """A path that differs between two commits. `before` and `after` are read only if `needs_text` asks for them."""

    path: str
    status: str  # added, modified or deleted; a renamed file is deleted and added
    before: str | None = None
    after: str | None = None

    @property
    def label(self) -> str:
        return f"{self.path} ({self.status})"


def violations(changes: Iterable[PathChange], patterns: Sequence[str]) -> list[PathChange]:
    """Returns the changes of protected paths."""
    return [change for change in changes if any(matches(pattern, change.path) for pattern in patterns)]


def matches(pattern: str, path: str) -> bool:
    """Returns whether a path, or a folder that contains it, matches a pattern.

    `*` and `?` match within one folder, `**` matches any number of folders. A pattern without a slash matches in every
    folder.
    """
    pattern_parts = pattern.rstrip("/").split("/")
    if len(pattern_parts) == 1 and pattern_parts != ["**"]:
        return any(fnmatchcase(part, pattern_parts[0]) for part in path.split("/"))
    return match_parts([*pattern_parts, "**"], path.split("/"))


def match_parts(pattern_parts: Sequence[str], parts: Sequence[str]) -> bool:
    """Matches part by part. After a mismatch only the last `**` takes one more part, so the time is bounded."""
    pattern_index = part_index = 0
    star, star_end = -1, 0
    while part_index < len(parts):  # `**` also matches no part
        if pattern_index < len(pattern_parts) and pattern_parts[pattern_index] == "**":
            star, star_end = pattern_index, part_index
            pattern_index += 1
        elif pattern_index < len(pattern_parts) and fnmatchcase(parts[part_index], pattern_parts[pattern_index]):
            pattern_index += 1
            part_index += 1
        elif star >= 0:
            star_end += 1
            pattern_index, part_index = star + 1, star_end
        else:
            return False
    while pattern_index < len(pattern_parts) and pattern_parts[pattern_index] == "**":
        pattern_index += 1
    return pattern_index == len(pattern_parts)


def needs_text(path: str) -> bool:
    """Returns whether the contents of a changed file decide if the change matters."""
    name = path.rpartition("/")[2]
    return is_test(path) or any(fnmatchcase(name, pattern) for pattern in (*SECTIONS, *MAKEFILES, *JUSTFILES))


def is_test(path: str) -> bool:
    """Returns whether a path looks like a test or test data."""
    *folders, name = path.split("/")
    if any(folder.lower() in TEST_FOLDERS for folder in folders):
        return True
    return any(fnmatchcase(name, pattern.replace("[cm]?", mark)) for pattern in TEST_FILES for mark in ("c", "m"))


def concerns(changes: Sequence[PathChange], *, task: Task, description: str) -> list[str]:
    """Returns one concern for each kind of change that the task does not ask for."""
    task_paths = TaskPaths(task, description)
    check_calls = CheckCalls(task.get("checks", ()))
    runner: list[str] = []
    ci: list[str] = []
    tests: list[str] = []
    weaker: list[str] = []
    for change in changes:
        if _is_ci(change.path):
            ci += [] if task_paths.names(change.path) else [change.label]
        elif (why := _runner_change(change, check_calls)) is not None:
            runner += [] if task_paths.names(change.path) else [f"{change.path} ({why or change.status})"]
        elif change.status != "added" and is_test(change.path):
            if not task_paths.names(change.path):
                tests.append(change.label)
            elif loss := _weakening(change):
                weaker.append(f"{change.path} ({loss})")
    groups = (
        ("it changes how tests are run, which the task does not ask for", runner),
        ("it changes CI files, which the task does not ask for", ci),
        ("it changes tests that existed before, which the task does not ask for", tests),
        ("it weakens tests that existed before", weaker),
    )
    return [f"{message}: {join_paths(paths)}" for message, paths in groups if paths]


def join_paths(paths: Sequence[str]) -> str:
    """Joins paths into one line."""
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(paths[:MOST_NAMED]) + more


class TaskPaths:
    """The paths that a task names in its files, description and criteria. Commands of checks name none."""

    def __init__(self, task: Task, description: str) -> None:
        text = "\n".join([task["name"], description, *task.get("criteria", ())])
        for check in sorted(task.get("checks", ()), key=lambda entry: -len(entry["command"])):
            text = text.replace(check["command"], " ")
        prose = (part for part in SENTENCE.split(text) if not NO_REQUEST.search(part))
        listed = {_as_path(path) for path in task.get("files", ())}
        prose_words = {_as_path(word) for part in prose for word in WORD.findall(part)} - set(task.get("protected", ()))
        self.words = {word for word in prose_words | listed if word}
        self.patterns = [
            word
            for word in self.words
            if ("/" in word or "*" in word or word in listed) and word.strip("*/.") and not pattern_problem(word)
        ][:MOST_PATTERNS]

    def names(self, path: str) -> bool:
        """Returns whether a task names this path, its file name, a folder above it, or a pattern that matches it."""
        return (
            path in self.words or path.rpartition("/")[2] in self.words or any(matches(p, path) for p in self.patterns)
        )


def _as_path(word: str) -> str:
    """Turns a word of prose into a path: without `./`, punctuation at its end, or a line number."""
    bare = word.strip("*_").rstrip(".:!?") if not word.endswith("**") else word
    return bare.removeprefix("./")


class CheckCalls:
    """The targets, scripts and files that the checks of a task call."""

    def __init__(self, checks: Iterable[Check]) -> None:
        self.words: set[str] = set()
        self.make: set[str] | None = None
        self.just: set[str] | None = None
        self.scripts: set[str] = set()
        self.files: set[str] = set()
        for check in checks:
            for part in re.split(r"&&|\|\||[;|\n&]", check["command"]):
                self._command(part.split())

    def _command(self, tokens: list[str]) -> None:
        tokens = [word.strip("'\"()") for word in tokens]
        while tokens and ("=" in tokens[0] or tokens[0] in ("env", "time", "exec", "command", "nice")):
            tokens = tokens[1:]
        if not tokens:
            return
        program, rest = tokens[0].rpartition("/")[2], [token for token in tokens[1:] if not token.startswith("-")]
        self.words |= {program, *rest[:2]}
        if program in ("make", "gmake"):
            self.make = (self.make or set()) | ({target for target in rest if "=" not in target} or {""})
        elif program == "just":
            self.just = (self.just or set()) | (set(rest[:1]) or {""})
        elif program in PACKAGE_RUNNERS:
            self.scripts |= {*rest, *(["test"] if "t" in rest else [])} - {"run", "run-script", "t"}
        files = [tokens[0]]
        if program in INTERPRETERS:
            files += [path for path in rest[:1] if program in SHELLS or _is_script(path)]
        self.files |= {path.removeprefix("./") for path in files}


def _is_script(path: str) -> bool:
    """Returns whether a program of the repository that a check calls is a tool rather than the work itself."""
    *folders, name = path.removeprefix("./").split("/")
    return any(folder in SCRIPT_FOLDERS for folder in folders) or "test" in name or "check" in name


def _is_ci(path: str) -> bool:
    return any(
        matches(pattern, path) if "/" in pattern else fnmatchcase(path.rpartition("/")[2], pattern) for pattern in CI
    )


def _runner_change(change: PathChange, called: CheckCalls) -> str | None:
    """Returns the changed part of a runner's configuration ('' for all of it), or None."""
    path, name = change.path, change.path.rpartition("/")[2]
    if any(fnmatchcase(name, pattern) for pattern in RUNNER_FILES) or any(
        _below(pattern, path) for pattern in RUNNER_PATHS
    ):
        return ""
    if path in called.files and change.status != "added":
        return "a check runs it"
    parts = path.removeprefix("src/").split("/")
    if change.status == "added" and parts[0].removesuffix(".py") in SHADOWS and path.endswith(".py"):
        return "it takes the place of the runner's own module"
    if change.status == "added" and path in (called.make or ()):
        return "it has the name of a target that a check makes"
    for patterns, read in READERS:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return _section_change(change, called, read)
    return None


def _below(pattern: str, path: str) -> bool:
    return match_parts(["**", *pattern.split("/")], path.split("/"))


def _section_change(
    change: PathChange, called: CheckCalls, read: Callable[[str, CheckCalls], Mapping[str, Any]]
) -> str | None:
    """Returns the names of the sections that differ, or '' if a file cannot be parsed and differs."""
    if change.before is None and change.after is None:
        return ""
    try:
        before, after = read(change.before or "", called), read(change.after or "", called)
    except (ValueError, configparser.Error, AttributeError, TypeError, RecursionError):
        return "" if change.before != change.after else None
    different = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return ", ".join(different[:MOST_NAMED]) if different else None


def _pyproject(text: str, called: CheckCalls) -> Mapping[str, Any]:
    data = tomllib.loads(text)
    tool = data.get("tool", {})
    sections = {f"tool.{key}": value for key, value in tool.items() if key in ("pytest", "tox", "nox")}
    sections |= {f"tool.{key}": tool[key] for word, key in TASK_RUNNERS.items() if word in called.words and key in tool}
    plugins = data.get("project", {}).get("entry-points", {}).get("pytest11")
    plugins = plugins or tool.get("poetry", {}).get("plugins", {}).get("pytest11")
    return sections | ({"entry-points.pytest11": plugins} if plugins else {})


def _setup_cfg(text: str, called: CheckCalls) -> Mapping[str, Any]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    runner_sections = ("tool:pytest", "pytest", "aliases", "unittest", "nosetests")
    sections = {
        name: dict(parser[name]) for name in parser.sections() if name in runner_sections or name.startswith("testenv")
    }
    plugins = parser.get("options.entry_points", "pytest11", fallback="")
    return sections | ({"entry_points.pytest11": plugins} if plugins else {})


def _package_json(text: str, called: CheckCalls) -> Mapping[str, Any]:
    data = json.loads(text) if text.strip() else {}
    scripts = data.get("scripts", {})
    sections = {key: data[key] for key in JS_RUNNERS if key in data}
    pending = sorted(called.scripts)
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        for script in (f"pre{name}", name, f"post{name}"):
            if script in scripts:
                sections[f"scripts.{script}"] = scripts[script]
                pending += [word for word in str(scripts[script]).split() if word in scripts]
    return sections


def _composer(text: str, called: CheckCalls) -> Mapping[str, Any]:
    scripts = (json.loads(text) if text.strip() else {}).get("scripts", {})
    return {"scripts": scripts} if "composer" in called.words and scripts else {}


def _cargo(text: str, called: CheckCalls) -> Mapping[str, Any]:
    data = tomllib.loads(text)
    lib, package = data.get("lib", {}), data.get("package", {})
    sections = {f"lib.{key}": lib[key] for key in ("test", "doctest", "harness") if key in lib}
    sections |= {f"package.{key}": package[key] for key in ("autotests",) if key in package}
    return sections | ({"test": data["test"]} if "test" in data else {})


def _targets(text: str, targets: set[str] | None) -> Mapping[str, Any]:
    """Returns the rules that the targets need, and all lines outside of rules; nothing if no target is called."""
    if targets is None:
        return {}
    rules, other_lines = _rules(text)
    needed: dict[str, Any] = {"variables": other_lines} if other_lines else {}
    pending = [target or _first_target(rules) for target in targets]
    phony = {name for head, _ in rules.get(".PHONY", ()) for name in head}
    while pending:
        name = pending.pop()
        if name in rules and name not in needed:
            needed[name] = (name in phony, rules[name])
            pending += [dependency for head, _ in rules[name] for dependency in head]
    return needed


def _first_target(rules: Mapping[str, Any]) -> str:
    return next((name for name in rules if not name.startswith(".")), "")


def _rules(text: str) -> tuple[dict[str, list[tuple[list[str], list[str]]]], list[str]]:
    """Returns the rules of a makefile or justfile by target, with dependencies and commands, and all other lines."""
    rules: dict[str, list[tuple[list[str], list[str]]]] = {}
    other_lines: list[str] = []
    body: list[str] | None = None
    for line in text.replace("\\\n", " ").split("\n"):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        head, colon, needs = line.partition(":")
        if line[0] in " \t" and body is not None:
            body.append(bare)
        elif colon and not needs.startswith("=") and "=" not in head and head.strip():
            body = []
            dependencies = needs.lstrip(":").partition(";")
            body += [dependencies[2].strip()] if dependencies[2] else []
            names = head.split() if "$" not in head else [head]
            for name in names:
                rules.setdefault(name.lstrip("@"), []).append((dependencies[0].split(), body))
        else:
            body = None
            other_lines.append(bare)
    return rules, other_lines


READERS: tuple[tuple[tuple[str, ...], Callable[[str, CheckCalls], Mapping[str, Any]]], ...] = (
    (("pyproject.toml",), _pyproject),
    (("setup.cfg",), _setup_cfg),
    (("package.json",), _package_json),
    (("composer.json",), _composer),
    (("Cargo.toml",), _cargo),
    (("vite.config.*",), lambda text, called: {"test": text} if "test" in text else {}),
    (MAKEFILES, lambda text, called: _targets(text, called.make)),
    (JUSTFILES, lambda text, called: _targets(text, called.just)),
)


def _weakening(change: PathChange) -> str:
    """Returns how a test proves less than before, or ''."""
    if change.status == "deleted":
        return "deleted"
    if change.before is None or change.after is None:
        return ""
    before, after = change.before, change.after
    if _count(SKIP, after) > _count(SKIP, before):
        return "skips more"
    if _count(TEST, after) < _count(TEST, before):
        return "has fewer tests"
    return "has fewer assertions" if _count(ASSERTION, after) < _count(ASSERTION, before) else ""


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in pattern.finditer(text))
