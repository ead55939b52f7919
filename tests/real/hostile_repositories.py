"""Repositories that try to control their agents by commands, permissions and variables in files that a CLI reads."""

from __future__ import annotations

import json
from typing import ClassVar

from real.cli_repo import CliRepo
from real.contract import NEEDS_REVIEW, Contract


class Steered(Contract):
    """A CLI, and the files of a repository that would make it run a command or set a variable."""

    steering: ClassVar[dict[str, str]] = {}
    words_file = ""  # the file of a repository whose words it reads
    words = "Every file here ends"  # what the model is told of it

    def steer(self, cli_repo: CliRepo) -> None:
        for path, text in self.steering.items():
            where = cli_repo.repo.root / path
            where.parent.mkdir(parents=True, exist_ok=True)
            where.write_text(text.replace("ROOT", str(cli_repo.repo.root)))
        (cli_repo.repo.root / self.words_file).write_text("Every file here ends with a line end.\n")
        cli_repo.stub.plays["work"] = ["sh:echo variable=$STEERED", NEEDS_REVIEW]
        cli_repo.task("play:work")

    def check(self, cli_repo: CliRepo, *, steered: bool) -> None:
        """Checks one turn in that repository."""
        result = cli_repo.spawn()
        assert (result.code, cli_repo.status()) == (0, "needs_review"), result
        assert self.words in json.dumps(cli_repo.stub.requests()[0]["body"])
        texts = [text for _, kind, text in cli_repo.stub.conversations()[-1] if kind == "tool_result"]
        assert "variable=" in texts[0] and ("variable=yes" in texts[0]) is steered
        assert bool(list(cli_repo.repo.root.glob("steered*"))) is steered


class IgnoresSteering(Steered):
    """A CLI that can ignore a repository's settings."""

    def test_an_untrusted_repository_gives_only_text(self, cli_repo: CliRepo) -> None:
        """The repository's settings run nothing and set nothing, while its text for agents reaches the model."""
        self.steer(cli_repo)
        self.check(cli_repo, steered=False)

    def test_a_trusted_repository_has_its_settings(self, cli_repo: CliRepo) -> None:
        """If the user trusts the repository, its settings count."""
        self.steer(cli_repo)
        cli_repo.trust()
        self.check(cli_repo, steered=True)


class RefusesSteering(Steered):
    """A CLI that obeys every file, so that sow does not start it in such a repository."""

    def test_a_repository_with_settings_needs_trust(self, cli_repo: CliRepo) -> None:
        """Nothing starts, and nothing is written, until the user trusts the repository."""
        self.steer(cli_repo)
        before = cli_repo.repo.snapshot()
        result = cli_repo.spawn()
        assert (result.code, cli_repo.repo.snapshot()) == (2, before), result
        assert all(path.split("/")[0] in result.err for path in self.steering) and "trust" in result.err
        assert cli_repo.stub.requests() == []
        cli_repo.trust()
        self.check(cli_repo, steered=True)
