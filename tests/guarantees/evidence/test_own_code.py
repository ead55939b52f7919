"""T1: a check never imports this repository's code from another checkout, and correct work never fails for that."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.ecosystems import Library, commit, workspace
from support.plan_repo import PlanRepo
from support.quick_cases import few_of

node = pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
cargo = pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is not installed")
CHECK = "python tests/check.py"
MORE = 'python -c "import lib; assert lib.more() == 7"'
INSTALLS = ("install_by_path", "install_by_finder", "install_by_egg_link", "install_a_copy")


def run(plan_repo: PlanRepo, check: str, work: str, *arguments: str) -> tuple[int, dict]:
    """Runs a plan of one task; returns the exit code and the task."""
    plan_repo.act("implementer", work)
    plan_repo.plan({"test_commands": [check]})
    result = plan_repo.run("--review", "off", "--retries", "0", *arguments)
    return result.code, plan_repo.task("010")


def is_green(task: dict) -> bool:
    return task["status"] == "completed" and task["result"] == "GREEN"


@few_of("source", ["src", "."], 1)
def test_a_broken_import_of_an_installed_library(plan_repo: PlanRepo, source: str) -> None:
    """A task breaks a library that is installed in place: its check fails, with a setup of its own (D1)."""
    library = Library(plan_repo, source=source)
    library.install_by_path()
    code, task = run(plan_repo, CHECK, f"echo 'raise ImportError(1)' > {library.code}\n", "--yes")
    assert (code, is_green(task)) == (4, False)
    [evidence] = [evidence for evidence in task["evidence"] if evidence["command"] == CHECK]
    assert not evidence["passed"]


@pytest.mark.full
@few_of("source", ["src", "."], 1)
def test_correct_work_on_an_installed_library(plan_repo: PlanRepo, source: str) -> None:
    """A check finds new code of the task's checkout, and the user's environment stays as it is."""
    library = Library(plan_repo, source=source)
    library.install_by_path()
    before = sorted(library.venv.rglob("*"))
    code, task = run(plan_repo, MORE, f"printf 'def more():\\n    return 7\\n' >> {library.code}\n", "--yes")
    assert (code, is_green(task)) == (0, True), task
    assert [path for path in sorted(library.venv.rglob("*")) if "__pycache__" not in str(path)] == before
    assert "more" in (library.root / library.code).read_text()


@pytest.mark.parametrize("install", INSTALLS)
def test_imports_from_outside_are_a_question(plan_repo: PlanRepo, install: str) -> None:
    """Without a setup, an installed record of the user's checkout stops the run before its first worker."""
    library = Library(plan_repo)
    getattr(library, install)()
    plan_repo.configure(worktree={"setup": []})
    plan_repo.plan({"test_commands": [CHECK]})
    result = plan_repo.run("--review", "off")
    assert result.code == 4, result
    assert "would import" in result.err
    assert str(library.root) in result.err
    assert "--accept outside-imports" in result.err
    assert plan_repo.turns("010") == 0


@few_of("install", ["install_by_path", "install_by_finder", "install_by_egg_link"], 1)
def test_accepted_imports_are_yellow_at_best(plan_repo: PlanRepo, install: str) -> None:
    """With the user's acceptance correct work is YELLOW, also after a GREEN review."""
    library = Library(plan_repo)
    getattr(library, install)()
    plan_repo.configure(worktree={"setup": []})
    plan_repo.act("implementer", f"printf 'def more():\\n    return 7\\n' >> {library.code}\n")
    plan_repo.plan({"test_commands": [MORE]})
    result = plan_repo.run("--accept", "outside-imports")
    assert result.code == 0, result
    task = plan_repo.task("010")
    assert (task["status"], task["result"]) == ("completed", "YELLOW")
    assert [concern["kind"] for concern in task["concerns"]] == ["environment"]
    assert plan_repo.runs()[-1]["accepted"] == ["outside_imports"]


@pytest.mark.full
def test_an_acceptance_covers_imports_of_the_work(plan_repo: PlanRepo) -> None:
    """If HEAD has a setup of its own and the work removes it, the acceptance holds, and the result is YELLOW."""
    library = Library(plan_repo)
    library.install_by_path()
    plan_repo.act("implementer", "rm pyproject.toml\n")
    plan_repo.plan({"test_commands": [CHECK]})
    result = plan_repo.run("--yes", "--accept", "outside-imports")
    assert result.code == 0, result
    task = plan_repo.task("010")
    assert (task["status"], task["result"]) == ("completed", "YELLOW")
    assert [concern["kind"] for concern in task["concerns"]] == ["environment"]


@pytest.mark.full
def test_an_unneeded_acceptance_changes_nothing(plan_repo: PlanRepo) -> None:
    """If the checks import their own code, the result is GREEN, with the environment of a run without acceptance."""
    library = Library(plan_repo)
    library.install_by_path()
    show = "python -c \"import os; print(os.environ['PATH'].split(':')[0]); assert not os.getenv('PYTHONPATH')\""
    code, task = run(plan_repo, show, f"echo '# more' >> {library.code}\n", "--yes", "--accept", "outside-imports")
    assert (code, is_green(task)) == (0, True)
    assert plan_repo.runs()[-1]["accepted"] == ["outside_imports"]
    assert "concerns" not in task
    assert plan_repo.repo.sow("runs", "verify").code == 0


@few_of("install", ["install_by_path", "install_by_finder", "install_by_egg_link"], 1)
def test_broken_work_with_accepted_imports(plan_repo: PlanRepo, install: str) -> None:
    """With the user's acceptance a broken import still fails its check: the code of the checkout comes first."""
    library = Library(plan_repo)
    getattr(library, install)()
    plan_repo.configure(worktree={"setup": []})
    work = f"echo 'raise ImportError(1)' > {library.code}\n"
    code, task = run(plan_repo, CHECK, work, "--accept", "outside-imports")
    assert (code, is_green(task)) == (4, False)


@pytest.mark.full
def test_an_environment_outside_the_checkout(plan_repo: PlanRepo, tmp_path: Path) -> None:
    """A library in an environment elsewhere gets an environment of its own as well."""
    library = Library(plan_repo, venv=tmp_path / "envs/lib")
    library.install_by_path()
    code, task = run(plan_repo, CHECK, f"echo 'raise ImportError(1)' > {library.code}\n", "--yes")
    assert (code, is_green(task)) == (4, False)
    [evidence] = [evidence for evidence in task["evidence"] if evidence["command"] == CHECK]
    assert not evidence["passed"]


@pytest.mark.full
def test_a_worker_imports_its_own_code(plan_repo: PlanRepo) -> None:
    """Programs of a worker import the code of its worktree."""
    library = Library(plan_repo)
    library.install_by_path()
    result = plan_repo.folder / "found"
    work = f"python -c 'import lib; print(lib.__file__)' > {result}\ncommand -v python >> {result}\n"
    code, _ = run(plan_repo, CHECK, f"{work}echo '# more' >> {library.code}\n", "--yes")
    assert code == 0
    worktree = f"{library.root}/.sow/local/worktrees/010"
    assert result.read_text().splitlines() == [f"{worktree}/src/lib/__init__.py", f"{worktree}/.venv/bin/python"]


def test_paths_of_the_users_shell_are_mapped(plan_repo: PlanRepo) -> None:
    """With PYTHONPATH of the user's checkout a check finds its own code, without any setup."""
    commit(plan_repo, {"src/lib/__init__.py": "VALUE = 1\n"})
    plan_repo.repo.environment["PYTHONPATH"] = f"{plan_repo.repo.root}/src"
    check = 'python3 -c "import lib; assert lib.VALUE == 2"'
    code, task = run(plan_repo, check, "echo 'VALUE = 2' > src/lib/__init__.py\n")
    assert (code, is_green(task)) == (0, True)


def test_a_tool_of_the_users_environment_is_not_used(plan_repo: PlanRepo) -> None:
    """A check that names the user's environment by an absolute path is a question, also with a setup of its own."""
    library = Library(plan_repo)
    library.install_by_path()
    plan_repo.plan({"test_commands": [f"{library.venv}/bin/python tests/check.py"]})
    result = plan_repo.run("--review", "off", "--yes")
    assert result.code == 4, result
    assert plan_repo.turns("010") == 0


@pytest.mark.full
@node
def test_a_broken_workspace_package(plan_repo: PlanRepo) -> None:
    """A task breaks a package that node_modules links to: its check fails."""
    workspace(plan_repo, lock=True)
    code, task = run(plan_repo, "node check.js", "echo 'throw 1' > packages/part/index.js\n", "--yes")
    assert (code, is_green(task)) == (4, False)


@pytest.mark.full
@node
def test_correct_work_on_a_workspace_package(plan_repo: PlanRepo) -> None:
    """A check finds the new code of a linked package in the task's own checkout."""
    workspace(plan_repo, lock=True)
    check = "node -e \"if (require('@own/part').more() !== 7) process.exit(1)\""
    code, task = run(plan_repo, check, "echo 'exports.more = () => 7;' >> packages/part/index.js\n", "--yes")
    assert (code, is_green(task)) == (0, True), task


def test_workspace_links_without_a_setup(plan_repo: PlanRepo) -> None:
    """Links of the user's node_modules to packages of the repository are a question: Node looks in folders above."""
    workspace(plan_repo, lock=False)
    plan_repo.plan({"test_commands": ["node check.js"]})
    result = plan_repo.run("--review", "off", "--yes")
    assert result.code == 4, result
    assert "node_modules/@own/part" in result.err
    assert plan_repo.turns("010") == 0


@pytest.mark.full
def test_linked_packages_of_others_are_no_question(plan_repo: PlanRepo, tmp_path: Path) -> None:
    """A package or a .pth file that leads to other code is no question."""
    library = Library(plan_repo)
    (tmp_path / "other/src").mkdir(parents=True)
    (library.site / "other.pth").write_text(f"{tmp_path}/other/src\n")
    (plan_repo.repo.root / "node_modules").mkdir()
    (plan_repo.repo.root / "node_modules/other").symlink_to(tmp_path / "other")
    plan_repo.configure(worktree={"setup": []})
    plan_repo.plan({"test_commands": ["python3 -c pass"]})
    result = plan_repo.run("--review", "off")
    assert result.code == 0, result


@cargo
@few_of(("body", "code"), [("42", 0), ("41", 4)], 1)
def test_a_crate(plan_repo: PlanRepo, body: str, code: int) -> None:
    """Cargo builds the code of the task's checkout, also if the user's shell names one target folder for all."""
    test = "#[test]\nfn test() { assert_eq!(answer(), 42); }\n"
    commit(
        plan_repo,
        {
            ".gitignore": "target/\nCargo.lock\n",
            "Cargo.toml": '[package]\nname = "own"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": f"pub fn answer() -> u32 {{ 40 }}\n{test}",
        },
    )
    home = os.path.expanduser("~")
    plan_repo.repo.environment |= {"RUSTUP_HOME": f"{home}/.rustup", "CARGO_HOME": f"{home}/.cargo"}
    plan_repo.repo.environment |= {"CARGO_TARGET_DIR": f"{plan_repo.repo.root}/target"}
    plan_repo.configure(checks={"env": ["CARGO_TARGET_DIR"]})
    done, task = run(plan_repo, "cargo test -q --offline", f"sed -i 's/40/{body}/' src/lib.rs\n")
    assert (done, is_green(task)) == (code, not code)
    assert not (plan_repo.repo.root / "target").exists()
