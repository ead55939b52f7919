"""Executor types of other packages: the sample package in a fresh environment, broken ones, and planted ones."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import PATIENCE, Repo, Result
from support.paths import ROOT
from support.quick_cases import few_of

ADAPTER = """
from sow.executors import Adapter, AgentCommand, Capabilities, Event

class Quill(Adapter):
    type = "quill"
    capabilities = Capabilities(binary="true", install="it is there", session="given", version_arguments=())
    exits_without_result = True

    def spawn_command(self, request):
        return AgentCommand([])

    def events(self, data):
        return [Event("text", str(data))]
"""
MARK = "import pathlib; pathlib.Path({path!r}).write_text('loaded')\n"


def configure(repo: Repo, executors: dict[str, Any], **bindings: str) -> None:
    path = Path(repo.environment["HOME"], ".config", "sow", "config.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    settings: dict[str, Any] = {
        "agents": {"executors": executors, "bindings": bindings},
        "review": {"enabled": False},
        "run": {"baseline": "off"},
    }
    path.write_text(yaml.safe_dump(settings))


def add_package(site: Path, module: str, text: str, types: dict[str, str], *, name: str = "sow-quill") -> Path:
    """Writes a package as an installer does: its metadata and one module; returns the folder."""
    metadata = site / f"{name.replace('-', '_')}-2.0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n")
    lines = "".join(f"{kind} = {target}\n" for kind, target in types.items())
    (metadata / "entry_points.txt").write_text(f"[sow.executors]\n{lines}")
    if text:
        (site / f"{module}.py").write_text(text)
    return site


def findings(result: Result) -> dict[str, str]:
    """Returns the findings of a check, with the state of each."""
    return {found["what"]: found["state"] for found in result.json["findings"]}


@pytest.fixture(scope="module")
def scribe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new virtual environment in which the sample package was built and installed."""
    folder = tmp_path_factory.mktemp("scribe")
    source, fresh = folder / "source", folder / "fresh"
    shutil.copytree(ROOT / "examples" / "executor-plugin", source)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(fresh)], check=True)
    pip, offline = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"], ["--no-index", "--no-deps"]
    built = [*pip, "wheel", *offline, "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    wheel = str(folder / "sow_scribe-1.0.0-py3-none-any.whl")
    for command in (built, [*pip, "--python", str(fresh / "bin" / "python"), "install", *offline, wheel]):
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
    (site,) = fresh.glob("lib/python3*/site-packages")
    own = [str(ROOT / "src"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    (site / "sow.pth").write_text("\n".join(dict.fromkeys(own)))
    program = fresh / "bin" / "sow"
    program.write_text(f"#!{fresh}/bin/python\nimport sys\nfrom sow.cli.main import main\nsys.exit(main())\n")
    program.chmod(0o755)
    return fresh / "bin"


def call(repo: Repo, programs: Path, *arguments: str) -> Result:
    """Calls the sow of that environment."""
    variables = {**repo.environment, "PATH": f"{programs}:{repo.environment['PATH']}"}
    command = [str(programs / "sow"), *arguments]
    return Result(subprocess.run(command, cwd=repo.root, env=variables, capture_output=True, timeout=PATIENCE))


@pytest.mark.full
def test_the_sample_package_works(task_repo: Repo, scribe: Path) -> None:
    """An installed package is a type like any other: for validate, doctor, spawn and resume (A5)."""
    repo = task_repo
    configure(repo, {"my-scribe": {"type": "scribe", "settings": {"model": "quick"}}}, implementer="my-scribe")
    validated = call(repo, scribe, "config", "validate")
    assert validated.code == 0 and "✓ Executor types valid (scribe, claude)" in validated.out, validated
    checked = findings(call(repo, scribe, "doctor", "--json"))
    assert checked["executor type scribe: from sow-scribe 1.0.0"] == "ok"
    existing = f"my-scribe: {scribe}/scribe 1.0.0: supports all needed flags; "
    assert [state for what, state in checked.items() if what.startswith(existing)] == ["ok"], checked
    first = call(repo, scribe, "agent", "spawn", "implementer", "010")
    assert first.code == 0 and first.out.endswith("task 010: status is needs_review\n"), first
    second = call(repo, scribe, "agent", "resume", "010", "once more")
    assert second.code == 0 and second.out.endswith("task 010: status is needs_review\n"), second
    record = yaml.safe_load((repo.root / ".sow/local/sessions/010/1/record.yaml").read_text())["session"]
    assert (record["type"], record["model"]) == ("scribe", "quick")
    assert [turn["outcome"] for turn in record["turns"]] == ["done", "done"]


def test_a_run_uses_the_sample_package(repo: Repo, scribe: Path) -> None:
    """A plan is worked on and delivered with an executor of another package (A5)."""
    configure(repo, {"my-scribe": {"type": "scribe"}}, implementer="my-scribe")
    (repo.root / "plan.md").write_text("# Plan\n\n## Task 1: Write a line\n\nAdd a line to SCRIBE.md.\n")
    repo.git("add", "plan.md")
    repo.git("commit", "-qm", "plan")
    ran = call(repo, scribe, "run", "plan.md", "--yes")
    assert ran.code == 0, ran
    assert repo.git("show", "HEAD:SCRIBE.md").startswith("task ")


@pytest.mark.parametrize(
    ("kind", "hint"), [("vim", "the types are: aider, amp, claude"), ("cluade", "did you mean claude?")]
)
def test_an_unknown_type_is_named(task_repo: Repo, kind: str, hint: str) -> None:
    """A type that no package registers is refused with the nearest name (A15)."""
    configure(task_repo, {"mine": {"type": kind}}, implementer="mine")
    for item in (["config", "validate"], ["agent", "spawn", "implementer", "010"]):
        result = task_repo.sow(*item)
        assert result.code == 2, result
        assert f"agents.executors.mine.type: unknown executor type: {kind}; {hint}" in result.err, result


BROKEN = {
    "import": ("import no_such_module\n", "quill:Quill", "ModuleNotFoundError: No module named 'no_such_module'"),
    "exit": ("raise SystemExit(0)\n", "quill:Quill", "SystemExit: 0"),
    "no class": ("\n", "quill:Quill", "AttributeError: module 'quill' has no attribute 'Quill'"),
    "no adapter": ("class Quill: pass\n", "quill:Quill", "quill:Quill is no subclass of sow.executors.Adapter"),
    "no capabilities": (
        "from sow.executors import Adapter\nclass Quill(Adapter): type = 'quill'\n",
        "quill:Quill",
        "quill:Quill is no subclass of sow.executors.Adapter with capabilities",
    ),
    "other type": (ADAPTER.replace('"quill"', '"other"'), "quill:Quill", "its adapter has the type 'other'"),
}


@few_of("case", BROKEN, 1)
def test_a_package_that_cannot_be_loaded_is_named(task_repo: Repo, tmp_path: Path, case: str) -> None:
    """Doctor, validate and a spawn name package and reason; executors of other types work as before (A5)."""
    text, target, reason = BROKEN[case]
    site = add_package(tmp_path / "site", "quill", text, {"quill": target})
    task_repo.environment["PYTHONPATH"] = str(site)
    hand = {"type": "command", "settings": {"command": ["true"], "allow_empty": True}}
    configure(task_repo, {"mine": {"type": "quill"}, "hand": hand}, implementer="mine")
    message = f"executor type quill: sow-quill 2.0 cannot be loaded: {reason}"
    doctor = findings(task_repo.sow("doctor", "--json"))
    assert [state for what, state in doctor.items() if what.startswith(message)] == ["warning"], doctor
    for item in (["config", "validate"], ["agent", "spawn", "implementer", "010"]):
        result = task_repo.sow(*item)
        assert result.code == 2 and message in result.err, result
    assert task_repo.sow("agent", "spawn", "implementer", "010", "--executor", "hand").code == 0


@pytest.mark.full
def test_an_error_in_a_package_fails_only_its_turn(task_repo: Repo, tmp_path: Path) -> None:
    """An adapter that raises while it reads the output is named, and its turn is recorded as failed."""
    text = ADAPTER.replace("return [Event", 'raise KeyError("boom")\n        return [Event')
    site = add_package(tmp_path / "site", "quill", text, {"quill": "quill:Quill"})
    task_repo.environment["PYTHONPATH"] = str(site)
    program = tmp_path / "talker"
    program.write_text("#!/bin/sh\necho '{}'\n")
    program.chmod(0o755)
    hand = {"type": "command", "settings": {"command": ["true"], "allow_empty": True}}
    mine = {"type": "quill", "settings": {"binary": str(program)}}
    configure(task_repo, {"mine": mine, "hand": hand}, implementer="mine")
    result = task_repo.sow("agent", "spawn", "implementer", "010")
    assert result.code == 1, result
    assert "error: executor type quill: events() of sow-quill 2.0 failed: KeyError: 'boom'" in result.err
    record = yaml.safe_load((task_repo.root / ".sow/local/sessions/010/1/record.yaml").read_text())["session"]
    assert record["turns"][0]["outcome"] == "failed"
    assert task_repo.sow("agent", "spawn", "implementer", "010", "--fresh", "--executor", "hand").code == 0


def test_a_package_outside_of_the_repository_is_loaded(task_repo: Repo, tmp_path: Path) -> None:
    """The adapter that the next tests plant works from a folder outside the repository."""
    task_repo.environment["PYTHONPATH"] = str(
        add_package(tmp_path / "site", "quill", ADAPTER, {"quill": "quill:Quill"})
    )
    configure(task_repo, {"mine": {"type": "quill"}})
    assert task_repo.sow("config", "validate").code == 0


@few_of("place", ["repository", "subfolder", "other repository", "link"], 2)
def test_nothing_in_a_repository_is_loaded(task_repo: Repo, tmp_path: Path, place: str) -> None:
    """Metadata in the repository, below it, in another repository, or behind a link starts no code (A5)."""
    loaded, folders = tmp_path / "loaded", {"repository": task_repo.root, "link": task_repo.root / "site"}
    folder = folders.get(place, task_repo.root / "src")
    if place == "other repository":
        folder = tmp_path / "other" / "site"
        (tmp_path / "other" / ".git").mkdir(parents=True)
        (tmp_path / "other" / ".sow").mkdir()
    site = add_package(folder, "quill", MARK.format(path=str(loaded)) + ADAPTER, {"quill": "quill:Quill"})
    if place == "link":
        (tmp_path / "link").symlink_to(site)
        site = tmp_path / "link"
    task_repo.environment["PYTHONPATH"] = str(site)
    configure(task_repo, {"mine": {"type": "quill"}})
    result = task_repo.sow("config", "validate")
    assert result.code == 2 and "it is inside a repository, and sow loads no code from there" in result.err, result
    assert "it is inside a repository" in task_repo.sow("doctor").out
    assert not loaded.exists()


def test_the_current_folder_hides_no_module(task_repo: Repo, tmp_path: Path) -> None:
    """A module of the repository with the name of the package's module is not imported (A5)."""
    loaded, site = tmp_path / "loaded", add_package(tmp_path / "site", "quill", ADAPTER, {"quill": "quill:Quill"})
    (task_repo.root / "quill.py").write_text(MARK.format(path=str(loaded)) + ADAPTER)
    configure(task_repo, {"mine": {"type": "quill"}})
    variables = {**task_repo.environment, "PYTHONPATH": f"{task_repo.root}:{site}"}
    command = [sys.executable, "-m", "sow", "config", "validate"]  # with the current folder in front
    result = subprocess.run(command, cwd=task_repo.root, env=variables, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert not loaded.exists()


def test_metadata_outside_cannot_point_into_the_repository(task_repo: Repo, tmp_path: Path) -> None:
    """A package with metadata outside and code in the repository is refused."""
    loaded = tmp_path / "loaded"
    site = add_package(tmp_path / "site", "quill", "", {"quill": "quill:Quill"})
    (task_repo.root / "quill").mkdir()
    (task_repo.root / "quill" / "__init__.py").write_text(MARK.format(path=str(loaded)) + ADAPTER)
    (site / "quill").symlink_to(task_repo.root / "quill")
    task_repo.environment["PYTHONPATH"] = str(site)
    configure(task_repo, {"mine": {"type": "quill"}})
    result = task_repo.sow("config", "validate")
    assert result.code == 2 and "it is inside a repository" in result.err, result
    assert not loaded.exists()


@pytest.mark.full
def test_a_built_in_type_cannot_be_replaced(task_repo: Repo, tmp_path: Path) -> None:
    """A package that registers a built-in type, or a type of another package, is named and not used (A5)."""
    loaded = tmp_path / "loaded"
    text = MARK.format(path=str(loaded)) + ADAPTER
    site = add_package(tmp_path / "site", "fake", text, {"claude": "fake:Quill"}, name="sow-fake")
    add_package(site, "quill", ADAPTER, {"quill": "quill:Quill"})
    other = add_package(tmp_path / "more", "again", text, {"quill": "again:Quill"}, name="sow-again")
    task_repo.environment["PYTHONPATH"] = f"{site}:{other}"
    configure(task_repo, {"mine": {"type": "claude"}, "second": {"type": "quill"}}, implementer="mine")
    doctor = findings(task_repo.sow("doctor", "--json"))
    used = "not used, because"
    assert doctor[f"executor type claude: from sow-fake 2.0; {used} sow itself has the same type"] == "warning"
    assert doctor["executor type quill: from sow-quill 2.0"] == "ok"
    assert doctor[f"executor type quill: from sow-again 2.0; {used} sow-quill 2.0 has the same type"] == "warning"
    assert not loaded.exists()


@pytest.mark.full
def test_built_in_types_read_no_metadata(task_repo: Repo) -> None:
    """Reading the metadata of all packages is slow, so only a type that is not built in makes sow do it (A5)."""
    code = "import sys; from sow.cli.main import main; main(['config', 'validate']); print(sys.modules.keys())"
    command = [sys.executable, "-c", code]
    for kind, reads in (("claude", False), ("quill", True)):
        configure(task_repo, {"mine": {"type": kind}}, implementer="mine")
        result = subprocess.run(command, cwd=task_repo.root, env=task_repo.environment, capture_output=True, text=True)
        assert ("'importlib.metadata'" in result.stdout) is reads, result


@pytest.mark.full
def test_a_session_outlives_its_package(task_repo: Repo, scribe: Path) -> None:
    """After the package is uninstalled, its sessions are still listed and the task can go to another executor."""
    configure(task_repo, {"my-scribe": {"type": "scribe"}}, implementer="my-scribe")
    assert call(task_repo, scribe, "agent", "spawn", "implementer", "010").code == 0
    assert task_repo.sow("status").code == 0 and task_repo.sow("task", "show", "010").code == 0
    refused = task_repo.sow("agent", "resume", "010", "more")
    assert refused.code == 2 and "unknown executor type: scribe" in refused.err, refused
    hand = {"type": "command", "settings": {"command": ["true"], "allow_empty": True}}
    configure(task_repo, {"hand": hand}, implementer="hand")
    result = task_repo.sow("agent", "spawn", "implementer", "010", "--fresh")
    assert result.code == 0, result
