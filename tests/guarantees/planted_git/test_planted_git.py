"""T5: sow's git calls execute and trust nothing that a worker planted in the git folder or its worktree."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from conftest import Repo
from support.plan_repo import WORK, PlanRepo
from support.quick_cases import few_of

from sow.system import git

# Each script plants one thing. `$EVIL` is a program that leaves a file behind; the worker itself never runs it.
PLANTED = {
    "a clean and a smudge filter": """
git config filter.evil.clean "$EVIL"; git config filter.evil.smudge "$EVIL"
echo '* filter=evil' > .gitattributes
""",
    "a process filter": """
git config filter.evil.process "$EVIL"; git config filter.evil.required false
echo '* filter=evil' > .gitattributes
""",
    "attributes of the repository": """
git config filter.evil.clean "$EVIL"; git config filter.evil.smudge "$EVIL"
echo '* filter=evil' > "$(git rev-parse --git-path info/attributes)"
""",
    "an included file": """
printf '[filter "evil"]\\n\\tclean = %s\\n\\tsmudge = %s\\n' "$EVIL" "$EVIL" > "$HOME/evil.config"
git config include.path "$HOME/evil.config"
echo '* filter=evil' > .gitattributes
""",
    "the user's own settings": """
git config --global filter.evil.clean "$EVIL"; git config --global filter.evil.smudge "$EVIL"
git config --global core.attributesFile "$HOME/attributes"; echo '* filter=evil' > "$HOME/attributes"
""",
    "settings of the worktree": """
git config extensions.worktreeConfig true
git config --worktree filter.evil.clean "$EVIL"; git config --worktree filter.evil.smudge "$EVIL"
echo '* filter=evil' > .gitattributes
""",
    "merge and diff drivers": """
git config merge.evil.driver "$EVIL"; git config diff.evil.command "$EVIL"; git config diff.evil.textconv "$EVIL"
git config diff.external "$EVIL"
echo '* merge=evil diff=evil' > "$(git rev-parse --git-path info/attributes)"
""",
    "hooks": """
hooks="$(git rev-parse --git-common-dir)/hooks"; mkdir -p "$hooks"
for each in pre-commit post-commit post-checkout post-merge reference-transaction post-index-change; do
    cp "$EVIL" "$hooks/$each"
done
""",
    "a folder of hooks": """
mkdir -p "$HOME/hooks"
for each in post-checkout post-merge reference-transaction post-index-change; do cp "$EVIL" "$HOME/hooks/$each"; done
git config core.hooksPath "$HOME/hooks"
""",
    "other commands": """
for key in core.fsmonitor core.sshCommand core.editor core.pager core.askPass sequence.editor gpg.program \\
    core.alternateRefsCommand credential.helper pager.log pager.status uploadpack.packObjectsHook; do
    git config $key "$EVIL"
done
git config commit.gpgSign true; git config log.showSignature true; git config alias.status "!$EVIL"
""",
    "a promise of missing objects": """
git config extensions.partialClone evil; git config remote.evil.url "$PWD"; git config remote.evil.promisor true
git config remote.evil.uploadpack "$EVIL"; git config core.repositoryFormatVersion 1
""",
    "a repository in place of the pointer": """
rm .git; git init -q; git config filter.evil.clean "$EVIL"; git config filter.evil.smudge "$EVIL"
git config core.fsmonitor "$EVIL"; echo '* filter=evil' > .git/info/attributes
""",
    "a submodule with settings of its own": """
git init -q inner; echo '* filter=evil' > inner/.gitattributes; echo x > inner/x
git -C inner add -A; git -C inner commit -q -m inner
git add inner 2>/dev/null; git commit -q -m 'with inner'
git -C inner config filter.evil.clean "$EVIL"; echo y > inner/x
""",
    "a submodule that .gitmodules names": """
git init -q inner; echo '* filter=evil' > inner/.gitattributes; echo x > inner/x
git -C inner add -A; git -C inner commit -q -m inner
printf '[submodule "inner"]\npath = inner\nurl = ./inner\nignore = none\n' > .gitmodules
git add inner .gitmodules 2>/dev/null; git commit -q -m 'with inner'
git -C inner config filter.evil.clean "$EVIL"; echo y > inner/x
""",
}
SUBMODULES = ["a submodule with settings of its own", "a submodule that .gitmodules names"]
SILENT = {"a repository in place of the pointer", *SUBMODULES}  # nothing in the git folder


@pytest.fixture
def evil(plan_repo: PlanRepo, tmp_path: Path) -> Path:
    """The file that a planted program would make."""
    left = tmp_path / "evil-was-here"
    program = tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\nps -o args= -p $PPID >> {left}\ncat\n")
    program.chmod(0o755)
    plan_repo.repo.environment["EVIL"] = str(program)
    return left


def plant(plan_repo: PlanRepo, script: str, tmp_path: Path, who: str = "implementer-010") -> None:
    """Lets a worker do its work and plant something."""
    plan_repo.act(who, f"EVIL={tmp_path}/evil.sh\n{WORK}echo {who} >> shared.txt\n{script}")


@few_of("name", PLANTED, 2, always=SUBMODULES)
def test_no_git_call_runs_planted_programs(plan_repo: PlanRepo, evil: Path, tmp_path: Path, name: str) -> None:
    """A second task, the merges, the reviews and the user's branch come after the plant, and none of it runs."""
    (plan_repo.repo.root / "shared.txt").write_text("\n".join("abcdefghijklmnop") + "\n")
    plan_repo.repo.git("add", "shared.txt")
    plant(plan_repo, PLANTED[name], tmp_path)
    plan_repo.act("implementer-020", f"{WORK}sed -i s/^a$/A/ shared.txt\n")
    plan_repo.plan("First", "Second", commit=True)
    result = plan_repo.run("--max-concurrency", "1")
    assert not evil.exists(), evil.read_text()
    assert result.code == 0, result
    assert (plan_repo.repo.root / "part_010.txt").read_text() == "by 010\n"
    assert (plan_repo.repo.root / "part_020.txt").read_text() == "by 020\n"
    assert "+by 010" in plan_repo.prompt("010", role="quality-control")
    journal = plan_repo.journal("git_changed")
    if name in SILENT:
        assert journal == []
        return
    assert len(journal) == 1
    assert "task" not in journal[0]  # nobody knows who did it
    assert "These changes appeared in the git folder while workers ran:" in result.err
    for change in journal[0]["changes"]:
        assert change in result.err
        assert f"meanwhile {change}" in plan_repo.prompt("010", role="quality-control")
    report = plan_repo.repo.ok("runs", "show", "--json").json
    assert any(journal[0]["changes"][0] in remark for remark in report["remarks"])


@few_of("kind", ["worktree", "submodule"], 1)
def test_a_git_folder_elsewhere(plan_repo: PlanRepo, evil: Path, tmp_path: Path, kind: str) -> None:
    """The same in a linked worktree of the user, and in a submodule, whose settings name its folder."""
    repo = plan_repo.repo
    if kind == "worktree":
        repo.git("worktree", "add", "-q", "-b", "feat/linked", str(tmp_path / "linked"))
        repo.root = tmp_path / "linked"
    else:
        repo.git("init", "-q", str(tmp_path / "outer"))
        arguments = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo.root), "sub")
        repo.git("-C", str(tmp_path / "outer"), *arguments)
        repo.root = tmp_path / "outer/sub"
        repo.git("switch", "-q", "-c", "feat/sub")
        assert "sub" in repo.git("config", "core.worktree")
    plant(plan_repo, PLANTED["a clean and a smudge filter"] + PLANTED["hooks"], tmp_path)
    plan_repo.act("implementer-020", WORK)
    plan_repo.plan("First", "Second < 1")
    result = plan_repo.run()
    assert not evil.exists(), evil.read_text()
    assert result.code == 0, result
    assert (repo.root / "part_020.txt").read_text() == "by 020\n"
    assert "filter.evil.clean" in result.err
    plan_repo.repo.ok("doctor", "--undo-git-changes", "--yes")
    assert "filter.evil" not in repo.git("config", "--list")


@pytest.mark.full
def test_a_planted_key_is_named_until_it_is_undone(plan_repo: PlanRepo, evil: Path, tmp_path: Path) -> None:
    """Later commands ignore it and doctor names it, until it is undone; the next run reports nothing."""
    plant(plan_repo, PLANTED["a clean and a smudge filter"] + PLANTED["hooks"], tmp_path)
    plan_repo.plan("First")
    before = plan_repo.repo.git("config", "--local", "--list")
    result = plan_repo.run("--yes")
    assert result.code == 0, result
    assert "filter.evil" in plan_repo.repo.git("config", "--local", "--list")  # --yes is no consent to that
    (plan_repo.repo.root / "part_010.txt").write_text("changed by the user\n")
    plan_repo.repo.ok("project", "save")
    plan_repo.plan("First", "Second", commit=False)
    assert plan_repo.run("--yes").code == 0
    assert not evil.exists(), evil.read_text()
    named = [finding["what"] for finding in plan_repo.repo.sow("doctor", "--json").json["findings"]]
    assert any("filter.evil.clean" in text for text in named)
    assert any(".git/hooks/post-commit was added" in text for text in named)
    refused = plan_repo.repo.sow("doctor", "--undo-git-changes")
    assert refused.code == 4, refused
    plan_repo.repo.ok("doctor", "--undo-git-changes", "--yes")
    assert plan_repo.repo.git("config", "--local", "--list") == before
    assert not (plan_repo.repo.root / ".git/hooks/post-commit").exists()
    assert list((plan_repo.repo.root / ".git/sow/removed").rglob("post-commit"))
    assert not any(
        "filter.evil" in finding["what"] for finding in plan_repo.repo.sow("doctor", "--json").json["findings"]
    )
    assert seals(plan_repo.repo) == []


@pytest.mark.full
def test_accepted_changes_are_used(plan_repo: PlanRepo, evil: Path, tmp_path: Path) -> None:
    """After the user has accepted a filter, it is the user's own, and runs."""
    plant(plan_repo, PLANTED["a clean and a smudge filter"], tmp_path)
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    assert not evil.exists()
    plan_repo.repo.ok("doctor", "--keep-git-changes", "--yes")
    assert seals(plan_repo.repo) == []
    plan_repo.plan("First", "Second", commit=False)
    result = plan_repo.run("--yes")
    assert result.code == 0, result
    assert evil.exists()
    assert "appeared in the git folder" not in result.err


@pytest.mark.full
def test_the_users_own_filter_works(plan_repo: PlanRepo, tmp_path: Path) -> None:
    """A filter from before the run cleans collected files and smudges checked out ones."""
    repo = plan_repo.repo
    repo.git("config", "--global", "filter.upper.clean", "tr a-z A-Z")
    repo.git("config", "filter.upper.smudge", "tr A-Z a-z")
    repo.git("config", "filter.upper.required", "true")
    (repo.root / ".gitattributes").write_text("*.up filter=upper\n")
    (repo.root / "a.up").write_text("hello\n")
    repo.git("add", ".gitattributes", "a.up")
    plan_repo.act("implementer", f"{WORK}cat a.up > seen.txt; echo world > b.up\n")
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0, result
    assert (repo.root / "seen.txt").read_text() == "hello\n"
    assert repo.git("show", "HEAD:b.up") == "WORLD\n"
    assert (repo.root / "b.up").read_text() == "world\n"
    assert plan_repo.journal("git_changed") == []
    assert seals(repo) == []


@pytest.mark.full
def test_a_changed_filter_is_used_in_its_old_form(plan_repo: PlanRepo, evil: Path, tmp_path: Path) -> None:
    """If a worker changes the command of the user's own filter, sow uses the old one."""
    repo = plan_repo.repo
    repo.git("config", "filter.upper.clean", "tr a-z A-Z")
    (repo.root / ".gitattributes").write_text("*.up filter=upper\n")
    repo.git("add", ".gitattributes")
    plant(plan_repo, 'git config filter.upper.clean "$EVIL"; echo world > b.up', tmp_path)
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0, result
    assert not evil.exists()
    assert repo.git("show", "HEAD:b.up") == "WORLD\n"
    assert "filter.upper.clean was changed to" in result.err


def test_replace_refs_are_ignored(plan_repo: PlanRepo) -> None:
    """A replace ref shows harmless bytes to other git calls; the reviewer sees what is merged (F11)."""
    script = "echo harmful > part_010.txt; bad=$(git hash-object -w part_010.txt)\n"
    script += "good=$(echo harmless | git hash-object -w --stdin); git replace $bad $good\n"
    plan_repo.act("implementer", script)
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0, result
    assert "+harmful" in plan_repo.prompt("010", role="quality-control")
    assert (plan_repo.repo.root / "part_010.txt").read_text() == "harmful\n"
    assert "the replacement of object" in result.err
    plan_repo.repo.ok("doctor", "--undo-git-changes", "--yes")
    assert plan_repo.repo.git("replace", "--list") == ""


@pytest.mark.full
def test_grafts_and_shallow_lists_are_ignored(plan_repo: PlanRepo) -> None:
    """A worker that cuts the history for git changes nothing for sow."""
    script = f"{WORK}common=$(git rev-parse --git-common-dir); git rev-parse HEAD > $common/shallow\n"
    plan_repo.act("implementer", f"{script}git rev-parse HEAD > $common/info/grafts\n")
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0, result
    assert ".git/shallow was added" in result.err
    assert ".git/info/grafts was added" in result.err
    plan_repo.repo.ok("doctor", "--undo-git-changes", "--yes")
    assert plan_repo.repo.git("log", "--format=%s").splitlines()[-1] == "first"


def test_an_alternate_stops_the_run(plan_repo: PlanRepo, tmp_path: Path) -> None:
    """Git cannot ignore an alternate: nothing is taken from it, and a person decides."""
    plan_repo.repo.git("init", "-q", "--bare", str(tmp_path / "other.git"))
    script = f"{WORK}echo {tmp_path}/other.git/objects > $(git rev-parse --git-common-dir)/objects/info/alternates\n"
    plan_repo.act("implementer-010-1", script)
    plan_repo.plan("First")
    head = plan_repo.repo.git("rev-parse", "HEAD")
    result = plan_repo.run()
    assert result.code == 4, result
    assert "objects/info/alternates" in result.err
    assert plan_repo.repo.git("rev-parse", "HEAD") == head
    plan_repo.repo.ok("doctor", "--undo-git-changes", "--yes")
    assert not (plan_repo.repo.root / ".git/objects/info/alternates").exists()
    plan_repo.repo.ok("answer", "1", "it is undone")
    result = plan_repo.run()
    assert result.code == 0, result
    assert (plan_repo.repo.root / "part_010.txt").exists()


def test_a_commit_graph_is_ignored(bare_repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit graph can name another tree than the commit does: sow reads the commit."""
    for name, value in bare_repo.environment.items():
        monkeypatch.setenv(name, value)
    (bare_repo.root / "a").write_text("a\n")
    bare_repo.git("add", "a")
    bare_repo.git("commit", "-q", "-m", "second")
    bare_repo.git("commit-graph", "write", "--reachable")
    new, old = bare_repo.git("rev-parse", "HEAD^{tree}", "HEAD~1^{tree}").split()
    graph = bare_repo.root / ".git/objects/info/commit-graph"
    data = graph.read_bytes()[:-20].replace(bytes.fromhex(new), bytes.fromhex(old))
    graph.chmod(0o644)
    graph.write_bytes(data + hashlib.sha1(data).digest())  # noqa: S324 (git's own checksum)
    assert bare_repo.git("log", "-1", "--format=%T").strip() == old  # who believes it
    assert git.run(["log", "-1", "--format=%T"], cwd=str(bare_repo.root)).strip() == new


def test_plants_of_a_killed_run_are_ignored(plan_repo: PlanRepo, evil: Path, tmp_path: Path) -> None:
    """Changes of a worker before a kill are not taken for the user's by the next run."""
    plant(plan_repo, f"{PLANTED['a clean and a smudge filter']}kill -9 $PPID_OF_SOW\n", tmp_path)
    script = (plan_repo.folder / "implementer-010.sh").read_text()
    sow = 'sow=$(ps -o ppid= -p $$ | tr -d " "); while ! ps -o args= -p $sow | grep -q " run plan.yaml"; do '
    sow += 'sow=$(ps -o ppid= -p $sow | tr -d " "); done; kill -9 $sow\n'
    plan_repo.act("implementer-010", script.replace("kill -9 $PPID_OF_SOW\n", sow))
    plan_repo.act("implementer-010-2", WORK)
    plan_repo.plan("First")
    run = plan_repo.start()
    run.communicate(timeout=300)
    assert run.returncode == -9
    result = plan_repo.run()
    assert result.code == 0, result
    assert not evil.exists(), evil.read_text()
    assert "filter.evil.clean" in result.err


def test_edited_seals_are_written_again(plan_repo: PlanRepo, evil: Path, tmp_path: Path) -> None:
    """A worker without a sandbox edits the sealed settings: the run has them in memory."""
    script = (
        'for config in "$HOME"/.local/state/sow/git/*/config; do git config --file $config filter.evil.clean $EVIL; '
    )
    plant(plan_repo, f"{script}done\necho '* filter=evil' > .gitattributes\n", tmp_path)
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0, result
    assert not evil.exists(), evil.read_text()


def seals(repo: Repo) -> list[str]:
    folder = Path(repo.environment["HOME"], ".local/state/sow/git")
    return sorted(os.listdir(folder)) if folder.is_dir() else []
