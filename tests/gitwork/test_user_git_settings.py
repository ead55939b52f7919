"""No result of a run depends on the user's git settings (F48)."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Repo
from support.plan_repo import WORK, PlanRepo
from support.worktree_repo import home_at

from sow.gitwork import repository as repositories
from sow.gitwork.repository import Repository
from sow.system import git

SETTINGS = {
    "trailer": "separators=%, sow.key=Sow-Task%, sow.ifexists=replace",
    "i18n": "logOutputEncoding=UTF-16",
    "log": "showSignature=true, date=relative, abbrevCommit=true, decorate=full, follow=true, showRoot=false",
    "format": "pretty=oneline",
    "status": "short=true, branch=true, showStash=true, showUntrackedFiles=no, renames=copies, submoduleSummary=true",
    "diff": "noprefix=true, mnemonicPrefix=true, renames=copies, algorithm=patience, colorMoved=zebra, context=0,"
    "interHunkContext=9, submodule=log, ignoreSubmodules=all, suppressBlankEmpty=true, wordRegex=.",
    "color": "ui=always, diff=always, status=always",
    "column": "ui=always",
    "core": "abbrev=4, quotePath=true, ignoreStat=true, commentChar=;, splitIndex=true, untrackedCache=true",
    "merge": "renames=false, conflictStyle=diff3, directoryRenames=true, ff=false, log=true, verbosity=0, stat=true",
    "commit": "cleanup=verbatim, verbose=true, gpgSign=true, status=true",
    "gpg": "program=/bin/false",
    "fetch": "prune=true, recurseSubmodules=true",
    "submodule": "recurse=true",
    "branch": "autoSetupMerge=always, autoSetupRebase=always",
    "apply": "whitespace=fix",
    "advice": "statusHints=false, addIgnoredFile=false",
    "grep": "lineNumber=true, column=true",
    "pager": "log=/bin/false, status=/bin/false",
    "feature": "manyFiles=true",
}
PAIRS = [
    (f"{section}.{pair.strip().partition('=')[0]}", pair.strip().partition("=")[2])
    for section, pairs in SETTINGS.items()
    for pair in pairs.split(",")
    if pair.strip()
]


def configure(repo: Repo) -> None:
    """Writes all odd settings into the user's own file."""
    for key, value in PAIRS:
        repo.git("config", "--global", key, value)


def test_a_run_with_odd_settings(plan_repo: PlanRepo) -> None:
    """Two tasks are merged once each, and the reviewer sees the usual patch, with any settings."""
    repo = plan_repo.repo
    (repo.root / "shared.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    repo.git("add", "shared.txt")
    plan_repo.act("implementer-010", f"{WORK}sed -i s/two/TWO/ shared.txt\n")
    plan_repo.act("implementer-020", f"{WORK}git mv shared.txt moved.txt; git commit -q -m moved --no-gpg-sign\n")
    plan_repo.plan("First", "Second < 1")
    configure(repo)
    result = plan_repo.run()
    assert result.code == 0, result
    assert len(plan_repo.journal("merged")) == 2
    assert (repo.root / "moved.txt").read_text() == "one\nTWO\nthree\nfour\nfive\n"
    prompt = plan_repo.prompt("010", role="quality-control")
    assert "diff --git a/shared.txt b/shared.txt\n" in prompt
    assert "|  one\n| -two\n| +TWO\n|  three\n" in prompt
    repo.ok("task", "create", "--name", "By hand")
    repo.ok("project", "save")


def test_parsed_output_is_the_same(bare_repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every parsed git output is the same with odd settings as with none."""
    root = bare_repo.root
    for name, value in bare_repo.environment.items():
        monkeypatch.setenv(name, value)
    (root / "täglich.txt").write_text("a\nb\nc\nd\n")
    bare_repo.git("add", "--all")
    bare_repo.git("commit", "-q", "-m", "Größe\n\nSow-Task: 010/1")
    (root / "täglich.txt").write_text("a\nB\nc\nd\n")
    bare_repo.git("commit", "-q", "-a", "-m", "more")
    (root / "new file").write_text("x\n")
    plain = looks(root)
    configure(bare_repo)
    assert looks(root) == plain


def looks(root: Path) -> list[object]:
    repository = Repository(home_at(root))
    log = ["log", "-2", "--format=%H%x00%P%x00%B"]
    status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"]
    return [
        git.run(log, cwd=str(root)),
        git.run(status, cwd=str(root)),
        repositories.diff(repository, "HEAD~2", "HEAD", 10_000),
        repositories.changed_files(repository, "HEAD~2", "HEAD", 10),
        repositories.changed_paths(repository, "HEAD~2", "HEAD"),
        repository.parents("HEAD"),
        repository.refs("refs/heads/"),
        repository.tree_entries("HEAD"),
        repository.only_commits([repository.find_commit("HEAD")]),
        git.run(["merge-tree", "--write-tree", "-z", "--messages", "HEAD~1", "HEAD"], cwd=str(root)),
    ]
