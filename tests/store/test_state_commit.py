"""sow project save: one commit of sow's files; all other changes of the user stay uncommitted."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from conftest import FULL, Repo
from support.quick_cases import few_of

SEEDS = range(200 if FULL else 10)
ELSEWHERE = ("--", ".", ":!.sow")
HOOKS = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-index-change",
    "reference-transaction",
    "pre-auto-gc",
    "post-rewrite",
)


def theirs(repo: Repo) -> dict[str, object]:
    """Returns everything of the user: files, index, what is staged and what is not."""
    files = (path for path in repo.root.rglob("*") if path.is_file() and not {".git", ".sow"} & set(path.parts))
    return {
        "files": {str(path.relative_to(repo.root)): path.read_bytes() for path in files},
        "index": repo.git("ls-files", "--stage", *ELSEWHERE),
        "status": repo.git("status", "--porcelain", "--untracked-files=all", *ELSEWHERE),
        "staged": repo.git("diff", "--cached", "--raw", "--no-abbrev", *ELSEWHERE),
        "unstaged": repo.git("diff", "--raw", "--no-abbrev", *ELSEWHERE),
        "stash": repo.git("stash", "list"),
    }


def committed(repo: Repo) -> list[str]:
    """Returns the paths in the last commit."""
    return repo.git("show", "--name-only", "--format=", "HEAD").split()


def make_dirty(repo: Repo, rng: random.Random) -> None:
    """Makes a dirty working tree: committed, staged, changed, removed, renamed and new files."""
    names = [f"{folder}f{number}.txt" for folder in ("", "src/", "a b/") for number in range(4)]
    for name in names:
        path = repo.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(rng.randbytes(rng.randrange(2000)))
    repo.git("add", *names)
    repo.git("commit", "-q", "-m", "theirs")
    for name in names:
        path = repo.root / name
        for act in rng.sample(("change", "stage", "remove", "untrack", "rename", "nothing"), 2):
            if act == "change" and path.exists():
                path.write_bytes(rng.randbytes(500))
            elif act == "stage":
                repo.git("add", "-A", "--", name) if path.exists() else None
            elif act == "remove" and path.exists():
                path.unlink()
            elif act == "untrack":
                repo.git("rm", "-q", "--cached", "--ignore-unmatch", "-f", "--", name)
            elif act == "rename" and path.exists() and name in repo.git("ls-files", "-z").split("\0"):
                repo.git("mv", name, f"{name}.moved")
    (repo.root / "new.txt").write_text("untracked")
    (repo.root / "meant.txt").write_text("intended")
    repo.git("add", "--intent-to-add", "meant.txt")


@few_of("seed", SEEDS, 6)
def test_uncommitted_changes_stay(repo, seed):
    """Staged, unstaged, removed, renamed and untracked files are byte for byte as before, in the tree and the index."""
    make_dirty(repo, random.Random(seed))
    before, head = theirs(repo), repo.git("rev-parse", "HEAD")
    repo.ok("project", "save")
    assert theirs(repo) == before
    assert repo.git("rev-parse", "HEAD^") == head
    assert all(path.startswith(".sow/") for path in committed(repo))
    assert repo.git("status", "--porcelain", "--untracked-files=all", "--", ".sow") == ""


def test_the_commit_has_no_local_files(task_repo):
    """State, logs, settings and knowledge are committed; locks, copies and leftovers are not."""
    (task_repo.project / ".state.yaml.1.ab.tmp").write_text("left over")
    assert task_repo.ok("project", "save").out == f"saved as {task_repo.git('rev-parse', '--short', 'HEAD')}"
    assert committed(task_repo) == [
        ".sow/.gitignore",
        ".sow/config.yaml",
        ".sow/knowledge/adrs/README.md",
        ".sow/knowledge/designs/README.md",
        ".sow/project/.gitattributes",
        ".sow/project/log.md",
        ".sow/project/phases/implementation/.gitkeep",
        ".sow/project/phases/implementation/tasks/010/description.md",
        ".sow/project/phases/implementation/tasks/010/state.yaml",
        ".sow/project/state.yaml",
    ]
    assert task_repo.git("log", "-1", "--format=%s%n%an").split("\n")[:2] == [
        "sow: save project Add authentication",
        "Ada",
    ]


def test_a_message_of_the_user(repo):
    """`--message` is the message, even if it looks like a comment or a flag."""
    repo.ok("project", "save", "--message=# -m not a comment")
    assert repo.git("log", "-1", "--format=%B").strip() == "# -m not a comment"


def test_a_second_save_makes_no_commit(repo):
    """Without a change there is no commit."""
    repo.ok("project", "save")
    head = repo.git("rev-parse", "HEAD")
    assert repo.ok("project", "save").out == "nothing to save: the project is already committed\n"
    assert repo.git("rev-parse", "HEAD") == head


def test_removed_files_are_removed_in_the_commit(task_repo):
    """A file that is gone from the project is gone from the next commit."""
    task_repo.ok("project", "save")
    (task_repo.task_folder("010") / "description.md").unlink()
    task_repo.ok("project", "save")
    assert committed(task_repo) == [".sow/project/phases/implementation/tasks/010/description.md"]


def test_save_works_in_a_sub_folder(repo):
    """From anywhere in the checkout the whole project is saved."""
    folder = repo.root / "src" / "deep"
    folder.mkdir(parents=True)
    repo.ok("project", "save", cwd=folder)
    assert ".sow/project/state.yaml" in committed(repo)


def test_save_works_in_a_linked_worktree(bare_repo, tmp_path):
    """A project in a linked worktree is saved on the branch of that worktree, and the main one does not change."""
    bare_repo.git("worktree", "add", "-q", "-b", "feat/linked", str(tmp_path / "linked"))
    linked = Repo(tmp_path / "linked", bare_repo.environment)
    linked.ok("init", "--project", "Linked")
    (linked.root / "mine.txt").write_text("staged")
    linked.git("add", "mine.txt")
    before, main = theirs(linked), bare_repo.git("rev-parse", "main")
    linked.ok("project", "save")
    assert theirs(linked) == before
    assert ".sow/project/state.yaml" in committed(linked)
    assert bare_repo.git("rev-parse", "main") == main
    assert bare_repo.git("status", "--porcelain") == ""


def test_save_works_before_the_first_commit(tmp_path, environment):
    """On a branch without a commit the project's is the first, and staged files stay staged."""
    root = tmp_path / "young"
    root.mkdir()
    young = Repo(root, environment)
    young.git("init", "-q", "-b", "feat/young")
    (root / "a.txt").write_text("staged")
    young.git("add", "a.txt")
    young.ok("init", "--project", "Young")
    young.ok("project", "save")
    assert "a.txt" not in committed(young)
    assert young.git("status", "--porcelain") == "A  a.txt\n"


@pytest.mark.parametrize("configured", [False, True])
def test_no_hook_of_the_repository_runs(repo, configured):
    """No hook runs, neither from .git/hooks nor from a folder that the repository's settings name."""
    folder = repo.root / ("hooks" if configured else ".git/hooks")
    folder.mkdir(exist_ok=True)
    witness = repo.root.parent / "witness"
    for name in HOOKS:
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> {witness}\nexit 1\n")
        (folder / name).chmod(0o755)
    if configured:
        repo.git("config", "core.hooksPath", "hooks")
    repo.ok("project", "save")
    assert not witness.exists()


def test_settings_of_the_user_do_not_stop_a_save(repo):
    """A signature, an editor or a template in git's settings is not used."""
    for name, value in (
        ("commit.gpgSign", "true"),
        ("gpg.program", "false"),
        ("core.editor", "false"),
        ("commit.template", "missing"),
        ("commit.verbose", "true"),
        ("commit.status", "false"),
    ):
        repo.git("config", name, value)
    repo.ok("project", "save")


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        (".sow/project/", ".sow/project/"),
        (".sow", ".sow/project/"),
        ("*.md", ".sow/project/log.md"),
        ("tasks/", ".sow/project/phases/implementation/tasks/010/description.md"),
    ],
)
def test_an_ignored_project_is_refused(task_repo, pattern, named):
    """A project that git ignores, wholly or in part, is not saved: the path is named, nothing is staged."""
    (task_repo.root / ".gitignore").write_text(f"{pattern}\n")
    before = task_repo.git("ls-files", "--stage"), task_repo.git("rev-parse", "HEAD")
    result = task_repo.sow("project", "save")
    assert result.code == 1
    assert result.err.startswith(f"error: {named}")
    assert "is ignored by git: it cannot be saved\nhint: take it out of .gitignore" in result.err
    assert (task_repo.git("ls-files", "--stage"), task_repo.git("rev-parse", "HEAD")) == before


@pytest.mark.parametrize("pattern", [".sow/knowledge", ".sow/config.yaml"])
def test_other_files_may_be_ignored(repo, pattern):
    """A project can be saved if git ignores the knowledge or the settings."""
    (repo.root / ".gitignore").write_text(f"{pattern}\n")
    repo.ok("project", "save")
    assert ".sow/project/state.yaml" in committed(repo)
    assert not any(path.startswith(pattern) for path in committed(repo))


def test_an_empty_folder_does_not_matter(repo):
    """Knowledge without a file adds nothing to the commit."""
    for path in (repo.root / ".sow" / "knowledge").rglob("*.md"):
        path.unlink()
    repo.ok("project", "save")
    assert ".sow/project/state.yaml" in committed(repo)


def test_without_an_identity_it_says_so(repo):
    """If git has no name for the commit, the error says what to set, and nothing is staged."""
    repo.environment = {name: value for name, value in repo.environment.items() if not name.startswith("GIT_")}
    repo.git("config", "user.useConfigOnly", "true")
    result = repo.sow("project", "save")
    assert (result.code, result.err) == (
        1,
        "error: git does not know who you are: it makes no commit\n"
        'hint: git config user.name "NAME" && git config user.email "ADDRESS"\n',
    )
    assert repo.git("ls-files") == ""
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@example.org")
    repo.ok("project", "save")


def _fork_history(repo: Repo) -> None:
    """Makes two branches that change one file in two ways."""
    path = repo.root / "a.txt"
    path.write_text("base")
    repo.git("add", "a.txt")
    repo.git("commit", "-q", "-m", "base")
    repo.git("switch", "-q", "-c", "other")
    path.write_text("theirs")
    repo.git("commit", "-q", "-a", "-m", "theirs")
    repo.git("switch", "-q", "feat/auth")
    path.write_text("ours")
    repo.git("commit", "-q", "-a", "-m", "ours")


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("merge", ["merge", "-q", "--no-commit", "-s", "ours", "other"]),
        ("cherry-pick", ["-c", "core.editor=true", "cherry-pick", "--no-commit", "-X", "theirs", "other"]),
        ("revert", ["revert", "--no-commit", "HEAD"]),
    ],
)
def test_save_waits_for_the_end_of_a_merge(repo, act, words):
    """During a merge, a cherry-pick or a revert the error names it, and neither it nor the index changes."""
    _fork_history(repo)
    repo.git(*words)
    if act == "cherry-pick":  # without a conflict git writes no mark of it
        Path(repo.root / ".git" / "CHERRY_PICK_HEAD").write_text(repo.git("rev-parse", "other"))
    before = theirs(repo), repo.git("ls-files", "--stage"), sorted(path.name for path in repo.root.glob(".git/*_HEAD"))
    result = repo.sow("project", "save")
    assert (result.code, result.err) == (
        4,
        f"error: a {act} is under way in {repo.root}\nhint: end it first: git {act} --continue, or git {act} --abort\n",
    )
    after = theirs(repo), repo.git("ls-files", "--stage"), sorted(path.name for path in repo.root.glob(".git/*_HEAD"))
    assert after == before


def test_save_waits_for_the_end_of_a_conflict(repo):
    """A merge with conflicts keeps its conflicts."""
    _fork_history(repo)
    with pytest.raises(AssertionError):
        repo.git("merge", "-q", "other")
    before = theirs(repo)
    repo.ok("project", "remember", "in the middle of a merge")
    assert repo.sow("project", "save").code == 4
    assert theirs(repo) == before


def test_a_locked_index_is_an_error_of_git(repo):
    """While another git holds the index, the error has git's message."""
    (repo.root / ".git" / "index.lock").touch()
    result = repo.sow("project", "save")
    assert result.code == 1
    assert "index.lock" in result.err


def test_a_worker_may_not_save(repo):
    """Commits on the project's branch are not a worker's."""
    head = repo.git("rev-parse", "HEAD")
    result = repo.sow("project", "save", SOW_TASK="010")
    assert (result.code, result.err.splitlines()[0]) == (2, "error: a worker may not commit the project's state")
    assert repo.git("rev-parse", "HEAD") == head
