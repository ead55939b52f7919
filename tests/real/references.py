"""The access of a real CLI to the references of its task, in a worktree without yolo_mode."""

from __future__ import annotations

import json
from pathlib import Path

from knowledge.labelled_set import shelve, write

from real.cli_repo import CliRepo
from real.contract import NEEDS_REVIEW, Contract

TOKENS = "# Token rotation\nRefresh tokens rotate; a replayed token revokes the family. The word is MARZIPAN.\n"
SINK = {"name": "auth", "summary": "Tokens", "when_to_use": "For tokens", "tags": ["tokens"]}
PLAN = "# Plan\n\n## Task 1: Rotate refresh tokens [[play:work]]\n\nA replayed token is refused. See refunds.md too.\n"


class ReadsReferences(Contract):
    """A CLI with a tool of its own that reads a file."""

    read_tool = ""
    read_word = "file_path"
    reads_links = True  # a repository that is linked from elsewhere is within its reach

    def reading(self, path: Path) -> str:
        return f"call:{self.read_tool} {json.dumps({self.read_word: str(path)})}"

    def test_it_reads_its_references_and_writes_none(self, cli_repo: CliRepo, tmp_path: Path) -> None:
        """In a run, with yolo_mode off, it reads the sink and the linked repository of its task, and nothing else."""
        self.configure(cli_repo, yolo_mode=False)
        root, linked = cli_repo.repo.root, tmp_path / "payments"
        shelve(root, {"sinks": [{**SINK, "files": {"tokens.md": TOKENS}}]})
        write(linked, {"README.md": "# Payments\n", "docs/refunds.md": "# Refunds\nThe word is NOUGAT.\n"})
        cli_repo.repo.git("init", "-q", str(linked))
        cli_repo.repo.ok("repos", "add", str(linked), "--hint", "docs: refunds")
        sink, repo = root / ".sow/sinks/auth", root / ".sow/repos/payments"
        cli_repo.stub.plays["work"] = [
            self.reading(sink / "tokens.md"),
            self.reading(repo / "docs/refunds.md"),
            self.writing(sink / "made.md"),
            self.writing(linked / "made.md"),
            self.writing(root / ".sow/local/worktrees/010/made.txt"),
            NEEDS_REVIEW,
        ]
        (root / "plan.md").write_text(PLAN)
        cli_repo.repo.git("add", "plan.md")
        cli_repo.repo.git("commit", "-q", "-m", "The plan")
        result = cli_repo.sow("run", "plan.md", "--review", "off", "--yes")
        assert (result.code, cli_repo.status()) == (0, "completed"), result
        named = [file["path"] for file in cli_repo.repo.task("010")["context"]]
        assert named == [".sow/repos/payments/docs/refunds.md", ".sow/sinks/auth/tokens.md"]
        output = "\n".join(text for _, kind, text in cli_repo.stub.conversations()[-1] if kind == "tool_result")
        assert ("MARZIPAN" in output, "NOUGAT" in output) == (True, self.reads_links), output
        assert not (sink / "made.md").exists()
        assert not (linked / "made.md").exists()
