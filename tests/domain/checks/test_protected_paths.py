"""Which changes weaken the evidence for a task, and which of them the task asked for."""

from __future__ import annotations

from typing import Any

import pytest
from support.quick_cases import all_of

from sow.domain.checks.protected_paths import PathChange, concerns, is_test, matches, violations
from sow.domain.inputs import pattern_problem

RUN = "it changes how tests are run"
CI = "it changes CI files"
TESTS = "it changes tests that existed before"
WEAKER = "it weakens tests that existed before"


def task(*checks: str, files: tuple[str, ...] = (), criteria: tuple[str, ...] = (), **options: Any) -> Any:
    listed = [{"kind": "test", "command": command} for command in checks]
    return {"name": "Add login", "files": list(files), "criteria": list(criteria), "checks": listed, **options}


def found(*changes: PathChange, given: Any = None, text: str = "Add a form.") -> list[str]:
    """Returns the kinds of concerns about some changes."""
    output = concerns(changes, task=given or task("pytest"), description=text)
    return [text.partition(",")[0].partition(":")[0] for text in output]


@all_of(
    ("pattern", "path", "fits"),
    [
        ("tests/**", "tests/a.py", True),
        ("tests/**", "tests/unit/a.py", True),
        ("tests/**", "src/tests/a.py", False),
        ("tests/", "tests/unit/a.py", True),
        ("tests", "src/tests/a.py", True),
        ("ci", "cider/a", False),
        ("*.lock", "a/b/poetry.lock", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/b/a.py", False),
        ("src/**/a.py", "src/a.py", True),
        ("src/**/a.py", "src/b/c/a.py", True),
        ("src/**/a.py", "src/b/c/b.py", False),
        ("src/[ab].py", "src/b.py", True),
        ("src/?.py", "src/ab.py", False),
        ("src/lib", "src/lib/x/y.py", True),
        ("src/lib", "src/library.py", False),
        ("**/x/**/y", "a/x/b/x/c/y", True),
        ("Makefile", "sub/Makefile", True),
    ],
)
def test_a_pattern_matches_a_path(pattern: str, path: str, fits: bool) -> None:
    """A star stays in a folder, two stars span folders, a folder matches all below it, a bare name matches anywhere."""
    assert pattern_problem(pattern) == ""
    assert matches(pattern, path) is fits


@all_of("pattern", ["", " ", "/etc", "../x", "a/../b", "a//b", "./a", "a\\b", "!a", "a[b", "a**b", "~/x", "a\nb"])
def test_an_invalid_pattern_is_refused(pattern: str) -> None:
    """A pattern that can never match is an error."""
    assert pattern_problem(pattern)


def test_many_stars_are_matched_in_bounded_time() -> None:
    """A pattern of fifty double stars and a deep path that nearly fits."""
    assert not matches("/".join(["**", "a"] * 50) + "/b", "/".join(["a"] * 400) + "/c")


def test_protected_paths_are_found() -> None:
    """Every change of a protected path counts, also an added or a deleted file."""
    changes = [
        PathChange("tests/a.py", "added"),
        PathChange("src/a.py", "modified"),
        PathChange("poetry.lock", "deleted"),
    ]
    assert [violation.path for violation in violations(changes, ["tests/**", "*.lock"])] == [
        "tests/a.py",
        "poetry.lock",
    ]
    assert violations(changes, []) == []


@all_of(
    "path",
    [
        "conftest.py", "a/conftest.py", "pytest.ini", "tox.ini", "noxfile.py", "jest.config.ts", "vitest.config.mts",
        ".mocharc.json", ".cargo/config.toml", "sub/.cargo/config.toml", "go.work", "phpunit.xml.dist", ".rspec",
        "spec/spec_helper.rb", "sitecustomize.py", "x.pth", "node_modules/jest/index.js",
    ],
)  # fmt: skip
@all_of("status", ["added", "modified", "deleted"])
def test_runner_configuration_is_a_concern(path: str, status: str) -> None:
    """Any change of a runner's configuration files counts, also an added one."""
    assert found(PathChange(path, status)) == [RUN]


@pytest.mark.parametrize("path", ["pytest.py", "src/pytest.py", "unittest/__init__.py", "_pytest/main.py"])
def test_a_module_with_the_name_of_a_runner_is_a_concern(path: str) -> None:
    """`python -m pytest` runs a pytest.py of the repository."""
    assert found(PathChange(path, "added")) == [RUN]


@all_of(
    "path",
    [".github/workflows/test.yml", ".gitlab-ci.yml", ".circleci/config.yml", "azure-pipelines.yml", "Jenkinsfile",
     ".travis.yml", ".buildkite/pipeline.yml", "bitbucket-pipelines.yml"],
)  # fmt: skip
def test_ci_files_are_a_concern(path: str) -> None:
    """CI files, wherever the service keeps them."""
    assert found(PathChange(path, "modified")) == [CI]
    assert found(PathChange(path, "modified"), text=f"Update {path} to the new version.") == []


@pytest.mark.parametrize(
    "path", ["src/app.py", "README.md", "docs/testing.md", "src/contest.py", "package-lock.json", "lib/ci.py"]
)
def test_ordinary_files_are_no_concern(path: str) -> None:
    """Work is work."""
    assert found(PathChange(path, "modified"), PathChange(f"new/{path}", "added")) == []


@all_of(
    "path",
    ["tests/test_a.py", "test_a.py", "pkg/a_test.go", "src/a.test.ts", "src/a.spec.jsx", "src/a.test.mjs",
     "spec/a_spec.rb", "src/test/java/ATest.java", "tests/AppTest.php", "__tests__/a.js", "tests/data/a.json"],
)  # fmt: skip
def test_changed_tests_are_a_concern(path: str) -> None:
    """A changed or deleted test counts; an added one does not."""
    assert is_test(path)
    assert found(PathChange(path, "modified")) == [TESTS]
    assert found(PathChange(path, "deleted")) == [TESTS]
    assert found(PathChange(path, "added")) == []


PYPROJECT = '[project]\nname = "a"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n'
PACKAGE = '{"name": "a", "scripts": {"test": "npm run unit", "unit": "jest", "dev": "vite"}, "jest": {}}'
MAKE = "PY = python\n.PHONY: test\n\ntest: build\n\t$(PY) -m pytest\n\nbuild:\n\ttrue\n\nother:\n\tfalse\n"
JUST = "test: build\n    pytest\n\nbuild:\n    true\n\nother:\n    false\n"


@all_of(
    ("path", "check", "before", "after", "said"),
    [
        ("pyproject.toml", "pytest", PYPROJECT, PYPROJECT.replace('"a"', '"b"'), []),
        ("pyproject.toml", "pytest", PYPROJECT, PYPROJECT.replace("-q", "-k x"), [RUN]),
        ("pyproject.toml", "pytest", PYPROJECT, PYPROJECT + "[project.entry-points.pytest11]\nx = 'y'\n", [RUN]),
        ("pyproject.toml", "pytest", PYPROJECT, PYPROJECT + "[[[", [RUN]),
        ("setup.cfg", "pytest", "[metadata]\nname = a\n", "[metadata]\nname = b\n", []),
        ("setup.cfg", "pytest", "[metadata]\nname = a\n", "[tool:pytest]\naddopts = -k x\n", [RUN]),
        ("package.json", "npm test", PACKAGE, PACKAGE.replace("vite", "vite --host"), []),
        ("package.json", "npm test", PACKAGE, PACKAGE.replace('"jest",', '"true",'), [RUN]),
        ("package.json", "npm run dev", PACKAGE, PACKAGE.replace('"jest",', '"true",'), []),
        ("package.json", "npm test", PACKAGE, PACKAGE.replace('"test"', '"pretest": "exit 0", "test"'), [RUN]),
        ("package.json", "npx jest", PACKAGE, PACKAGE.replace("{}", '{"bail": 1}'), [RUN]),
        ("Cargo.toml", "cargo test", '[package]\nname = "a"\n', '[package]\nname = "a"\nautotests = false\n', [RUN]),
        ("Cargo.toml", "cargo test", '[package]\nname = "a"\n', '[package]\nname = "b"\n', []),
        ("Makefile", "make test", MAKE, MAKE.replace("\tfalse", "\ttrue"), []),
        ("Makefile", "make test", MAKE, MAKE.replace("-m pytest", "-V"), [RUN]),
        ("Makefile", "make test", MAKE, MAKE.replace("\ttrue", "\tfalse"), [RUN]),
        ("Makefile", "make test", MAKE, MAKE.replace("PY = python", "PY = true"), [RUN]),
        ("Makefile", "make test", MAKE, MAKE.replace(".PHONY: test\n", ""), [RUN]),
        ("Makefile", "make", MAKE, MAKE.replace("-m pytest", "-V"), [RUN]),
        ("Makefile", "make other", MAKE, MAKE.replace("-m pytest", "-V"), []),
        ("Makefile", "pytest", MAKE, MAKE.replace("-m pytest", "-V"), []),
        ("justfile", "just test", JUST, JUST.replace("pytest", "true"), [RUN]),
        ("justfile", "just test", JUST, JUST.replace("    false", "    true"), []),
        ("check.sh", "sh check.sh", None, None, [RUN]),
        ("scripts/check.py", "python scripts/check.py", None, None, [RUN]),
        ("app.py", "python app.py", None, None, []),
        ("README.md", "grep -q login README.md", None, None, []),
    ],
)  # fmt: skip
def test_only_relevant_sections_are_compared(
    path: str, check: str, before: str | None, after: str | None, said: list[str]
) -> None:
    """Sections of runners, and the scripts and targets that a check of the task calls."""
    assert found(PathChange(path, "modified", before=before, after=after), given=task(check)) == said


def test_a_file_with_the_name_of_a_target_is_a_concern() -> None:
    """make does nothing for a target that exists as a file."""
    assert found(PathChange("test", "added"), given=task("make test")) == [RUN]
    assert found(PathChange("test", "added"), given=task("pytest")) == []


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (task("pytest", files=("tests/test_a.py",)), ""),
        (task("pytest", files=("tests",)), ""),
        (task("pytest", files=("tests/*.py",)), ""),
        (task("pytest"), "Rewrite `tests/test_a.py` for the new form."),
        (task("pytest"), "Rewrite test_a.py."),
        (task("pytest"), "Rename the fixtures in tests/."),
        (task("pytest", criteria=("tests/test_a.py covers the form",)), ""),
    ],
)  # fmt: skip
def test_a_named_path_is_no_concern(given: Any, text: str) -> None:
    """The task may name the path, its name, its folder or a pattern in its files, text or criteria."""
    assert found(PathChange("tests/test_a.py", "modified", before="", after=""), given=given, text=text) == []


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (task("pytest tests/test_a.py"), "Test commands:\n\npytest tests/test_a.py"),
        (task("pytest"), "Do not change tests/test_a.py."),
        (task("pytest"), "Fix the form so that tests/test_a.py passes."),
        (task("pytest"), "Add a form. The tests are there."),
        (task("pytest", protected=["tests/**"]), "**Protected**: tests/**"),
    ],
)  # fmt: skip
def test_a_mention_is_no_request_for_a_change(given: Any, text: str) -> None:
    """The command of a check, a ban, and a test that must pass do not ask for a change."""
    assert found(PathChange("tests/test_a.py", "modified", before="", after=""), given=given, text=text) == [TESTS]


TEST = "def test_a():\n    assert add(1, 2) == 3\n\n\ndef test_b():\n    assert add(2, 2) == 4\n"


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (TEST.replace("add", "plus"), []),
        (TEST + "\n\ndef test_c():\n    assert add(0, 0) == 0\n", []),
        (TEST.replace("def test_b", "@pytest.mark.skip\ndef test_b"), [WEAKER]),
        (TEST.partition("\n\n\n")[0], [WEAKER]),
        (TEST.replace("assert add(2, 2) == 4", "pass"), [WEAKER]),
        ("import os\n\nos._exit(0)\n" + TEST, [WEAKER]),
    ],
)
def test_a_changed_test_must_not_prove_less(after: str, said: list[str]) -> None:
    """If the task names a test, new skip marks, fewer tests and fewer assertions are still a concern."""
    change = PathChange("tests/test_a.py", "modified", before=TEST, after=after)
    assert found(change, given=task("pytest", files=("tests/test_a.py",))) == said


def test_a_concern_names_its_paths() -> None:
    """The concern names paths and changes; of very many the first."""
    many = [PathChange(f"tests/test_{number}.py", "deleted") for number in range(20)]
    (text,) = concerns(many, task=task("pytest"), description="")
    assert "tests/test_0.py (deleted), tests/test_1.py (deleted)" in text
    assert text.endswith(" and 12 more")
