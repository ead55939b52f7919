"""The command lines of the first specification still work exactly as written."""

from __future__ import annotations

import subprocess

import pytest
from conftest import Repo

from sow.store.formats import VERSION

IMPLEMENTER = "SOW_TASK=010 SOW_AGENT=implementer "
ORCHESTRATOR = "SOW_AGENT=orchestrator "
SECURITY = (
    "The authentication logic has a security issue: passwords are logged in plaintext on line 42 of auth.go. Remove "
    "the log statement and add a unit test to verify passwords are never logged."
)


def typed(repo: Repo, line: str) -> str:
    """Runs a line in a shell as it is in the specification, and returns the result."""
    result = subprocess.run(["sh", "-c", line], cwd=repo.root, env=repo.environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture
def seeded(bare_repo: Repo) -> Repo:
    """A repository after the first lines of the specification."""
    bare_repo.git("switch", "-q", "-c", "feat/auth")
    typed(bare_repo, "sow init")
    typed(bare_repo, 'sow init --project "Add authentication"')
    return bare_repo


CREATE = """sow task create \\
  --phase implement \\
  --name "Add JWT token generation" \\
  --agent implementer
"""
LOG = """sow log \\
  --file src/auth/jwt.py \\
  --action modified_file \\
  --result success \\
  "Implemented token generation"
"""


@pytest.fixture
def created(seeded: Repo) -> Repo:
    """The same with the task of the specification."""
    typed(seeded, CREATE)
    return seeded


def test_init_with_a_project(seeded: Repo):
    """`sow init --project` makes a state file with every default applied."""
    state = (seeded.project / "state.yaml").read_text()
    fields = {line.partition(":")[0] for line in state.splitlines()}
    assert {"schema_version", "project_id", "name", "branch", "phases", "created_at"} <= fields
    assert "name: Add authentication\n" in state
    assert f'schema_version: "{VERSION}"\n' in state


@pytest.mark.full
def test_task_create_over_four_lines(created: Repo):
    """Defaults of the schema apply: iteration 1, status pending, created now, in the named phase."""
    task = created.task("010")
    assert (task["iteration"], task["status"], task["assigned_agent"]) == (1, "pending", "implementer")
    assert task["name"] == "Add JWT token generation"
    assert task["created_at"].endswith("Z")
    assert task["phase"] == "implementation"


@pytest.mark.full
def test_log_over_five_lines(created: Repo):
    """The entry goes to the worker's task, signed with role and iteration; a person's has their name."""
    typed(created, f"export {IMPLEMENTER}; {LOG}")
    (entry,) = created.task("010")["log"]
    assert entry["agent"] == "implementer-1"
    assert (entry["action"], entry["result"], entry["files"], entry["text"]) == (
        "modified_file",
        "success",
        ["src/auth/jwt.py"],
        "Implemented token generation",
    )
    typed(created, LOG)
    assert created.ok("log", "--list", "--json").json["entries"][-1]["agent"] == "ada"


@pytest.mark.parametrize("name", ["project", "task", "sink-index"])
def test_schema_show(seeded: Repo, name: str):
    """The schemas that the specification names can be shown."""
    assert f'"sow:schema/{VERSION}/{name}"' in typed(seeded, f"sow schema show {name}")


@pytest.mark.full
def test_validate_and_version(created: Repo):
    """Both spellings of a path are found, and the version of the schemas is printed alone."""
    assert "valid project" in typed(created, "sow validate .sow/project/state.yaml")
    assert "valid task" in typed(created, "sow validate phases/implement/tasks/010/state.yaml")
    assert typed(created, "sow version --schema") == f"{VERSION}\n"


@pytest.mark.full
def test_schema_diff(seeded: Repo):
    """Two versions are compared as changes, followed by the suggested migration."""
    lines = typed(seeded, "sow schema diff v0.9.0 v1.0.0").splitlines()
    assert lines[0] == "Changes detected:"
    assert lines[1].endswith("(rename)")
    assert lines[2].endswith("added (default: medium)")
    assert lines[4:] == [
        "Suggested migration:",
        "  - Rename field: assignee → assigned_agent",
        '  - Add field: priority = "medium"',
    ]


def test_migrate(old_repo: Repo):
    """An old project is refused and migrated with the specified texts."""
    refused = old_repo.sow("status").err
    assert "Project state schema v0.9.0 detected" in refused
    assert "CLI requires schema v1.2.0" in refused
    assert "Run: sow migrate" in refused
    out = typed(old_repo, "sow migrate --yes")
    assert "Migrating phases/implementation/tasks/010/state.yaml: v0.9.0 → v1.2.0" in out
    assert "  - Adding field: priority (default: medium)" in out
    assert "Migration complete! 2 files updated." in out
    assert typed(old_repo, "sow migrate") == "Already up to date\n"


def test_the_paused_pattern(created: Repo):
    """A worker asks and ends; the question is in its log and in the inbox; the answer continues it."""
    typed(created, f"{IMPLEMENTER} sow task set --id 010 status in_progress")
    typed(created, f'{IMPLEMENTER} sow agent log "RS256 or HS256 for JWT signing?"')
    typed(created, f"{IMPLEMENTER} sow task set --id 010 status paused")
    state = typed(created, "cat .sow/project/phases/implementation/tasks/010/state.yaml")
    assert "  status: paused\n" in state
    assert "RS256 or HS256" in typed(created, "sow inbox")
    typed(created, f'{ORCHESTRATOR} sow answer 010 "Use RS256 algorithm for JWT signing"')
    task = created.task("010")
    assert (task["status"], task["iteration"], task["agent_id"]) == ("in_progress", 2, "implementer-2")
    assert task["feedback"][0]["text"] == "Use RS256 algorithm for JWT signing"
    typed(created, f'{IMPLEMENTER} sow agent log "Signed with RS256"')
    assert [entry["agent"] for entry in created.task("010")["log"]] == ["implementer-1", "implementer-2"]


@pytest.mark.full
def test_the_review_pattern(created: Repo):
    """Work is handed in, sent back with feedback, handed in again and approved, in one session."""
    typed(created, f"{IMPLEMENTER} sow task set --id 010 status in_progress")
    state = created.task_folder("010") / "state.yaml"
    state.write_text(state.read_text() + "  session_id: 6f1c1f9e-3b1a-4c59-9d68-2a4a9f8f7e11\n")
    typed(created, "sow task set --id 010 priority high")  # a worker's next call would not count it
    typed(created, f'{IMPLEMENTER} sow agent log "Implemented authentication"')
    typed(created, f"{IMPLEMENTER} sow task set --id 010 status needs_review")
    typed(created, f'{ORCHESTRATOR} sow feedback add 010 "{SECURITY}"')
    typed(created, f"{ORCHESTRATOR} sow task set --id 010 status in_progress")
    reworked = created.task("010")
    assert (reworked["iteration"], "session_id" in reworked) == (2, True)
    assert reworked["feedback"][0]["text"] == SECURITY
    typed(created, f'{IMPLEMENTER} sow agent log "Fixed security issue: removed password logging, added test"')
    typed(created, f"{IMPLEMENTER} sow task set --id 010 status needs_review")
    typed(created, f"{ORCHESTRATOR} sow task set --id 010 status completed")
    done = created.task("010")
    assert (done["status"], done["iteration"], "session_id" in done) == ("completed", 2, False)
    assert done["approval"]["by"] == "orchestrator"
    assert [entry["agent"] for entry in done["log"]] == ["implementer-1", "implementer-2"]


@pytest.mark.full
def test_three_iterations(created: Repo):
    """Work is sent back twice and then approved in its third iteration."""
    typed(created, "sow task set --id 010 status in_progress")
    for _ in range(2):
        typed(created, "sow task set --id 010 status needs_review && sow task set --id 010 status in_progress")
    typed(created, "sow task set --id 010 status needs_review && sow task set --id 010 status completed")
    task = created.task("010")
    assert (task["iteration"], task["approval"]["iteration"]) == (3, 3)


@pytest.mark.full
def test_gap_numbering(created: Repo):
    """010, 020, and 011 between them; an abandoned task keeps its number and its folder."""
    typed(created, 'sow task create --name "Change timeout"')
    typed(created, 'sow task abandon 010 --reason "a race, not a timeout"')
    out = typed(created, 'sow task create --name "Investigate race condition" --after 010')
    assert out.startswith("created task 011 ")
    listed = {task["id"]: task["status"] for task in created.ok("task", "list", "--json").json["tasks"]}
    assert listed == {"010": "abandoned", "011": "pending", "020": "pending"}


@pytest.mark.parametrize("branch", ["main", "master"])
def test_no_project_on_main_or_master(bare_repo: Repo, branch: str):
    """No command creates a project on main or master."""
    bare_repo.git("branch", "-M", branch)
    typed(bare_repo, "sow init")
    for case in (("init", "--project", "X"), ("project", "new", "X")):
        result = bare_repo.sow(*case)
        assert (result.code, branch in result.err) == (2, True)
    assert not bare_repo.project.exists()


@pytest.mark.full
def test_one_project_per_branch(seeded: Repo):
    """A second project on the branch is refused; another branch can have one."""
    assert seeded.sow("project", "new", "Second").code == 2
    seeded.ok("project", "save")
    seeded.git("switch", "-q", "main")
    seeded.git("switch", "-q", "-c", "feat/second")
    seeded.ok("init", "--project", "Second")
    assert seeded.ok("status", "--json").json["project"]["name"] == "Second"


def test_a_branch_mismatch_is_refused(created: Repo):
    """State and branch must match before any command changes something."""
    created.git("switch", "-q", "-c", "feat/elsewhere")
    for case in (("status",), ("task", "set", "--id", "010", "status", "in_progress"), ("log", "x"), ("inbox",)):
        result = created.sow(*case)
        assert result.code == 2
        assert "belongs to branch feat/auth, but feat/elsewhere is checked out" in result.err


@pytest.mark.full
def test_phases_are_folders_added_with_approval(created: Repo):
    """A phase is a folder; a new one waits for approval, `back` is possible, and none can be skipped."""
    typed(created, 'sow phase add discovery --reason "the API is unknown" --before implement')
    typed(created, 'sow phase add document --reason "users need it"')
    assert "active phase: discovery" in typed(created, "sow phase approve discovery && sow answer 2 yes")
    assert sorted(typed(created, "ls .sow/project/phases").split()) == ["discovery", "document", "implementation"]
    assert "active phase: implementation" in typed(created, "sow phase advance")
    assert "active phase: discovery" in typed(created, "sow phase back discovery")
    typed(created, 'sow task create --phase document --name "Write the guide"')
    assert created.sow("task", "set", "--id", "020", "status", "in_progress").code == 2
    typed(created, "sow phase advance")
    assert created.sow("phase", "advance").code == 2
    typed(created, 'sow task abandon 010 --reason "done elsewhere"')
    assert "active phase: document" in typed(created, "sow phase advance")
    typed(created, "sow task set --id 020 status in_progress")
